#include "fodp/base/schedule.h"

#include <cmath>
#include <functional>
#include <optional>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fodp/base/fields_json.h"

namespace fodp {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Options {
  Schedule beta = 1;
  std::optional<Schedule> noise;

  static auto fields() {
    return std::tuple{field("beta", &Options::beta, "a weight", above_up_to(0, 1)),
                      field("noise", &Options::noise, "noise", above(0), "calibrated")};
  }
};

std::string complaint(const std::function<void()>& body) {
  try {
    body();
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

Schedule parse(std::string_view text) { return FieldText<Schedule>::parse(text, "--beta", above_up_to(0, 1)); }

std::vector<double> values(const Schedule& schedule, std::int64_t steps) {
  std::vector<double> result;
  for (std::int64_t t = 0; t < steps; ++t) result.push_back(schedule.at(t, steps));
  return result;
}

TEST(Schedule, ANumberIsAConstant) {
  const Options options{.beta = .9, .noise = 2};
  EXPECT_TRUE(options.beta.constant());
  EXPECT_THAT(values(options.beta, 3), ElementsAre(.9, .9, .9));
  EXPECT_EQ(options.noise->first(), 2);
}

TEST(Schedule, LinearMeetsBothEnds) {
  for (std::int64_t steps : {2, 3, 7, 6250}) {
    const std::vector<double> all = values(Schedule::linear(.9, .6), steps);
    EXPECT_EQ(all.front(), .9);
    EXPECT_EQ(all.back(), .6);
  }
  EXPECT_THAT(values(Schedule::linear(1, 3), 5), ElementsAre(1, 1.5, 2, 2.5, 3));
  EXPECT_THAT(values(Schedule::linear(.9, .6), 1), ElementsAre(.9));
}

TEST(Schedule, LinearStaysBetweenItsEndsAndGoesOneWay) {
  const Schedule schedule = Schedule::linear(.1, .7);
  double before = schedule.least();
  for (double value : values(schedule, 6250)) {
    EXPECT_GE(value, before);
    EXPECT_LE(value, schedule.largest());
    before = value;
  }
}

TEST(Schedule, ListGivesEachEntryAnEqualPart) {
  const Schedule schedule = Schedule::list({.9, .8, .7});
  EXPECT_THAT(values(schedule, 3), ElementsAre(.9, .8, .7));
  EXPECT_THAT(values(schedule, 6), ElementsAre(.9, .9, .8, .8, .7, .7));
  EXPECT_THAT(values(schedule, 7), ElementsAre(.9, .9, .9, .8, .8, .7, .7));
}

TEST(Schedule, ListMayNotHaveMoreEntriesThanTheRunHasSteps) {
  const Schedule schedule = Schedule::list({.9, .8, .7});
  EXPECT_NO_THROW(schedule.check_steps("--beta", 3));
  EXPECT_THAT(complaint([&] { schedule.check_steps("--beta", 2); }),
              AllOf(HasSubstr("--beta"), HasSubstr("3 entries"), HasSubstr("2 steps")));
  EXPECT_NO_THROW(Schedule(.9).check_steps("--beta", 1));
  EXPECT_NO_THROW(Schedule::linear(.9, .6).check_steps("--beta", 1));
  EXPECT_THROW(Schedule::list({}), InputError);
}

TEST(Schedule, HasNoValueOutsideTheRun) {
  for (const Schedule& schedule : {Schedule(.9), Schedule::linear(.9, .6), Schedule::list({.9, .8})}) {
    EXPECT_THROW(schedule.at(-1, 4), InputError);
    EXPECT_THROW(schedule.at(4, 4), InputError);
    EXPECT_THROW(schedule.at(0, 0), InputError);
  }
}

TEST(Schedule, OfEqualNumbersIsAConstant) {
  EXPECT_EQ(Schedule::linear(.9, .9), Schedule(.9));
  EXPECT_EQ(Schedule::list({.9, .9, .9}), Schedule(.9));
  EXPECT_FALSE(Schedule::linear(.9, .6).constant());
  EXPECT_FALSE(Schedule::list({.9, .6}).constant());
  EXPECT_NE(Schedule::list({.9, .6}), Schedule::linear(.9, .6));
}

TEST(Schedule, KnowsItsLeastAndLargest) {
  const Schedule schedule = Schedule::list({.8, .9, .7});
  EXPECT_EQ(schedule.first(), .8);
  EXPECT_EQ(schedule.least(), .7);
  EXPECT_EQ(schedule.largest(), .9);
  EXPECT_EQ(Schedule::linear(.9, .6).least(), .6);
  EXPECT_EQ(Schedule::linear(.9, .6).largest(), .9);
}

TEST(Schedule, TextReadsBackAsTheSame) {
  EXPECT_EQ(parse(".9"), Schedule(.9));
  EXPECT_EQ(parse(".9:.6"), Schedule::linear(.9, .6));
  EXPECT_EQ(parse(".9,.8,.7"), Schedule::list({.9, .8, .7}));
  for (const Schedule& schedule : {Schedule(1. / 3), Schedule::linear(1. / 3, 1e-9), Schedule::list({.1, 1. / 7, .1})})
    EXPECT_EQ(parse(FieldText<Schedule>::print(schedule)), schedule);
}

TEST(Schedule, EveryNumberOfATextIsChecked) {
  for (const char* bad : {"", "x", "1.5", "nan", ":", ".9:", ":.9", ".9:1.5", "0:.9", ".9:.8:.7", ".9:.8,.7", ".9,.8:.7", ",", ".9,", ",.9",
                          ".9,0,.8", ".9,x", ".9;.8"})
    EXPECT_THAT(complaint([&] { parse(bad); }), AllOf(HasSubstr("--beta"), HasSubstr("(0, 1]"))) << bad;
  EXPECT_THAT(complaint([] { parse(".9:1.5"); }), AllOf(HasSubstr("last value"), HasSubstr("1.5")));
  EXPECT_THAT(complaint([] { parse(".9,.8,2"); }), AllOf(HasSubstr("entry 3"), HasSubstr("2 is not allowed")));
}

TEST(Schedule, JsonIsANumberIfConstantElseTheText) {
  nlohmann::ordered_json out;
  const auto write = [&](const Options& options) {
    for_each_field(options, [&](const auto& field, const auto& value) { out[json_name(field.name)] = json_of(value); });
  };
  write({.beta = Schedule::linear(.5, .25)});
  EXPECT_EQ(out.dump(), R"({"beta":"0.5:0.25","noise":null})");
  write({.beta = Schedule::list({.5, .5}), .noise = 2});
  EXPECT_EQ(out.dump(), R"({"beta":0.5,"noise":2.0})");
}

TEST(Schedule, FilledInCodeIsValidatedNumberByNumber) {
  EXPECT_NO_THROW(validate_fields(Options{}));
  EXPECT_NO_THROW(validate_fields(Options{.beta = Schedule::linear(.9, .6), .noise = Schedule::list({1, 2})}));
  EXPECT_THAT(complaint([] { validate_fields(Options{.beta = 1.5}); }), AllOf(HasSubstr("beta"), HasSubstr("1.5"), HasSubstr("(0, 1]")));
  EXPECT_THAT(complaint([] { validate_fields(Options{.beta = Schedule::linear(.9, 0)}); }), HasSubstr("beta is 0"));
  EXPECT_THAT(complaint([] { validate_fields(Options{.beta = Schedule::list({.9, NAN, .8})}); }), HasSubstr("beta is nan"));
  EXPECT_THAT(complaint([] { validate_fields(Options{.noise = Schedule::list({1, 2, -3})}); }), HasSubstr("noise is -3"));
}

}  // namespace
}  // namespace fodp
