#include "fodp/methods/method.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fodp/base/check.h"

namespace fodp {
namespace {

TEST(Methods, AreListedOnceWithAllThatPeopleAskFor) {
  std::set<std::string_view> names;
  for (const MethodEntry& entry : method_table()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    for (std::string_view text : {entry.summary, entry.formula, entry.event, entry.source}) EXPECT_FALSE(text.empty()) << entry.name;
    EXPECT_GE(entry.queries_per_step, 1);
    EXPECT_GT(entry.default_lr, 0);
    EXPECT_TRUE(entry.make() != nullptr);
  }
  EXPECT_TRUE(names.contains("fo-dp-sgd") && names.contains("dp-sgd"));
}

TEST(Methods, AnUnknownNameGetsTheNearest) {
  try {
    find_method("fo-dpsgd");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("did you mean 'fo-dp-sgd'"));
  }
}

TEST(Methods, CostWhatTheTableSays) {
  const MethodContext context{.noise_multiplier = 1.1, .clip_norm = 1, .parameters = 10, .memory = {.beta = .9}};
  EXPECT_EQ(find_method("dp-sgd").make()->make_mechanism(context)->event(.04, 0), Event::poisson_gaussian(.04, 1.1));
  EXPECT_EQ(find_method("fo-dp-sgd").make()->make_mechanism(context)->event(.04, 0), Event::poisson_gaussian(.04, 1.1 / .9));
}

// The verbs in their order, each once a step.
class Recorder : public Step {
 public:
  Lot sample() override {
    order += "sample ";
    return PoissonSampler(1, 1, 1, RandomStream(RunKey::from_insecure_seed(0), Purpose::sampling)).draw(0);
  }
  ClippedSum clipped_sum(Lot) override {
    order += "clip ";
    throw InputError("far enough");  // no sum without data
  }
  Release release(ClippedSum) override { throw InputError("not reached"); }
  void update(const Release&) override { throw InputError("not reached"); }

  std::string order;
};

TEST(Methods, SampleThenClip) {
  for (const char* name : {"dp-sgd", "fo-dp-sgd"}) {
    Recorder recorder;
    EXPECT_THROW(find_method(name).make()->step(recorder), InputError);
    EXPECT_EQ(recorder.order, "sample clip ");
  }
}

}  // namespace
}  // namespace fodp
