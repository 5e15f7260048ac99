#include "fodp/data/row_views.h"

#include <algorithm>

#include "fodp/base/check.h"

namespace fodp {
namespace {

// The second and later words that a lot gives a row: a bijection of its one word (Steele, Lea and Flood 2014, splitmix64).
std::uint64_t further_word(std::uint64_t word, std::uint64_t number) {
  word += number * 0x9E3779B97F4A7C15u;
  word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9u;
  word = (word ^ word >> 27) * 0x94D049BB133111EBu;
  return word ^ word >> 31;
}

// Each of 0 .. count-1 alike, up to count/2^64.
std::int64_t below(std::int64_t count, std::uint64_t word) { return static_cast<std::int64_t>(word % static_cast<std::uint64_t>(count)); }

RowShape repeated(RowShape row, std::int64_t times) {
  if (times > 1) row.shape.insert(row.shape.begin(), times);
  return row;
}

at::Tensor folded(const at::Tensor& rows, std::int64_t times) {
  if (times == 1) return rows;
  std::vector<std::int64_t> shape = rows.sizes().vec();
  shape.insert(shape.begin() + 1, times);
  shape[0] /= times;
  return rows.reshape(shape);
}

}  // namespace

Batch SomeRows::gather(std::span<const std::int64_t> rows) const {
  std::vector<std::int64_t> mapped;
  for (const std::int64_t row : rows) {
    check_input(row >= 0 && row < count(), "row {}: must be in [0, {}]", row, count() - 1);
    mapped.push_back(which_[static_cast<std::size_t>(row)]);
  }
  return all_->gather(mapped);
}

UnitRows::UnitRows(std::shared_ptr<const Rows> all, std::vector<std::int64_t> begin, std::vector<std::int64_t> rows,
                   std::int64_t rows_per_unit)
    : all_(std::move(all)), begin_(std::move(begin)), rows_(std::move(rows)), rows_per_unit_(rows_per_unit) {
  check_input(rows_per_unit >= 1, "rows_per_unit is {}: must be at least 1", rows_per_unit);
  check_input(!begin_.empty() && begin_.front() == 0 && begin_.back() == static_cast<std::int64_t>(rows_.size()),
              "units: the rows of the units are not the rows that there are");
  check_input(std::ranges::adjacent_find(begin_, std::greater_equal()) == begin_.end(), "units: a unit has no rows");
}

std::vector<RowShape> UnitRows::inputs() const {
  std::vector<RowShape> shapes = all_->inputs();
  for (RowShape& shape : shapes) shape = repeated(shape, rows_per_unit_);
  return shapes;
}

Target UnitRows::target() const {
  Target target = all_->target();
  target.row = repeated(target.row, rows_per_unit_);
  return target;
}

Batch UnitRows::gather(std::span<const std::int64_t> units) const {
  return gather_drawn(units, [](std::int64_t) { return std::uint64_t(0); });
}

Batch UnitRows::gather_drawn(std::span<const std::int64_t> units, const RowWords& words) const {
  std::vector<std::int64_t> drawn;
  for (const std::int64_t unit : units) {
    check_input(unit >= 0 && unit < count(), "unit {}: must be in [0, {}]", unit, count() - 1);
    const std::int64_t first = begin_[static_cast<std::size_t>(unit)], rows = begin_[static_cast<std::size_t>(unit) + 1] - first;
    const std::uint64_t word = words(unit);
    for (std::int64_t k = 0; k < rows_per_unit_; ++k)
      drawn.push_back(
          rows_[static_cast<std::size_t>(first + below(rows, k == 0 ? word : further_word(word, static_cast<std::uint64_t>(k))))]);
  }
  const Batch batch = all_->gather(drawn);
  std::vector<at::Tensor> inputs;
  for (const at::Tensor& tensor : batch.inputs) inputs.push_back(folded(tensor, rows_per_unit_));
  return {std::move(inputs), folded(batch.targets, rows_per_unit_)};
}

std::shared_ptr<const UnitRows> rows_by_unit(std::shared_ptr<const Rows> all, const std::vector<std::int64_t>& unit_of_row,
                                             const std::vector<std::int64_t>& which, std::int64_t rows_per_unit) {
  std::int64_t units = 0;
  for (const std::int64_t row : which) units = std::max(units, unit_of_row[static_cast<std::size_t>(row)] + 1);
  std::vector<std::int64_t> size(static_cast<std::size_t>(units), 0), begin = {0}, place(static_cast<std::size_t>(units), 0);
  for (const std::int64_t row : which) ++size[static_cast<std::size_t>(unit_of_row[static_cast<std::size_t>(row)])];
  for (std::size_t unit = 0; unit < size.size(); ++unit) {
    place[unit] = begin.back();
    if (size[unit] > 0) begin.push_back(begin.back() + size[unit]);
  }
  std::vector<std::int64_t> rows(which.size());
  for (const std::int64_t row : which)
    rows[static_cast<std::size_t>(place[static_cast<std::size_t>(unit_of_row[static_cast<std::size_t>(row)])]++)] = row;
  return std::make_shared<UnitRows>(std::move(all), std::move(begin), std::move(rows), rows_per_unit);
}

}  // namespace fodp
