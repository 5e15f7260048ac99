// Poisson sampling: every record is in the lot with probability q, independently of all others, by the secure stream.
//
// A record is included iff its 64-bit word is below floor(q*2^64), so the true rate is at most q. Records keep their slot: the lot's rows
// come in blocks of neighbouring slots, at most `block_rows` each (an overfull block is halved at its middle slot). What a slot holds
// changes neither blocks nor places, so a record changes the rounding of its own block only (docs/finite-precision.md). How many rows a lot
// has is as private as which: nothing prints or stores it.
#pragma once

#include <cstdint>
#include <vector>

#include "fodp/noise/stream.h"

namespace fodp {

// Move-only: one lot, one sum. Only the sampler makes one, so that its rate is the one it was drawn at.
class Lot {
 public:
  Lot(Lot&&) = default;
  Lot& operator=(Lot&&) = default;

  double sample_rate() const { return sample_rate_; }
  const std::vector<std::vector<std::int64_t>>& blocks() const { return blocks_; }  // rows, ascending

 private:
  friend class PoissonSampler;
  explicit Lot(double rate) : sample_rate_(rate) {}

  double sample_rate_;
  std::vector<std::vector<std::int64_t>> blocks_;
};

class PoissonSampler {
 public:
  PoissonSampler(std::int64_t records, double sample_rate, std::int64_t block_rows, RandomStream stream);

  // The lot with this number; the same rows for the same key and number, whatever the blocks.
  Lot draw(std::uint64_t number) const;

 private:
  std::vector<std::int64_t> sampled_rows(std::uint64_t number) const;
  void split(std::int64_t begin, std::int64_t end, std::vector<std::int64_t> rows, Lot& lot) const;

  std::int64_t records_, block_rows_, ranges_;
  double sample_rate_;
  std::uint64_t threshold_;  // unused when q = 1
  RandomStream stream_;
};

}  // namespace fodp
