#include "fodp/data/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <type_traits>

#include <gtest/gtest.h>

#include "fodp/base/check.h"
#include "lot_rows.h"

namespace fodp {
namespace {

// Which rows were drawn, and how many, is secret.
template <class T>
concept TellsItsRows = requires(const T& lot) {
  lot.blocks();
};
static_assert(!TellsItsRows<Lot>);

// A rate is what the sampler drew at, not what somebody says.
template <class T>
concept TakesARate = requires(T draw) {
  draw.sample_rate = .1;
};
static_assert(!TakesARate<Draw> && !std::is_constructible_v<Draw, double> && !std::is_constructible_v<Draw, DrawTerms, std::uint64_t>);

const std::vector<std::vector<std::int64_t>>& blocks_of(const Lot& lot) { return testing::LotRows::blocks(lot); }

// A sampler and the rate it is asked for.
class Source {
 public:
  Source(std::int64_t records, double rate, std::int64_t block_rows, std::uint64_t seed)
      : rate_(rate), sampler_(records, block_rows, [&] {
          const RunKey key = RunKey::from_insecure_seed(seed);
          return RandomStream(key, Purpose::sampling);
        }()) {}

  Lot draw(std::uint64_t number) { return sampler_.draw(number, {.sample_rate = rate_}); }
  Lot draw(std::uint64_t number, const LotTerms& terms) { return sampler_.draw(number, terms); }

 private:
  double rate_;
  PoissonSampler sampler_;
};

Source sampler(std::int64_t records, double rate, std::int64_t block_rows, std::uint64_t seed = 1) {
  return Source(records, rate, block_rows, seed);
}

std::vector<std::int64_t> rows_of(const Lot& lot) {
  std::vector<std::int64_t> rows;
  for (const auto& block : blocks_of(lot)) rows.insert(rows.end(), block.begin(), block.end());
  return rows;
}

TEST(Poisson, RateOneTakesEveryRecordOnceInFullBlocks) {
  const Lot lot = sampler(300, 1, 128).draw(0);
  ASSERT_EQ(blocks_of(lot).size(), 3u);
  EXPECT_EQ(blocks_of(lot)[2].size(), 300u - 256u);
  const auto rows = rows_of(lot);
  for (std::int64_t i = 0; i < 300; ++i) EXPECT_EQ(rows[i], i);
}

TEST(Poisson, RowsAreDistinctAscendingAndBlocksKeepTheirLimit) {
  for (std::int64_t block_rows : {1, 7, 128})
    for (double rate : {.001, .04, .5, .97}) {
      Source source = sampler(5000, rate, block_rows);
      for (std::uint64_t t = 0; t < 20; ++t) {
        const Lot lot = source.draw(t);
        const auto rows = rows_of(lot);
        EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end()));
        EXPECT_EQ(std::set(rows.begin(), rows.end()).size(), rows.size());
        for (const auto& block : blocks_of(lot)) {
          EXPECT_LE(static_cast<std::int64_t>(block.size()), block_rows);
          EXPECT_FALSE(block.empty());
        }
      }
    }
}

// 1e7 draws: the count is within 5 standard deviations (a false alarm in 2e6), and 3/2 or 2/3 of the rate would not be.
TEST(Poisson, EachRecordHasItsRate) {
  for (double rate : {.0171, .3}) {
    Source source = sampler(10000, rate, 128);
    double count = 0;
    for (std::uint64_t t = 0; t < 1000; ++t) count += static_cast<double>(rows_of(source.draw(t)).size());
    EXPECT_NEAR(count, 1e7 * rate, 5 * std::sqrt(1e7 * rate * (1 - rate)));
  }
}

// Pairs of records, and a record in consecutive lots, meet as often as independence says (5 standard deviations).
TEST(Poisson, RecordsAndLotsAreIndependent) {
  constexpr int kLots = 20000;
  const double q = .3;
  Source source = sampler(4, q, 128);
  int together = 0, again = 0;
  bool before = false;
  for (std::uint64_t t = 0; t < kLots; ++t) {
    const auto rows = rows_of(source.draw(t));
    const bool first = std::count(rows.begin(), rows.end(), 0), second = std::count(rows.begin(), rows.end(), 1);
    together += first && second;
    again += first && before;
    before = first;
  }
  const double expected = kLots * q * q, deviation = std::sqrt(kLots * q * q * (1 - q * q));
  EXPECT_NEAR(together, expected, 5 * deviation);
  EXPECT_NEAR(again, expected, 7 * deviation);  // neighbouring pairs overlap
}

TEST(Poisson, EmptyLotsHappen) {
  Source source = sampler(3, .1, 128);
  int empty = 0;
  for (std::uint64_t t = 0; t < 200; ++t) empty += blocks_of(source.draw(t)).empty();
  EXPECT_GT(empty, 100);  // expected 146
  EXPECT_LT(empty, 190);
}

TEST(Poisson, BlocksDoNotChangeWhoIsSampled) {
  for (std::uint64_t t = 0; t < 5; ++t) EXPECT_EQ(rows_of(sampler(20000, .1, 128).draw(t)), rows_of(sampler(20000, .1, 7).draw(t)));
}

TEST(Poisson, TheSameKeyAndNumberGiveTheSameLot) {
  EXPECT_EQ(rows_of(sampler(1000, .2, 128).draw(5)), rows_of(sampler(1000, .2, 128).draw(5)));
  EXPECT_NE(rows_of(sampler(1000, .2, 128).draw(5)), rows_of(sampler(1000, .2, 128).draw(6)));
  EXPECT_NE(rows_of(sampler(1000, .2, 128, 1).draw(5)), rows_of(sampler(1000, .2, 128, 2).draw(5)));
}

// A lot that is drawn again has the same rows. Charged as two independent ones, the two would cost too little.
TEST(Poisson, ANumberIsDrawnOnce) {
  Source source = sampler(1000, .2, 128);
  source.draw(5);
  for (const std::uint64_t number : {5, 4, 0}) EXPECT_THROW(source.draw(number), PrivacyError) << number;
  EXPECT_NO_THROW(source.draw(6));
  EXPECT_NO_THROW(source.draw(std::numeric_limits<std::uint64_t>::max()));
  EXPECT_THROW(source.draw(7), PrivacyError);
}

TEST(Poisson, ADrawThatIsBadInputTakesNoNumber) {
  Source source = sampler(1000, .2, 128);
  EXPECT_THROW(source.draw(5, {.sample_rate = 2}), InputError);
  EXPECT_NO_THROW(source.draw(5));
}

TEST(Poisson, ASecondSamplerOfOneKeyIsRefused) {
  const RunKey key = RunKey::from_system();
  const PoissonSampler first(10, 128, RandomStream(key, Purpose::sampling));
  EXPECT_THROW(PoissonSampler(10, 128, RandomStream(key, Purpose::sampling)), PrivacyError);
  EXPECT_THROW(PoissonSampler(10, 128, RandomStream(key, Purpose::noise)), PrivacyError) << "its bits are of another purpose";
}

TEST(Draw, IsOfItsSamplerAndOfNobodyElse) {
  const Lot one = sampler(10, .5, 128).draw(0), other = sampler(10, .5, 128).draw(0);
  EXPECT_NE(one.draw().source(), 0u);
  EXPECT_NE(one.draw().source(), other.draw().source());
  EXPECT_EQ(Draw::vouching_that_rows_were_drawn_so({.sample_rate = .5}).source(), 0u);
  EXPECT_EQ(Draw().sample_rate(), 1) << "nothing is cheaper for want of a word";
}

TEST(Poisson, BlocksAreRangesOfSlots) {
  Source source = sampler(5000, .1, 32);
  const Lot lot = source.draw(3);
  std::vector<std::pair<std::int64_t, std::int64_t>> spans;
  for (const auto& block : blocks_of(lot)) spans.emplace_back(block.front(), block.back());
  for (std::size_t i = 1; i < spans.size(); ++i) EXPECT_LT(spans[i - 1].second, spans[i].first);
}

TEST(Poisson, BadOptionsAreRefused) {
  EXPECT_THROW(sampler(0, .1, 128), InputError);
  EXPECT_THROW(sampler(10, 0, 128).draw(0), InputError);
  EXPECT_THROW(sampler(10, 1.1, 128).draw(0), InputError);
  EXPECT_THROW(sampler(10, std::nan(""), 128).draw(0), InputError);
  EXPECT_THROW(sampler(10, .1, 0), InputError);
}

TEST(Poisson, TinyRatesWork) { EXPECT_TRUE(blocks_of(sampler(100, 1e-18, 128).draw(0)).empty()); }

TEST(Poisson, ALotGivesAsManySumsAsItWasDrawnFor) {
  Source source = sampler(10, .5, 128);
  const Lot one = source.draw(0), two = source.draw(1, {.sample_rate = .5, .queries = 2});
  one.take_sum();
  EXPECT_THROW(one.take_sum(), PrivacyError);
  two.take_sum();
  two.take_sum();
  EXPECT_THROW(two.take_sum(), PrivacyError);
  EXPECT_NE(one.draw().ticket(), two.draw().ticket());
}

TEST(Poisson, ALotIsChargedForAtLeastTheRateItIsDrawnAt) {
  Source source = sampler(10, .5, 128);
  EXPECT_EQ(source.draw(0, {.sample_rate = .2, .charged_rate = .5}).draw().sample_rate(), .5);
  EXPECT_EQ(source.draw(1, {.sample_rate = .2}).draw().sample_rate(), .2);
  EXPECT_THROW(source.draw(2, {.sample_rate = .5, .charged_rate = .2}), PrivacyError);
}

// Cyclic sampling by groups of any kind.
TEST(Poisson, GivenGroupsTakeTurns) {
  std::vector<std::uint16_t> groups;
  for (std::uint32_t slot = 0; slot < 1000; ++slot) groups.push_back(static_cast<std::uint16_t>(slot * 2654435761u >> 16) % 3);
  Source source = sampler(1000, .6, 128);
  for (std::uint64_t turn = 0; turn < 9; ++turn) {
    const auto rows = rows_of(source.draw(turn, {.sample_rate = .6, .cycle = 3, .turn = turn, .groups = groups}));
    for (std::int64_t row : rows) EXPECT_EQ(groups[row], turn % 3);
    EXPECT_NEAR(rows.size(), 200, 50);  // 5 standard deviations
  }
  groups.pop_back();
  EXPECT_THROW(source.draw(99, {.sample_rate = .6, .cycle = 3, .turn = 0, .groups = groups}), InputError);
}

// Cyclic sampling: without groups these are the slots modulo b, take turns, and lots of one turn of all groups have one ticket.
TEST(Poisson, GroupsOfSlotsTakeTurns) {
  Source source = sampler(1000, .6, 128);
  for (std::uint64_t turn = 0; turn < 9; ++turn) {
    const Lot lot = source.draw(turn, {.sample_rate = .6, .cycle = 3, .turn = turn});
    const auto rows = rows_of(lot);
    for (std::int64_t row : rows) EXPECT_EQ(row % 3, static_cast<std::int64_t>(turn % 3));
    EXPECT_NEAR(rows.size(), 200, 45);  // 5 standard deviations
    EXPECT_EQ(lot.draw().ticket(), turn / 3);
    EXPECT_EQ(lot.draw().cycle(), 3);
  }
  EXPECT_EQ(rows_of(source.draw(99, {.sample_rate = 1, .cycle = 3, .turn = 1})).size(), 333u);
}

}  // namespace
}  // namespace fodp
