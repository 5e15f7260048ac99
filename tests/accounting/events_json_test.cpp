#include "fodp/accounting/events_json.h"

#include <cmath>
#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fodp/base/check.h"

namespace fodp {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const Event kSampled = Event::poisson_gaussian(1. / 3, 1.1 / .9, 1e-4 / 7), kPlain = Event::gaussian(std::sqrt(2.), .1);

// As a file would hold it.
nlohmann::json through_text(const nlohmann::ordered_json& json) { return nlohmann::json::parse(json.dump()); }

std::string refusal(const char* text) {
  try {
    events_from_json(nlohmann::json::parse(text), "here");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(EventsJson, AreTheSameWhenReadBack) {
  const Events events{{kSampled, 6250}, {Event::poisson_gaussian(1e-9, 0), 3}, {kPlain, 2}, {Event::gaussian(1e300), 1}};
  EXPECT_EQ(events_from_json(through_text(events_to_json(events)), "here"), events);
  EXPECT_EQ(events_from_json(through_text(events_to_json({})), "here"), Events{});
  const Events infinite{{Event::gaussian(std::numeric_limits<double>::infinity()), 1}};
  EXPECT_EQ(events_from_json(through_text(events_to_json(infinite)), "here"), infinite);
}

// Sigma over beta and the rate, each linear in the step, as schedules make them.
Events scheduled(int steps, double first_rate, double last_rate, double last_sigma, double last_beta) {
  Events events;
  for (int i = 0; i < steps; ++i) {
    const double t = i / (steps - 1.);
    events.push_back(
        {Event::poisson_gaussian(std::lerp(first_rate, last_rate, t), std::lerp(1.2, last_sigma, t) / std::lerp(.9, last_beta, t), 1e-3),
         1});
  }
  return events;
}

TEST(EventsJson, AScheduleIsOneEntry) {
  for (const Events& events : {scheduled(6250, .01, .03, 1.2, .6), scheduled(6250, .01, .01, .7, .9), scheduled(33, .01, .02, .8, .3),
                               scheduled(40, .01, .02, 1.2 * .6 / .9, .6)}) {
    const nlohmann::ordered_json list = events_to_json(events);
    ASSERT_EQ(list.size(), 1u) << list.dump();
    EXPECT_EQ(list[0]["count"], events.size());
    const Events back = events_from_json(through_text(list), "here");
    ASSERT_EQ(back.size(), events.size());
    for (std::size_t i = 0; i < back.size(); ++i) {
      EXPECT_EQ(back[i].count, 1);
      EXPECT_EQ(back[i].event.slack, 1e-3);
      EXPECT_NEAR(back[i].event.sample_rate, events[i].event.sample_rate, 1e-12 * events[i].event.sample_rate);
      EXPECT_NEAR(back[i].event.noise_multiplier, events[i].event.noise_multiplier, 1e-12 * events[i].event.noise_multiplier);
    }
  }
}

TEST(EventsJson, PartsOfAScheduleAreEntriesAndFewUnlikeEventsAreListed) {
  Events events = scheduled(100, .01, .02, .7, .9);
  for (const Composed& part : scheduled(50, .05, .03, 1.2, .4)) events.push_back(part);
  events.push_back({kPlain, 3});
  const nlohmann::ordered_json list = events_to_json(events);
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[0]["count"], 100);
  EXPECT_EQ(list[1]["count"], 50);
  EXPECT_EQ(list[1]["sample_rate"]["last"], .03);
  EXPECT_EQ(events_from_json(through_text(list), "here").size(), 151u);

  const Events few = scheduled(20, .01, .02, .7, .9);
  EXPECT_EQ(events_to_json(few).size(), 20u);
  EXPECT_EQ(events_from_json(through_text(events_to_json(few)), "here"), few);
}

TEST(EventsJson, ARampThatIsNoneIsRefused) {
  const auto with = [](const std::string& rate, const std::string& count) {
    return refusal(
        (R"([{"kind": "poisson_gaussian", "sample_rate": )" + rate + R"(, "effective_noise_multiplier": 1, "count": )" + count + "}]")
            .c_str());
  };
  EXPECT_EQ(with(R"({"first": 0.1, "last": 0.2})", "50"), "");
  EXPECT_THAT(with(R"({"first": 0.1})", "50"), HasSubstr("here: entry 1: sample_rate: last is missing"));
  EXPECT_THAT(with(R"({"first": 0.1, "last": 0.2, "wieght": 2})", "50"), HasSubstr("'wieght' is not known: did you mean 'weight'?"));
  EXPECT_THAT(with(R"({"first": 0.1, "last": 0.2, "weight": -1})", "50"), HasSubstr("weight is -1: must be above 0"));
  EXPECT_THAT(with(R"({"first": 0.1, "last": 2})", "50"), HasSubstr("here: entry 1: "));
  EXPECT_THAT(with(R"({"first": 0.1, "last": 0.2})", "1e15"), HasSubstr("count"));
  EXPECT_THAT(with(R"({"first": 0.1, "last": 0.2})", "1"), HasSubstr("count is 1: must be from 2"));
  EXPECT_THAT(with(R"({"first": 0.1, "last": 0.2})", "1000000000000"), HasSubstr("must be from 2 to 1000000"));
}

// A file of some hundred bytes could ask for all the memory there is.
TEST(EventsJson, StepsOfAllSchedulesTogetherAreBounded) {
  const std::string entry =
      R"({"kind":"poisson_gaussian","sample_rate":{"first":0.1,"last":0.2},"effective_noise_multiplier":1,"count":1000000})";
  const std::string four = entry + "," + entry + "," + entry + "," + entry;
  EXPECT_THAT(refusal(("[" + four + "," + entry + "]").c_str()), HasSubstr("here: entry 5: more than 4000000 unlike steps"));
}

TEST(EventsJson, HoldWhatOthersNeedSampledEventsFirst) {
  const nlohmann::ordered_json list = events_to_json({{kPlain, 2}, {kSampled, 5}, {Event::gaussian(9), 1}});
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[0].dump(), R"({"kind":"poisson_gaussian","sample_rate":)" + nlohmann::json(1. / 3).dump() +
                                R"(,"effective_noise_multiplier":)" + nlohmann::json(1.1 / .9).dump() + R"(,"count":5,"slack":)" +
                                nlohmann::json(1e-4 / 7).dump() + "}");
  EXPECT_EQ(list[1]["count"], 2);
  EXPECT_EQ(list[2]["effective_noise_multiplier"], 9);
  EXPECT_EQ(list[2]["sample_rate"], 1);
}

TEST(EventsJson, SlackMayBeLeftOut) {
  const auto list = nlohmann::json::parse(R"([{"kind":"poisson_gaussian","sample_rate":0.5,"effective_noise_multiplier":2,"count":7}])");
  EXPECT_EQ(events_from_json(list, "here"), (Events{{Event::poisson_gaussian(.5, 2), 7}}));
}

TEST(EventsJson, RefusalsNameEntryAndField) {
  const std::string good = R"({"kind":"gaussian","sample_rate":1,"effective_noise_multiplier":2,"count":7,"slack":0})";
  EXPECT_EQ(refusal(("[" + good + "]").c_str()), "");
  for (const auto& [entry, field] : std::vector<std::pair<std::string, std::string>>{
           {R"({"sample_rate":1,"effective_noise_multiplier":2,"count":7})", "kind is missing"},
           {R"({"kind":"gaussian","effective_noise_multiplier":2,"count":7})", "sample_rate is missing"},
           {R"({"kind":"gaussian","sample_rate":1,"count":7})", "effective_noise_multiplier is missing"},
           {R"({"kind":"gaussian","sample_rate":1,"effective_noise_multiplier":2})", "count is missing"},
           {R"({"kind":"laplace","sample_rate":1,"effective_noise_multiplier":2,"count":7})", "laplace"},
           {R"({"kind":1,"sample_rate":1,"effective_noise_multiplier":2,"count":7})", "kind"},
           {R"({"kind":"gaussian","sample_rate":0.5,"effective_noise_multiplier":2,"count":7})", "sample rate is 0.5"},
           {R"({"kind":"poisson_gaussian","sample_rate":1.5,"effective_noise_multiplier":2,"count":7})", "sample rate is 1.5"},
           {R"({"kind":"poisson_gaussian","sample_rate":"x","effective_noise_multiplier":2,"count":7})", "sample_rate is \"x\""},
           {R"({"kind":"gaussian","sample_rate":1,"effective_noise_multiplier":-2,"count":7})", "noise multiplier is -2"},
           {R"({"kind":"gaussian","sample_rate":1,"effective_noise_multiplier":null,"count":7})", "effective_noise_multiplier is null"},
           {R"({"kind":"gaussian","sample_rate":1,"effective_noise_multiplier":2,"count":-1})", "count is -1"},
           {R"({"kind":"gaussian","sample_rate":1,"effective_noise_multiplier":2,"count":1.5})", "count is 1.5"},
           {R"({"kind":"gaussian","sample_rate":1,"effective_noise_multiplier":2,"count":18446744073709551615})", "count is 18446744"},
           {R"({"kind":"gaussian","sample_rate":1,"effective_noise_multiplier":2,"count":7,"slack":1})", "slack is 1"},
           {R"({"kind":"gaussian","sample_rate":1,"effective_noise_multiplier":2,"counts":7})", "did you mean"},
           {"7", "object"}})
    EXPECT_THAT(refusal(("[" + good + "," + entry + "]").c_str()), AllOf(HasSubstr("here: entry 2"), HasSubstr(field))) << entry;
  EXPECT_THAT(refusal("{}"), HasSubstr("here: expected a list"));
}

}  // namespace
}  // namespace fodp
