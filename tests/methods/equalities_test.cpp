// Where one method is another, and what every method charges: whole runs with noise and sampling under a fixed seed.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "clipping.h"
#include "fodp/base/check.h"
#include "fodp/mechanism/banded.h"
#include "fodp/mechanism/fractional.h"
#include "fodp/mechanism/gaussian.h"
#include "fodp/methods/ascent.h"
#include "fodp/update/kalman.h"
#include "fodp/update/low_pass.h"
#include "known_sum.h"
#include "methods/small_run.h"

namespace fodp {
namespace {

using namespace fodp::testing;
using ::testing::HasSubstr;

const plain::Problem& problem() {
  static const plain::Problem rows = plain::small_problem(60, {9, 8, 7, 5}, 3);
  return rows;
}

const plain::Vector& start() {
  static const plain::Vector theta = plain::small_start(problem().net, 4);
  return theta;
}

PrivateOptions noisy(const std::string& method) {
  PrivateOptions options{.method = method};
  options.privacy = {.noise_multiplier = .8, .sample_rate = .3, .steps = 7};
  options.update.lr = .5;
  options.own.of<BandOptions>().bands = 3;
  options.own.of<AdaptiveClipOptions>().count_noise = 4;
  options.insecure_seed = 11;
  return options;
}

std::vector<float> trained(const PrivateOptions& options) {
  SmallRun run(problem(), start(), options);
  while (!run.steps().done()) run.steps().step();
  return run.theta();
}

std::vector<std::string> all_methods() {
  std::vector<std::string> names;
  for (const MethodEntry* entry : method_table()) names.emplace_back(entry->name);
  return names;
}

TEST(Equalities, MethodsThatAreDpSgdBitForBit) {
  const std::vector<float> expected = trained(noisy("dp-sgd"));
  const auto expect = [&](const std::string& name, const PrivateOptions& options) { EXPECT_EQ(trained(options), expected) << name; };
  PrivateOptions options = noisy("fo-dp-sgd");
  options.own.of<FractionalOptions>().beta = 1;
  expect("fo-dp-sgd at beta 1", options);
  options = noisy("fo-dp-sgd");
  options.own.of<FractionalOptions>().kernel = Kernel::current;
  expect("fo-dp-sgd, kernel current", options);
  options = noisy("post-fm-dp-sgd");
  options.own.of<FractionalOptions>().beta = 1;
  expect("post-fm-dp-sgd at beta 1", options);
  options = noisy("bandmf");
  options.own.of<BandOptions>().bands = 1;
  expect("bandmf of one band", options);
  options = noisy("dp-sat");
  options.own.of<SharpnessOptions>().rho = 0;
  expect("dp-sat at rho 0", options);
  options = noisy("disk");
  options.own.of<KalmanOptions>().disk_kappa = 1;
  expect("disk at kappa 1", options);
  options = noisy("annealed-dp-sgd");
  options.set("acceptance", "1e9");
  options.update.lr = 0;  // the lots of the loss shift those that follow
  PrivateOptions still = noisy("dp-sgd");
  still.update.lr = 0;
  EXPECT_EQ(trained(options), trained(still));
}

TEST(Equalities, SmaAtBetaOneIsGroupWiseDpSgdBitForBit) {
  for (GroupClip groups : {GroupClip::shared, GroupClip::each}) {
    PrivateOptions sma = noisy("sma-dp-sgd"), plain = noisy("dp-sgd");
    sma.own.of<FractionalOptions>().beta = 1;
    sma.clip.group_clip = plain.clip.group_clip = groups;
    EXPECT_EQ(trained(sma), trained(plain));
    sma.own.of<FractionalOptions>().beta = .9;
    EXPECT_NE(trained(sma), trained(plain));
  }
}

TEST(Equalities, AStageAskedForIsTheMethodsOwn) {
  const auto expect = [](const std::string& method, const StageOptions& stages) {
    PrivateOptions asked = noisy("dp-sgd"), own = noisy(method);
    asked.stages = stages;
    EXPECT_EQ(trained(asked), trained(own)) << method;
  };
  expect("fo-dp-sgd", {.release = "fractional"});
  expect("sma-dp-sgd", {.release = "spectral"});
  expect("bandmf", {.release = "banded"});
  expect("post-fm-dp-sgd", {.filter = "memory"});
  expect("doppler", {.filter = "low-pass"});
  expect("momentum", {.update = "momentum"});
  expect("dp-adam", {.update = "adam"});
  expect("dp-adambc", {.update = "adambc"});
  expect("dp-adamw", {.update = "adamw"});
}

TEST(Equalities, AutomaticClippingIsDpSgdWhereEveryNormIsLarge) {
  PrivateOptions flat = noisy("dp-sgd"), automatic = flat;
  flat.clip.clip_norm = automatic.clip.clip_norm = 1e-3;
  automatic.stages.clipping = "automatic";
  const std::vector<float> a = trained(flat), b = trained(automatic);
  double moved = 0, apart = 0;
  for (std::size_t i = 0; i < a.size(); ++i) moved += std::pow(a[i] - start()[i], 2), apart += std::pow(a[i] - b[i], 2);
  EXPECT_LT(std::sqrt(apart / moved), .02);  // norms here are about 1: .01 of each
}

// On one transcript y: DiSK's filter starts at y_0, FO with K = 2 at beta*y_0; the difference dies out as (1-beta)^(t+1)*y_0.
TEST(Equalities, DiskWithoutLookAheadAndFoWithWindowTwoDifferByTheStart) {
  constexpr std::int64_t kSize = 500;
  const double sigma = 1.1, beta = .7;
  KnownSum known(kSize);
  const RandomStream fo_noise(RunKey::from_insecure_seed(5), Purpose::noise), noise(RunKey::from_insecure_seed(5), Purpose::noise);
  Ledger fo_ledger, ledger;
  FractionalMechanism fo(sigma, resolve({.beta = beta, .window = 2}, 1, 1));
  GaussianMechanism plain(sigma / beta);
  Kalman disk({.disk_kappa = beta});
  std::vector<float> first;
  for (int t = 0; t < 12; ++t) {
    const GivenRows rows = random_rows(4, kSize, t);
    ClippedSum a = known.of(rows), b = known.of(rows);
    Charge fo_charge = fo_ledger.charge(fo.event(a)), charge = ledger.charge(plain.event(b));
    const Release with_memory = fo.release(std::move(a), fo_charge, fo_noise), y = plain.release(std::move(b), charge, noise);
    if (t == 0) first.assign(y.values().begin(), y.values().end());
    const std::span<const float> filtered = disk.apply(y.values());
    for (std::int64_t i = 0; i < kSize; ++i)
      ASSERT_NEAR(filtered[i] - with_memory.values()[i], std::pow(1 - beta, t + 1) * first[i], 2e-6) << t;
  }
}

// A false alarm in 2e6, for each pair.
TEST(Equalities, ReleasesOfOneStepHaveIndependentNoise) {
  PrivateOptions options = noisy("dp-sam");
  options.privacy.sample_rate = 1e-9;  // empty lots: releases are noise
  SmallRun run(problem(), start(), options);
  PrivateSteps& s = run.steps();
  std::vector<std::vector<float>> releases;
  for (int step = 0; step < 3; ++step) {
    const Lot lot = s.sample({.queries = 2});
    for (int query = 0; query < 2; ++query) {
      const Release release = s.release(s.clipped_sum(lot));
      releases.emplace_back(release.values().begin(), release.values().end());
    }
    EXPECT_THROW(s.clipped_sum(lot), PrivacyError) << "a third sum of a lot for two";
  }
  EXPECT_EQ(s.events().size(), 1u);
  EXPECT_EQ(total_count(s.events()), 3) << "two releases of one lot are one event";
  const double size = static_cast<double>(releases[0].size()), sd = .8 * std::sqrt(2);
  for (std::size_t a = 0; a < releases.size(); ++a)
    for (std::size_t b = 0; b <= a; ++b) {
      double product = 0;
      for (std::size_t i = 0; i < releases[a].size(); ++i) product += double(releases[a][i]) * releases[b][i] / (sd * sd);
      if (a == b)
        EXPECT_NEAR(product / size, 1, 5 * std::sqrt(2 / size)) << "each at sqrt(2)*sigma";
      else
        EXPECT_LT(std::abs(product), 5 * std::sqrt(size)) << a << " " << b;
    }
}

TEST(Charges, EveryMethodIsChargedWhatWasPlanned) {
  for (const std::string& method : all_methods()) {
    SCOPED_TRACE(method);
    SmallRun run(problem(), start(), noisy(method));
    PrivateSteps& steps = run.steps();
    while (!steps.done()) steps.step();
    EXPECT_THAT(steps.events(), ::testing::UnorderedElementsAreArray(steps.plan().events()));
    EXPECT_EQ(steps.epsilon(), steps.plan().spent().epsilon);
  }
}

TEST(Charges, EveryMethodStaysWithinItsBudget) {
  for (const std::string& method : all_methods()) {
    SCOPED_TRACE(method);
    PrivateOptions options = noisy(method);
    options.privacy = {.epsilon = 2, .delta = 1e-4, .sample_rate = .2, .steps = 5};
    options.own.of<AdaptiveClipOptions>().count_noise = 20;
    SmallRun run(problem(), start(), options);
    PrivateSteps& steps = run.steps();
    while (!steps.done()) steps.step();
    EXPECT_LE(steps.epsilon(), 2);
    EXPECT_GT(steps.epsilon(), 1.99);
    EXPECT_THROW(for (int more = 0; more < 9; ++more) steps.step(), PrivacyError);  // bandmf's last cycle has room for a step
    EXPECT_LE(steps.epsilon(), 2);
  }
}

TEST(Charges, EventsAreThoseOfTheMethodsPage) {
  const auto events = [](const std::string& method) {
    PrivateOptions options = noisy(method);
    return ideal(SmallRun(problem(), start(), options).steps().plan().events());
  };
  const Composed plain = {Event::poisson_gaussian(.3, .8), 7}, memory = {Event::poisson_gaussian(.3, .8 / .9), 7};
  for (const char* method : {"dp-sgd", "post-fm-dp-sgd", "momentum", "dp-adam", "dp-adambc", "dp-adamw", "adp-adamw", "dp-sat", "dp-sam",
                             "dp-adam-ac", "doppler", "disk"})
    EXPECT_EQ(events(method), Events{plain}) << method;
  EXPECT_EQ(events("fo-dp-sgd"), Events{memory});
  EXPECT_EQ(events("sma-dp-sgd"), Events{memory});
  EXPECT_EQ(events("annealed-dp-sgd"), (Events{plain, {Event::poisson_gaussian(.3, 1.6), 7}}));
  EXPECT_EQ(events("dp-is"), (Events{{Event::poisson_gaussian(.6, .8), 7}, {Event::gaussian(50), 3}}));  // an epoch is three steps
  const Events banded = events("bandmf");
  ASSERT_EQ(banded.size(), 1u);
  EXPECT_DOUBLE_EQ(banded[0].event.sample_rate, .9);
  EXPECT_EQ(banded[0].count, 3);
}

TEST(Charges, LayersClippedToCEachCostTheRootOfTheirNumber) {
  PrivateOptions options = noisy("sma-dp-sgd");
  options.clip.group_clip = GroupClip::each;
  const SmallRun run(problem(), start(), options);
  EXPECT_NEAR(run.steps().plan().events()[0].event.noise_multiplier, .8 / (.9 * std::sqrt(3)), 1e-12);
}

TEST(Charges, SchedulesAreChargedStepByStep) {
  PrivateOptions options = noisy("fo-dp-sgd");
  options.privacy = {.noise_multiplier = Schedule::list({1.2, .9, .9, 1}), .sample_rate = Schedule::linear(.1, .3), .steps = 4};
  options.own.of<FractionalOptions>().beta = Schedule::linear(.9, .6);
  SmallRun run(problem(), start(), options);
  while (!run.steps().done()) run.steps().step();
  Events expected;
  const double sigma[] = {1.2, .9, .9, 1};
  for (int t = 0; t < 4; ++t)
    expected.push_back({Event::poisson_gaussian(Schedule::linear(.1, .3).at(t, 4), sigma[t] / Schedule::linear(.9, .6).at(t, 4)), 1});
  EXPECT_EQ(ideal(run.steps().events()), expected);
  EXPECT_EQ(run.steps().expected_lot(), 18);
}

TEST(Charges, RejectedAttemptsArePaidForToo) {
  PrivateOptions options = noisy("annealed-dp-sgd");
  options.set("acceptance", "-1e9");
  SmallRun run(problem(), start(), options);
  const std::vector<float> before = run.theta();
  while (!run.steps().done()) run.steps().step();
  EXPECT_EQ(run.theta(), before);
  EXPECT_EQ(total_count(run.steps().events()), 14);
}

TEST(Methods, GoBackExactlyFromWhereTheyLooked) {
  for (const char* method : {"dp-sat", "dp-sam", "disk"}) {
    PrivateOptions options = noisy(method);
    options.update.lr = 0;
    options.own.of<SharpnessOptions>().rho = .3;
    SmallRun run(problem(), start(), options);
    const std::vector<float> before = run.theta();
    while (!run.steps().done()) run.steps().step();
    EXPECT_EQ(run.theta(), before) << method;
  }
}

TEST(Methods, ThreadsChangeNothing) {
  for (const std::string& method : all_methods()) {
    PrivateOptions one = noisy(method), two = one;
    one.speed.threads = 1;
    two.speed.threads = 2;
    one.speed.physical_batch = two.speed.physical_batch = 8;
    EXPECT_EQ(trained(one), trained(two)) << method;
  }
}

// A full lot, then an empty one at another rate: filters and memories mix gradients, not sums of lots of different sizes.
TEST(Methods, RatesThatVaryDoNotStretchTheMemory) {
  const auto moved = [](const PrivateOptions& changed) {
    PrivateOptions options = changed;
    options.privacy = {.noise_multiplier = 0.0, .sample_rate = Schedule::list({1, 1e-12}), .steps = 2};
    options.update.lr = .01;
    PrivateOptions once = options;
    once.method = "dp-sgd";
    once.stages = {};
    const std::vector<float> end = trained(options), one = trained(once);  // of which the second step moves nothing
    double product = 0, squared = 0;
    for (std::size_t i = 0; i < end.size(); ++i) {
      const double step = one[i] - start()[i];
      product += step * (end[i] - start()[i]);
      squared += step * step;
    }
    return product / squared;
  };
  PrivateOptions options = noisy("dp-sgd");
  EXPECT_NEAR(moved(options), 1, 1e-6);
  options.stages.filter = "kalman";  // g, then .3*g
  EXPECT_NEAR(moved(options), 1.3, 1e-3);
  options = noisy("doppler");
  options.own.of<LowPassOptions>().filter_order = 1;  // g, then .09*g/.19
  EXPECT_NEAR(moved(options), 1 + .09 / .19, 1e-3);
  options = noisy("post-fm-dp-sgd");
  options.own.of<FractionalOptions>().beta = .6;  // .6*g, then .4*g
  EXPECT_NEAR(moved(options), 1, 1e-3);
  options = noisy("fo-dp-sgd");
  options.own.of<FractionalOptions>().beta = .6;  // .6*g, then .4*.6*g
  EXPECT_NEAR(moved(options), .84, 1e-3);
}

// An empty lot, then a full one: its step is the one that a run of full lots takes.
TEST(Methods, EveryStepIsDividedByItsOwnExpectedLot) {
  PrivateOptions late = noisy("dp-sgd"), alone = late;
  late.privacy = {.noise_multiplier = 0.0, .sample_rate = Schedule::list({1e-6, 1}), .steps = 2};
  alone.privacy = {.noise_multiplier = 0.0, .sample_rate = 1.0, .steps = 1};
  const std::vector<float> a = trained(late), b = trained(alone);
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-6);
}

TEST(Methods, TheDefaultRateSuitsTheUpdateAndTheFilter) {
  const auto rate = [](const std::string& method, const StageOptions& stages, std::int64_t order = 2) {
    PrivateOptions options{.method = method, .stages = stages};
    options.own.of<LowPassOptions>().filter_order = order;
    choose_stages(options);
    return *options.update.lr;
  };
  EXPECT_EQ(rate("fo-dp-sgd", {}), 4);
  EXPECT_EQ(rate("fo-dp-sgd", {.update = "adam"}), .005);
  EXPECT_EQ(rate("fo-dp-sgd", {.update = "momentum"}), 4);
  EXPECT_EQ(rate("dp-adam", {.update = "sgd"}), 4);
  EXPECT_EQ(rate("adp-adamw", {.release = "fractional"}), .01);
  EXPECT_EQ(rate("doppler", {}), .02);
  EXPECT_EQ(rate("doppler", {}, 1), 4);
  EXPECT_EQ(rate("doppler", {.filter = "none"}), 4);
  EXPECT_EQ(rate("dp-sgd", {.filter = "low-pass"}), .02);
}

TEST(Methods, DpIsIsUnbiasedAndKeepsByNorm) {
  // Rows kept at random: the mean release over many runs is the clipped sum over all rows times q. 5 standard errors.
  PrivateOptions options = noisy("dp-is");
  options.privacy = {.noise_multiplier = 0.0, .sample_rate = .2, .steps = 400};
  options.update.lr = 0;
  options.clip.clip_norm = 3;
  SmallRun run(problem(), start(), options);
  const std::vector<float> mean_sum = [&] {
    PrivateOptions whole = noisy("dp-sgd");
    whole.privacy = {.noise_multiplier = 0.0, .sample_rate = 1.0, .steps = 1};
    whole.clip.clip_norm = 3;
    SmallRun all(problem(), start(), whole);
    const Release release = all.steps().release(all.steps().clipped_sum(all.steps().sample()));
    return std::vector<float>(release.values().begin(), release.values().end());
  }();
  PrivateSteps& s = run.steps();
  const Release total =
      s.release(s.clipped_sum(s.sample({.sample_rate = 1}),
                              NumberQuery(Query::Depth::norms, {"norm_total", 3, 0}, [](const RowFacts& row) { return row.bounded; })));
  const double K = std::max(total.scalar("norm_total"), 60 * 3 / 2.), rate = 12 * 3 / K;
  double squared = 0, product = 0, norm = 0;
  std::vector<double> mean(mean_sum.size());
  constexpr int kRuns = 400;
  for (int t = 0; t < kRuns; ++t) {
    const Release release = s.release(s.clipped_sum(s.sample({.sample_rate = rate, .charged_rate = .4}), ImportanceQuery(3, K / 60)));
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += release.values()[i] / double(kRuns);
  }
  for (std::size_t i = 0; i < mean.size(); ++i) {
    const double expected = .2 * mean_sum[i];
    squared += std::pow(mean[i] - expected, 2);
    product += mean[i] * expected;
    norm += expected * expected;
  }
  EXPECT_NEAR(product / norm, 1, .1);
  EXPECT_LT(std::sqrt(squared / norm), .25);
}

// Full lots whose total norm is below L*C: the method still moves along the mean gradient, neither shorter nor longer.
TEST(Methods, DpIsKeepsItsLengthWhereEveryRowIsACandidate) {
  PrivateOptions options = noisy("dp-is"), plain = noisy("dp-sgd");
  for (PrivateOptions* o : {&options, &plain}) {
    o->privacy = {.noise_multiplier = 0.0, .sample_rate = 1.0, .steps = 120};
    o->update.lr = 1e-4;  // so short that the gradient stays what it is
    o->clip.clip_norm = 5;
  }
  const std::vector<float> end = trained(options), expected = trained(plain);
  double product = 0, squared = 0;
  for (std::size_t i = 0; i < end.size(); ++i) {
    const double moved = expected[i] - start()[i];
    product += moved * (end[i] - start()[i]);
    squared += moved * moved;
  }
  EXPECT_NEAR(product / squared, 1, .1);
}

std::string complaint(const PrivateOptions& options) {
  try {
    SmallRun(problem(), start(), options);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Methods, PairingsThatCannotBeRightAreRefused) {
  PrivateOptions options = noisy("dp-adambc");
  options.stages.release = "spectral";
  EXPECT_THAT(complaint(options), HasSubstr("use `update` adam"));
  options = noisy("doppler");
  options.stages.update = "adambc";
  EXPECT_THAT(complaint(options), HasSubstr("the noise in a filtered gradient is not known"));
  options = noisy("dp-sam");
  options.stages.release = "banded";
  EXPECT_THAT(complaint(options), HasSubstr("`release` banded"));
  options = noisy("dp-adam-ac");
  options.stages.clipping = "flat";
  EXPECT_THAT(complaint(options), HasSubstr("adaptive"));
  options = noisy("dp-is");
  options.stages.clipping = "adaptive";
  EXPECT_THAT(complaint(options), HasSubstr("whole gradient"));
  options = noisy("bandmf");
  options.own.of<BandOptions>().bands = 4;
  EXPECT_THAT(complaint(options), HasSubstr("must be at most 1"));
  options = noisy("dp-sgd");
  options.stages.clipping = "adaptive";
  options.own.of<AdaptiveClipOptions>().count_noise = .4;
  EXPECT_THAT(complaint(options), HasSubstr("`count-noise`"));
  options = noisy("dp-is");
  options.privacy.sample_rate = Schedule::linear(.1, .2);
  EXPECT_THAT(complaint(options), HasSubstr("does not vary"));
  options = noisy("fo-dp-sgd");
  options.own.of<FractionalOptions>().beta = Schedule::list({.9, .8, .7, .6, .5, .4, .3, .2});
  EXPECT_THAT(complaint(options), HasSubstr("`beta`"));
  options = noisy("dp-sgd");
  options.privacy.noise_multiplier = Schedule::linear(1, 0);
  EXPECT_THAT(complaint(options), HasSubstr("above 0"));
}

TEST(Methods, AveragesAreEvaluatedAndTrainingGoesOnFromTheLastParameters) {
  for (const char* kind : {"ema", "polynomial"}) {
    PrivateOptions plain = noisy("dp-sgd"), averaged = plain;
    averaged.stages.averaging = kind;
    averaged.own.of<EmaOptions>().averaging_decay = .5;
    SmallRun a(problem(), start(), plain), b(problem(), start(), averaged);
    while (!a.steps().done()) {
      a.steps().step();
      b.steps().step();
      EXPECT_EQ(a.theta(), b.theta());
      EXPECT_EQ(a.averaged(), a.theta());
    }
    EXPECT_NE(b.averaged(), b.theta());
    EXPECT_EQ(b.theta(), a.theta()) << "restored";
  }
}

}  // namespace
}  // namespace fodp
