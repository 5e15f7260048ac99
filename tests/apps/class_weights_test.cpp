// --class-weights on the command line.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "program.h"

namespace fodp {
namespace {

using ::testing::HasSubstr;

class ClassWeightsCommands : public Commands {
 protected:
  void SetUp() override {
    Commands::SetUp();
    write("own.toml", "[columns.x]\nkind = \"number\"\nlow = 0\nhigh = 9\n[columns.y]\nkind = \"label\"\nvalues = [\"no\", \"yes\"]\n");
    write("numbers.toml", "[columns.x]\nkind = \"number\"\nlow = 0\nhigh = 9\n[columns.y]\nkind = \"label\"\nlow = 0\nhigh = 9\n");
    std::string rows = "x,y\n";
    for (int i = 0; i < 200; ++i) rows += fmt::format("{},{}\n", i % 10, i % 10 < 8 ? "no" : "yes");
    write("own.csv", rows);
  }
  static constexpr char kTrain[] =
      "train --data table --train own.csv --model linear --sample-rate .2 --steps 30 --insecure-seed 1 --schema ";
};

TEST_F(ClassWeightsCommands, AreShownRecordedAndRepeated) {
  const Outcome first = fodp(std::string(kTrain) + "own.toml --class-weights .25,1 --out run");
  ASSERT_EQ(first.status, 0) << first.err;
  EXPECT_THAT(first.err, HasSubstr("class weights no 0.25, yes 1"));
  EXPECT_EQ(nlohmann::json::parse(content(folder_ / "run/config.json"))["class_weights"], "0.25,1");
  const auto summary = nlohmann::json::parse(content(folder_ / "run/summary.json"));
  ASSERT_EQ(fodp("train --quiet --config run/config.json --out again").status, 0);
  EXPECT_EQ(nlohmann::json::parse(content(folder_ / "again/config.json"))["class_weights"], "0.25,1");
  EXPECT_EQ(nlohmann::json::parse(content(folder_ / "again/summary.json"))["model_sha256"], summary["model_sha256"]);
  ASSERT_EQ(fodp(std::string(kTrain) + "own.toml --quiet --out plain").status, 0);
  EXPECT_NE(content(folder_ / "plain/checkpoint"), content(folder_ / "run/checkpoint")) << "the weights have an effect";
  const Outcome resumed = fodp("train --resume run");
  EXPECT_EQ(resumed.status, 3) << "the plan is that of the run, which has come to its end: " << resumed.err;
  EXPECT_EQ(fodp("train --resume run --class-weights 1,2").status, 2) << "a run goes on as it was begun";
}

// A run whose record was changed is another run.
TEST_F(ClassWeightsCommands, ARunDoesNotGoOnWithOtherWeights) {
  ASSERT_EQ(fodp(std::string(kTrain) + "own.toml --quiet --class-weights .25,1 --out run").status, 0);
  std::string config = content(folder_ / "run/config.json");
  config.replace(config.find("0.25,1"), 6, "0.75,1");
  write("run/config.json", config);
  const Outcome resumed = fodp("train --resume run");
  EXPECT_EQ(resumed.status, 2) << resumed.err;
}

TEST_F(ClassWeightsCommands, WrongOnesAreRefused) {
  const auto says = [&](const std::string& schema, const std::string& weights) {
    const Outcome outcome = fodp(std::string(kTrain) + schema + " --class-weights " + weights);
    EXPECT_EQ(outcome.status, 2) << outcome.err;
    return outcome.err;
  };
  EXPECT_THAT(says("own.toml", "1,2,3"), HasSubstr("--class-weights: 3 weights: there are 2 classes"));
  EXPECT_THAT(says("own.toml", "5"), HasSubstr("in this order: no, yes"));
  EXPECT_THAT(says("own.toml", "1,-2"), HasSubstr("must be in (0, 1e+06]"));
  EXPECT_THAT(says("own.toml", "1,inf"), HasSubstr("must be in (0, 1e+06]"));
  EXPECT_THAT(says("own.toml", "no=1,yes=2"), HasSubstr("one number for each class"));
  EXPECT_THAT(says("numbers.toml", "1,2"), HasSubstr("what is predicted is a number"));
}

}  // namespace
}  // namespace fodp
