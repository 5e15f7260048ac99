#include "fodp/mechanism/mechanism.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "fodp/base/check.h"
#include "fodp/mechanism/fractional.h"
#include "fodp/mechanism/gaussian.h"
#include "fodp/noise/lattice.h"
#include "known_sum.h"
#include "mechanism/bench.h"

namespace fodp {
namespace {

using namespace fodp::testing;

template <class T>
concept CanMakeRelease = requires(std::shared_ptr<const std::vector<float>> values) {
  T(values, 0);
};
static_assert(!CanMakeRelease<Release> && !std::is_default_constructible_v<Release>);

RandomStream test_stream() {
  const RunKey key = RunKey::from_insecure_seed(9);
  return RandomStream(key, Purpose::noise);
}

TEST(Mechanism, EventsAreWhatTheMethodsPageSays) {
  const GaussianMechanism plain(1.1);
  EXPECT_EQ(plain.event(.04, 0), Event::poisson_gaussian(.04, 1.1));
  EXPECT_EQ(plain.event(1, 0), Event::gaussian(1.1));
  const FractionalMechanism memory(1.1, resolve({.beta = .9}, 1, 1));
  EXPECT_EQ(memory.event(.04, .001), Event::poisson_gaussian(.04, 1.1 / .9, .001));
  const FractionalMechanism current(1.1, resolve({.kernel = Kernel::current}, 1, 1));
  EXPECT_EQ(current.event(.04, 0), Event::poisson_gaussian(.04, 1.1));
}

TEST(Mechanism, AChargeForLessIsRefused) {
  KnownSum known(4);
  const RandomStream stream = test_stream();
  GaussianMechanism mechanism(1);
  const double slack = known.of({}).slack();
  for (const Event& cheap :
       {Event::poisson_gaussian(.5, 1.01, slack), Event::poisson_gaussian(.49, 1, slack), Event::poisson_gaussian(.5, 1, 0)}) {
    Ledger ledger;
    EXPECT_THROW(mechanism.release(known.of({{1, 0, 0, 0}}, .5), ledger.charge(cheap), stream), PrivacyError);
  }
  Ledger ledger;
  EXPECT_NO_THROW(mechanism.release(known.of({{1, 0, 0, 0}}, .5), ledger.charge(Event::poisson_gaussian(.5, 1, slack)), stream));
}

TEST(Mechanism, AChargeIsSpentOnce) {
  KnownSum known(4);
  const RandomStream stream = test_stream();
  GaussianMechanism mechanism(1);
  Ledger ledger;
  Charge charge = ledger.charge(mechanism.event(known.of({})));
  charge.spend();
  EXPECT_THROW(mechanism.release(known.of({}), std::move(charge), stream), PrivacyError);
}

TEST(Mechanism, TwoReleasesNeverShareNoise) {
  constexpr std::int64_t kSize = 20000;
  KnownSum known(kSize);
  const RandomStream stream = test_stream();
  GaussianMechanism mechanism(1);
  Ledger ledger;
  const auto release = [&] {
    ClippedSum sum = known.of({});
    Charge charge = ledger.charge(mechanism.event(sum));
    return mechanism.release(std::move(sum), std::move(charge), stream);
  };
  const Release first = release(), second = release();
  EXPECT_NE(first.number(), second.number());
  double product = 0;
  for (std::int64_t i = 0; i < kSize; ++i) product += double(first.values()[i]) * second.values()[i];
  EXPECT_LT(std::abs(product), 5 * std::sqrt(double(kSize)));  // a false alarm in 2e6
}

// Two ledgers number their releases alike. On one key they would noise two sums alike, and the difference of the releases would be that of
// the sums, in the clear.
TEST(Mechanism, TwoLedgersOnOneKeyAreRefused) {
  KnownSum known(4);
  const RunKey key = RunKey::from_system();
  const RandomStream stream(key, Purpose::noise), twin(key, Purpose::noise);
  GaussianMechanism mechanism(1), another(1);
  Ledger first, second;
  const Event event = mechanism.event(known.of({}));
  mechanism.release(known.of({{1, 0, 0, 0}}), first.charge(event), stream);
  Charge charge = second.charge(event);
  for (const RandomStream* same : {&stream, &twin}) {
    EXPECT_THROW(mechanism.release(known.of({}), charge, *same), PrivacyError);
    EXPECT_THROW(another.release(known.of({}), charge, *same), PrivacyError);
  }
  EXPECT_FALSE(charge.used_up());
  EXPECT_NO_THROW(another.release(known.of({}), first.charge(event), twin)) << "one ledger may serve several mechanisms and streams";
  const RandomStream own(RunKey::from_system(), Purpose::noise);
  EXPECT_NO_THROW(mechanism.release(known.of({}), charge, own));
}

// A caller may run ranges of blocks itself, in any order: the release is the same, bit for bit.
TEST(Opening, RangesOfBlocksMakeTheWholeRelease) {
  constexpr std::int64_t kSize = 3 * kNoiseBlock + 5;
  KnownSum known(kSize);
  const RandomStream same = test_stream(), stream = test_stream();
  GaussianMechanism whole(1), ranges(1);
  Ledger one, other;
  const Release expected = whole.release(known.of({}), one.charge(whole.event(known.of({}))), same);
  Charge charge = other.charge(ranges.event(known.of({})));
  Mechanism::Opening opening = ranges.open(known.of({}), charge, stream);
  ASSERT_EQ(opening.blocks(), 4);
  opening.run(2, 4);
  EXPECT_THROW(opening.close(), PrivacyError) << "blocks 0 and 1 were not run";
  EXPECT_THROW(opening.run(3, 4), PrivacyError) << "its noise would be used twice";
  EXPECT_THROW(opening.run(0, 5), InputError);
  opening.run(0, 2);
  const Release release = opening.close();
  EXPECT_TRUE(std::ranges::equal(release.values(), expected.values()));
  EXPECT_THROW(opening.close(), PrivacyError);
  EXPECT_THROW(opening.run(0, 1), PrivacyError);
}

TEST(Opening, OneAtATime) {
  KnownSum known(4);
  const RandomStream stream = test_stream();
  GaussianMechanism mechanism(1);
  Ledger ledger;
  Charge first = ledger.charge(mechanism.event(known.of({}))), second = ledger.charge(mechanism.event(known.of({})));
  {
    Mechanism::Opening opening = mechanism.open(known.of({}), first, stream);
    EXPECT_THROW(mechanism.open(known.of({}), second, stream), PrivacyError);
  }
  EXPECT_NO_THROW(mechanism.release(known.of({}), std::move(second), stream)) << "the first was given up, and what it cost is spent";
}

TEST(Mechanism, AnEmptyLotIsNoisedToo) {
  KnownSum known(1000);
  const RandomStream stream = test_stream();
  GaussianMechanism mechanism(2);
  Ledger ledger;
  const Release release = mechanism.release(known.of({}, .01), ledger.charge(mechanism.event(known.of({}, .01))), stream);
  double squared = 0;
  for (float value : release.values()) squared += double(value) * value;
  EXPECT_NEAR(std::sqrt(squared / 1000), 2, .25);  // 5.6 standard errors
  EXPECT_EQ(ledger.count(), 1u);
}

TEST(Mechanism, AStreamForAnotherPurposeIsRefused) {
  KnownSum known(4);
  const RunKey key = RunKey::from_insecure_seed(9);
  const RandomStream sampling(key, Purpose::sampling);
  GaussianMechanism mechanism(1);
  Ledger ledger;
  EXPECT_THROW(mechanism.release(known.of({}), ledger.charge(mechanism.event(known.of({}))), sampling), PrivacyError);
}

// Sum and count share one charge z: the vector is noised at (z^-2 - (2*sigma_b)^-2)^(-1/2). Two-sided, five standard errors: a false alarm
// in 2e6 if the seed were free.
TEST(Mechanism, ASumWithACountLeavesTheVectorTheRestOfTheCharge) {
  constexpr std::int64_t kSize = 100000;
  const double z = 1.1, count_multiplier = 1.6;  // sigma_b .8
  Bench bench(std::make_unique<GaussianMechanism>(z), kSize);
  const Release release = bench.released({}, {.count_noise = count_multiplier});
  const double variance = 1 / (1 / (z * z) - 1 / (count_multiplier * count_multiplier));
  EXPECT_NEAR(mean_square(release.values()), variance, variance * five_errors(kSize));
  EXPECT_NEAR(*release.noise_variance(), variance, 1e-12);
  EXPECT_EQ(bench.ledger().events(), (Events{{Event::gaussian(z, bench.known().of({}).slack()), 1}}));
}

TEST(Mechanism, TheCountIsNoisedAtItsOwnMultiple) {
  constexpr int kReleases = 3000;
  const double count_multiplier = 30;
  Bench bench(std::make_unique<GaussianMechanism>(1), 1);
  Vector noises;
  double with_vector = 0;
  for (int t = 0; t < kReleases; ++t) {
    const Release release = bench.released({{.5f}, {3}, {.25f}}, {.count_noise = count_multiplier});
    noises.push_back(release.scalar("count") - .5);  // two of three rows are not clipped
    with_vector += noises.back() * release.values()[0];
  }
  const double sigma_b = count_multiplier / 2;
  EXPECT_NEAR(mean_square(noises), sigma_b * sigma_b, sigma_b * sigma_b * five_errors(kReleases));
  const double vector_square = 1.75 * 1.75 + 1 / (1 - 1 / (count_multiplier * count_multiplier));
  EXPECT_LT(std::abs(with_vector), 5 * sigma_b * std::sqrt(vector_square * kReleases)) << "its noise is not the vector's";
}

TEST(Mechanism, ACountThatLeavesNothingForTheVectorIsRefused) {
  for (double z : {1.6, 2.5}) {
    Bench bench(std::make_unique<GaussianMechanism>(z), 4);
    EXPECT_THROW(bench.released({}, {.count_noise = 1.6}), InputError);
    EXPECT_THROW(bench.released({}, {.count_noise = 0.0}), InputError);
  }
  Bench bench(std::make_unique<GaussianMechanism>(1.59), 4);
  EXPECT_NO_THROW(bench.released({}, {.count_noise = 1.6}));
}

TEST(Mechanism, WithoutNoiseTheCountIsExactToo) {
  Bench bench(std::make_unique<GaussianMechanism>(0), 2);
  const Release release = bench.released({{.5f, 0}, {3, 4}, {0, .25f}, {.5f, .5f}, {0, 7}}, {.count_noise = 3});
  EXPECT_EQ(release.scalar("count"), .5);  // three within, two not
  EXPECT_NEAR(release.values()[0], .5 + .6 + .5, 1e-3);
  EXPECT_TRUE(release.has_scalar("count"));
  EXPECT_FALSE(release.has_scalar("norm_total"));
  EXPECT_THROW(release.scalar("norm_total"), InputError);
}

// DP-SAM: two sums of one lot, each noised at sqrt(2)*z, so that both together cost z.
class TwoQueries : public ::testing::Test {
 protected:
  static constexpr std::int64_t kSize = 50000;
  ClippedSum sum() const { return bench.known().of({}, DrawTerms{.sample_rate = .5, .ticket = 7, .queries = 2}); }
  Release release(Charge& charge) { return bench.mechanism().release(sum(), charge, bench.stream()); }

  Bench bench{std::make_unique<GaussianMechanism>(1.5), kSize};
};

TEST_F(TwoQueries, AreEachNoisedBySquareRootOfTwoMore) {
  Charge charge = bench.ledger().charge(bench.mechanism().event(sum()), 2);
  const Release first = release(charge), second = release(charge);
  EXPECT_EQ(total_count(bench.ledger().events()), 1);
  EXPECT_EQ(bench.ledger().events()[0].event, Event::poisson_gaussian(.5, 1.5, sum().slack()));
  const double variance = 2 * 1.5 * 1.5;
  for (const Release* release : {&first, &second}) {
    EXPECT_NEAR(mean_square(release->values()), variance, variance * five_errors(kSize));
    EXPECT_NEAR(*release->noise_variance(), variance, 1e-12);
  }
  double product = 0;
  for (std::int64_t i = 0; i < kSize; ++i) product += double(first.values()[i]) * second.values()[i];
  EXPECT_LT(std::abs(product), 5 * variance * std::sqrt(double(kSize)));  // a false alarm in 2e6
}

TEST_F(TwoQueries, ThreeAreRefused) {
  Charge charge = bench.ledger().charge(bench.mechanism().event(sum()), 2);
  release(charge);
  release(charge);
  EXPECT_THROW(release(charge), PrivacyError);
  Charge too_wide = bench.ledger().charge(bench.mechanism().event(sum()), 3);
  EXPECT_THROW(release(too_wide), PrivacyError);
}

TEST_F(TwoQueries, OfOtherRowsAreRefused) {
  Charge charge = bench.ledger().charge(bench.mechanism().event(sum()), 2);
  release(charge);
  const DrawTerms other{.sample_rate = .5, .ticket = 8, .queries = 2};
  EXPECT_THROW(bench.mechanism().release(bench.known().of({}, other), charge, bench.stream()), PrivacyError);
}

TEST_F(TwoQueries, EachLeaveTheVectorTheRestOfTheirHalf) {
  ClippedSum with_count = bench.known().of({}, DrawTerms{.queries = 2}, {.count_noise = 4});
  Charge charge = bench.ledger().charge(bench.mechanism().event(with_count), 2);
  const Release release = bench.mechanism().release(std::move(with_count), charge, bench.stream());
  const double variance = 1 / (1 / (2 * 1.5 * 1.5) - 1 / 16.);
  EXPECT_NEAR(mean_square(release.values()), variance, variance * five_errors(kSize));
}

// Numbers by themselves: their own event, without slack, and their own noise.
TEST(Mechanism, NumbersByThemselvesCostTheirOwnEvent) {
  constexpr int kReleases = 3000;
  const double multiplier = 2, bound = .7;
  KnownSum known(3, {.clip_norm = 1.5});
  const RandomStream stream = test_stream();
  GaussianMechanism numbers(multiplier);
  Ledger ledger;
  const GivenRows rows = {{.5f, 0, 0}, {0, 30, 40}};
  const std::vector<float> before(3, 0);
  Vector totals, changes;
  for (int t = 0; t < kReleases; ++t) {
    for (bool norms : {true, false}) {
      ClippedSum sum = norms ? known.norm_total(rows, .25, multiplier) : known.loss_change({}, .25, before, 2, bound, multiplier);
      Charge charge = ledger.charge(numbers.event(sum));
      const Release release = numbers.release(std::move(sum), charge, stream);
      EXPECT_TRUE(release.values().empty());
      EXPECT_FALSE(release.noise_variance());
      (norms ? totals : changes).push_back(norms ? release.scalar("norm_total") - 2 : release.scalar("loss_change"));
    }
  }
  EXPECT_EQ(ledger.events(), (Events{{Event::poisson_gaussian(.25, multiplier), 2 * kReleases}}));
  // Five standard errors and the grid of the total.
  const double total = std::pow(multiplier * 1.5, 2), change = std::pow(multiplier * 2 * bound, 2);
  EXPECT_NEAR(mean_square(totals), total, total * five_errors(kReleases) + 1e-3);
  EXPECT_NEAR(mean_square(changes), change, change * five_errors(kReleases) + 1e-3);
}

TEST(Mechanism, NumbersNoisedLessThanChargedAreRefusedAndNothingIsSpent) {
  KnownSum known(3);
  const RandomStream stream = test_stream();
  Ledger ledger;
  for (double less : {0., 1., 1.999}) {
    GaussianMechanism numbers(2);
    ClippedSum sum = known.norm_total({}, .25, less);
    Charge charge = ledger.charge(numbers.event(sum));
    EXPECT_THROW(numbers.release(std::move(sum), charge, stream), PrivacyError);
    EXPECT_FALSE(charge.used_up());
  }
  GaussianMechanism numbers(2);
  EXPECT_NO_THROW(numbers.release(known.norm_total({}, .25, 2), ledger.charge(numbers.event(.25, 0)), stream));
  EXPECT_NO_THROW(numbers.release(known.norm_total({}, .25, 3), ledger.charge(numbers.event(.25, 0)), stream));
}

TEST(Mechanism, NegativeNoiseIsRefused) { EXPECT_THROW(GaussianMechanism(-1), InputError); }

}  // namespace
}  // namespace fodp
