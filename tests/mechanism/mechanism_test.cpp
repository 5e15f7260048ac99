#include "fodp/mechanism/mechanism.h"

#include <gtest/gtest.h>

#include "fodp/base/check.h"
#include "fodp/mechanism/fractional.h"
#include "fodp/mechanism/gaussian.h"
#include "known_sum.h"

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

TEST(Mechanism, NegativeNoiseIsRefused) { EXPECT_THROW(GaussianMechanism(-1), InputError); }

}  // namespace
}  // namespace fodp
