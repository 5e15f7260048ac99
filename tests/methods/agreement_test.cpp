// Every method, step by step, against a plain re-implementation (methods/plain.h) that shares no code with the library: dense per-example
// gradients in double, full lots, no noise.
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "fodp/base/check.h"
#include "fodp/gradients/adaptive_clip.h"
#include "fodp/mechanism/banded.h"
#include "fodp/mechanism/spectral.h"
#include "fodp/methods/ascent.h"
#include "fodp/update/kalman.h"
#include "fodp/update/low_pass.h"
#include "fodp/update/momentum.h"
#include "methods/small_run.h"

namespace fodp {
namespace {

using namespace fodp::testing;

constexpr std::int64_t kSteps = 30;

struct Case {
  std::string name;
  PrivateOptions ours;
  plain::Settings theirs;
  // Adam divides by small numbers, so that what the lattice rounds off counts more.
  double tolerance = 2e-4;
};

Case plain_case(const std::string& method, double lr) {
  return {.name = method, .ours = deterministic(method, kSteps, lr), .theirs = {.method = method, .steps = kSteps, .lr = lr}};
}

template <class Change>
Case changed(Case c, const std::string& name, Change change) {
  c.name += ", " + name;
  change(c.ours, c.theirs);
  return c;
}

std::vector<Case> methods_as_they_are() {
  std::vector<Case> cases;
  for (const char* method :
       {"fo-dp-sgd", "dp-sgd", "post-fm-dp-sgd", "sma-dp-sgd", "momentum", "dp-sat", "dp-sam", "sa-dp-sgd", "doppler", "disk", "bandmf"})
    cases.push_back(plain_case(method, .8));
  for (const char* method : {"dp-adam", "dp-adambc", "dp-adamw", "adp-adamw", "dp-adam-ac"}) {
    cases.push_back(plain_case(method, .01));
    cases.back().tolerance = 3e-3;
  }
  cases.push_back(plain_case("annealed-dp-sgd", 4));  // so long that steps are rejected
  cases.push_back(plain_case("dp-is", .8));
  for (Case& c : cases) {
    c.ours.own.of<BandOptions>().bands = 1;
    if (c.name == "annealed-dp-sgd") c.theirs.loss_clip = .02;
    if (c.name == "dp-is") c.ours.clip.clip_norm = c.theirs.clip_norm = .05;  // every norm is above it: nothing is left to chance
  }
  return cases;
}

std::vector<Case> methods_with_options() {
  using P = PrivateOptions;
  using S = plain::Settings;
  std::vector<Case> cases;
  const auto add = [&](const Case& c, const std::string& name, auto change) { cases.push_back(changed(c, name, change)); };
  add(plain_case("momentum", .1), "heavy ball", [](P& o, S& t) {
    o.own.of<MomentumOptions>() = {.momentum = .8, .momentum_form = MomentumForm::heavy_ball};
    t.momentum = .8;
    t.momentum_form = plain::MomentumForm::heavy_ball;
  });
  add(plain_case("doppler", .8), "first order", [](P& o, S& t) { o.own.of<LowPassOptions>().filter_order = t.low_pass_order = 1; });
  add(plain_case("disk", .8), "small gain", [](P& o, S& t) { o.own.of<KalmanOptions>().disk_kappa = t.disk_kappa = .4; });
  add(plain_case("dp-sat", .8), "long climb", [](P& o, S& t) { o.own.of<SharpnessOptions>().rho = t.rho = .4; });
  add(plain_case("dp-sam", .8), "long climb", [](P& o, S& t) { o.own.of<SharpnessOptions>().rho = t.rho = .4; });
  add(plain_case("sma-dp-sgd", .8), "other numbers", [](P& o, S& t) {
    o.own.of<FractionalOptions>() = {.beta = .6, .alpha = .5, .window = 4, .gamma = .3, .stability = .1};
    o.own.of<SpectralOptions>() = {
        .rho_min = 2.5, .rho_max = 2.6, .spectral_tempering = 1.5, .spectral_every = 4, .norm_cap = .7, .warm_up = 5};
    t.beta = .6, t.alpha = .5, t.window = 4, t.gamma = .3, t.gate_stability = .1;
    t.rho_min = 2.5, t.rho_max = 2.6, t.spectral_rate = 1.5, t.spectral_every = 4, t.gate_max = .7, t.warmup = 5;
  });
  add(plain_case("sma-dp-sgd", .8), "each layer to C", [](P& o, S& t) {
    o.clip.group_clip = GroupClip::each;
    t.group_clip = plain::GroupClip::each;
  });
  add(plain_case("post-fm-dp-sgd", .8), "other numbers", [](P& o, S& t) {
    o.own.of<FractionalOptions>() = {.beta = .5,
                                     .alpha = .3,
                                     .window = 5,
                                     .lambda = .1,
                                     .tau = 1,
                                     .gamma = .4,
                                     .kappa = 3,
                                     .zeta = ConfidenceScale{.value = 5},
                                     .stability = .01};
    t.beta = .5, t.alpha = .3, t.window = 5, t.lambda = .1, t.tau = 1, t.gamma = .4, t.kappa = 3, t.zeta = 5, t.stability = .01;
  });
  add(plain_case("fo-dp-sgd", .8), "beta from .9 to .4", [](P& o, S& t) {
    o.own.of<FractionalOptions>().beta = Schedule::linear(.9, .4);
    for (std::int64_t i = 0; i < kSteps; ++i) t.beta_schedule.push_back(.9 - .5 * static_cast<double>(i) / (kSteps - 1));
  });
  add(plain_case("dp-sgd", .8), "adaptive clipping", [](P& o, S& t) {
    o.stages.clipping = "adaptive";
    t.clipping = plain::Clipping::adaptive;
  });
  add(plain_case("sma-dp-sgd", .8), "adaptive clipping by layers", [](P& o, S& t) {
    o.stages.clipping = "adaptive";
    t.clipping = plain::Clipping::adaptive;
  });
  add(plain_case("dp-sgd", .8), "automatic clipping by layers", [](P& o, S& t) {
    o.clip = {.clip_norm = .7, .group_clip = GroupClip::shared};
    o.stages.clipping = "automatic";
    t.clip_norm = .7, t.clipping = plain::Clipping::automatic, t.group_clip = plain::GroupClip::shared;
  });
  add(plain_case("dp-sam", .8), "adaptive clipping", [](P& o, S& t) {
    o.stages.clipping = "adaptive";
    t.clipping = plain::Clipping::adaptive;
  });
  add(plain_case("annealed-dp-sgd", 4), "hard to please", [](P& o, S& t) {
    o.set("loss-clip", ".1");
    o.set("acceptance", "-.5");
    t.loss_clip = .1, t.acceptance = -.5;
  });
  add(plain_case("bandmf", .8), "three groups in turn", [](P& o, S& t) {
    o.own.of<BandOptions>().bands = t.bands = 3;
    o.privacy.sample_rate = 1.0 / 3;
  });
  add(plain_case("dp-sgd", .8), "polynomial average", [](P& o, S& t) {
    o.stages.averaging = "polynomial";
    t.averaging = plain::Averaging::polynomial;
  });
  return cases;
}

// The memory composes with any update, filter and look-ahead: configurations, no classes.
std::vector<Case> combinations() {
  using P = PrivateOptions;
  using S = plain::Settings;
  std::vector<Case> cases;
  const auto add = [&](Case c, const std::string& name, auto change) { cases.push_back(changed(std::move(c), name, change)); };
  const auto remembering = [](P& o, S& t) {
    o.stages.release = "fractional";
    o.own.of<FractionalOptions>().beta = t.beta = .7;
    t.release = plain::Release::fractional;
  };
  for (const char* method : {"momentum", "dp-sat", "doppler", "disk", "annealed-dp-sgd"})
    add(plain_case(method, .8), "fractional memory", [&](P& o, S& t) {
      remembering(o, t);
      t.loss_clip = .02;
    });
  for (const char* method : {"dp-adam", "dp-adambc", "dp-adamw", "adp-adamw", "dp-adam-ac"}) {
    Case c = plain_case(method, .01);
    c.tolerance = 3e-3;
    add(c, "fractional memory", remembering);
  }
  Case c = plain_case("disk", .01);
  c.tolerance = 3e-3;
  add(c, "fractional memory and adam", [&](P& o, S& t) {
    remembering(o, t);
    o.stages.update = "adam";
    t.update = plain::Update::adam;
  });
  add(plain_case("dp-sat", .8), "spectral memory, low pass and heavy ball", [](P& o, S& t) {
    o.stages = {.release = "spectral", .filter = "low-pass", .update = "momentum"};
    t.release = plain::Release::spectral, t.filter = plain::Filter::low_pass, t.update = plain::Update::momentum;
  });
  return cases;
}

double norm_of(const plain::Vector& v) {
  double squared = 0;
  for (double x : v) squared += x * x;
  return std::sqrt(squared);
}

// |ours - theirs| over how far theirs has moved.
double difference(const std::vector<float>& ours, const plain::Vector& theirs, const plain::Vector& start) {
  plain::Vector error(theirs.size()), moved(theirs.size());
  for (std::size_t i = 0; i < theirs.size(); ++i) error[i] = ours[i] - theirs[i], moved[i] = theirs[i] - start[i];
  return norm_of(error) / (norm_of(moved) + 1e-6);
}

void expect_agreement(const std::vector<Case>& cases) {
  const plain::Problem problem = plain::small_problem(24, {9, 8, 7, 5}, 3);
  const plain::Vector start = plain::small_start(problem.net, 4);
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    SmallRun run(problem, start, c.ours);
    plain::Settings theirs = c.theirs;
    theirs.groups = run.groups(theirs.bands);
    const plain::Trajectory expected = plain::run(problem, start, theirs);
    for (std::size_t t = 0; t < kSteps; ++t) {
      run.steps().step();
      ASSERT_LT(difference(run.theta(), expected.theta[t], start), c.tolerance) << "step " << t;
    }
    EXPECT_TRUE(run.steps().done());
    EXPECT_LT(difference(run.averaged(), expected.averaged, start), c.tolerance);
  }
}

TEST(Agreement, EveryMethodWithItsDefaults) { expect_agreement(methods_as_they_are()); }
TEST(Agreement, MethodsWithOtherOptions) { expect_agreement(methods_with_options()); }
TEST(Agreement, MemoryWithAnyUpdateFilterAndLookAhead) { expect_agreement(combinations()); }

TEST(Agreement, CoversEveryMethod) {
  std::set<std::string> covered;
  for (const Case& c : methods_as_they_are()) covered.insert(c.name);
  for (const MethodEntry* entry : method_table()) EXPECT_TRUE(covered.contains(std::string(entry->name))) << entry->name;
}

// Kernels, too: the library against the plain form of Algorithm 1.
TEST(Agreement, EveryKernel) {
  std::vector<Case> cases;
  const std::pair<Kernel, plain::Kernel> kernels[] = {
      {Kernel::current, plain::Kernel::current},         {Kernel::uniform, plain::Kernel::uniform},
      {Kernel::exponential, plain::Kernel::exponential}, {Kernel::tempered, plain::Kernel::tempered},
      {Kernel::confidence, plain::Kernel::confidence},   {Kernel::grunwald, plain::Kernel::grunwald}};
  for (const auto& [ours, theirs] : kernels)
    for (int origin : {0, 1})
      for (const char* method : {"fo-dp-sgd", "post-fm-dp-sgd"}) {
        Case c = plain_case(method, .8);
        c.ours.own.of<FractionalOptions>().kernel = ours;
        c.theirs.kernel = theirs;
        c.ours.own.of<FractionalOptions>().lag_origin = c.theirs.lag_origin = origin;
        if (ours != Kernel::current) c.ours.own.of<FractionalOptions>().beta = c.theirs.beta = .6;
        cases.push_back(c);
      }
  expect_agreement(cases);
}

}  // namespace
}  // namespace fodp
