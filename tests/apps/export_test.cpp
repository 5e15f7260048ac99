// Models served without fodp: what is exported from the command line says in Python what fodp predict says.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "program.h"
#include "python.h"

namespace fodp {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class ExportCommands : public Commands {
 protected:
  void write_table() {
    write("own.toml",
          "missing = \"?\"\n[columns.x]\nkind = \"number\"\nlow = 0\nhigh = 9\nif_missing = \"indicator\"\n[columns.day]\nkind = "
          "\"date\"\nformat = \"%d.%m.%Y\"\nlow = \"1.1.2000\"\nhigh = \"1.1.2030\"\n[columns.town]\nkind = \"category\"\nvalues = "
          "[\"here\", \"Ulm, Neu-\"]\n[columns.size]\nkind = \"number\"\nlow = 1\nhigh = 1e6\nlog = true\n[columns.y]\nkind = "
          "\"label\"\nlow = -500\nhigh = 500\n");
    std::string rows = "x,day,town,size,y\n";
    for (int i = 0; i < 300; ++i)
      rows += fmt::format("{},{}.{}.{},{},{},{}\n", i % 7 == 0 ? "?" : std::to_string(i % 12), 1 + i % 28, 1 + i % 12, 1999 + i % 33,
                          i % 3 == 0   ? "here"
                          : i % 3 == 1 ? "\"Ulm, Neu-\""
                                       : "there",
                          1 + i * i * 31, 40 * (i % 10) - 100);
    write("own.csv", rows);
  }

  // Whether the Python lines end without complaint.
  void run_python(const std::string& python, const std::string& lines) {
    write("lines.py", lines);
    const std::string command = "cd '" + folder_.string() + "' && " + python + " lines.py >py.txt 2>&1";
    EXPECT_EQ(std::system(command.c_str()), 0) << content(folder_ / "py.txt");
  }

  static constexpr char kTrain[] =
      "train --data table --train own.csv --schema own.toml --model mlp --hidden 8 --activation relu --insecure-seed 1 --sample-rate .2 "
      "--steps 30 --lr .5 --quiet ";

  // Compares model(columns) of a file with predictions.csv.
  static constexpr char kCompare[] = R"(
import csv, json, sys, torch
model = torch.jit.load(sys.argv[1] if len(sys.argv) > 1 else "model.ts")
rows = list(csv.DictReader(open("own.csv")))
columns = {name: [row[name] for row in rows] for name in rows[0]}
said = [float(row["prediction"]) for row in csv.DictReader(open("predictions.csv"))]
difference = (model(columns) - torch.tensor(said, dtype=torch.float64)).abs().max().item()
assert difference < 1e-3, difference                      # of numbers up to 500, in float32
assert torch.tensor(said).std() > 1, "the predictions differ"
about = json.loads(model.fodp)
extra = {"fodp": ""}
torch.jit.load("model.ts", _extra_files=extra)
assert json.loads(extra["fodp"]) == about
assert about["private"] is False and about["events"], about
assert {name: value.shape for name, value in model.network.state_dict().items()} == {name: value.shape for name, value in torch.load("run/model.pt").items()}
)";
};

TEST_F(ExportCommands, ATableIsPredictedTheSameInPython) {
  const std::string python = testing::python_with("torch");
  if (python.empty()) GTEST_SKIP() << "needs Python's torch";
  write_table();
  const Outcome trained = fodp(std::string(kTrain) + "--out run --export model.ts");
  ASSERT_EQ(trained.status, 0) << trained.err;
  ASSERT_EQ(fodp("predict --run run --data own.csv --out predictions.csv").status, 0);
  run_python(python, kCompare);
  // From the run directory, which may have been moved, comes the same.
  std::filesystem::rename(folder_ / "model.ts", folder_ / "by_train.ts");
  std::filesystem::rename(folder_ / "own.toml", folder_ / "gone.toml");
  const Outcome exported = fodp("export --run run --out model.ts");
  ASSERT_EQ(exported.status, 0) << exported.err;
  run_python(python, kCompare);
  run_python(python,
             "import torch\na, b = torch.jit.load('model.ts'), torch.jit.load('by_train.ts')\nassert a.fodp == b.fodp\n"
             "for x, y in zip(a.parameters(), b.parameters()): assert torch.equal(x, y)\n");
}

TEST_F(ExportCommands, TheLinesOfThePageServeTheModelOfItsWalkThrough) {
  const std::string python = testing::python_with("torch");
  if (python.empty()) GTEST_SKIP() << "needs Python's torch";
  const std::string page = content(FODP_SOURCE_DIR "/docs/tables.md");
  const auto blocks = [&](const std::string& kind) {
    const std::string mark = "```" + kind + "\n";
    std::vector<std::string> found;
    for (std::size_t at = page.find(mark); at != page.npos; at = page.find(mark, at + 1))
      found.push_back(page.substr(at + mark.size(), page.find("```", at + mark.size()) - at - mark.size()));
    return found;
  };
  ASSERT_EQ(blocks("python").size(), 1u);
  write("visits.toml", blocks("toml").at(0));
  std::string commands = "PATH='" FODP_BINARY_DIR "':$PATH; set -e\n";
  for (const std::string& command : blocks("sh")) commands += command;
  write("commands.sh", commands);
  ASSERT_EQ(std::system(("cd '" + folder_.string() + "' && sh commands.sh >out.txt 2>err.txt </dev/null").c_str()), 0)
      << content(folder_ / "err.txt");
  run_python(python, blocks("python").at(0) + R"(
said = list(csv.DictReader(open("predictions.csv")))
assert len(said) == len(labels) == 100
for row, label, p in zip(said, labels, probabilities):
    assert abs(float(row["p_no"]) - p[0]) < 2e-6 and abs(float(row["p_yes"]) - p[1]) < 2e-6, (row, p)
    assert row["prediction"] == label or abs(p[0] - p[1]) < 1e-6
)");
}

TEST_F(ExportCommands, RefusalsComeBeforeTheTraining) {
  write_table();
  const Outcome ending = fodp(std::string(kTrain) + "--export model.pt --out run");
  EXPECT_EQ(ending.status, 2);
  EXPECT_THAT(ending.err, HasSubstr("--export model.pt: the name of a TorchScript file ends in .ts"));
  EXPECT_EQ(fodp(std::string(kTrain) + "--export no/model.ts --out run").status, 2);
  std::string toml = content(folder_ / "own.toml");
  toml.replace(toml.find("%d.%m.%Y"), 8, "%d.%m.%C%y");
  for (std::size_t at = toml.find("1.1.20"); at != toml.npos; at = toml.find("1.1.20", at + 1)) toml.replace(at, 6, "1.1.19");
  write("own.toml", toml);
  const Outcome date = fodp(std::string(kTrain) + "--export model.ts --out run");
  EXPECT_EQ(date.status, 2);
  EXPECT_THAT(date.err, AllOf(HasSubstr("column 'day' has dates of the format %d.%m.%C%y"), HasSubstr("%Y %y %m %d")));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "run"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "model.ts"));
}

TEST_F(ExportCommands, ARunThatIsNoneOrNotItsOwnIsRefused) {
  write_table();
  EXPECT_THAT(fodp("export --run run --out model.ts").err, HasSubstr("trained to its end: it has no"));
  ASSERT_EQ(fodp(std::string(kTrain) + "--out run").status, 0);
  EXPECT_THAT(fodp("export --run run").err, HasSubstr("--out is missing"));
  EXPECT_THAT(fodp("export --run run --out model.pt").err, HasSubstr("ends in .ts"));
  std::filesystem::resize_file(folder_ / "run/model.pt", 100);
  EXPECT_THAT(fodp("export --run run --out model.ts").err, HasSubstr("model.pt is not the file that the run has recorded"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "model.ts"));
}

// A repetition puts its results where it is told to, and overwrites none.
TEST_F(ExportCommands, ARepetitionDoesNotWriteOverTheExport) {
  write_table();
  ASSERT_EQ(fodp(std::string(kTrain) + "--out run --export model.ts").status, 0);
  EXPECT_EQ(nlohmann::json::parse(content(folder_ / "run/config.json"))["export"], "model.ts");
  std::filesystem::remove(folder_ / "model.ts");
  ASSERT_EQ(fodp("train --quiet --config run/config.json").status, 0);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "model.ts"));
}

}  // namespace
}  // namespace fodp
