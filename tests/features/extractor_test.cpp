// Features by a TorchScript module of the user's.
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>

#include "fodp/base/check.h"
#include "fodp/features/feature_recipe.h"
#include "fodp/training/threads.h"

namespace fodp {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr std::int64_t kChannels = 3, kHeight = 8, kWidth = 12, kBytes = kChannels * kHeight * kWidth;

class ExtractorFeatures : public ::testing::Test {
 protected:
  ~ExtractorFeatures() override {
    for (const fs::path& file : files_) fs::remove(file);
  }

  // A module with an attribute `calls` that counts nothing by itself.
  std::string module(const std::string& forward) {
    torch::jit::Module made("Extractor");
    made.register_attribute("calls", c10::IntType::get(), 0);
    made.define("def forward(self, x: Tensor) -> Tensor:\n" + forward);
    files_.push_back(fs::temp_directory_path() / fmt::format("fodp_extractor_{}_{}.ts", getpid(), files_.size()));
    made.save(files_.back().string());
    return files_.back().string();
  }

  static std::shared_ptr<const FeatureRecipe> recipe(const std::string& file) {
    DataOptions options;
    options.features = file;
    return find_feature_kind(file).make(options, {kChannels, kHeight, kWidth, "images"});
  }
  static std::string refusal(const std::string& file) {
    try {
      recipe(file);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  }

  static std::vector<std::uint8_t> images(std::int64_t count) {
    std::vector<std::uint8_t> pixels;
    for (std::int64_t i = 0; i < count * kBytes; ++i) pixels.push_back(static_cast<std::uint8_t>(i * 37 % 251 + i / kBytes));
    return pixels;
  }
  static std::vector<float> features(const FeatureRecipe& recipe, const std::vector<std::uint8_t>& pixels) {
    const std::int64_t values = recipe.facts().values;
    std::vector<float> out(pixels.size() / kBytes * static_cast<std::size_t>(values));
    recipe.encoder(FeatureCache("unused"), {})
        ->encode(pixels, by_threads(), [&](std::int64_t first, std::int64_t count, const float* some) {
          std::copy_n(some, count * values, out.begin() + first * values);
        });
    return out;
  }

  std::vector<fs::path> files_;
};

TEST_F(ExtractorFeatures, AreWhatTheModuleGivesWithNormOne) {
  const auto made = recipe(module("    return x.mean([2, 3]) * 5.\n"));
  EXPECT_EQ(made->facts().values, kChannels);
  const std::vector<std::uint8_t> pixels = images(4);
  const std::vector<float> found = features(*made, pixels);
  for (std::size_t image = 0; image < 4; ++image) {
    double mean[kChannels] = {}, squares = 0;
    for (std::size_t i = 0; i < kBytes; ++i) mean[i / (kHeight * kWidth)] += pixels[image * kBytes + i];
    for (const double one : mean) squares += one * one;
    for (std::size_t c = 0; c < kChannels; ++c) EXPECT_NEAR(found[image * kChannels + c], mean[c] / std::sqrt(squares), 1e-6);
  }
}

// Normalising a batch by its own mean and largest value is a natural mistake, which lets one image move the features of all others.
TEST_F(ExtractorFeatures, OfAnImageDependOnThatImageAlone) {
  const auto made = recipe(module("    return ((x - x.mean()) / x.max()).flatten(1)\n"));
  std::vector<std::uint8_t> pixels = images(5);
  const std::vector<float> before = features(*made, pixels);
  std::fill_n(pixels.begin() + 2 * kBytes, kBytes / 2, 255);
  const std::vector<float> after = features(*made, pixels);
  const auto rows = [](const std::vector<float>& all, std::size_t from, std::size_t to) {
    return std::vector<float>(all.begin() + from * kBytes, all.begin() + to * kBytes);
  };
  EXPECT_EQ(rows(before, 0, 2), rows(after, 0, 2));
  EXPECT_EQ(rows(before, 3, 5), rows(after, 3, 5));
  EXPECT_NE(before, after);
}

TEST_F(ExtractorFeatures, DoNotDependOnTheNumberOfThreads) {
  const auto made =
      recipe(module("    w = torch.cos(torch.arange(0, 3 * 3 * 3 * 16).to(6)).view(16, 3, 3, 3)\n"
                    "    return torch.conv2d(x, w).relu().flatten(1)\n"));
  const int before = at::get_num_threads();
  at::set_num_threads(1);
  const std::vector<float> one = features(*made, images(9));
  at::set_num_threads(3);
  const std::vector<float> three = features(*made, images(9));
  at::set_num_threads(before);
  EXPECT_EQ(one, three);
}

TEST_F(ExtractorFeatures, OfAnImageThatItFailsOnAreZero) {
  const auto made =
      recipe(module("    assert float(x.sum()) > 0., 'a black image'\n"
                    "    return (x.flatten(1) / (x[0, 0, 0, 0] - 1.))\n"));
  std::vector<std::uint8_t> pixels = images(3);
  std::fill_n(pixels.begin(), kBytes, 0);  // fails
  pixels[kBytes] = 255;                    // divides by zero
  const std::vector<float> found = features(*made, pixels);
  for (std::size_t i = 0; i < 2 * kBytes; ++i) ASSERT_EQ(found[i], 0) << i;
  EXPECT_NE(found[2 * kBytes + 1], 0);
}

TEST_F(ExtractorFeatures, OfAModuleThatRemembersAreRefused) {
  EXPECT_THAT(refusal(module("    self.calls += 1\n    return x.flatten(1) * self.calls\n")),
              HasSubstr("other numbers when the same image"));
}

TEST_F(ExtractorFeatures, OfWhatIsNoExtractorAreRefused) {
  EXPECT_THAT(refusal("nowhere.ts"), HasSubstr("cannot be read"));
  EXPECT_THAT(refusal("patchs"), HasSubstr("did you mean 'patches'"));
  files_.push_back(fs::temp_directory_path() / fmt::format("fodp_extractor_{}.pt", getpid()));
  std::ofstream(files_.back()) << "weights";
  EXPECT_THAT(refusal(files_.back().string()), HasSubstr("cannot be read as TorchScript"));
  EXPECT_THAT(refusal(module("    return x.view(1, 7)\n")), HasSubstr("fails on an image [1, 3, 8, 12]"));
  EXPECT_THAT(refusal(module("    return x.flatten(1)[:, :0]\n")), HasSubstr("0 and 0 numbers"));
  EXPECT_THAT(refusal(module("    return torch.nonzero(x > .5)\n")), HasSubstr("must be the same number for each"));
  EXPECT_THAT(refusal(module("    return (x - 1.5).log()\n")), HasSubstr("not finite"));
}

TEST_F(ExtractorFeatures, AreKnownByTheFilesHash) {
  const std::string file = module("    return x.flatten(1)\n"), other = module("    return x.flatten(1) * 2.\n");
  const auto made = recipe(file);
  EXPECT_THAT(made->statement(), HasSubstr(made->about()["sha256"].get<std::string>()));
  EXPECT_THAT(made->statement(), HasSubstr("taken as public"));
  EXPECT_NE(made->facts().file_name(), recipe(other)->facts().file_name());
  nlohmann::json trained = made->about();
  trained["file"] = *made->file();
  const ImageRows images{kChannels, kHeight, kWidth, "images"};
  EXPECT_EQ(kExtractorFeatures.make_trained({trained, {}, "model.json"}, images)->about(), made->about());
  EXPECT_THROW(kExtractorFeatures.make_trained({trained, other, "model.json"}, images), InputError);
  fs::rename(file, file + ".moved.ts");
  files_.push_back(file + ".moved.ts");
  EXPECT_THROW(kExtractorFeatures.make_trained({trained, {}, "model.json"}, images), InputError);
  EXPECT_EQ(kExtractorFeatures.make_trained({trained, file + ".moved.ts", "model.json"}, images)->about(), made->about());
}

}  // namespace
}  // namespace fodp
