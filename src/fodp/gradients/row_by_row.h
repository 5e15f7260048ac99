// Runs code that the user gave on training rows, some of which may make it throw: a label or a token out of range, a record that cannot be
// read.
//
// Privacy: whether a row throws depends on that row, so ending the run would tell about it. A row that throws counts as an empty slot
// (docs/finite-precision.md). It contributes zero, no message says so, and the other rows give the same bits as beside any other row:
// the batch keeps its shape, with a copy of another row in the empty place. Refusals of privacy (PrivacyError) and faults of the machine
// (FaultError) end the run.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "fodp/data/rows.h"
#include "fodp/gradients/user_code.h"

namespace fodp {

// What a function gave for a batch of training rows.
template <class Result>
struct OfRows {
  std::optional<Result> result;      // nothing if every row threw
  std::vector<std::int64_t> thrown;  // the places, ascending, of the rows that threw; there the result is of a copy of another row
};

// For use inside a catch block: throws the exception on if it is a PrivacyError or a FaultError, which no row is to blame for.
void pass_on_refusals();

// These rows. PrivacyError if there is another number of them.
Batch fetched(const Gather& gather, std::span<const std::int64_t> rows);

Batch copy_of(const Batch& batch);

// Batches of one row each as one batch. Where there is none, it has a copy of the first that there is.
Batch joined(std::span<const std::optional<Batch>> rows);

// f(batch) of these rows. If that throws, each row is tried by itself, and f runs once more with the rows that threw replaced. A
// UserCodeError is thrown only if f throws for rows together that it takes one by one. `doing` completes "failed while ...".
template <class F>
auto of_training_rows(const char* doing, const Gather& gather, std::span<const std::int64_t> rows, const F& f)
    -> OfRows<std::invoke_result_t<F, const Batch&>> {
  try {
    return {f(fetched(gather, rows)), {}};
  } catch (...) {
    pass_on_refusals();
  }
  std::vector<std::optional<Batch>> alone(rows.size());
  std::vector<std::int64_t> thrown;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    try {
      const Batch one = fetched(gather, rows.subspan(i, 1));
      f(copy_of(one));  // f may write to its rows
      alone[i] = one;
    } catch (...) {
      pass_on_refusals();
      thrown.push_back(static_cast<std::int64_t>(i));
    }
  }
  if (thrown.size() == rows.size()) return {{}, std::move(thrown)};
  return {in_user_code_on_training_rows(doing, Batch{}, [&] { return f(joined(alone)); }), std::move(thrown)};
}

}  // namespace fodp
