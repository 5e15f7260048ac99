// The program as people and scripts use it: words in; exit status, standard output and standard error out.
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fodp/base/check.h"
#include "fodp/data/dataset.h"
#include "fodp/files/state_dict.h"
#include "program.h"
#include "terminal.h"

namespace fodp {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

bool have_fashion_mnist() {
  try {
    find_data_folder(find_data_source("fashion-mnist"), std::nullopt);
    return true;
  } catch (const InputError&) {
    return false;
  }
}

const std::string kSmall = "train --data fashion-mnist --train-size 400 --test-size 100 --hidden 8 --steps 6 --sample-rate .2 ";

TEST_F(Commands, HelpTeaches) {
  EXPECT_THAT(fodp("").out, HasSubstr("fodp train"));
  for (const char* command : {"train", "account", "methods", "data"}) {
    const Outcome outcome = fodp(std::string(command) + " --help");
    EXPECT_EQ(outcome.status, 0);
    EXPECT_THAT(outcome.out, HasSubstr("Example:")) << command;
  }
  const std::string train = fodp("train --help").out;
  for (const char* flag :
       {"--beta", "--kernel-decay", "--lag-origin", "--physical-batch", "--insecure-seed", "--dry-run", "--config", "--clipping"})
    EXPECT_THAT(train, HasSubstr(flag));
}

TEST_F(Commands, HelpMethodsAndStatementFollowTheTerminal) {
  for (const char* words : {"train --help", "methods", "methods dp-sam", "train --dry-run", "data --help"}) {
    Terminal terminal(folder_, words, 60);
    EXPECT_EQ(terminal.finish(), 0) << words;
    EXPECT_LE(longest_line(terminal.shown()), 60u) << words;
    EXPECT_GT(longest_line(terminal.shown()), 50u) << words;
  }
  EXPECT_EQ(fodp("help train").out, fodp("train --help").out);
  EXPECT_THAT(fodp("train --dry-run").out, HasSubstr("\n                  ")) << "the statement hangs under its column";
}

TEST_F(Commands, UnknownNamesGetTheNearest) {
  for (const auto& [words, hint] : std::vector<std::pair<std::string, std::string>>{{"trian", "train"},
                                                                                    {"train --metod dp-sgd", "--method"},
                                                                                    {"train --method fo-dp-sdg", "fo-dp-sgd"},
                                                                                    {"train --method DP-SGD", "'dp-sgd'"},
                                                                                    {"train --data cifar10", "cifar-10"},
                                                                                    {"train --kernel confidnce", "confidence"},
                                                                                    {"account --sampel-rate .1", "--sample-rate"}}) {
    const Outcome outcome = fodp(words);
    EXPECT_EQ(outcome.status, 2) << words;
    EXPECT_THAT(outcome.err, AllOf(HasSubstr("did you mean"), HasSubstr(hint))) << words;
    EXPECT_THAT(outcome.out, IsEmpty());
  }
}

TEST_F(Commands, BadNumbersNameTheFieldAndItsRange) {
  const std::string rest = " --steps 10 --delta 1e-5";
  for (const auto& [words, field] : std::vector<std::pair<std::string, std::string>>{
           {"account --sample-rate 0 --noise-multiplier 1" + rest, "--sample-rate"},
           {"account --sample-rate 1.1 --noise-multiplier 1" + rest, "--sample-rate"},
           {"account --sample-rate nan --noise-multiplier 1" + rest, "--sample-rate"},
           {"account --sample-rate .1 --noise-multiplier 0" + rest, "--noise-multiplier"},
           {"account --sample-rate .1 --noise-multiplier -1" + rest, "--noise-multiplier"},
           {"account --sample-rate .1 --noise-multiplier 1e999" + rest, "--noise-multiplier"},
           {"account --sample-rate .1 --noise-multiplier 1 --steps 1.5 --delta 1e-5", "--steps"},
           {"account --sample-rate .1 --noise-multiplier 1 --steps 10 --delta 1", "--delta"},
           {"account --sample-rate .1 --noise-multiplier 1 --steps 10 --delta 0", "--delta"},
           {"account --sample-rate .1 --noise-multiplier 1 --steps 10", "--delta"},
           {"account --noise-multiplier 1 --steps 10 --delta 1e-5", "--sample-rate"},
           {"account --sample-rate .1 --noise-multiplier 1 --steps 10 --delta 1e-5 --epsilon 1", "--epsilon"},
           {"train --beta 0", "--beta"},
           {"train --window 0", "--window"},
           {"train --clip-norm -1", "--clip-norm"},
           {"train --epsilon 1 --noise-multiplier 1", "--noise-multiplier"},
           {"train --kernel current --beta .5", "beta"},
           {"train --hidden 0", "--hidden"},
           {"train --physical-batch 0", "--physical-batch"},
           {"train --save w.bin", "--save"},
           {"train --train-size 100000", "train"}}) {
    const Outcome outcome = fodp(words);
    EXPECT_EQ(outcome.status, 2) << words << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(field)) << words;
  }
}

TEST_F(Commands, MethodsListsAndExplains) {
  const auto all = json("methods");
  ASSERT_TRUE(all["methods"].is_array());
  for (const auto& method : all["methods"])
    for (const char* name : {"name", "summary", "event", "queries_per_step", "options", "source"}) EXPECT_TRUE(method.contains(name));
  const auto one = json("methods fo-dp-sgd");
  EXPECT_EQ(one["name"], "fo-dp-sgd");
  EXPECT_THAT(one["options"].dump(), HasSubstr("kernel-decay"));
  EXPECT_EQ(fodp("methods nothing-like-it").status, 2);
}

TEST_F(Commands, DataSaysWhatIsFoundAndWhatIsNot) {
  const auto out = json("data --data-dir " + folder_.string());
  for (const auto& set : out["data"]) EXPECT_FALSE(set["found"]) << set;
  write("file", "");
  for (const char* place : {"/nowhere", "file", "''"}) {
    const Outcome outcome = fodp(std::string("data --json --data-dir ") + place);
    EXPECT_EQ(outcome.status, 2) << place;
    EXPECT_THAT(outcome.err, AllOf(HasSubstr("--data-dir"), HasSubstr(place), HasSubstr("folder"))) << place;
    EXPECT_THAT(outcome.out, IsEmpty());
  }
}

TEST_F(Commands, DryRunTouchesNoData) {
  const auto out = json(
      "train --data cifar-10 --data-dir /nonexistent --noise-multiplier 1.1 --sample-rate .04 --steps 6250 "
      "--delta 1e-5 --dry-run");
  EXPECT_EQ(out["train_examples"], 50000);
  EXPECT_NEAR(out["epsilon_ideal"], 17.4397, .001);
  EXPECT_FALSE(out.contains("test_accuracy"));
  EXPECT_TRUE(out["private"]);
}

TEST_F(Commands, ConfigFileAndFlagsOverIt) {
  write("run.toml",
        "data = \"cifar-10\"\nsample-rate = 0.04\nsteps = 6250\nnoise_multiplier = 1.1\ndelta = 1e-5\nhidden = [64, 32]\ndry-run = true\n");
  EXPECT_NEAR(json("train --config run.toml")["epsilon_ideal"], 17.4397, .001);
  EXPECT_NEAR(json("train --config run.toml --beta 1")["epsilon_ideal"], 21.1325, .001);
  write("bad.toml", "steps = 10\nsampel-rate = 0.1\n");
  EXPECT_THAT(fodp("train --config bad.toml").err, AllOf(HasSubstr("line 2"), HasSubstr("sample-rate")));
  write("worse.toml", "steps = = 3\n");
  EXPECT_EQ(fodp("train --config worse.toml").status, 2);
  EXPECT_EQ(fodp("train --config none.toml").status, 2);
}

TEST_F(Commands, TrainLeavesARunDirectory) {
  if (!have_fashion_mnist()) GTEST_SKIP() << "no Fashion-MNIST";
  const Outcome outcome = fodp(kSmall + "--epsilon 3 --out run --save w.safetensors");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("Privacy statement"), HasSubstr("one row"), HasSubstr("add or remove")));
  EXPECT_THAT(outcome.err, HasSubstr("epsilon"));
  for (const char* name : {"run/config.json", "run/metrics.jsonl", "run/summary.json", "run/model.pt", "w.safetensors"})
    EXPECT_TRUE(std::filesystem::exists(folder_ / name)) << name;
  const auto summary = nlohmann::json::parse(content(folder_ / "run/summary.json"));
  EXPECT_LE(summary["epsilon"], 3);
  EXPECT_TRUE(summary["private"]);
  EXPECT_EQ(summary["insecure"].size(), 0u);
  EXPECT_EQ(fodp(kSmall + "--out run").status, 2);  // nothing is overwritten
}

TEST_F(Commands, TrainRepeatsUnderAnInsecureSeedAndSaysSo) {
  if (!have_fashion_mnist()) GTEST_SKIP() << "no Fashion-MNIST";
  const auto first = json(kSmall + "--noise-multiplier 1 --insecure-seed 3 --save a.pt");
  const auto second = json(kSmall + "--noise-multiplier 1 --insecure-seed 3 --threads 1 --save b.pt");
  EXPECT_FALSE(first["private"]);
  EXPECT_THAT(first["insecure"].dump(), HasSubstr("insecure-seed"));
  const StateDict a = load_state_dict(folder_ / "a.pt"), b = load_state_dict(folder_ / "b.pt");
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(a[i].value.equal(b[i].value)) << a[i].name;
  EXPECT_EQ(first["test_loss"], second["test_loss"]);
}

TEST_F(Commands, TrainWithoutNoiseIsNotPrivate) {
  if (!have_fashion_mnist()) GTEST_SKIP() << "no Fashion-MNIST";
  const auto out = json(kSmall + "--noise-multiplier 0");
  EXPECT_EQ(out["epsilon"], "inf");
  EXPECT_EQ(out["epsilon_ideal"], "inf");
  EXPECT_FALSE(out["private"]);
}

TEST_F(Commands, TrainStartsFromAFileAndRefusesAWrongOne) {
  if (!have_fashion_mnist()) GTEST_SKIP() << "no Fashion-MNIST";
  ASSERT_EQ(fodp(kSmall + "--lr 0 --save start.pt").status, 0);
  ASSERT_EQ(fodp(kSmall + "--lr 0 --init start.pt --epsilon 6 --save same.safetensors").status, 0);
  const StateDict a = load_state_dict(folder_ / "start.pt"), b = load_state_dict(folder_ / "same.safetensors");
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(a[i].value.equal(b[i].value)) << a[i].name;
  const Outcome outcome = fodp("train --train-size 400 --hidden 9 --steps 2 --init start.pt --save other.pt");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("1.weight"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "other.pt"));
}

TEST_F(Commands, UnNoisedViewsNeedTheirFlag) {
  if (!have_fashion_mnist()) GTEST_SKIP() << "no Fashion-MNIST";
  ASSERT_EQ(fodp(kSmall + "--out plain").status, 0);
  EXPECT_THAT(content(folder_ / "plain/metrics.jsonl"), Not(HasSubstr("clip_fraction")));
  const auto out = json(kSmall + "--insecure-diagnostics --out views");
  EXPECT_FALSE(out["private"]);
  EXPECT_THAT(content(folder_ / "views/metrics.jsonl"), HasSubstr("clip_fraction"));
}

TEST_F(Commands, AStandardErrorThatIsClosedOrFullChangesNothing) {
  const std::string program = "'" FODP_BINARY_DIR "/fodp' ";
  EXPECT_EQ(WEXITSTATUS(std::system((program + "account --bad >/dev/null 2>/dev/full").c_str())), 2);
  EXPECT_EQ(WEXITSTATUS(std::system((program + "train --dry-run --epsilon 20 >/dev/null 2>&-").c_str())), 0);
}

TEST_F(Commands, WarningsAreNotErrors) {
  const Outcome weak = fodp("train --dry-run --epsilon 20 --delta 1e-3 --json");
  EXPECT_EQ(weak.status, 0);
  EXPECT_THAT(weak.err, AllOf(HasSubstr("above 10"), HasSubstr("delta")));
  EXPECT_THAT(fodp("train --dry-run --method dp-sgd --alpha .5").err, HasSubstr("--alpha has no effect"));
}

}  // namespace
}  // namespace fodp
