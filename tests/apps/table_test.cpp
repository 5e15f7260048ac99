// Tables from the command line.
#include <sstream>

#include <gmock/gmock.h>

#include "program.h"

namespace fodp {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class TableCommands : public Commands {
 protected:
  // The commands and files of docs/tables.md, in its order.
  std::vector<std::string> blocks(const std::string& kind) const {
    const std::string page = content(FODP_SOURCE_DIR "/docs/tables.md"), mark = "```" + kind + "\n";
    std::vector<std::string> found;
    for (std::size_t at = page.find(mark); at != page.npos; at = page.find(mark, at + 1)) {
      const std::size_t begin = at + mark.size();
      found.push_back(page.substr(begin, page.find("```", begin) - begin));
    }
    return found;
  }

  Outcome shell(const std::string& text) {
    const std::string command =
        "cd '" + folder_.string() + "' && PATH='" FODP_BINARY_DIR "':$PATH && set -e; { " + text + "} >out.txt 2>err.txt </dev/null";
    const int status = std::system(command.c_str());
    return {WEXITSTATUS(status), content(folder_ / "out.txt"), content(folder_ / "err.txt")};
  }

  // All rows differ, so that some are held out whatever the seed is.
  void write_small_table() {
    write("own.toml", "[columns.x]\nkind = \"number\"\nlow = 0\nhigh = 9\n[columns.y]\nkind = \"label\"\nvalues = [\"a\", \"b\"]\n");
    std::string rows = "x,y\n";
    for (int i = 0; i < 200; ++i) rows += fmt::format("{}.{:03},{}\n", i % 10, i, i % 10 < 5 ? "a" : "b");
    write("own.csv", rows);
  }
  static constexpr char kTrain[] =
      "train --data table --train own.csv --schema own.toml --model linear --sample-rate .2 --steps 30 --quiet ";
};

TEST_F(TableCommands, TheDocumentedWalkThroughWorksAsWritten) {
  const std::vector<std::string> commands = blocks("sh"), files = blocks("toml");
  ASSERT_EQ(files.size(), 1u);
  ASSERT_GE(commands.size(), 5u);
  write("visits.toml", files[0]);
  std::string out;
  for (const std::string& command : commands) {
    const Outcome outcome = shell(command);
    ASSERT_EQ(outcome.status, 0) << command << outcome.err;
    out += outcome.out;
  }
  const Outcome refused = fodp("train --data table --train visits.csv --schema draft.toml --model linear");
  EXPECT_EQ(refused.status, 3);
  EXPECT_THAT(refused.err, HasSubstr("were taken from the data"));
  const auto summary = nlohmann::json::parse(content(folder_ / "runs/visits/summary.json"));
  EXPECT_EQ(summary["unit"], "patient");
  EXPECT_LT(summary["units"], 5000);
  EXPECT_LE(summary["epsilon"], 1);
  EXPECT_LT(summary["test_accuracy_noise"], .05);
  EXPECT_GT(summary["test_accuracy"], .6) << "about .85; its noise has a standard deviation of 2%: false alarms below 1e-9";
  EXPECT_TRUE(summary["test_loss"].is_null());
  EXPECT_EQ(json("verify runs/visits")["valid"], true);
  const std::string predictions = content(folder_ / "predictions.csv");
  EXPECT_TRUE(predictions.starts_with("row,prediction,p_no,p_yes\n1,"));
  EXPECT_EQ(std::ranges::count(predictions, '\n'), 101);
  EXPECT_THAT(out, HasSubstr("ROC-AUC"));
  EXPECT_THAT(fodp("evaluate --run runs/visits --data visits.csv").err, HasSubstr("visits.csv is what the run was trained on"));
}

TEST_F(TableCommands, ARunCanBeMovedAndKnowsItsModel) {
  write_small_table();
  ASSERT_EQ(fodp(std::string(kTrain) + "--out run").status, 0);
  std::filesystem::rename(folder_ / "run", folder_ / "moved");
  std::filesystem::remove(folder_ / "own.toml");
  const auto result = json("evaluate --run moved --data own.csv");
  EXPECT_EQ(result["rows"], 200);
  EXPECT_EQ(result["classes"], nlohmann::json({"a", "b"}));
  for (const char* name : {"accuracy", "log_loss", "confusion", "calibration_error", "roc_auc"}) EXPECT_TRUE(result.contains(name)) << name;
  write("new.csv", "x\n3\n");
  EXPECT_TRUE(fodp("predict --run moved --data new.csv").out.starts_with("row,prediction,p_a,p_b\n1,"));
  write("new.csv", "x\nthree\n");
  const Outcome wrong = fodp("predict --run moved --data new.csv --out p.csv");
  EXPECT_EQ(wrong.status, 2);
  EXPECT_THAT(wrong.err, HasSubstr("new.csv: line 2: column 'x': expected a finite number"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "p.csv"));
  std::filesystem::resize_file(folder_ / "moved/model.pt", 100);
  EXPECT_THAT(fodp("predict --run moved --data own.csv").err, HasSubstr("model.pt is not the file that the run has recorded"));
}

TEST_F(TableCommands, AnInterruptedRunGoesOnWithTheSameTestRows) {
  write_small_table();
  ASSERT_EQ(fodp(std::string(kTrain) + "--out run --test-fraction .3 --checkpoint-every 10").status, 0);
  const auto config = nlohmann::json::parse(content(folder_ / "run/config.json"));
  EXPECT_TRUE(config["test_seed"].is_number()) << "drawn once, and recorded";
  const Outcome again = fodp("train --resume run");
  EXPECT_EQ(again.status, 3) << again.err;
  EXPECT_THAT(again.err, HasSubstr("has taken all of its 30 steps"));
}

// The record has the files' names as they were given; a run goes on from wherever it is asked to, and a repetition starts from where it is.
TEST_F(TableCommands, ARunGoesOnFromAnotherFolder) {
  write_small_table();
  ASSERT_EQ(fodp(std::string(kTrain) + "--out run --save model.pt").status, 0);
  std::filesystem::remove(folder_ / "model.pt");
  std::filesystem::create_directory(folder_ / "elsewhere");
  const Outcome again = shell("cd elsewhere; fodp train --resume ../run;");
  EXPECT_EQ(again.status, 3) << "as from its own folder: " << again.err;
  EXPECT_THAT(again.err, HasSubstr("has taken all of its 30 steps"));
  const Outcome repeated = shell("cd elsewhere; fodp train --quiet --config ../run/config.json;");
  EXPECT_EQ(repeated.status, 2);
  EXPECT_THAT(repeated.err, HasSubstr("own.toml"));
  EXPECT_EQ(shell("fodp train --quiet --config run/config.json --out again;").status, 0);
  // A run that was moved, with its data, to a machine without that folder goes on from the folder of the data.
  std::string config = content(folder_ / "run/config.json");
  config.replace(config.find("\"started_in\": \"") + 15, 0, "/nowhere");
  write("run/config.json", config);
  EXPECT_EQ(fodp("train --resume run").status, 3);
}

TEST_F(TableCommands, HelpShowsTheOptionsOfTheKindThatIsAskedFor) {
  EXPECT_THAT(fodp("train --help").out, AllOf(Not(HasSubstr("--schema")), HasSubstr("fodp train --data table")));
  EXPECT_THAT(fodp("train --data table --help").out, AllOf(HasSubstr("--schema"), HasSubstr("--privacy-unit")));
}

TEST_F(TableCommands, ANameThatNoRecordCanHoldIsRefused) {
  write_small_table();
  std::filesystem::copy(folder_ / "own.csv", folder_ / "own\xFF.csv");
  const Outcome refused =
      fodp("train --data table --train 'own\xFF.csv' --schema own.toml --model linear --sample-rate .2 --steps 3 --quiet --out run");
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("is not UTF-8"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "run"));
}

TEST_F(TableCommands, TheRowsThatAreTrainedOnAreNotTestedOn) {
  write_small_table();
  for (const char* file : {"own.csv", "./own.csv"}) {
    const Outcome refused = fodp(std::string(kTrain) + "--test-public --test " + file);
    EXPECT_EQ(refused.status, 2);
    EXPECT_THAT(refused.err, HasSubstr("is what is trained on"));
  }
}

TEST_F(TableCommands, WithoutTestRowsNothingIsTested) {
  write_small_table();
  const auto summary = json(kTrain);
  EXPECT_TRUE(summary["test_accuracy"].is_null());
  EXPECT_EQ(summary["test_examples"], 0);
}

TEST_F(TableCommands, APlanNeedsToKnowHowManyRowsThereAre) {
  write_small_table();
  const Outcome refused = fodp(std::string(kTrain) + "--dry-run");
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("give --train-size"));
  EXPECT_EQ(json(std::string(kTrain) + "--dry-run --train-size 500")["units"], 500);
}

// Junk ends in an error with its place, in no crash and in no file.
TEST_F(TableCommands, HostileTablesAreRefused) {
  write_small_table();
  const auto says = [&](const std::string& text) {
    write("own.csv", text);
    const Outcome outcome = fodp(std::string(kTrain) + "--out run");
    EXPECT_EQ(outcome.status, 2) << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(folder_ / "run"));
    return outcome.err;
  };
  EXPECT_THAT(says(std::string("\x7f"
                               "ELF\0\1\2",
                               7)),
              HasSubstr("own.csv: line 1: a byte 0"));
  EXPECT_THAT(says("x,y\n1,\"a\n2,b\n"), HasSubstr("own.csv: line 2: the quote"));
  EXPECT_THAT(says("x,y\n1e999,a\n"), HasSubstr("line 2: column 'x'"));
  EXPECT_THAT(says("x,x,y\n1,2,a\n"), HasSubstr("two columns are called 'x'"));
  EXPECT_THAT(says("x,y\n"), HasSubstr("has no rows"));
  EXPECT_THAT(says(""), HasSubstr("is empty"));
  std::string wide = "x,y";
  for (int i = 0; i < 10000; ++i) wide += fmt::format(",c{}", i);
  EXPECT_THAT(says(wide + "\n"), HasSubstr("the schema does not know the column 'c0'"));
  write("own.csv", "x,y\n1,a\n2,a\n3,a\n4,a\n");  // one class only
  EXPECT_EQ(fodp(kTrain).status, 0);
}

}  // namespace
}  // namespace fodp
