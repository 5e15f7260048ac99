// Rows that are held out of training to test on. Which ones follows from a seed and the name of the unit alone, or where there are no units
// from what the row holds and how many equal rows came before, so that another one more or less changes nothing for the rest.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "fodp/base/sha256.h"
#include "fodp/data/dataset.h"
#include "fodp/data/rows.h"

namespace fodp {

class HoldOut {
 public:
  // About this fraction, in (0, 1), is held out.
  HoldOut(double fraction, std::uint64_t seed) : fraction_(fraction), seed_(seed) {}

  Sha256 start() const;  // add to it the unit's name, or what the row holds, each part after its length
  // Both end the hash. Rows may be equal to others: they are held out one by one, and it does not matter which of them.
  bool unit_is_held_out(Sha256& hash) const;
  bool row_is_held_out(Sha256& hash);
  void end_of_rows() { equal_ = {}; }  // frees what only further rows would need

 private:
  bool is_below_fraction(std::uint64_t word) const { return static_cast<double>(word) * 0x1p-64 < fraction_; }

  double fraction_;
  std::uint64_t seed_;
  std::unordered_map<std::uint64_t, std::uint32_t> equal_;  // how many rows there were, by the row's hash
};

// The hold-out that the options ask for, if they do.
std::optional<HoldOut> hold_out_of(const DataOptions& options);

// Rows to train on and rows to test on, by number: those that are marked are held out, and of each at most as many as the options say, from
// the first on. InputError if none is left to train on, none to test on, or the options ask for more than there are.
struct RowsInTwo {
  std::vector<std::int64_t> train, test;
};
RowsInTwo in_two(std::int64_t rows, const std::vector<bool>& held_out, const DataOptions& options);

// The first so many of these rows, or all. InputError, which calls the number `option`, if there are fewer.
std::vector<std::int64_t> first_rows(std::vector<std::int64_t> rows, const std::optional<std::int64_t>& size, std::string_view option);
std::vector<std::int64_t> first_rows(std::int64_t rows, const std::optional<std::int64_t>& size, std::string_view option);

}  // namespace fodp
