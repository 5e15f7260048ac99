// fodp account and fodp calibrate, which need no LibTorch.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fodp/accounting/events_json.h"
#include "fodp/accounting/pld.h"
#include "fodp/accounting/rdp.h"
#include "program.h"

namespace fodp {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

TEST_F(Commands, AccountGivesThePapersEpsilon) {
  const auto out = json("account --sample-rate .04 --noise-multiplier 1.1 --beta .9 --steps 6250 --delta 1e-5 --accountant rdp");
  EXPECT_NEAR(out["epsilon"], 18.70, .01);
  EXPECT_EQ(out["adjacency"], "add/remove");
  EXPECT_EQ(out["steps"], 6250);
  EXPECT_NEAR(out["effective_noise_multiplier"], 1.1 / .9, 1e-12);
  EXPECT_GT(out["order"], 1);
  EXPECT_LE(out["epsilon_lower"], out["epsilon"]);
  EXPECT_NEAR(
      json("account --sample-rate .04 --noise-multiplier 1.1 --steps 6250 --delta 1e-5 --accountant rdp --conversion classic")["epsilon"],
      23.88944, 1e-4);
  EXPECT_NEAR(json("account --sample-rate .4 --noise-multiplier 12 --steps 1 --delta 1e-5 --accountant rdp --order 59.25")["rdp"],
              0.0365447, 1e-7);
}

TEST_F(Commands, AccountTurnsEpsilonIntoDelta) {
  const auto forth = json("account --sample-rate .01 --noise-multiplier 1 --steps 1000 --delta 1e-5 --accountant rdp");
  const auto back =
      json("account --sample-rate .01 --noise-multiplier 1 --steps 1000 --accountant rdp --epsilon " + forth["epsilon"].dump());
  EXPECT_NEAR(back["delta"].get<double>(), 1e-5, 1e-9);
  EXPECT_LE(back["delta_lower"], back["delta"]);
}

TEST_F(Commands, AccountReadsARunThatVaries) {
  write(
      "same.json",
      R"([{"sample_rate":0.04,"noise_multiplier":1.1,"beta":0.9,"steps":6000},{"sample_rate":0.04,"noise_multiplier":1.1,"beta":0.9,"steps":250}])");
  const auto out = json("account --events same.json --delta 1e-5 --accountant rdp");
  EXPECT_NEAR(out["epsilon"], 18.70, .01);
  EXPECT_EQ(out["steps"], 6250);
  EXPECT_TRUE(out["effective_noise_multiplier"].is_null());
  write("empty.json", "[]");
  write("unknown.json", R"([{"sample_rate":0.04,"noise_multiplier":1.1,"step":6000}])");
  write("missing.json", R"([{"sample_rate":0.04,"noise_multiplier":1.1}])");
  write("range.json", R"([{"sample_rate":1.5,"noise_multiplier":1.1,"steps":1}])");
  write("broken.json", "[{");
  for (const char* name : {"empty", "unknown", "missing", "range", "broken", "nowhere"}) {
    const Outcome outcome = fodp("account --delta 1e-5 --events " + std::string(name) + ".json");
    EXPECT_EQ(outcome.status, 2) << name;
    EXPECT_THAT(outcome.err, HasSubstr(name)) << name;
  }
  EXPECT_EQ(fodp("account --events same.json --steps 5 --delta 1e-5").status, 2);
}

TEST_F(Commands, AccountOfASummaryIsWhatTheRunSaid) {
  const Events events{
      {Event::poisson_gaussian(.04, 1.1 / .9, .0004), 300}, {Event::poisson_gaussian(.02, 9), 20}, {Event::gaussian(30), 4}};
  const double pld = PldAccountant().epsilon(events, 1e-6).epsilon, rdp = RdpAccountant().epsilon(events, 1e-6).epsilon;
  const auto summary = [&](const std::string& accountant) {
    nlohmann::ordered_json out{{"method", "dp-is"}, {"event", events_to_json(events)}, {"delta", 1e-6}, {"accountant", accountant}};
    return out.dump(2) + "\n";
  };
  std::filesystem::create_directories(folder_ / "runs/a");
  write("runs/a/summary.json", summary("pld"));
  write("rdp.json", summary("rdp"));
  for (const char* path : {"runs/a", "runs/a/", "runs/a/summary.json"}) {
    const auto out = json("account --events " + std::string(path));
    EXPECT_NEAR(out["epsilon"], pld, 1e-9 * pld) << path;
    EXPECT_EQ(out["delta"], 1e-6);
    EXPECT_EQ(out["accountant"], "pld");
    EXPECT_EQ(out["steps"], 324);
  }
  EXPECT_NEAR(json("account --events rdp.json")["epsilon"], rdp, 1e-9 * rdp);
  EXPECT_NEAR(json("account --events rdp.json --accountant pld")["epsilon"], pld, 1e-9 * pld);
  EXPECT_NEAR(json("account --events runs/a --delta 1e-4")["epsilon"], PldAccountant().epsilon(events, 1e-4).epsilon, 1e-9);
  const auto delta = json("account --events runs/a --epsilon " + fmt::format("{}", pld));
  EXPECT_NEAR(delta["delta"], 1e-6, 1e-9);
  EXPECT_THAT(fodp("account --events runs/a").out, HasSubstr("finite precision included"));
}

// Before events had a slack of their own.
TEST_F(Commands, AccountOfAnOlderSummaryChargesItsSlack) {
  const Events events{{Event::poisson_gaussian(.04, 1.5, .0004), 300}};
  nlohmann::ordered_json list = events_to_json(events);
  list[0].erase("slack");
  write("old.json", nlohmann::ordered_json{{"event", list}, {"delta", 1e-5}, {"sensitivity_slack", .0004}}.dump());
  EXPECT_NEAR(json("account --events old.json")["epsilon"], PldAccountant().epsilon(events, 1e-5).epsilon, 1e-9);
}

TEST_F(Commands, AccountSaysWhatIsWrongWithASummary) {
  std::filesystem::create_directories(folder_ / "empty");
  write("no-event.json", R"({"delta": 1e-5})");
  write("no-delta.json", R"({"event": []})");
  write("range.json", R"({"event": [], "delta": 2})");
  write("entry.json", R"({"event": [{"kind": "gaussian"}], "delta": 1e-5})");
  write("who.json", R"({"event": [], "delta": 1e-5, "accountant": "prv"})");
  for (const auto& [words, what] :
       std::vector<std::pair<std::string, std::string>>{{"empty", "summary.json"},
                                                        {"no-event.json", "event is missing"},
                                                        {"no-delta.json", "delta is missing"},
                                                        {"range.json", "delta is 2"},
                                                        {"entry.json", "event: entry 1: sample_rate is missing"},
                                                        {"who.json", "prv"}}) {
    const Outcome outcome = fodp("account --events " + words);
    EXPECT_EQ(outcome.status, 2) << words;
    EXPECT_THAT(outcome.err, AllOf(HasSubstr(words), HasSubstr(what))) << words;
  }
  write("list.json", R"([{"sample_rate":0.04,"noise_multiplier":1.1,"steps":10}])");
  const Outcome outcome = fodp("account --events list.json");
  EXPECT_EQ(outcome.status, 2) << "a list has no delta of its own";
  EXPECT_THAT(outcome.err, HasSubstr("--delta is missing"));
}

TEST_F(Commands, AccountIsTightByDefault) {
  const auto out = json("account --sample-rate .04 --noise-multiplier 1.1 --beta .9 --steps 6250 --delta 1e-5");
  EXPECT_EQ(out["accountant"], "pld");
  EXPECT_GE(out["epsilon"], 17.439345);
  EXPECT_LE(out["epsilon"], 17.439345 * (1 + 1e-4));
  EXPECT_LE(out["epsilon_lower"], 17.439346);
  EXPECT_GE(out["epsilon_lower"], 17.439345 * .99);
  EXPECT_GT(out["grid"], 0);
  EXPECT_FALSE(out.contains("order"));
}

TEST_F(Commands, AccountGivesDeltaAtAnEpsilonOnBothSides) {
  const auto out = json("account --sample-rate .04 --noise-multiplier 1.1 --steps 6250 --epsilon 21.132046737495");
  EXPECT_GE(out["delta"], 1e-5 * (1 - 1e-9));
  EXPECT_LE(out["delta"], 1e-5 * (1 + 1e-4));
  EXPECT_LE(out["delta_lower"], 1e-5);
  EXPECT_GE(out["delta_lower"], .99e-5);
}

TEST_F(Commands, AccountOfARunThatVariesIsThatOfTheSameSteps) {
  write(
      "halves.json",
      R"([{"sample_rate":0.04,"noise_multiplier":1.1,"beta":0.9,"steps":6000},{"sample_rate":0.04,"noise_multiplier":1.1,"beta":0.9,"steps":250}])");
  const auto whole = json("account --sample-rate .04 --noise-multiplier 1.1 --beta .9 --steps 6250 --delta 1e-5");
  EXPECT_EQ(json("account --events halves.json --delta 1e-5")["epsilon"], whole["epsilon"]);
}

TEST_F(Commands, AccountExplainsWhatItAssumes) {
  const std::string text = fodp("account --sample-rate .01 --noise-multiplier 1 --steps 100 --delta 1e-5").out;
  EXPECT_THAT(text, AllOf(HasSubstr("Poisson sampling"), HasSubstr("add/remove"), HasSubstr("between")));
  EXPECT_THAT(fodp("account --help").out, AllOf(HasSubstr("Poisson sampling"), HasSubstr("--trace"), HasSubstr("--plot")));
}

TEST_F(Commands, TraceEndsWithTheRun) {
  const auto out = json("account --sample-rate .01 --noise-multiplier 1 --steps 1000 --delta 1e-5 --trace t.csv --plot p.svg");
  const std::string csv = content(folder_ / "t.csv");
  EXPECT_THAT(csv, StartsWith("step,epsilon\n"));
  std::istringstream lines(csv.substr(csv.find('\n') + 1));
  double last_step = 0, last_epsilon = 0;
  for (std::string line; std::getline(lines, line);) {
    const double step = std::stod(line), epsilon = std::stod(line.substr(line.find(',') + 1));
    EXPECT_GT(step, last_step);
    EXPECT_GE(epsilon, last_epsilon);
    last_step = step, last_epsilon = epsilon;
  }
  EXPECT_EQ(last_step, 1000);
  EXPECT_EQ(last_epsilon, out["epsilon"]);
  EXPECT_THAT(content(folder_ / "p.svg"), AllOf(HasSubstr("<svg"), HasSubstr("</svg>"), HasSubstr("delta against epsilon")));
  EXPECT_EQ(fodp("account --sample-rate .01 --noise-multiplier 1 --steps 10 --delta 1e-5 --trace no/such/t.csv").status, 2);
}

TEST_F(Commands, CalibrateSolvesForEachAndNeverOvershoots) {
  const std::string target = "calibrate --epsilon 3 --delta 1e-5 ";
  const auto noise = json(target + "--sample-rate .04 --steps 6250 --beta .9");
  EXPECT_LE(noise["epsilon"], 3);
  EXPECT_GT(noise["epsilon"], 2.999);
  const std::string sigma = noise["noise_multiplier"].dump();
  EXPECT_EQ(json("account --sample-rate .04 --steps 6250 --beta .9 --delta 1e-5 --noise-multiplier " + sigma)["epsilon"], noise["epsilon"]);
  const auto steps = json(target + "--sample-rate .04 --noise-multiplier 2");
  EXPECT_LE(steps["epsilon"], 3);
  EXPECT_TRUE(steps["steps"].is_number_integer());
  const std::string more = std::to_string(steps["steps"].get<std::int64_t>() + 2);
  EXPECT_GT(json("account --sample-rate .04 --noise-multiplier 2 --delta 1e-5 --steps " + more)["epsilon"], 3);
  const auto rate = json(target + "--noise-multiplier 2 --steps 6250");
  EXPECT_LE(rate["epsilon"], 3);
  EXPECT_GT(rate["sample_rate"], .01);
  const auto beta = json(target + "--noise-multiplier 2 --steps 6250 --sample-rate .04 --solve beta");
  EXPECT_LE(beta["epsilon"], 3);
  EXPECT_LT(beta["beta"], 1);
  EXPECT_LE(json(target + "--sample-rate .04 --steps 6250 --accountant rdp")["epsilon"], 3);
}

TEST_F(Commands, CalibrateSaysWhatCouldBeMet) {
  const Outcome outcome = fodp("calibrate --epsilon .001 --delta 1e-9 --sample-rate 1 --steps 1000000000");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("cannot be met"), HasSubstr("epsilon is")));
  EXPECT_EQ(fodp("calibrate --epsilon .001 --delta 1e-9 --sample-rate .5 --noise-multiplier .1").status, 2);
}

TEST_F(Commands, CalibrateNeedsAllButOne) {
  for (const auto& [words, field] : std::vector<std::pair<std::string, std::string>>{
           {"calibrate --delta 1e-5 --sample-rate .1 --steps 10", "--epsilon"},
           {"calibrate --epsilon 1 --sample-rate .1 --steps 10", "--delta"},
           {"calibrate --epsilon 1 --delta 1e-5 --steps 10", "--sample-rate"},
           {"calibrate --epsilon 1 --delta 1e-5 --sample-rate .1 --steps 10 --noise-multiplier 1 --beta .5", "all of the run"},
           {"calibrate --epsilon 1 --delta 1e-5 --sample-rate .1 --steps 10 --noise-multiplier 1 --solve steps", "--steps"},
           {"calibrate --epsilon 1 --delta 1e-5 --sample-rate .1 --solve step", "did you mean"},
           {"calibrate --epsilon 0 --delta 1e-5 --sample-rate .1 --steps 10", "--epsilon"},
           {"calibrate --epsilon 1 --delta 1e-5 --sample-rate 2 --steps 10", "--sample-rate"}}) {
    const Outcome outcome = fodp(words);
    EXPECT_EQ(outcome.status, 2) << words;
    EXPECT_THAT(outcome.err, HasSubstr(field)) << words;
    EXPECT_THAT(outcome.out, IsEmpty()) << words;
  }
}

TEST_F(Commands, AccountLeavesNoFileBehindWhenOneTargetCannotBeWritten) {
  const std::string run = "account --sample-rate .01 --noise-multiplier 1 --steps 100 --delta 1e-5 ";
  const Outcome outcome = fodp(run + "--trace made.csv --plot nowhere/plot.svg");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("--plot nowhere/plot.svg"));
  EXPECT_EQ(fodp(run + "--plot made.csv --trace made.csv").status, 2);
  EXPECT_EQ(fodp("account --events made.csv --delta 1e-5").status, 2) << "there is no such file";
}

TEST_F(Commands, AccountWarnsOfAWeakGuaranteeAndOfAWideInterval) {
  EXPECT_THAT(fodp("account --sample-rate .04 --noise-multiplier 1.1 --steps 6250 --delta 1e-5").err, HasSubstr("above 10"));
  EXPECT_THAT(fodp("account --sample-rate .01 --noise-multiplier .01 --steps 100 --delta 1e-5").err, HasSubstr("wider than 1%"));
  EXPECT_THAT(fodp("account --sample-rate .01 --noise-multiplier 1 --steps 100 --delta 1e-5").err, IsEmpty());
}

}  // namespace
}  // namespace fodp
