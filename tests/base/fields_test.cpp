#include "fodp/base/fields_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fodp {

enum class Colour { red, green };
template <>
struct EnumNames<Colour> {
  static constexpr std::pair<std::string_view, Colour> values[] = {{"red", Colour::red}, {"green", Colour::green}};
};

namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct Options {
  double rate = .5;
  std::optional<std::int64_t> steps;
  Colour colour = Colour::red;
  bool fast = false;
  std::vector<std::int64_t> sizes = {3, 4};
  std::optional<double> limit;

  static auto fields() {
    return std::tuple{field("sample-rate", &Options::rate, "a rate", above_up_to(0, 1)),
                      field("steps", &Options::steps, "a count", at_least(1)),
                      field("colour", &Options::colour, "a colour"),
                      field("fast", &Options::fast, "a switch"),
                      field("sizes", &Options::sizes, "a list"),
                      field("limit", &Options::limit, "a limit", Range{.low_open = true, .high_open = true}, "none")};
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

TEST(Fields, JsonHasEveryFieldOnceWithUnderscores) {
  nlohmann::ordered_json out;
  const Options options{.steps = 7};
  for_each_field(options, [&](const auto& field, const auto& value) { out[json_name(field.name)] = json_of(value); });
  EXPECT_EQ(out.dump(), R"({"sample_rate":0.5,"steps":7,"colour":"red","fast":false,"sizes":[3,4],"limit":null})");
}

TEST(Fields, ValidateNamesFieldValueAndRange) {
  EXPECT_NO_THROW(validate_fields(Options{}));
  EXPECT_THAT(complaint([] { validate_fields(Options{.rate = 1.5}); }),
              AllOf(HasSubstr("sample-rate"), HasSubstr("1.5"), HasSubstr("(0, 1]")));
  EXPECT_THAT(complaint([] { validate_fields(Options{.steps = 0}); }), AllOf(HasSubstr("steps"), HasSubstr("at least 1")));
  EXPECT_THAT(complaint([] { validate_fields(Options{.rate = NAN}); }), HasSubstr("sample-rate"));
  EXPECT_THAT(complaint([] { validate_fields(Options{.limit = INFINITY}); }), HasSubstr("limit"));
}

TEST(Fields, NumbersParseAsPeopleWriteThem) {
  EXPECT_EQ(parse_number(".04", "x", Range{.low_open = true, .high_open = true}), .04);
  EXPECT_EQ(parse_number("1e-5", "x", Range{.low_open = true, .high_open = true}), 1e-5);
  EXPECT_EQ(parse_number("+2", "x", Range{.low_open = true, .high_open = true}), 2);
  EXPECT_EQ(parse_number("-3.", "x", Range{.low_open = true, .high_open = true}), -3);
  EXPECT_EQ(parse_integer("1e5", "x", Range{.low_open = true, .high_open = true}), 100000);
  for (const char* bad : {"", "abc", "1.5x", "nan", "inf", "1e999", "0x10", "--1", "1,5"})
    EXPECT_THAT(complaint([&] { parse_number(bad, "--rate", Range{.low_open = true, .high_open = true}); }), HasSubstr("--rate")) << bad;
  EXPECT_THAT(complaint([] { parse_integer("1.5", "--steps", Range{.low_open = true, .high_open = true}); }), HasSubstr("whole number"));
  EXPECT_THAT(complaint([] { parse_integer("1e300", "--steps", Range{.low_open = true, .high_open = true}); }), HasSubstr("whole number"));
}

TEST(Fields, EnumsSuggestTheNearestWord) {
  EXPECT_EQ(FieldText<Colour>::parse("green", "--colour", {}), Colour::green);
  EXPECT_THAT(complaint([] { FieldText<Colour>::parse("gren", "--colour", {}); }), HasSubstr("did you mean 'green'"));
  EXPECT_THAT(complaint([] { FieldText<Colour>::parse("mauve-ish", "--colour", {}); }), HasSubstr("known are red, green"));
}

TEST(Fields, ListsParseAndPrint) {
  using List = FieldText<std::vector<std::int64_t>>;
  EXPECT_EQ(List::parse("64,32", "--hidden", at_least(1)), (std::vector<std::int64_t>{64, 32}));
  EXPECT_TRUE(List::parse("", "--hidden", at_least(1)).empty());
  EXPECT_THAT(complaint([] { List::parse("64,,32", "--hidden", at_least(1)); }), HasSubstr("--hidden"));
  EXPECT_THAT(complaint([] { List::parse("64,", "--hidden", at_least(1)); }), HasSubstr("--hidden"));
  EXPECT_EQ(List::print({64, 32}), "64,32");
}

TEST(Fields, InfiniteIsAWordInJson) {
  EXPECT_EQ(json_number(INFINITY).dump(), "\"inf\"");
  EXPECT_EQ(json_number(-INFINITY).dump(), "\"-inf\"");
  EXPECT_EQ(json_number(NAN).dump(), "null");
  EXPECT_EQ(json_number(.1).dump(), "0.1");
}

TEST(Fields, BoundsAreShownRoundedUp) {
  EXPECT_EQ(upper_text(3), "3");
  EXPECT_EQ(upper_text(.98206036), "0.982061");
  EXPECT_EQ(upper_text(INFINITY), "infinite");
  EXPECT_EQ(upper_text(5e-324), "4.94066e-324");
  for (double value = 1e-9; value < 1e9; value *= 1.37) {
    EXPECT_GE(std::stod(upper_text(value)), value);
    EXPECT_LE(std::stod(upper_text(value)), value * (1 + 2e-5));
  }
}

TEST(Fields, RangesSayWhatTheyAllow) {
  EXPECT_EQ(above(0).text(), "above 0");
  EXPECT_EQ(at_least(1).text(), "at least 1");
  EXPECT_EQ(strictly_between(0, 1).text(), "in (0, 1)");
  EXPECT_EQ(between(0, 1).text(), "in [0, 1]");
  EXPECT_FALSE(above(0).contains(INFINITY));
  EXPECT_FALSE(at_least(0).contains(NAN));
}

}  // namespace
}  // namespace fodp
