// --config: TOML, JSON, and the config.json of a run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "program.h"

namespace fodp {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// A run's record: everything stands in it, of the pairs both.
const std::string kRecord = R"({
  "method": "dp-sgd", "data": "cifar-10", "epsilon": 2.5, "noise_multiplier": 7.25, "sample_rate": 0.02, "lot": 1000, "steps": 300,
  "epochs": 6, "hidden": [16, 8], "dry_run": true, "insecure_seed": null, "rho": 0.05, "beta": "0.9:0.6", "init": null, "init_seed": 17,
  "derived": ["noise_multiplier", "lot", "epochs"]
})";

TEST_F(Commands, ARunsRecordIsReadAsItIs) {
  write("config.json", kRecord);
  const Outcome outcome = fodp("train --config config.json --json");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const auto plan = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(plan["method"], "dp-sgd");
  EXPECT_EQ(plan["data"], "cifar-10");
  EXPECT_EQ(plan["steps"], 300);
  EXPECT_EQ(plan["sample_rate"], .02);
  EXPECT_LE(plan["epsilon"], 2.5);
  EXPECT_GT(plan["epsilon"], 2.4);
  EXPECT_NE(plan["noise_multiplier"], 7.25) << "it was derived";
}

TEST_F(Commands, ARunIsRepeatedFromItsRecord) {
  if (fodp("data --json").out.find("\"found\": true") == std::string::npos) GTEST_SKIP() << "fashion-mnist is not here";
  const std::string words = "train --train-size 400 --test-size 100 --hidden 8 --steps 6 --lot 80 --epsilon 3 --insecure-seed 5 ";
  const Outcome first = fodp(words + "--method dp-adam --clipping adaptive --out run --save w.pt");
  ASSERT_EQ(first.status, 0) << first.err;
  auto config = nlohmann::json::parse(content(folder_ / "run/config.json"));
  config["derived"] = {"noise_multiplier", "sample_rate", "epochs"};
  write("again.json", config.dump());
  const auto second = json("train --config again.json --out again");
  const auto summary = nlohmann::json::parse(content(folder_ / "run/summary.json"));
  for (const char* name : {"method", "steps", "sample_rate", "epsilon", "noise_multiplier", "test_accuracy", "test_loss"})
    EXPECT_EQ(second[name], summary[name]) << name;
  EXPECT_EQ(fodp("train --config again.json").status, 0) << "it does not write where the first one did";
}

TEST_F(Commands, AFlagDisplacesItsAlternativeInTheFile) {
  write("config.json", kRecord);
  const auto noise = json("train --config config.json --noise-multiplier 1.5");
  EXPECT_EQ(noise["noise_multiplier"], 1.5);
  EXPECT_EQ(json("train --config config.json --lot 500")["sample_rate"], .01);
  EXPECT_EQ(json("train --config config.json --epochs 2")["steps"], 100);
  EXPECT_EQ(json("train --config config.json --steps 20")["steps"], 20);
  write("run.toml", "noise-multiplier = 1.1\nlot = 1000\nepochs = 1\ndata = \"cifar-10\"\ndry-run = true\n");
  EXPECT_LE(json("train --config run.toml --epsilon 2")["epsilon"], 2);
  EXPECT_EQ(json("train --config run.toml --sample-rate .25")["steps"], 4);
}

TEST_F(Commands, TwoAlternativesInOnePlaceStayAnError) {
  write("both.toml", "epsilon = 1\nnoise-multiplier = 1.1\ndry-run = true\n");
  write("both.json", R"({"epsilon": 1, "noise_multiplier": 1.1, "dry_run": true})");
  for (const char* words : {"--config both.toml", "--config both.json", "--epsilon 1 --noise-multiplier 1 --dry-run"}) {
    const Outcome outcome = fodp(std::string("train ") + words);
    EXPECT_EQ(outcome.status, 2) << words;
    EXPECT_THAT(outcome.err, AllOf(HasSubstr("epsilon"), HasSubstr("noise-multiplier"))) << words;
  }
}

TEST_F(Commands, SwitchesStandInFilesToo) {
  write("run.toml", "sample-rate = .1\n");  // no number of TOML's
  EXPECT_EQ(fodp("account --config run.toml").status, 2);
  write("run.toml", "sample-rate = 0.1\nnoise-multiplier = 1\nsteps = 10\ndelta = 1e-5\njson = true\n");
  EXPECT_TRUE(nlohmann::json::parse(fodp("account --config run.toml").out).contains("epsilon"));
  write("off.json", R"(  {"sample_rate": 0.1, "noise_multiplier": 1, "steps": 10, "delta": 1e-5, "json": false})");
  EXPECT_THAT(fodp("account --config off.json").out, HasSubstr("epsilon "));
  EXPECT_TRUE(nlohmann::json::parse(fodp("account --config off.json --json").out).contains("epsilon"));
}

TEST_F(Commands, WhatFollowedInARecordFollowsAnewIfTheCommandLineChangesIt) {
  const std::string sizes = " --train-size 200 --test-size 50 --steps 2 --sample-rate .1 --epsilon 8 --hidden 4 --json --quiet";
  if (fodp("data --json").out.find("\"found\": true") == std::string::npos) GTEST_SKIP() << "fashion-mnist is not here";
  ASSERT_EQ(fodp("train --method fo-dp-sgd" + sizes + " --out first").status, 0);
  const auto config_of = [&](const std::string& folder) { return nlohmann::json::parse(content(folder_ / folder / "config.json")); };
  const nlohmann::json first = config_of("first");
  ASSERT_EQ(fodp("train --config first/config.json --quiet --json --out same").status, 0);
  EXPECT_EQ(config_of("same")["zeta"], first["zeta"]);
  EXPECT_EQ(config_of("same")["lr"], first["lr"]);
  ASSERT_EQ(fodp("train --config first/config.json --clip-norm 3 --quiet --json --out wider").status, 0);
  EXPECT_EQ(config_of("wider")["zeta"], 3 * first["zeta"].get<double>());
  const nlohmann::json plain = nlohmann::json::parse(fodp("train --config first/config.json --method dp-sgd --quiet --json").out);
  EXPECT_EQ(plain["release"], "gaussian");
  EXPECT_EQ(fodp("train --config first/summary.json").status, 2);
  EXPECT_THAT(fodp("train --config first/summary.json").err, HasSubstr("config.json"));
}

TEST_F(Commands, WhatIsWrongInAJsonFileIsNamed) {
  for (const auto& [text, message] : std::vector<std::pair<std::string, std::string>>{
           {R"({"noise_multiplyer": 1})", "bad.json: noise_multiplyer: not an option of fodp account: did you mean 'noise-multiplier'?"},
           {R"({"steps": {"a": 1}})", "bad.json: steps"},
           {R"({"steps": [null]})", "bad.json: steps"},
           {R"({"steps": 1.5})", "bad.json: steps"},
           {R"({"steps": 10)", "bad.json: not JSON"},
           {R"({"derived": "steps"})", "bad.json: derived"},
           {R"({"derived": [1]})", "bad.json: derived"}}) {
    write("bad.json", text);
    const Outcome outcome = fodp("account --config bad.json");
    EXPECT_EQ(outcome.status, 2) << text;
    EXPECT_THAT(outcome.err, HasSubstr(message)) << text;
  }
  EXPECT_EQ(fodp("account --config .").status, 2);
}

// Each level takes stack in the libraries that read these files.
TEST_F(Commands, DeepFilesAreRefused) {
  const std::string lists(200'000, '['), ends(200'000, ']');
  std::string key = "a";
  for (int i = 0; i < 100'000; ++i) key += ".a";
  for (const auto& [text, message] :
       std::vector<std::pair<std::string, std::string>>{{R"({"steps": )" + lists + ends + "}", "200001 deep"},
                                                        {"steps = " + lists + ends, "line 1"},
                                                        {"steps = 1\n" + key + " = 1", "line 2: a key of more than 8 parts"},
                                                        {"steps = 1\n\n[" + key + "]", "line 3: a key of more than 8 parts"},
                                                        {"steps = [{" + key + " = 1}]", "line 1: a key of more than 8 parts"}}) {
    write("deep", text);
    const Outcome outcome = fodp("account --config deep");
    EXPECT_EQ(outcome.status, 2) << message;
    EXPECT_THAT(outcome.err, AllOf(HasSubstr("--config deep"), HasSubstr(message)));
  }
  write("deep", R"([{"sample_rate": )" + lists + ends + "}]");
  const Outcome outcome = fodp("account --delta 1e-5 --events deep");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("--events deep"), HasSubstr("200002 deep")));
  // Dots in numbers, texts and comments are no keys.
  write("run.toml", "sample-rate = 0.1 # 1.2.3.4.5.6.7.8.9.10\nsteps = 10\nnoise-multiplier = \"1\" # '''\ndelta = '1e-5'\n");
  EXPECT_EQ(fodp("account --config run.toml").status, 0);
}

}  // namespace
}  // namespace fodp
