#include "fodp/accounting/spending_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fodp/base/check.h"

namespace fodp {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Event kOne = Event::gaussian(3, .001), kTwo = Event::poisson_gaussian(.1, 2);

TEST(Spending, ARunThatIsNamedTwiceCountsOnce) {
  const std::vector<Spending> runs = {
      {{{kOne, 5}, {kTwo, 1}}, "a", {"why"}}, {{{kOne, 3}}, "b"}, {{{kOne, 2}, {kTwo, 7}}, "a", {"why", "and why"}}};
  const std::vector<Spending> once = each_run_once(runs);
  ASSERT_EQ(once.size(), 2u);
  EXPECT_EQ(once[0].events, (Events{{kOne, 5}, {kTwo, 7}})) << "of each event the larger count";
  EXPECT_THAT(once[0].insecure, ElementsAre("why", "and why"));
  EXPECT_EQ(total_events(once), (Events{{kOne, 8}, {kTwo, 7}}));
}

TEST(Spending, RunsWithoutAnIdentityCountEachTimeTheyAreNamed) {
  EXPECT_EQ(total_events(each_run_once({{{{kOne, 5}}, ""}, {{{kOne, 5}}, ""}})), (Events{{kOne, 10}}));
}

TEST(Spending, IsReadBackRunByRun) {
  const std::vector<Spending> earlier = {{{{kOne, 5}}, "a"}, {{{kTwo, 4}}, ""}};
  const Spending own{{{kOne, 2}, {kTwo, 1}}, "c", {"insecure-seed: known"}, "patient"};
  nlohmann::ordered_json out = {{"events", nlohmann::ordered_json::array()}, {"private", false}};
  add_spending(out, earlier, own);
  const std::vector<Spending> runs = spending_from_json(nlohmann::json::parse(out.dump()), "events", "FILE");
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_EQ(runs[0].run, "a");
  EXPECT_EQ(runs[0].events, earlier[0].events);
  EXPECT_EQ(runs[1].run, "");
  EXPECT_EQ(runs[2].run, "c");
  EXPECT_EQ(total_events({runs[2]}), total_events({{{{kTwo, 1}, {kOne, 2}}}}));
  EXPECT_EQ(runs[2].insecure, own.insecure);
  for (const Spending& run : runs) EXPECT_EQ(run.unit, "patient") << "runs count together only for one unit";
}

TEST(Spending, OfAFileOfBeforeThereWereIdentities) {
  const auto runs = spending_from_json(
      nlohmann::json::parse(R"({"events": [{"kind": "gaussian", "sample_rate": 1, "effective_noise_multiplier": 2, "count": 3}],
                                "private": false})"),
      "events", "FILE");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].events, (Events{{Event::gaussian(2), 3}}));
  EXPECT_EQ(runs[0].insecure.size(), 1u);
  EXPECT_EQ(runs[0].unit, "row");
}

TEST(Spending, WhatIsWrongIsNamed) {
  const auto complaint = [](const char* text) {
    try {
      spending_from_json(nlohmann::json::parse(text), "events", "FILE");
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_THAT(complaint("[]"), HasSubstr("FILE: events is missing"));
  EXPECT_THAT(complaint(R"({"events": 1})"), HasSubstr("FILE: events"));
  EXPECT_THAT(complaint(R"({"events": [], "run": 7})"), HasSubstr("FILE: run is 7"));
  EXPECT_THAT(complaint(R"({"events": [], "insecure": [7]})"), HasSubstr("FILE: insecure"));
  EXPECT_THAT(complaint(R"({"events": [], "unit": 7})"), HasSubstr("FILE: unit is 7"));
  EXPECT_THAT(complaint(R"({"events": [], "earlier": {}})"), HasSubstr("FILE: earlier"));
  EXPECT_THAT(complaint(R"({"events": [], "earlier": [{"run": "a"}]})"), HasSubstr("earlier: entry 1: events is missing"));
  EXPECT_THAT(complaint(R"({"events": [], "earlier": [{"run": "a", "events": []}]})"), HasSubstr("own_events is missing"));
}

}  // namespace
}  // namespace fodp
