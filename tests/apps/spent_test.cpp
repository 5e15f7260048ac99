// --init, --init-public and --spent: what earlier runs on the same rows cost is spent first.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "program.h"

namespace fodp {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const std::string kSmallQuiet = "train --train-size 400 --test-size 100 --hidden 8 --steps 6 --sample-rate .2 --quiet ";

class SpentBefore : public Commands {
 protected:
  void SetUp() override {
    Commands::SetUp();
    if (fodp("data --json").out.find("\"found\": true") == std::string::npos) GTEST_SKIP() << "fashion-mnist is not here";
    ASSERT_EQ(fodp(kSmallQuiet + "--epsilon 3 --out a --save a.safetensors").status, 0);
  }
};

TEST_F(SpentBefore, CountsOnceHoweverItIsNamed) {
  const auto first = nlohmann::json::parse(content(folder_ / "a/summary.json"));
  const auto second = json(kSmallQuiet + "--epsilon 5 --init a/model.pt --spent a --spent a/summary.json --out b");
  EXPECT_EQ(second["started_from"], (nlohmann::json{{"file", "a/model.pt"}, {"cost", "spent"}}));
  EXPECT_LE(second["epsilon"], 5);
  EXPECT_GT(second["epsilon"], 4.99);
  EXPECT_EQ(second["earlier"].size(), 1u);
  EXPECT_EQ(second["earlier"][0]["run"], first["run"]);
  const double epsilon = second["epsilon"];
  EXPECT_NEAR(json("account --events b")["epsilon"], epsilon, 1e-9 * epsilon);
  EXPECT_THAT(content(folder_ / "b/statement.txt"), AllOf(HasSubstr("Started from"), HasSubstr("Spent before")));
  // The plan alone says the same, from either file, and the record of the run repeats it.
  for (const char* start : {"--init a.safetensors", "--init a/model.pt", "--spent a", "--config b/config.json"}) {
    const auto plan = json(kSmallQuiet + "--epsilon 5 --dry-run " + start);
    EXPECT_EQ(plan["epsilon"], second["epsilon"]) << start;
    EXPECT_EQ(plan["noise_multiplier"], second["noise_multiplier"]) << start;
  }
}

TEST_F(SpentBefore, ABudgetThatIsSpentIsRefused) {
  const Outcome spent = fodp(kSmallQuiet + "--epsilon 2 --init a.safetensors --save w.pt");
  EXPECT_EQ(spent.status, 3);
  EXPECT_THAT(spent.err, AllOf(HasSubstr("a.safetensors"), HasSubstr("--epsilon"), HasSubstr("--init-public")));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "w.pt"));
  const auto declared = json(kSmallQuiet + "--epsilon 2 --init a.safetensors --init-public");
  EXPECT_LE(declared["epsilon"], 2);
  EXPECT_EQ(declared["started_from"]["cost"], "public");
  EXPECT_EQ(fodp(kSmallQuiet + "--init-public").status, 2);
}

TEST_F(SpentBefore, ARunWhoseLedgerIsDamagedOrSaysMoreIsRefused) {
  const std::string ledger = content(folder_ / "a/ledger"), summary = content(folder_ / "a/summary.json");
  write("a/ledger", ledger.substr(0, ledger.size() / 2) + "x" + ledger.substr(ledger.size() / 2));
  EXPECT_EQ(fodp(kSmallQuiet + "--epsilon 5 --dry-run --spent a").status, 3);
  write("a/ledger", ledger);
  auto fewer = nlohmann::json::parse(summary);
  fewer["event"][0]["count"] = 1;
  write("a/summary.json", fewer.dump());
  const Outcome refused = fodp(kSmallQuiet + "--epsilon 5 --dry-run --spent a");
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("ledger"));
  write("a/summary.json", summary);
  EXPECT_EQ(fodp(kSmallQuiet + "--epsilon 5 --dry-run --spent a").status, 0);
}

TEST_F(SpentBefore, ListsOfFilesStandInConfigFilesToo) {
  write("steps.json", R"([{"sample_rate": 0.2, "noise_multiplier": 2, "steps": 3}])");
  write("run.toml", "spent = [\"a\", \"steps.json\"]\ninit-seed = 1\n");
  const auto plan = json(kSmallQuiet + "--noise-multiplier 2 --dry-run --config run.toml");
  EXPECT_EQ(plan["earlier"].size(), 2u);
  EXPECT_EQ(plan["epsilon"], json(kSmallQuiet + "--noise-multiplier 2 --dry-run --spent a --spent steps.json")["epsilon"]);
  const Outcome missing = fodp(kSmallQuiet + "--spent nowhere.json");
  EXPECT_EQ(missing.status, 2);
  EXPECT_THAT(missing.err, HasSubstr("--spent nowhere.json"));
}

TEST_F(SpentBefore, ARunThatWasNotPrivateIsNotMadePrivateByAnother) {
  ASSERT_EQ(fodp(kSmallQuiet + "--noise-multiplier 0 --save open.pt").status, 0);
  const auto after = json(kSmallQuiet + "--init open.pt");
  EXPECT_FALSE(after["private"]);
  EXPECT_EQ(after["epsilon"], "inf");
  EXPECT_THAT(after["insecure"].dump(), AllOf(HasSubstr("init: open.pt"), HasSubstr("noise-multiplier 0")));
}

}  // namespace
}  // namespace fodp
