// What a run carries from one step to the next can be saved and loaded: a run that goes on from it is the run that was never left, bit for
// bit under a fixed seed, for every method and every entry of every stage.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fodp/base/check.h"
#include "fodp/gradients/adaptive_clip.h"
#include "fodp/mechanism/banded.h"
#include "methods/small_run.h"

namespace fodp {
namespace {

using namespace fodp::testing;
using ::testing::HasSubstr;

constexpr int kBefore = 4, kAfter = 5;

const plain::Problem& problem() {
  static const plain::Problem rows = plain::small_problem(60, {9, 8, 7, 5}, 3);
  return rows;
}

PrivateOptions seeded(const std::string& method) {
  PrivateOptions options{.method = method};
  options.privacy = {.noise_multiplier = .8, .sample_rate = .25, .steps = kBefore + kAfter};
  options.update.lr = .3;
  options.insecure_seed = 11;
  options.own.of<BandOptions>().bands = 3;  // the state is taken within a cycle
  options.own.of<AdaptiveClipOptions>().count_noise = 4;
  return options;
}

void steps(SmallRun& run, int count) {
  for (int i = 0; i < count; ++i) run.steps().step();
}

bool refused(const PrivateOptions& options) {
  try {
    SmallRun(problem(), plain::small_start(problem().net, 4), options);
  } catch (const InputError&) {
    return true;
  }
  return false;
}

void expect_goes_on(const std::string& name, const PrivateOptions& options) {
  SCOPED_TRACE(name);
  const plain::Vector start = plain::small_start(problem().net, 4), other_start = plain::small_start(problem().net, 5);
  SmallRun whole(problem(), start, options), first(problem(), start, options), second(problem(), other_start, options);
  steps(whole, kBefore + kAfter);
  steps(first, kBefore);
  const State saved = first.steps().state();
  second.steps().load_state(saved);
  EXPECT_EQ(second.steps().state(), saved);
  steps(second, kAfter);
  EXPECT_EQ(second.theta(), whole.theta());
  EXPECT_EQ(second.averaged(), whole.averaged());
  EXPECT_EQ(second.steps().state(), whole.steps().state());
  EXPECT_EQ(second.steps().epsilon(), whole.steps().epsilon());
  EXPECT_TRUE(second.steps().done());
}

TEST(RunState, EveryMethodGoesOnFromIt) {
  for (const MethodEntry* method : method_table()) expect_goes_on(std::string(method->name), seeded(std::string(method->name)));
}

TEST(RunState, EveryEntryOfEveryStageGoesOnFromIt) {
  const auto each = [](const char* stage, auto table) {
    for (const auto* entry : table) {
      PrivateOptions options = seeded("dp-sgd");
      options.set(stage, entry->name);
      if (refused(options)) continue;  // made for other rows or models than these
      expect_goes_on(std::string(stage) + " " + std::string(entry->name), options);
    }
  };
  for_each_table(each);
}

TEST(RunState, MemoriesWithSchedulesAndSeveralSumsGoOnFromIt) {
  PrivateOptions options = seeded("dp-sam");
  options.set("release", "fractional");
  options.set("denoise", "shrink");
  options.set("update", "adambc");
  options.set("beta", ".9:.6");
  expect_goes_on("dp-sam", options);
  options = seeded("disk");
  options.set("release", "spectral");
  options.set("filter", "memory");
  options.set("averaging", "polynomial");
  expect_goes_on("disk", options);
}

TEST(RunState, OfAPrivateRunHoldsNoNoise) {
  PrivateOptions options = seeded("bandmf");
  const plain::Vector start = plain::small_start(problem().net, 4);
  SmallRun insecure(problem(), start, options);
  options.insecure_seed = {};
  SmallRun secret(problem(), start, options);
  steps(insecure, kBefore);
  steps(secret, kBefore);
  EXPECT_TRUE(insecure.steps().state().contains("mechanism0.xi.0"));
  const State state = secret.steps().state();
  for (const auto& [name, value] : state) EXPECT_EQ(name.find("xi"), std::string::npos) << name;
}

TEST(RunState, IsLoadedBeforeTheFirstStepOnly) {
  const plain::Vector start = plain::small_start(problem().net, 4);
  SmallRun run(problem(), start, seeded("dp-sgd"));
  const State state = run.steps().state();
  steps(run, 1);
  EXPECT_THROW(run.steps().load_state(state), PrivacyError);
}

TEST(RunState, OfAnotherPlanIsRefusedAndLeavesNothingBehind) {
  const plain::Vector start = plain::small_start(problem().net, 4), other_start = plain::small_start(problem().net, 5);
  const auto complaint = [&](const PrivateOptions& from, const PrivateOptions& to) {
    SmallRun one(problem(), start, from), other(problem(), other_start, to);
    steps(one, 1);
    const State before = other.steps().state();
    std::string text = "accepted";
    try {
      other.steps().load_state(one.steps().state());
    } catch (const InputError& error) {
      text = error.what();
      EXPECT_EQ(other.steps().state(), before);
    }
    return text;
  };
  PrivateOptions longer = seeded("dp-sgd"), wider = seeded("dp-sgd"), other_seed = seeded("dp-sgd");
  *longer.privacy.steps += 100;
  wider.clip.clip_norm = 5;
  other_seed.insecure_seed = 12;
  other_seed.speed.physical_batch = 7;
  for (const PrivateOptions& other : {seeded("dp-adam"), longer, wider})
    EXPECT_THAT(complaint(other, seeded("dp-sgd")), HasSubstr("another plan"));
  EXPECT_EQ(complaint(other_seed, seeded("dp-sgd")), "accepted");
}

TEST(RunState, ThatLacksAPartIsRefusedAndLeavesNothingBehind) {
  SmallRun one(problem(), plain::small_start(problem().net, 4), seeded("dp-adam"));
  SmallRun other(problem(), plain::small_start(problem().net, 5), seeded("dp-adam"));
  steps(one, 1);
  State state = one.steps().state();
  state.erase("update.first");
  const State before = other.steps().state();
  EXPECT_THROW(other.steps().load_state(state), InputError);
  EXPECT_EQ(other.steps().state(), before);
}

// What a plan accepts, its run can do: no combination is refused after a release.
TEST(Combinations, ThatArePlannedAreRun) {
  int planned = 0;
  for (const MethodEntry* method : method_table())
    for (const char* grouping : {"whole", "shared", "each"})
      for (const auto* release : release_table()) {
        PrivateOptions options = seeded(std::string(method->name));
        options.set("group-clip", grouping);
        options.set("release", release->name);
        if (refused(options)) continue;
        SCOPED_TRACE(std::string(method->name) + " " + grouping + " " + std::string(release->name));
        SmallRun run(problem(), plain::small_start(problem().net, 4), options);
        EXPECT_NO_THROW(steps(run, 2));
        ++planned;
      }
  EXPECT_GE(planned, 100);
}

}  // namespace
}  // namespace fodp
