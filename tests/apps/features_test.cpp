// Features from the command line, by an extractor, which takes no time.
#include <algorithm>
#include <filesystem>

#include <gmock/gmock.h>
#include <torch/csrc/jit/api/module.h>

#include "program.h"

namespace fodp {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class FeatureCommands : public Commands {
 protected:
  void save_extractor(const std::string& name, const std::string& forward) const {
    torch::jit::Module module("Extractor");
    module.define("def forward(self, x: Tensor) -> Tensor:\n" + forward);
    module.save((folder_ / name).string());
  }

  static constexpr char kMeans[] = "    return torch.avg_pool2d(x, [4, 4]).flatten(1) - .3\n";
  static constexpr char kTrain[] =
      "train --features means.ts --feature-cache kept --model linear --train-size 1500 --test-size 300 --epsilon 3 --insecure-seed 1 "
      "--quiet "
      "--out run ";
};

TEST_F(FeatureCommands, OfAnExtractorTrainAndPredict) {
  save_extractor("means.ts", kMeans);
  const auto summary = json(kTrain);
  EXPECT_EQ(summary["features"]["recipe"], "extractor");
  EXPECT_EQ(summary["features"]["values"], 49);
  EXPECT_EQ(summary["parameters"], 490);
  EXPECT_EQ(summary["sample_rate"], 1);
  EXPECT_LE(summary["epsilon"], 3);
  EXPECT_GT(summary["test_accuracy"], .4) << "a tenth would be chance";
  EXPECT_THAT(content(folder_ / "run/statement.txt"), AllOf(HasSubstr("means.ts"), HasSubstr("nothing of it may have been made")));
  EXPECT_EQ(json("verify run")["valid"], true);
  const auto listed = json("features --list --feature-cache kept");
  ASSERT_EQ(listed["features"].size(), 2u);
  EXPECT_EQ(listed["features"][0]["rows"].get<int>() + listed["features"][1]["rows"].get<int>(), 1800);
  // The next run finds them.
  EXPECT_EQ(json("features --data fashion-mnist --train-size 1500 --test-size 300 --features means.ts --feature-cache kept")["cached"],
            true);
  EXPECT_EQ(fodp("features --delete all --feature-cache kept").status, 0);
  EXPECT_TRUE(json("features --list --feature-cache kept")["features"].empty());
}

TEST_F(FeatureCommands, NeedTheExtractorThatTheModelWasTrainedWith) {
  save_extractor("means.ts", kMeans);
  save_extractor("other.ts", "    return torch.avg_pool2d(x, [2, 2]).flatten(1)[:, :49]\n");
  ASSERT_EQ(fodp(kTrain).status, 0);
  std::string header = "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 28, 28), }";
  header.resize(117, ' ');
  write("gray.npy", std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + "\n" + std::string(2 * 28 * 28, '\x40'));
  const std::string predict = "predict --run run --data gray.npy ";
  EXPECT_TRUE(fodp(predict).out.starts_with("row,prediction,p_0")) << fodp(predict).err;
  EXPECT_EQ(std::ranges::count(fodp(predict).out, '\n'), 3);
  std::filesystem::create_directories(folder_ / "elsewhere");
  std::filesystem::rename(folder_ / "means.ts", folder_ / "elsewhere/means.ts");
  EXPECT_THAT(fodp(predict).err, AllOf(HasSubstr("means.ts, which is not there"), HasSubstr("--features")));
  EXPECT_EQ(fodp(predict + "--features elsewhere/means.ts").status, 0);
  EXPECT_THAT(fodp(predict + "--features other.ts").err, HasSubstr("is not the extractor that the model takes"));
  EXPECT_EQ(fodp("train --features means.ts --model linear --epsilon 3").status, 2) << "it was moved";
  EXPECT_THAT(fodp("train --features patchs --model linear --epsilon 3").err, HasSubstr("did you mean 'patches'"));
  EXPECT_THAT(fodp("train --features other.ts --feature-size small --epsilon 3").err, HasSubstr("an extractor has its own"));
}

}  // namespace
}  // namespace fodp
