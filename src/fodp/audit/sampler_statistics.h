// Are lots drawn as they are charged: every record independently of all others and of all other lots, with the announced probability?
// Shuffling, batches of a fixed size and records that come more often than others all show here.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "fodp/audit/check.h"

namespace fodp {

// How a lot should have been drawn: which records could be in it, and how likely each was.
struct LotTaken {
  double sample_rate = 1;
  std::int64_t cycle = 1;                                         // one of so many groups
  std::int64_t group = 0;                                         // of those
  std::shared_ptr<const std::vector<std::uint16_t>> groups = {};  // of each record; its number modulo the cycle if null

  std::int64_t group_of(std::int64_t record) const { return groups ? (*groups)[static_cast<std::size_t>(record)] : record % cycle; }
};

class SamplerStatistics {
 public:
  explicit SamplerStatistics(std::int64_t records);

  // The records of a lot, ascending, each once.
  void add(const LotTaken& lot, std::span<const std::int64_t> rows);

  std::vector<AuditCheck> checks() const;

 private:
  // A sum that has mean 0 and this variance if lots are drawn as they should be.
  struct Centred {
    double sum = 0, variance = 0;
    double standard() const;
    double chance(double halves = 1) const;  // that it is at least so far from 0, at most
  };
  // A sum of squares of standardised numbers of records, each of which has mean 1 and this variance.
  struct Squares {
    double sum = 0, count = 0, variance = 0;
    void add(double number, double trials, double rate);
    double chance() const;  // how likely the sum is at least so far from its mean
  };

  void find_places(const LotTaken& lot);
  Squares records_squares() const;
  double most_often() const;  // how likely a record comes as often as the one that came most often, at most

  std::int64_t records_;
  std::int64_t lots_ = 0, strangers_ = 0;  // records of a group whose turn it was not
  Centred rate_, neighbours_, lots_in_row_;
  Squares sizes_;
  std::vector<std::int32_t> times_;          // that each record was in a lot
  std::vector<double> expected_, variance_;  // by group, of that
  std::vector<std::int64_t> places_;         // of each record within its group, in order
  std::vector<std::int64_t> members_;        // of each group
  std::vector<std::int64_t> last_rows_;
  LotTaken last_;
};

}  // namespace fodp
