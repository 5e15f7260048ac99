#include "fodp/update/update_rule.h"

#include <gtest/gtest.h>

#include "fodp/base/check.h"
#include "fodp/update/sgd.h"
#include "known_sum.h"

namespace fodp {
namespace {

using namespace fodp::testing;

Release release_of(const GivenRows& rows) {
  KnownSum known(static_cast<std::int64_t>(rows[0].size()), {.clip_norm = 100});
  GaussianMechanism mechanism(0);
  Ledger ledger;
  const RunKey key = RunKey::from_insecure_seed(1);
  const RandomStream stream(key, Purpose::noise);
  ClippedSum sum = known.of(rows);
  Charge charge = ledger.charge(mechanism.event(sum));
  return mechanism.release(std::move(sum), std::move(charge), stream);
}

TEST(Sgd, DividesByTheExpectedLotNotTheRealisedOne) {
  std::vector<float> theta = {1, 1};
  const Release release = release_of({{2, 4}, {2, 4}, {2, 4}});
  Sgd().apply(theta, {release.values(), /*expected_lot=*/12, {}}, /*lr=*/.5);
  EXPECT_FLOAT_EQ(theta[0], 1 - .5 * 6 / 12);
  EXPECT_FLOAT_EQ(theta[1], 1 - .5 * 12 / 12);
}

TEST(Sgd, RefusesAReleaseOfAnotherSize) {
  std::vector<float> theta = {1, 1, 1};
  const Release release = release_of({{2, 4}});
  EXPECT_THROW(Sgd().apply(theta, {release.values(), 1, {}}, 1), InputError);
}

TEST(LearningRate, DecaysAsNamed) {
  using enum LearningRateDecay;
  EXPECT_EQ(learning_rate(2, none, 99, 100), 2);
  EXPECT_EQ(learning_rate(2, linear, 0, 100), 2);
  EXPECT_EQ(learning_rate(2, linear, 50, 100), 1);
  EXPECT_NEAR(learning_rate(2, linear, 99, 100), .02, 1e-12);
  EXPECT_EQ(learning_rate(2, cosine, 0, 100), 2);
  EXPECT_NEAR(learning_rate(2, cosine, 50, 100), 1, 1e-12);
  EXPECT_GT(learning_rate(2, cosine, 99, 100), 0);
}

}  // namespace
}  // namespace fodp
