// fodp audit as people and scripts use it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "program.h"

namespace fodp {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const std::string kSmallAudit =
    "audit --train-size 1500 --hidden 8 --steps 12 --sample-rate .1 --epsilon 3 --canaries 400 --insecure-seed 4 --init-seed 1 --quiet ";

class AuditCommand : public Commands {
 protected:
  void SetUp() override {
    Commands::SetUp();
    if (fodp("data --json").out.find("\"found\": true") == std::string::npos) GTEST_SKIP() << "fashion-mnist is not here";
  }
};

TEST_F(AuditCommand, ReportsTheVerdictAndKeepsItForTheRecord) {
  const auto report = json(kSmallAudit + "--out record");
  EXPECT_EQ(report["verdict"], "pass");
  EXPECT_LE(report["epsilon_lower"], report["claimed_epsilon"]);
  EXPECT_LE(report["claimed_epsilon"], 3);
  EXPECT_GT(report["claimed_epsilon"], 2.99);
  EXPECT_EQ(report["confidence"], .95);
  EXPECT_EQ(report["private"], false);
  EXPECT_EQ(report["run"]["method"], "fo-dp-sgd");
  EXPECT_FALSE(report["run"]["insecure"].empty());
  EXPECT_GE(report["checks"].size(), 14u);
  for (const auto& check : report["checks"]) {
    EXPECT_EQ(check["holds"], true) << check;
    EXPECT_TRUE(check["name"].is_string() && check["what"].is_string());
  }
  EXPECT_EQ(nlohmann::json::parse(content(folder_ / "record/audit.json")), report);
  EXPECT_THAT(content(folder_ / "record/audit.txt"), AllOf(HasSubstr("PASS"), HasSubstr("without privacy")));
  // Nothing is overwritten.
  const Outcome again = fodp(kSmallAudit + "--out record");
  EXPECT_EQ(again.status, 2);
  EXPECT_THAT(again.err, AllOf(HasSubstr("--out"), HasSubstr("audit.json")));
}

TEST_F(AuditCommand, RefusesWhatItHasNoUseFor) {
  for (const char* words : {"--resume nowhere", "--dry-run", "--save w.pt", "--spent nowhere", "--self-test", "--noise-multiplier 0",
                            "--canaries 1", "--confidence 1", "--out /proc/nowhere"}) {
    const Outcome refused = fodp(kSmallAudit + words);
    EXPECT_EQ(refused.status, 2) << words << refused.err;
    EXPECT_EQ(refused.out, "") << words;
  }
}

TEST_F(Commands, AnAuditsHelpShowsOnlyWhatItTakes) {
  const std::string help = fodp("audit --help").out;
  for (const char* name : {"--resume", "--dry-run", "--save ", "--checkpoint-every", "--eval-every", "--test-size", "--spent"})
    EXPECT_EQ(help.find(name), std::string::npos) << name;
  EXPECT_THAT(help, AllOf(HasSubstr("--canaries"), HasSubstr("--method"), HasSubstr("audit.json")));
}

// It needs no data.
TEST_F(Commands, AnAuditsSelfTestFindsEveryFaultAndPassesASoundRun) {
  const auto result = json("audit --self-test --quiet");
  EXPECT_EQ(result["clean"], true);
  EXPECT_EQ(result["null_epsilon"], 0);
  EXPECT_GT(result["clean_epsilon_lower"], result["clean_claimed_epsilon"].get<double>() / 2);
  EXPECT_EQ(result["faults"].size(), 12u);
  for (const auto& fault : result["faults"]) EXPECT_EQ(fault["caught"], true) << fault;
}

}  // namespace
}  // namespace fodp
