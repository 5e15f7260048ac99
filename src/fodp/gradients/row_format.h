// Checks of the function that fetches rows. Clipping bounds what one row adds to a sum, which is worth nothing if what is fetched for a row
// depends on the rows beside it: a batch padded to its longest row, or standardised, lets one row change what all others give.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "fodp/base/sha256.h"
#include "fodp/data/rows.h"

namespace fodp {

// The shapes and types of one row's inputs and targets. They are public and the same for every row.
class RowFormat {
 public:
  // The format of a batch of one row. PrivacyError if it has another number of rows.
  explicit RowFormat(const Batch& row);

  // Whether each tensor of the batch has the rows in its first dimension, and these shapes and types behind it.
  bool fits(const Batch& batch) const;

  // PrivacyError unless the batch fits and has so many rows. The message names no size and no row.
  void check(const Batch& batch, std::int64_t rows) const;

 private:
  std::vector<RowShape> inputs_;
  std::optional<RowShape> targets_;
};

// A function that fetches the same rows. Whatever the given one throws, a PrivacyError included, becomes an InputError without its text,
// which may be about a row: rows that cannot be fetched then count as such (row_by_row.h), and no refusal of ours can be imitated.
Gather silent_gather(Gather gather);

// A function that fetches the same rows and checks the format of every batch.
Gather checked_gather(Gather gather, RowFormat format);

// Fetches some rows one by one and together, and throws a PrivacyError if any of them has other values together: bit for bit, except that
// NaN equals NaN. It looks at 16 rows at most, which lie evenly between the first and the last, so that their choice tells nothing. What
// depends on other rows only beyond these 16 is not found. Rows that the function throws for are passed over (row_by_row.h). With
// `random_rows` rows are fetched, but not compared.
void check_rows_are_fetched_alone(const Gather& gather, std::int64_t count, bool random_rows);

// A hash of what is fetched for the same 16 rows at most, together. It tells whether their numbers still stand for the same records, and is
// as secret as the rows.
Sha256::Digest hash_of_some_rows(const Gather& gather, std::int64_t count);

// One of so many groups for each row, by what is fetched for it and by nothing else: a row that joins or leaves moves no other row to
// another group. Of rows that are alike, the first, the second and so on have groups of their own (`alike_is_equal`; which of them leaves
// then makes no difference); where rows may differ in what is not fetched, as units do, all that are alike have one group.
std::vector<std::uint16_t> groups_by_contents(const Gather& gather, std::int64_t count, std::int64_t groups, bool alike_is_equal);

}  // namespace fodp
