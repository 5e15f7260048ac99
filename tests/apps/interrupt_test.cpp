// Ctrl-C and SIGTERM, and what is shown while a run goes on.
#include <regex>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "program.h"
#include "terminal.h"

namespace fodp {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kStopping[] = "stopping after this step; press Ctrl-C again to stop at once";
// More steps than anybody waits for.
const std::string kLong = "train --train-size 2000 --test-size 100 --hidden 8 --sample-rate .1 --steps 10000000 --noise-multiplier 2 ";

class Interrupt : public Commands {
 protected:
  void SetUp() override {
    Commands::SetUp();
    if (fodp("data --json").out.find("\"found\": true") == std::string::npos) GTEST_SKIP() << "fashion-mnist is not here";
  }

  void expect_saved() {
    for (const char* name : {"config.json", "metrics.jsonl", "summary.json", "model.pt"})
      EXPECT_TRUE(std::filesystem::exists(folder_ / "run" / name)) << name;
    const auto summary = nlohmann::json::parse(content(folder_ / "run/summary.json"));
    EXPECT_GE(summary["steps"], 1);
    EXPECT_LT(summary["steps"], 10000000);
    EXPECT_TRUE(summary["stopped_early"]);
    EXPECT_EQ(summary["epsilon"], summary["planned_epsilon"]) << "a stop may have followed from the results";
    EXPECT_LT(summary["epsilon_if_stop_was_fixed"], summary["epsilon"]);
    EXPECT_EQ(nlohmann::json::parse(content(folder_ / "run/model.json"))["events"], summary["event"]);
    const double epsilon = summary["epsilon"];
    EXPECT_NEAR(json("account --events run")["epsilon"], epsilon, 1e-9 * epsilon);
  }
};

TEST_F(Interrupt, CtrlCFinishesTheStepSavesAndEndsWith130) {
  Terminal terminal(folder_, kLong + "--out run");
  ASSERT_TRUE(terminal.wait_for("steps/s")) << terminal.shown();
  terminal.type("\x03");
  EXPECT_EQ(terminal.finish(), 130);
  EXPECT_THAT(terminal.shown(), AllOf(HasSubstr(kStopping), HasSubstr("Privacy statement"), HasSubstr("stopped after")));
  expect_saved();
}

TEST_F(Interrupt, SoDoesSigtermAndTheJsonIsWhole) {
  Terminal terminal(folder_, kLong + "--out run --eval-every 1 --json >out.txt");
  ASSERT_TRUE(terminal.wait_for("test accuracy")) << terminal.shown();
  terminal.send(SIGTERM);
  EXPECT_EQ(terminal.finish(), 130);
  EXPECT_THAT(terminal.shown(), HasSubstr(kStopping));
  const auto printed = nlohmann::json::parse(content(folder_ / "out.txt"));
  expect_saved();
  EXPECT_EQ(printed, nlohmann::json::parse(content(folder_ / "run/summary.json")));
}

TEST_F(Interrupt, ASecondCtrlCEndsAtOnce) {
  // A step takes seconds: time enough for two. The first comes when the second step is under way: right after the line of the first it
  // could end the run by itself.
  Terminal terminal(
      folder_, "train --model cnn --sample-rate 1 --steps 1000 --train-size 40000 --test-size 100 --noise-multiplier 2 --eval-every 1");
  ASSERT_TRUE(terminal.wait_for("test accuracy")) << terminal.shown();
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  terminal.type("\x03");
  ASSERT_TRUE(terminal.wait_for(kStopping)) << terminal.shown();
  terminal.type("\x03");
  EXPECT_EQ(terminal.finish(), -SIGINT) << terminal.shown();
}

// Epsilon is asked for seldom; what an evaluation has told meanwhile is not taken back.
TEST_F(Interrupt, LiveEpsilonNeverFalls) {
  Terminal terminal(folder_, kLong + "--eval-every 20");
  for (const char* step : {"step     20", "step    400", "step    800"}) ASSERT_TRUE(terminal.wait_for(step)) << terminal.shown();
  terminal.type("\x03");
  terminal.finish();
  const std::regex pattern("(left|epoch +[0-9.]+)  epsilon +([0-9.e+-]+)");  // of the live line, of an evaluation
  double last = 0;
  int seen = 0;
  for (std::sregex_iterator match(terminal.shown().begin(), terminal.shown().end(), pattern), end; match != end; ++match, ++seen) {
    const double epsilon = std::stod((*match)[2]);
    ASSERT_GE(epsilon, last) << "number " << seen;
    last = epsilon;
  }
  EXPECT_GT(seen, 20);
}

}  // namespace
}  // namespace fodp
