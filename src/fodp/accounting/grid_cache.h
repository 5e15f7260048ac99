// The loss grids of recent questions. Making one is most of the work of an answer, and the questions about one run (its prefixes, the steps
// of a calibration) share many. An answer does not depend on what is kept. Safe to use from several threads.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>

#include "fodp/accounting/loss_grid.h"

namespace fodp {

// What is composed: a step, or one that tosses a public coin for two.
struct Piece {
  SampledGaussian low, high;
  double share = 0;  // chance of high; 0 where they are equal
  double count = 0;
};

class GridCache {
 public:
  // The grid of one such step, whatever its count.
  std::shared_ptr<const LossGrid> get(const Piece& piece, double step, double tail, double highest);

 private:
  struct Entry {
    SampledGaussian low, high;
    double share, tail, highest;
    std::shared_ptr<const LossGrid> grid;
  };

  std::mutex mutex_;
  std::list<Entry> entries_;  // the last used first
  std::size_t points_ = 0;
};

}  // namespace fodp
