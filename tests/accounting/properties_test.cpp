// Properties that hold for every run, on random ones: the same ones every time, unless RC_PARAMS names another seed (RC_PARAMS="seed=7").
#include <cmath>
#include <cstdlib>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "fodp/accounting/pld.h"
#include "fodp/accounting/rdp.h"

namespace fodp {
namespace {

// RapidCheck reads it before its first property.
[[maybe_unused]] const int kSeed = ::setenv("RC_PARAMS", "seed=20", /*overwrite=*/0);

// The accuracy that is promised, twice: of two answers that are compared.
bool at_most(double a, double b) { return a <= b * (1 + 2e-4) + 2e-6; }

double power(double low, double high) {
  const double share = static_cast<double>(*rc::gen::inRange(0, 1000001)) * 1e-6;
  return std::exp(std::log(low) + share * (std::log(high) - std::log(low)));
}

// Where the promise holds at a cost that a test can afford.
struct Draw {
  double rate = power(1e-3, .9), noise = power(.5, 20);
  auto steps() const { return static_cast<std::int64_t>(steps_); }
  double delta = power(1e-10, 1e-3);

  Events events() const { return {{Event::poisson_gaussian(rate, noise), steps()}}; }
  double steps_ = std::floor(power(2, 3000));
};

const PldAccountant& pld() {
  static const PldAccountant accountant;
  return accountant;
}

RC_GTEST_PROP(PldProperties, LowerIsAtMostUpperAndNoneIsNan, ()) {
  const Draw draw;
  const Spent spent = pld().epsilon(draw.events(), draw.delta);
  RC_ASSERT(0 <= spent.epsilon_lower && spent.epsilon_lower <= spent.epsilon && std::isfinite(spent.epsilon));
}

RC_GTEST_PROP(PldProperties, CostsMoreWithTheRate, ()) {
  const Draw draw;
  Draw more = draw;
  more.rate = std::min(1., draw.rate * power(1, 2));
  RC_ASSERT(at_most(pld().epsilon(draw.events(), draw.delta).epsilon, pld().epsilon(more.events(), draw.delta).epsilon));
}

RC_GTEST_PROP(PldProperties, CostsLessWithTheNoise, ()) {
  const Draw draw;
  Draw more = draw;
  more.noise = draw.noise * power(1, 2);
  RC_ASSERT(at_most(pld().epsilon(more.events(), draw.delta).epsilon, pld().epsilon(draw.events(), draw.delta).epsilon));
}

RC_GTEST_PROP(PldProperties, CostsMoreWithTheStepsAndLessWithDelta, ()) {
  const Draw draw;
  Draw more = draw;
  more.steps_ = draw.steps_ + std::floor(power(1, 100));
  const double epsilon = pld().epsilon(draw.events(), draw.delta).epsilon;
  RC_ASSERT(at_most(epsilon, pld().epsilon(more.events(), draw.delta).epsilon));
  RC_ASSERT(at_most(pld().epsilon(draw.events(), draw.delta * power(1, 10)).epsilon, epsilon));
}

RC_GTEST_PROP(PldProperties, PartsComposeToTheWhole, ()) {
  const Draw draw;
  const std::int64_t first = *rc::gen::inRange<std::int64_t>(0, draw.steps() + 1);
  const Event event = Event::poisson_gaussian(draw.rate, draw.noise);
  const Events parts{{event, first}, {event, draw.steps() - first}};
  RC_ASSERT(pld().epsilon(parts, draw.delta).epsilon == pld().epsilon(draw.events(), draw.delta).epsilon);
}

RC_GTEST_PROP(PldProperties, IsAtMostTheRenyiBound, ()) {
  const Draw draw;
  RC_ASSERT(at_most(pld().epsilon(draw.events(), draw.delta).epsilon, RdpAccountant().epsilon(draw.events(), draw.delta).epsilon));
}

RC_GTEST_PROP(PldProperties, WithoutSamplingIsTheAnalyticGaussian, ()) {
  Draw draw;
  draw.rate = 1;
  const Interval exact = gaussian_epsilon(std::sqrt(draw.steps_) / draw.noise, draw.delta);
  const Spent spent = pld().epsilon(draw.events(), draw.delta);
  RC_ASSERT(std::abs(spent.epsilon - exact.upper) <= 1e-12 * exact.upper);
}

// Almost every record in every lot: the grid, not the closed form, against the closed form.
RC_GTEST_PROP(PldProperties, NearlyWithoutSamplingIsNearlyTheGaussian, ()) {
  Draw draw;
  draw.rate = 1 - 1e-13;
  const double exact = gaussian_epsilon(std::sqrt(draw.steps_) / draw.noise, draw.delta).upper;
  const Spent spent = pld().epsilon(draw.events(), draw.delta);
  RC_ASSERT(at_most(spent.epsilon, exact) && at_most(spent.epsilon_lower, exact) && spent.epsilon >= exact * (1 - 1e-9));
}

RC_GTEST_PROP(PldProperties, NothingInRangeIsNan, ()) {
  Draw draw;
  draw.rate = power(1e-12, 1), draw.noise = power(1e-6, 1e6), draw.steps_ = std::floor(power(1, 1e4)), draw.delta = power(1e-300, .99);
  const Spent spent = pld().epsilon(draw.events(), draw.delta);
  RC_ASSERT(spent.epsilon_lower >= 0 && spent.epsilon >= spent.epsilon_lower);
}

RC_GTEST_PROP(RdpProperties, CostsMoreWithRateStepsAndLessWithNoiseAndDelta, ()) {
  const Draw draw;
  const RdpAccountant rdp;
  const double epsilon = rdp.epsilon(draw.events(), draw.delta).epsilon, factor = power(1, 2);
  Draw rate = draw, noise = draw, steps = draw;
  rate.rate = std::min(1., rate.rate * factor), noise.noise *= factor, steps.steps_ += 1;
  RC_ASSERT(epsilon <= rdp.epsilon(rate.events(), draw.delta).epsilon * (1 + 1e-9));
  RC_ASSERT(epsilon <= rdp.epsilon(steps.events(), draw.delta).epsilon * (1 + 1e-9));
  RC_ASSERT(epsilon * (1 + 1e-9) >= rdp.epsilon(noise.events(), draw.delta).epsilon);
  RC_ASSERT(epsilon * (1 + 1e-9) >= rdp.epsilon(draw.events(), draw.delta * factor).epsilon);
}

}  // namespace
}  // namespace fodp
