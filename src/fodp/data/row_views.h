// Rows made of other rows: some of them, or the units that they belong to.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "fodp/data/rows.h"

namespace fodp {

// These rows of others, in this order.
class SomeRows : public Rows {
 public:
  SomeRows(std::shared_ptr<const Rows> all, std::vector<std::int64_t> which) : all_(std::move(all)), which_(std::move(which)) {}

  std::int64_t count() const override { return static_cast<std::int64_t>(which_.size()); }
  std::vector<RowShape> inputs() const override { return all_->inputs(); }
  Target target() const override { return all_->target(); }
  Batch gather(std::span<const std::int64_t> rows) const override;

  const std::shared_ptr<const Rows>& all() const { return all_; }
  const std::vector<std::int64_t>& which() const { return which_; }

 private:
  std::shared_ptr<const Rows> all_;
  std::vector<std::int64_t> which_;
};

// Units, such as people, each of which has one row or more. A unit stands in a lot with `rows_per_unit` of its rows, which are drawn for
// each lot, with replacement: a unit with few rows contributes as much as one with many. With more than one row for each unit, the inputs
// of a unit are [rows_per_unit, ...] and so are its targets; the loss of the unit is then the mean over them, and clipping bounds it as
// one.
class UnitRows : public Rows {
 public:
  // The rows of unit u are rows[begin[u]] to rows[begin[u + 1] - 1] of `all`. InputError for a unit without rows.
  UnitRows(std::shared_ptr<const Rows> all, std::vector<std::int64_t> begin, std::vector<std::int64_t> rows, std::int64_t rows_per_unit);

  std::int64_t count() const override { return static_cast<std::int64_t>(begin_.size()) - 1; }
  std::vector<RowShape> inputs() const override;
  Target target() const override;
  Batch gather(std::span<const std::int64_t> units) const override;  // the first row of each

  bool draws() const override { return true; }
  Batch gather_drawn(std::span<const std::int64_t> units, const RowWords& words) const override;

 private:
  std::shared_ptr<const Rows> all_;
  std::vector<std::int64_t> begin_, rows_;
  std::int64_t rows_per_unit_;
};

// The rows of each unit, by `unit_of_row` (numbered from 0, none left out), for rows that are listed in `which`. Units without such a row
// are passed over.
std::shared_ptr<const UnitRows> rows_by_unit(std::shared_ptr<const Rows> all, const std::vector<std::int64_t>& unit_of_row,
                                             const std::vector<std::int64_t>& which, std::int64_t rows_per_unit);

}  // namespace fodp
