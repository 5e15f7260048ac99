#include "fodp/gradients/row_format.h"

#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand_like.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fodp/base/check.h"

namespace fodp {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

using Chosen = std::span<const std::int64_t>;

Batch numbers(Chosen rows) {
  at::Tensor values = at::zeros({std::ssize(rows)}, at::kLong);
  for (std::size_t i = 0; i < rows.size(); ++i) values[static_cast<std::int64_t>(i)] = rows[i];
  return {values.to(at::kFloat).view({-1, 1}).expand({-1, 5}).contiguous(), values};
}

template <class F>
std::string refusal(const F& f) {
  try {
    f();
  } catch (const PrivacyError& error) {
    return error.what();
  }
  return "not refused";
}

TEST(RowFormat, BatchesOfOtherShapesTypesOrNumbersAreRefusedWithoutASize) {
  const RowFormat format({{at::ones({1, 37}), at::ones({1, 2}, at::kLong)}, at::ones({1}, at::kLong)});
  const at::Tensor x = at::ones({61, 37}), ids = at::ones({61, 2}, at::kLong), y = at::ones({61}, at::kLong);
  EXPECT_NO_THROW(format.check({{x, ids}, y}, 61));
  const auto says = [](const char* what) {
    return AllOf(HasSubstr(what), Not(HasSubstr("61")), Not(HasSubstr("60")), Not(HasSubstr("37")), Not(HasSubstr("41")));
  };
  for (const Batch& other : {Batch{{at::ones({61, 41}), ids}, y}, Batch{{x.to(at::kDouble), ids}, y}, Batch{x, y}, Batch{{x, ids, ids}, y},
                             Batch{{x, ids}, at::Tensor()}, Batch{{x, ids}, y.to(at::kInt)}, Batch{{x, ids}, at::ones({61, 1}, at::kLong)}})
    EXPECT_THAT(refusal([&] { format.check(other, 61); }), says("fixed, public length"));
  for (const Batch& other : {Batch{{x.slice(0, 1), ids}, y}, Batch{{x, ids.slice(0, 1)}, y}, Batch{{x, ids}, y.slice(0, 1)},
                             Batch{{x, at::Tensor()}, y}, Batch{{at::ones({}), ids}, y}})
    EXPECT_THAT(refusal([&] { format.check(other, 61); }), says("number of rows"));
  EXPECT_THAT(refusal([&] { format.check({{x, ids}, y}, 60); }), says("number of rows"));
}

TEST(RowFormat, EveryBatchOfACheckedGatherIsChecked) {
  const std::vector<std::int64_t> row{0}, rows{1, 2};
  const Gather gather = [](Chosen chosen) {
    Batch batch = numbers(chosen);
    return chosen.size() == 2 ? Batch{at::cat({batch.inputs[0], batch.inputs[0]}, 1), batch.targets} : batch;
  };
  const Gather checked = checked_gather(gather, RowFormat(gather(row)));
  EXPECT_NO_THROW(checked(row));
  EXPECT_THROW(checked(rows), PrivacyError);
}

TEST(RowsFetchedAlone, SoundFunctionsPass) {
  for (const std::int64_t count : {1, 2, 3, 15, 16, 17, 31, 1000}) {
    std::set<std::int64_t> seen;
    std::size_t fetched = 0;
    check_rows_are_fetched_alone(
        [&](Chosen rows) {
          seen.insert(rows.begin(), rows.end());
          fetched += rows.size();
          return numbers(rows);
        },
        count, false);
    EXPECT_EQ(static_cast<std::int64_t>(seen.size()), std::min<std::int64_t>(count, 16));
    EXPECT_EQ(*seen.begin(), 0);
    EXPECT_EQ(*seen.rbegin(), count - 1);
    EXPECT_LE(fetched, 48u);
  }
  EXPECT_NO_THROW(check_rows_are_fetched_alone(
      [](Chosen rows) {
        return Batch{at::full({std::ssize(rows), 2}, NAN), at::Tensor()};
      },
      9, false));
}

// What depends on the other rows: their mean, their order, whether there are any, in inputs or targets.
TEST(RowsFetchedAlone, RowsThatDependOnOthersAreRefused) {
  const std::vector<std::function<Batch(Batch)>> faults = {
      [](Batch batch) {
        return Batch{batch.inputs[0] - batch.inputs[0].mean(0), batch.targets};
      },
      [](Batch batch) {
        return Batch{batch.inputs[0].flip(0), batch.targets};
      },
      [](Batch batch) {
        return Batch{batch.inputs, batch.targets - batch.targets.min()};
      },
      [](Batch batch) {
        return Batch{at::arange(batch.inputs.rows()).view({-1, 1}), batch.targets};
      },
      [](Batch batch) {
        return Batch{{batch.inputs[0], batch.inputs[0] / batch.inputs[0].max()}, batch.targets};
      },
  };
  for (const auto& fault : faults)
    EXPECT_THAT(refusal([&] { check_rows_are_fetched_alone([&](Chosen rows) { return fault(numbers(rows)); }, 40, false); }),
                AllOf(HasSubstr("its own record only"), HasSubstr("random_rows")));
}

TEST(RowsFetchedAlone, RandomRowsAreDeclared) {
  const Gather random = [](Chosen rows) {
    const Batch batch = numbers(rows);
    return Batch{batch.inputs[0] + at::rand_like(batch.inputs[0]), batch.targets};
  };
  EXPECT_THROW(check_rows_are_fetched_alone(random, 40, false), PrivacyError);
  EXPECT_NO_THROW(check_rows_are_fetched_alone(random, 40, true));
}

TEST(RowsFetchedAlone, RowsThatThrowArePassedOver) {
  const auto throwing = [](Chosen rows) {
    for (std::int64_t row : rows)
      if (row == 39) throw std::runtime_error("no such record");
    return numbers(rows);
  };
  EXPECT_NO_THROW(check_rows_are_fetched_alone(throwing, 40, false));
  EXPECT_THROW(check_rows_are_fetched_alone(
                   [&](Chosen rows) {
                     const Batch batch = throwing(rows);
                     return Batch{batch.inputs[0] - batch.inputs[0].mean(0), batch.targets};
                   },
                   40, false),
               PrivacyError);
}

// How often each (row's contents, group) comes, which is all that a run sees of the groups.
std::map<std::pair<std::int64_t, int>, int> pairs_of(const std::vector<std::int64_t>& contents, bool alike_is_equal) {
  const Gather gather = [&](Chosen rows) {
    std::vector<std::int64_t> values;
    for (const std::int64_t row : rows) values.push_back(contents[row]);
    return numbers(values);
  };
  const std::vector<std::uint16_t> groups = groups_by_contents(gather, std::ssize(contents), 5, alike_is_equal);
  std::map<std::pair<std::int64_t, int>, int> out;
  for (std::size_t i = 0; i < contents.size(); ++i) ++out[{contents[i], groups[i]}];
  return out;
}

TEST(GroupsByContents, OfOtherRowsDoNotChangeIfOneLeaves) {
  std::vector<std::int64_t> contents;
  for (std::int64_t i = 0; i < 600; ++i) contents.push_back(i % 400 < 300 ? i : 7);  // some are alike
  for (const bool alike_is_equal : {true, false}) {
    const auto whole = pairs_of(contents, alike_is_equal);
    for (const std::int64_t leaving : {0, 7, 250, 301, 599}) {
      auto rest = contents;
      rest.erase(rest.begin() + leaving);
      auto changed = whole;
      for (const auto& [pair, times] : pairs_of(rest, alike_is_equal)) changed[pair] -= times;
      std::erase_if(changed, [](const auto& item) { return item.second == 0; });
      ASSERT_EQ(changed.size(), 1u) << leaving;
      EXPECT_EQ(changed.begin()->second, 1);
      EXPECT_EQ(changed.begin()->first.first, contents[leaving]);
    }
  }
}

TEST(GroupsByContents, AreAboutAsLargeAsEachOtherWhereRowsDifferOrAreEqual) {
  for (const std::vector<std::int64_t>& contents : {std::vector<std::int64_t>(1000, 3), [] {
                                                      std::vector<std::int64_t> all(1000);
                                                      std::iota(all.begin(), all.end(), 0);
                                                      return all;
                                                    }()}) {
    std::map<int, int> sizes;
    for (const auto& [pair, times] : pairs_of(contents, true)) sizes[pair.second] += times;
    ASSERT_EQ(sizes.size(), 5u);
    for (const auto& [group, size] : sizes) EXPECT_NEAR(size, 200, 65) << group;  // the hash is fixed: no chance
  }
}

// A row that cannot be fetched has a group, too, and does not move the others.
TEST(GroupsByContents, AreThereForRowsThatCannotBeFetched) {
  const Gather gather = [](Chosen rows) {
    if (std::ranges::find(rows, 5) != rows.end()) throw InputError("row 5");
    return numbers(rows);
  };
  const auto some = groups_by_contents(gather, 20, 4, true), all = groups_by_contents(numbers, 20, 4, true);
  for (std::size_t i = 0; i < 20; ++i) {
    if (i != 5) {
      EXPECT_EQ(some[i], all[i]) << i;
    }
  }
  EXPECT_LT(some[5], 4);
}

}  // namespace
}  // namespace fodp
