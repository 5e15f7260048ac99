// Images and tensors from the command line.
#include <gmock/gmock.h>

#include "program.h"
#include "python.h"

namespace fodp {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class ImageCommands : public Commands {
 protected:
  // The commands of docs/images-and-tensors.md, in its order.
  static std::vector<std::string> commands() {
    const std::string page = content(FODP_SOURCE_DIR "/docs/images-and-tensors.md"), mark = "```sh\n";
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

  // Runs the command with that number, from 0.
  Outcome documented(std::size_t number) {
    std::string command = commands().at(number);
    if (command.starts_with("python3")) command.replace(0, 7, testing::python_with("numpy"));
    const Outcome outcome = shell(command);
    EXPECT_EQ(outcome.status, 0) << command << outcome.err;
    return outcome;
  }
};

TEST_F(ImageCommands, AFolderOfAThousandImagesTrainsAsDocumented) {
  if (testing::python_with("numpy").empty()) GTEST_SKIP() << "no Python with NumPy";
  ASSERT_EQ(commands().size(), 6u);
  for (std::size_t i = 0; i < 3; ++i) documented(i);
  const auto summary = nlohmann::json::parse(content(folder_ / "runs/shapes/summary.json"));
  EXPECT_EQ(summary["train_examples"].get<int>() + summary["test_examples"].get<int>(), 1000);
  EXPECT_LE(summary["epsilon"], 3);
  EXPECT_EQ(summary["test_accuracy_noise"].is_number(), true);
  const std::string predictions = content(folder_ / "discs.csv");
  EXPECT_TRUE(predictions.starts_with("row,prediction,p_disc,p_square,file\n1,")) << predictions.substr(0, 80);
  EXPECT_EQ(std::ranges::count(predictions, '\n'), 501);
  EXPECT_THAT(predictions, HasSubstr(",0000.png\n"));
  EXPECT_EQ(json("verify runs/shapes")["valid"], true);
  // The same with a fixed seed and public test images: half would be chance.
  const auto fixed = json(
      "train --data images --train shapes --image-size 16 --model linear --epsilon 3 --sample-rate .1 --steps 100 --test-fraction .2 "
      "--test-public --insecure-seed 1 --quiet");
  EXPECT_GT(fixed["test_accuracy"], .9);
  // The run can be moved, and its own files are all it needs.
  std::filesystem::rename(folder_ / "runs/shapes", folder_ / "moved");
  std::filesystem::rename(folder_ / "shapes", folder_ / "pictures");
  const auto result = json("evaluate --run moved --data pictures");
  EXPECT_THAT(fodp("evaluate --run moved --data pictures").err, HasSubstr("is what the run was trained on"));
  EXPECT_EQ(fodp("predict --run moved --data pictures --json").status, 2) << "the predictions would be lost";
  EXPECT_EQ(result["rows"], 1000);
  EXPECT_EQ(result["classes"], nlohmann::json({"disc", "square"}));
  EXPECT_TRUE(fodp("predict --run moved --data pictures/square/0001.png").out.find("pictures/square/0001.png") != std::string::npos);
  std::filesystem::rename(folder_ / "pictures/disc/0012.png", folder_ / "pictures/square/!0012.png");
  EXPECT_THAT(fodp("evaluate --run moved --data pictures").err, AllOf(HasSubstr("own test rows are private"), Not(HasSubstr("trained on"))))
      << "other labels are other data";
  std::filesystem::resize_file(folder_ / "pictures/disc/0010.png", 100);
  const Outcome refused = fodp("predict --run moved --data pictures --out p.csv");
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("pictures/disc/0010.png: the PNG file is damaged"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "p.csv"));
  EXPECT_EQ(fodp("evaluate --run moved --data pictures/disc").status, 2) << "no class folders there";
}

TEST_F(ImageCommands, ArraysTrainAsDocumented) {
  if (testing::python_with("numpy").empty()) GTEST_SKIP() << "no Python with NumPy";
  documented(3);
  const Outcome classes = documented(4);
  EXPECT_THAT(classes.out, AllOf(HasSubstr("4000 rows"), HasSubstr("ROC-AUC")));
  EXPECT_TRUE(content(folder_ / "points.csv").starts_with("row,prediction,p_0,p_1\n1,"));
  documented(5);
  EXPECT_TRUE(content(folder_ / "prices.csv").starts_with("row,prediction\n1,"));
  EXPECT_EQ(json("verify runs/prices")["valid"], true);
  const auto dry = json("train --data tensors --train points.npz --classes 2 --model linear --dry-run");
  EXPECT_EQ(dry["train_examples"], 4000);
  EXPECT_EQ(dry["sizes_from"], "files");
  // With a fixed seed and without privacy for the test rows: what the numbers come to.
  const std::string fixed = "train --data tensors --model linear --epsilon 2 --test-fraction .2 --test-public --insecure-seed 1 --quiet ";
  EXPECT_GT(json(fixed + "--train points.npz --classes 2")["test_accuracy"], .9);
  const auto numbers = json(fixed + "--train x.npy --labels price.npy --target-low 0 --target-high 100 --lr .1 --out fixed");
  EXPECT_GT(numbers["test_r2"], .8);
  const auto result = json("evaluate --run fixed --data x.npy --labels price.npy");
  EXPECT_GT(result["r2"], .8);
  EXPECT_LT(result["rmse"], 10) << "in units of the labels, whose standard deviation is 18";
  // Rows of another kind.
  EXPECT_THAT(fodp("predict --run fixed --data price.npy").err,
              HasSubstr("a row is [1]: in the data that the run was trained on it is [2]"));
  EXPECT_THAT(fodp("evaluate --run fixed --data x.npy").err, HasSubstr("--labels names the .npy file with their labels"));
  EXPECT_THAT(fodp("predict --run fixed --data nowhere.npy").err, HasSubstr("nowhere.npy: cannot be opened"));
}

TEST_F(ImageCommands, ARunOnANamedDataSetTakesArraysOfBytes) {
  const std::string python = testing::python_with("numpy");
  if (python.empty()) GTEST_SKIP() << "no Python with NumPy";
  ASSERT_EQ(fodp("train --train-size 500 --test-size 50 --steps 5 --sample-rate .1 --quiet --out run").status, 0);
  ASSERT_EQ(shell(python + " -c 'import numpy as np; np.savez(\"a.npz\", x=np.zeros((3, 28, 28), np.uint8), y=np.arange(3))'\n").status, 0);
  EXPECT_EQ(json("evaluate --run run --data a.npz")["rows"], 3);
  EXPECT_TRUE(fodp("predict --run run --data a.npz").out.starts_with("row,prediction,p_0,p_1,"));
  EXPECT_EQ(fodp("predict --run run --data run/model.pt").status, 2);
}

TEST_F(ImageCommands, AnInterruptedRunGoesOn) {
  const std::string python = testing::python_with("numpy");
  if (python.empty()) GTEST_SKIP() << "no Python with NumPy";
  documented(3);
  const std::string train =
      "train --data tensors --train points.npz --classes 2 --model linear --sample-rate .1 --quiet --insecure-seed 1 ";
  ASSERT_EQ(fodp(train + "--steps 30 --checkpoint-every 10 --test-fraction .3 --out run").status, 0);
  // As if it had been killed after its last checkpoint.
  std::filesystem::remove(folder_ / "run/summary.json");
  const Outcome again = fodp("train --resume run");
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_THAT(again.err, HasSubstr("going on after step 30 of 30"));
}

TEST_F(ImageCommands, HelpShowsTheOptionsOfTheKindThatIsAskedFor) {
  EXPECT_THAT(fodp("train --help").out, AllOf(Not(HasSubstr("--image-size")), Not(HasSubstr("--target-low"))));
  EXPECT_THAT(fodp("train --data images --help").out,
              AllOf(HasSubstr("--image-size"), HasSubstr("--test-fraction"), Not(HasSubstr("--schema")), Not(HasSubstr("--target-low"))));
  EXPECT_THAT(fodp("train --data tensors --help").out,
              AllOf(HasSubstr("--target-low"), HasSubstr("--mean"), Not(HasSubstr("--image-size"))));
}

}  // namespace
}  // namespace fodp
