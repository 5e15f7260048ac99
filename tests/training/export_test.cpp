// Exported models: what they make of raw inputs is what training makes of them.
#include "fodp/training/export.h"

#include <unistd.h>

#include <fstream>

#include <ATen/ops/rand.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/serialization/import.h>
#include <torch/nn/module.h>
#include <torch/utils.h>

#include "fodp/base/check.h"
#include "fodp/data/dataset.h"
#include "fodp/data/own_data.h"
#include "fodp/data/table.h"
#include "fodp/models/model.h"
#include "fodp/training/plan.h"
#include "fodp/training/table_script.h"

namespace fodp {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kTypedSchema[] = R"(
missing = "?"
[columns.age]
kind = "number"
low = -20
high = 120
[columns.gain]
kind = "number"
low = -3
high = 99999
log = true
if_missing = "indicator"
[columns.job]
kind = "category"
values = ["clerk", "b, c", "é", "?x"]
[columns.town]
kind = "category"
values = ["here", "there"]
if_missing = "indicator"
[columns.since]
kind = "date"
format = "%Y-%m-%d"
low = "1990-01-01"
high = "2030-12-31"
if_missing = "indicator"
[columns.seen]
kind = "date"
format = "%d %b %y %H:%M:%S"
low = "01 Jan 70 00:00:00"
high = "31 Dec 30 23:59:59"
[columns.who]
kind = "unit"
[columns.note]
kind = "ignore"
)";
constexpr char kClasses[] = "[columns.y]\nkind = \"label\"\nvalues = [\"no\", \"yes\", \"may, be\"]\n";
constexpr char kNumber[] = "[columns.y]\nkind = \"label\"\nlow = -1000\nhigh = 3000\n";

using Columns = c10::Dict<std::string, c10::List<std::string>>;

class Exported : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // A model of such a schema, exported and loaded again.
  torch::jit::Module exported(const std::string& toml, ModelKind kind = ModelKind::mlp) {
    schema_ = schema_from_toml(toml, "own.toml");
    const DataDescription about = describe_table(schema_, toml);
    torch::manual_seed(1);
    model_ = make_model({.model = kind}, shape_for_model(about));
    nlohmann::ordered_json json = {{"inputs", about.inputs}, {"classes", about.target.classes}, {"events", {1, 2}}};
    if (!about.class_names.empty()) json["class_names"] = about.class_names;
    export_model(*model_.module, json, folder_ / "model.ts");
    return torch::jit::load((folder_ / "model.ts").string());
  }

  TableRows rows(const std::string& text) {
    std::ofstream(folder_ / "rows.csv") << text;
    TableRows table(schema_);
    table.add_file(folder_ / "rows.csv", TableUse::predict);
    return table;
  }

  static Columns columns(const std::vector<std::pair<std::string, std::vector<std::string>>>& texts) {
    Columns out;
    for (const auto& [name, values] : texts) out.insert(name, c10::List<std::string>(values));
    return out;
  }

  static std::string message(torch::jit::Module& module, const Columns& columns) {
    try {
      module.forward({columns});
    } catch (const std::exception& error) {
      return error.what();
    }
    return "";
  }

  std::filesystem::path folder_ = std::filesystem::path(::testing::TempDir()) / ("fodp-export-" + std::to_string(::getpid()));
  Schema schema_;
  Model model_;
};

constexpr char kRows[] =
    "age,gain,job,town,since,seen\n"
    "37.5,1e3,clerk,here,2001-02-03,03 Feb 01 12:34:56\n"
    "-1000,0,\"b, c\",there,1990-01-01,1 january 70 0:0:0\n"
    "121,99999,é,?,?,31 DEC 30 23:59:59\n"
    "-.5,?,nobody knows,elsewhere,2010-2-31,29 feb 23 5:6:60\n"
    "1.e1,12345.678,?x,here,1889-12-31,15 Mar 69 23:59:61\n"
    "0,3,clerk,there,9999-12-31,15 Mar 68 00:00:00\n";

const std::vector<std::pair<std::string, std::vector<std::string>>> kTexts = {
    {"age", {"37.5", "-1000", "121", "-.5", "1.e1", "0"}},
    {"gain", {"1e3", " 0", "99999\t", "?", "12345.678", "3"}},
    {"job", {"clerk", "b, c", "é", "nobody knows", "?x", " clerk "}},
    {"town", {"here", "there", "?", "elsewhere", "here", "there"}},
    {"since", {"2001-02-03", "1990-01-01", "?", "2010-2-31", "1889-12-31", "9999-12-31"}},
    {"seen",
     {"03 Feb 01 12:34:56", "1 january 70 0:0:0", "31 DEC 30 23:59:59", "29 feb 23 5:6:60", "15 Mar 69 23:59:61", "15 Mar 68 00:00:00"}},
};

TEST_F(Exported, EveryKindOfColumnBecomesTheSameInputsBitForBit) {
  torch::jit::Module module = exported(std::string(kTypedSchema) + kClasses);
  const TableRows table = rows(kRows);
  const at::Tensor expected = table.gather(std::vector<std::int64_t>{0, 1, 2, 3, 4, 5}).inputs;
  const at::Tensor got = module.get_method("inputs")({columns(kTexts)}).toTensor();
  EXPECT_TRUE(at::equal(got, expected)) << got << expected;
  const at::Tensor outputs = module.forward({columns(kTexts)}).toTensor();
  const at::Tensor probabilities = model_.forward(expected).to(at::kDouble).softmax(1);
  EXPECT_LT((outputs - probabilities).abs().max().item<double>(), 1e-6);
  EXPECT_EQ(module.attr("classes").toList().get(2).toStringRef(), "may, be");
  EXPECT_EQ(nlohmann::json::parse(module.attr("fodp").toStringRef())["events"], nlohmann::json({1, 2}));
}

TEST_F(Exported, ANumberIsInTheUnitsOfTheTable) {
  torch::jit::Module module = exported(std::string(kTypedSchema) + kNumber, ModelKind::linear);
  const at::Tensor inputs = rows(kRows).gather(std::vector<std::int64_t>{0, 1, 2, 3, 4, 5}).inputs;
  const at::Tensor outputs = module.forward({columns(kTexts)}).toTensor(), scaled = model_.forward(inputs).reshape({-1});
  ASSERT_EQ(outputs.numel(), 6);
  for (std::int64_t i = 0; i < 6; ++i) EXPECT_NEAR(outputs[i].item<double>(), unscaled(schema_.label(), scaled[i].item<double>()), 1e-3);
  EXPECT_EQ(module.attr("classes").toList().size(), 0u);
}

// Label, unit and ignored columns may be there; anything else is refused, with its row and column.
TEST_F(Exported, RefusesWhatAFileToPredictMayNotHave) {
  torch::jit::Module module = exported(std::string(kTypedSchema) + kClasses);
  const auto with = [&](const std::string& name, std::vector<std::string> values) {
    auto texts = kTexts;
    std::erase_if(texts, [&](const auto& item) { return item.first == name; });
    if (!values.empty()) texts.emplace_back(name, std::move(values));
    return message(module, columns(texts));
  };
  EXPECT_EQ(with("who", {"a", "b", "c", "d", "e", "f"}), "");
  EXPECT_EQ(with("y", {"", "", "", "", "", ""}), "");
  EXPECT_THAT(with("wages", {"1", "1", "1", "1", "1", "1"}), HasSubstr("the schema does not know the column 'wages'"));
  EXPECT_THAT(with("age", {}), HasSubstr("there is no column 'age', which the schema has"));
  EXPECT_THAT(with("age", {"1"}), HasSubstr("rows, others have"));
  EXPECT_THAT(with("age", {"1", "1", "?", "1", "1", "1"}), HasSubstr("row 3: column 'age': expected a value: there is none"));
  EXPECT_THAT(with("since", {"2001-02-03", "3.2.2001", "?", "?", "?", "?"}),
              HasSubstr("row 2: column 'since': expected a date of the format %Y-%m-%d"));
  for (const char* text : {"+1", "0x10", "inf", "nan", "1e", "e5", ".", "-", "", "1,5", "1 2", "1e999", "--1", "1e5.5", "١"})
    EXPECT_NE(with("age", {text, "1", "1", "1", "1", "1"}), "") << text;
}

// The script reads dates by itself: it takes and refuses what strptime does, and means the same.
TEST_F(Exported, DatesAreReadAsStrptimeReadsThem) {
  const char* formats[] = {"%Y-%m-%d", "%d.%m.%Y", "%Y-%m-%dT%H:%M:%S", "%m/%d/%y", "%d %b %Y", "%B %e, %Y", "%F %T", "%H:%M on %D",
                           "%Y%m%d",   "%Y",       "100%% %y %m",       "%h-%y"};
  const char* texts[] = {"2001-02-03",
                         "2001-2-3",
                         "2001-13-01",
                         "2001-00-10",
                         "2001-02-30",
                         " 2001-02-03",
                         "2001- 02-03",
                         "2001-02-03 ",
                         "01.02.2003",
                         "1.2.3",
                         "31.12.9999",
                         "32.1.2000",
                         "2001-02-03T04:05:06",
                         "2001-02-03T4:5:61",
                         "2001-02-03T24:00:00",
                         "02/03/68",
                         "02/03/69",
                         "2/3/4",
                         "3 Feb 2001",
                         "03 february 2001",
                         "3 Febr 2001",
                         "3  MAY   1999",
                         "May 7, 2000",
                         "may  7,2000",
                         "2001-02-03  04:05:06",
                         "12:59 on 12/31/99",
                         "20010203",
                         "2001023",
                         "200123",
                         "2001",
                         "0000",
                         "0004-02-29",
                         "100% 05 06",
                         "100 % 5 6",
                         "sep-12",
                         "",
                         "x",
                         "-2001-02-03",
                         "2001-+2-03",
                         "1970-01-01"};
  const Schema any = schema_from_toml(std::string(kTypedSchema) + kClasses, "own.toml");
  int dates = 0;
  for (const char* format : formats) {
    Schema schema = any;
    schema.columns = {{.name = "d", .kind = ColumnKind::date, .low = 0, .high = 1, .format = format}, any.label()};
    torch::jit::Module dated("dates");
    add_table_inputs(dated, schema);
    const std::string plain = dated.attr("format").toList().get(0).toStringRef();
    for (const char* text : texts) {
      const std::optional<double> expected = parse_date(text, format);
      const double got = dated.get_method("date")({std::string(text), plain}).toDouble();
      EXPECT_EQ(std::isnan(got), !expected.has_value()) << format << ": '" << text << "'";
      if (expected && !std::isnan(got)) {
        EXPECT_EQ(got, *expected) << format << ": '" << text << "'";
      }
      dates += expected.has_value();
    }
  }
  EXPECT_GT(dates, 25);
}

TEST_F(Exported, AFormatOfDatesThatItCannotReadIsRefusedBeforehand) {
  const std::string toml =
      "[columns.d]\nkind = \"date\"\nformat = \"%Y-%j\"\nlow = \"2000-1\"\nhigh = \"2020-1\"\n" + std::string(kClasses);
  const nlohmann::ordered_json inputs = {{"kind", "table"}, {"schema", toml}};
  try {
    check_can_export(inputs, folder_ / "model.ts");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("column 'd' has dates of the format %Y-%j"), HasSubstr("%F")));
  }
  EXPECT_THROW(check_can_export({{"kind", "table"}, {"schema", std::string(kTypedSchema) + kClasses}}, folder_ / "model.pt"), InputError);
  EXPECT_THROW(check_can_export({{"kind", "table"}, {"schema", std::string(kTypedSchema) + kClasses}}, folder_ / "no/model.ts"),
               InputError);
  EXPECT_THROW(check_can_export({{"kind", "sounds"}, {"shape", {3}}}, folder_ / "model.ts"), InputError);
}

TEST_F(Exported, PixelsAreNormalisedAsTrainingDoes) {
  const DataFormat& format = find_data_source("cifar-10").format;
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(4 * format.features()));
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i * 7919 >> 3);
  const Examples examples(format, pixels, {0, 1, 2, 3});
  const DataDescription about = describe_named(format);
  torch::manual_seed(2);
  const Model model = make_model({.model = ModelKind::cnn}, shape_for_model(about));
  export_model(*model.module, {{"inputs", about.inputs}, {"classes", 10}}, folder_ / "model.ts");
  torch::jit::Module module = torch::jit::load((folder_ / "model.ts").string());
  const at::Tensor bytes = torch::tensor(at::ArrayRef<std::uint8_t>(pixels)).reshape({4, 3, 32, 32});
  const at::Tensor expected = examples.gather(std::vector<std::int64_t>{0, 1, 2, 3}).inputs;
  EXPECT_TRUE(at::equal(module.get_method("inputs")({bytes}).toTensor(), expected));
  EXPECT_LT((module.forward({bytes}).toTensor() - model.forward(expected).to(at::kDouble).softmax(1)).abs().max().item<double>(), 1e-6);
  EXPECT_EQ(module.attr("classes").toList().get(9).toStringRef(), "9");
  const auto refused = [&](const at::Tensor& wrong) {
    try {
      module.forward({wrong});
    } catch (const std::exception& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(refused(bytes.to(at::kFloat) / 255), HasSubstr("inputs must be bytes"));
  EXPECT_THAT(refused(bytes[0]), HasSubstr("inputs must have the shape [rows, 3, 32, 32], got [3, 32, 32]"));
  EXPECT_THAT(refused(bytes.transpose(1, 3)), HasSubstr("inputs must have the shape"));
}

// Numbers that are no bytes are taken as they are, and a regression's bounds stand beside its inputs.
TEST_F(Exported, ListsOfNumbersAreNormalisedToo) {
  const nlohmann::ordered_json inputs = {{"kind", "tensors"}, {"divide_by", 1},    {"mean", {.5}},     {"std", {2.}},
                                         {"shape", {4}},      {"target_low", -10}, {"target_high", 30}};
  torch::manual_seed(4);
  const Model model = make_model({.model = ModelKind::linear}, InputShape::of(std::vector<std::int64_t>{4}, 1));
  export_model(*model.module, {{"inputs", inputs}, {"classes", 0}}, folder_ / "model.ts");
  torch::jit::Module module = torch::jit::load((folder_ / "model.ts").string());
  const at::Tensor raw = torch::randn({3, 4}), scaled = model.forward((raw - .5) / 2).reshape({-1}).to(at::kDouble);
  const at::Tensor got = module.forward({raw}).toTensor();
  EXPECT_LT((got - (-10 + (scaled + 1) * 20)).abs().max().item<double>(), 1e-4);
  EXPECT_EQ(got.sizes(), (std::vector<std::int64_t>{3}));
}

}  // namespace
}  // namespace fodp
