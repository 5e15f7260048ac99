#include "fodp/gradients/row_format.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>

#include <ATen/TensorOperators.h>

#include "fodp/base/check.h"
#include "fodp/gradients/row_by_row.h"

namespace fodp {
namespace {

constexpr std::int64_t kRowsLookedAt = 16;

bool has_rows(const at::Tensor& tensor, std::int64_t rows) { return tensor.defined() && tensor.dim() >= 1 && tensor.size(0) == rows; }

bool all_have_rows(const Batch& batch, std::int64_t rows) {
  return std::ranges::all_of(batch.inputs, [&](const at::Tensor& tensor) { return has_rows(tensor, rows); }) &&
         (!batch.targets.defined() || has_rows(batch.targets, rows));
}

std::optional<RowShape> target_shape(const Batch& batch) {
  return batch.targets.defined() ? std::optional(Tensors(batch.targets).row_shapes()[0]) : std::nullopt;
}

void check_number_of_rows(const Batch& batch, std::int64_t rows) {
  check_privacy(all_have_rows(batch, rows),
                "the function that fetches rows gives another number of rows than it is asked for: each of its tensors must have the rows, "
                "and no others, in its first dimension");
}

std::vector<std::int64_t> rows_to_look_at(std::int64_t count) {
  const std::int64_t chosen = std::min(count, kRowsLookedAt);
  std::vector<std::int64_t> rows(chosen, 0);
  for (std::int64_t k = 1; k < chosen; ++k) rows[k] = (count - 1) / (chosen - 1) * k + (count - 1) % (chosen - 1) * k / (chosen - 1);
  return rows;
}

bool same(const at::Tensor& a, const at::Tensor& b) {
  return a.eq(b).logical_or(a.ne(a).logical_and(b.ne(b))).all().item<bool>();  // only NaN is unlike itself
}

// Whether row `place` of a batch is the row of a batch of one.
bool same_row(const Batch& together, std::int64_t place, const Batch& alone) {
  for (std::size_t k = 0; k < alone.inputs.size(); ++k)
    if (!same(together.inputs[k][place], alone.inputs[k][0])) return false;
  return !alone.targets.defined() || same(together.targets[place], alone.targets[0]);
}

std::optional<Batch> fetch(const Gather& gather, std::span<const std::int64_t> rows) {
  return of_training_rows("fetching training rows", gather, rows, [](const Batch& batch) { return batch; }).result;
}

}  // namespace

RowFormat::RowFormat(const Batch& row) {
  check_number_of_rows(row, 1);
  inputs_ = row.inputs.row_shapes();
  targets_ = target_shape(row);
}

bool RowFormat::fits(const Batch& batch) const {
  return batch.inputs.size() > 0 && all_have_rows(batch, batch.inputs.rows()) && batch.inputs.row_shapes() == inputs_ &&
         target_shape(batch) == targets_;
}

void RowFormat::check(const Batch& batch, std::int64_t rows) const {
  check_number_of_rows(batch, rows);
  check_privacy(fits(batch),
                "the function that fetches rows gives a batch of other shapes or types than row 0 alone has: all rows must have one shape, "
                "or one row could change what the others give; pad each row to a fixed, public length and cut what is longer, and never "
                "pad to the longest row of a batch");
}

Gather silent_gather(Gather gather) {
  return [gather = std::move(gather)](std::span<const std::int64_t> rows) {
    try {
      return gather(rows);
    } catch (...) {
      throw InputError("the function that fetches rows failed");
    }
  };
}

Gather checked_gather(Gather gather, RowFormat format) {
  return [gather = std::move(gather), format = std::move(format)](std::span<const std::int64_t> rows) {
    Batch batch = gather(rows);
    format.check(batch, static_cast<std::int64_t>(rows.size()));
    return batch;
  };
}

void check_rows_are_fetched_alone(const Gather& gather, std::int64_t count, bool random_rows) {
  std::vector<std::int64_t> rows;
  std::vector<Batch> alone;
  for (const std::int64_t row : rows_to_look_at(count))
    if (std::optional<Batch> one = fetch(gather, {&row, 1})) {
      rows.push_back(row);
      alone.push_back(std::move(*one));
    }
  // All of them together, then every other one: each row is seen in two companies.
  for (const auto& [first, step] : {std::pair<std::size_t, std::size_t>{0, 1}, {0, 2}, {1, 2}}) {
    std::vector<std::int64_t> company;
    for (std::size_t i = first; i < rows.size(); i += step) company.push_back(rows[i]);
    if (company.empty()) continue;
    const std::optional<Batch> together = fetch(gather, company);
    for (std::size_t place = 0; together && !random_rows && place < company.size(); ++place)
      check_privacy(same_row(*together, static_cast<std::int64_t>(place), alone[first + place * step]),
                    "the function that fetches rows gives other values for a row together with others than for that row alone, so that one "
                    "row could change what the others give; compute each row from its own record only, without the batch's longest row, "
                    "mean or order; if each row is changed at random by itself, as for augmentation, declare it with "
                    "TrainingRows::random_rows");
  }
}

Sha256::Digest hash_of_some_rows(const Gather& gather, std::int64_t count) {
  Sha256 hash;
  const auto add = [&](const at::Tensor& tensor) {
    const at::Tensor values = tensor.contiguous();
    hash.add(values.data_ptr(), values.nbytes());
  };
  if (const std::optional<Batch> batch = fetch(gather, rows_to_look_at(count))) {
    for (const at::Tensor& inputs : batch->inputs) add(inputs);
    if (batch->targets.defined()) add(batch->targets);
  }
  return hash.digest();
}

namespace {

void add_row(Sha256& hash, const at::Tensor& tensor, std::int64_t row) {
  const at::Tensor values = tensor[row].contiguous();
  hash.add(values.data_ptr(), values.nbytes());
}

// Of each row; that of a row that cannot be fetched is the hash of nothing.
void add_digests(const Gather& gather, const std::vector<std::int64_t>& rows, std::vector<Sha256::Digest>& digests) {
  const std::optional<Batch> batch = fetch(gather, rows);
  if (!batch && rows.size() > 1) {
    for (const std::int64_t row : rows) add_digests(gather, {row}, digests);
    return;
  }
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(rows.size()); ++i) {
    Sha256 hash;
    for (std::size_t k = 0; batch && k < batch->inputs.size(); ++k) add_row(hash, batch->inputs[k], i);
    if (batch && batch->targets.defined()) add_row(hash, batch->targets, i);
    digests.push_back(hash.digest());
  }
}

}  // namespace

std::vector<std::uint16_t> groups_by_contents(const Gather& gather, std::int64_t count, std::int64_t groups, bool alike_is_equal) {
  constexpr std::int64_t kAtOnce = 128;
  std::vector<Sha256::Digest> digests;
  for (std::int64_t begin = 0; begin < count; begin += kAtOnce) {
    std::vector<std::int64_t> rows(static_cast<std::size_t>(std::min(kAtOnce, count - begin)));
    std::iota(rows.begin(), rows.end(), begin);
    add_digests(gather, rows, digests);
  }
  std::map<Sha256::Digest, std::uint64_t> seen;
  std::vector<std::uint16_t> out;
  for (const Sha256::Digest& digest : digests) {
    const std::uint64_t number = alike_is_equal ? seen[digest]++ : 0;
    Sha256 hash;
    hash.add(digest.data(), digest.size());
    hash.add(&number, sizeof number);
    std::uint64_t word;
    std::memcpy(&word, hash.digest().data(), sizeof word);
    out.push_back(static_cast<std::uint16_t>(word % static_cast<std::uint64_t>(groups)));
  }
  return out;
}

}  // namespace fodp
