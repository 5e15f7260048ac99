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
           {R"({"kind":"gaussian","sample_rate":0.5,"effective_noise_multiplier":2,"count":7})", "sample_rate is 0.5"},
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
