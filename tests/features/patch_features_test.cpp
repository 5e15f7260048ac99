#include "fodp/features/patch_features.h"

#include <cmath>
#include <thread>

#include <gtest/gtest.h>

#include "features/small_patches.h"
#include "fodp/base/check.h"
#include "fodp/features/whitening.h"

namespace fodp {
namespace {

using testing::features_of;
using testing::made_up_images;
using testing::small_dictionary;
using testing::small_sizes;

// Sizes that the documentation states.
TEST(PatchSizes, AreThoseOfTheRecipe) {
  const PatchSizes colour = patch_sizes({3, 32}, FeatureSize::standard), gray = patch_sizes({1, 28}, FeatureSize::standard);
  EXPECT_EQ(colour.values(), 40960);
  EXPECT_EQ(gray.values(), 20480);
  EXPECT_EQ(patch_sizes({3, 32}, FeatureSize::small).values(), 8192);
  EXPECT_EQ(patch_sizes({1, 28}, FeatureSize::small).values(), 8192);
  EXPECT_EQ(patch_sizes({3, 32}, FeatureSize::large).values(), 73728);
  EXPECT_EQ(colour.positions(), 27);
  EXPECT_EQ(gray.positions(), 23);
  EXPECT_EQ(colour.grid, 9);
  EXPECT_EQ(gray.grid, 8);
  for (std::int64_t side = 28; side <= 96; ++side) {
    const std::int64_t positions = patch_sizes({3, side}, FeatureSize::standard).positions();
    EXPECT_TRUE(positions >= 22 && positions <= 43) << side;
  }
}

using Grid = std::vector<std::vector<double>>;  // [place][channel]

std::vector<std::vector<double>> gaussian_weights(std::int64_t from, std::int64_t to, double sigma) {
  std::vector<std::vector<double>> weights(to, std::vector<double>(from));
  for (std::int64_t i = 0; i < to; ++i) {
    double sum = 0;
    for (std::int64_t j = 0; j < from; ++j) {
      const double centre = (i + .5) * from / to - .5;
      sum += weights[i][j] = std::exp(-(j - centre) * (j - centre) / (2 * sigma * sigma));
    }
    for (double& weight : weights[i]) weight /= sum;
  }
  return weights;
}

Grid slow_pool(const Grid& grid, std::int64_t from, std::int64_t to, double sigma) {
  const auto weights = gaussian_weights(from, to, sigma);
  Grid out(to * to, std::vector<double>(grid[0].size(), 0.0));
  for (std::int64_t y = 0; y < to; ++y)
    for (std::int64_t x = 0; x < to; ++x)
      for (std::int64_t i = 0; i < from; ++i)
        for (std::int64_t j = 0; j < from; ++j)
          for (std::size_t c = 0; c < grid[0].size(); ++c) out[y * to + x][c] += weights[y][i] * weights[x][j] * grid[i * from + j][c];
  return out;
}

double at2(const at::Tensor& matrix, std::int64_t i, std::int64_t j) { return matrix.data_ptr<float>()[i * matrix.size(1) + j]; }

std::vector<double> times_matrix(const std::vector<double>& row, const at::Tensor& matrix) {
  std::vector<double> out(matrix.size(1), 0.0);
  for (std::size_t i = 0; i < row.size(); ++i)
    for (std::size_t j = 0; j < out.size(); ++j) out[j] += row[i] * at2(matrix, i, j);
  return out;
}

double norm(const std::vector<double>& row) {
  double sum = 0;
  for (const double value : row) sum += value * value;
  return std::sqrt(sum);
}

// Against atoms, after the length was set; both signs.
std::vector<double> slow_code(std::vector<double> patch, const at::Tensor& atoms) {
  const double scale = std::sqrt(patch.size()) / (norm(patch) + 1e-3);
  for (double& value : patch) value *= scale;
  std::vector<double> products = times_matrix(patch, atoms), out;
  for (const double z : products) out.push_back(std::max(z - 1, 0.0));
  for (const double z : products) out.push_back(std::max(-z - 1, 0.0));
  return out;
}

Grid slow_first_layer(const PatchDictionary& dictionary, const std::uint8_t* image) {
  const std::int64_t side = dictionary.sizes.image.side, places = side - 5;
  Grid grid;
  for (std::int64_t y = 0; y < places; ++y)
    for (std::int64_t x = 0; x < places; ++x) {
      std::vector<double> patch;
      for (std::int64_t c = 0; c < 3; ++c)
        for (std::int64_t i = 0; i < 6; ++i)
          for (std::int64_t j = 0; j < 6; ++j) patch.push_back(image[(c * side + y + i) * side + x + j]);
      double mean = 0, squares = 0;
      for (const double value : patch) mean += value / 108;
      for (double& value : patch) value -= mean, squares += value * value / 108;
      for (double& value : patch) value /= std::sqrt(squares + 10);
      grid.push_back(slow_code(times_matrix(patch, dictionary.whitening), dictionary.atoms));
    }
  return slow_pool(grid, places, 9, .4 * places / 9);
}

Grid roots(Grid grid) {
  for (auto& place : grid)
    for (double& value : place) value = std::sqrt(value + 1e-4);
  return grid;
}

// From a grid of cells to the features of a block.
std::vector<double> slow_block(const Grid& cells, const PatchDictionary::Block& block) {
  const std::size_t channels = cells[0].size(), half = channels / 4;
  std::vector<double> out;
  for (std::size_t y = 0; y < 4; ++y)
    for (std::size_t x = 0; x < 2; ++x) {
      std::vector<double> cell;
      for (std::size_t c = 0; c < channels; ++c) {
        const std::size_t mirror = c / half % 2 == 0 ? c + half : c - half;
        cell.push_back(cells[y * 4 + x][c] + cells[y * 4 + 3 - x][mirror] - block.mean.data_ptr<float>()[c]);
      }
      for (const double value : times_matrix(cell, block.whitening)) out.push_back(value);
    }
  const double length = norm(out);
  for (double& value : out) value /= (length + 1e-6) * std::sqrt(3);
  return out;
}

std::vector<double> slow_features(const PatchDictionary& dictionary, const std::uint8_t* image) {
  const Grid first = slow_first_layer(dictionary, image);
  std::vector<double> out = slow_block(roots(slow_pool(first, 9, 4, .5 * 9 / 4)), dictionary.blocks[0]);
  Grid projected;
  for (const auto& place : roots(first)) {
    projected.push_back(times_matrix(place, dictionary.components));
    for (std::size_t k = 0; k < projected.back().size(); ++k) projected.back()[k] += dictionary.offset.data_ptr<float>()[k];
  }
  for (std::size_t k = 0; k < 2; ++k) {
    const PatchSizes::Second& layer = dictionary.sizes.second[k];
    const std::int64_t places = 9 - layer.patch + 1;
    Grid codes;
    for (std::int64_t y = 0; y < places; ++y)
      for (std::int64_t x = 0; x < places; ++x) {
        std::vector<double> patch;
        for (std::int64_t i = 0; i < layer.patch; ++i)
          for (std::int64_t j = 0; j < layer.patch; ++j)
            for (std::int64_t c = 0; c < layer.components; ++c) patch.push_back(projected[(y + i) * 9 + x + j][c]);
        codes.push_back(slow_code(patch, dictionary.blocks[k + 1].atoms));
      }
    for (const double value : slow_block(slow_pool(codes, places, 4, .5 * places / 4), dictionary.blocks[k + 1])) out.push_back(value);
  }
  return out;
}

TEST(PatchFeatures, AreThoseOfTheRecipeInDoublePrecision) {
  const PatchDictionary& dictionary = small_dictionary();
  const std::vector<std::uint8_t> pixels = made_up_images({3, 32}, 2);
  const std::vector<float> fast = features_of(dictionary, pixels);
  for (std::size_t image = 0; image < 2; ++image) {
    const std::vector<double> slow = slow_features(dictionary, pixels.data() + image * 3072);
    ASSERT_EQ(slow.size() * 2, fast.size());
    for (std::size_t i = 0; i < slow.size(); ++i) ASSERT_NEAR(fast[image * slow.size() + i], slow[i], 2e-5) << image << " " << i;
  }
}

// Nothing but the image itself enters its features.
TEST(PatchFeatures, OfAnImageDoNotDependOnTheOthersBitForBit) {
  const PatchDictionary& dictionary = small_dictionary();
  const auto values = static_cast<std::size_t>(dictionary.sizes.values());
  std::vector<std::uint8_t> pixels = made_up_images({3, 32}, 37);
  const std::vector<float> before = features_of(dictionary, pixels);
  for (std::size_t i = 0; i < 3072; ++i) pixels[18 * 3072 + i] = static_cast<std::uint8_t>(255 - pixels[18 * 3072 + i]);
  const std::vector<float> after = features_of(dictionary, pixels);
  for (std::size_t image = 0; image < 37; ++image) {
    const bool same = std::equal(before.begin() + image * values, before.begin() + (image + 1) * values, after.begin() + image * values);
    EXPECT_EQ(same, image != 18) << image;
  }
  // In other company, and at every other place of a group: without one image, those behind it move up.
  for (std::size_t image = 0; image < 16; ++image) {
    const std::vector<std::uint8_t> alone(pixels.begin() + image * 3072, pixels.begin() + (image + 1) * 3072);
    const std::vector<float> of_alone = features_of(dictionary, alone);
    EXPECT_TRUE(std::equal(of_alone.begin(), of_alone.end(), after.begin() + image * values)) << image;
  }
}

TEST(PatchFeatures, OfAMirroredImageAreTheSame) {
  const PatchDictionary& dictionary = small_dictionary();
  const std::vector<std::uint8_t> pixels = made_up_images({3, 32}, 1);
  std::vector<std::uint8_t> mirrored = pixels;
  for (std::size_t row = 0; row < 96; ++row) std::reverse(mirrored.begin() + row * 32, mirrored.begin() + (row + 1) * 32);
  const std::vector<float> one = features_of(dictionary, pixels), other = features_of(dictionary, mirrored);
  for (std::size_t i = 0; i < one.size(); ++i) ASSERT_NEAR(one[i], other[i], 1e-4) << i;
}

TEST(PatchFeatures, HaveNormOneAndAreNotFlat) {
  for (const ImageShape& shape : {ImageShape{1, 28}, ImageShape{3, 50}}) {
    const PatchDictionary dictionary = fit_patches(small_sizes(shape), one_by_one);
    const std::vector<float> features = features_of(dictionary, made_up_images(shape, 2));
    const auto values = static_cast<std::size_t>(dictionary.sizes.values());
    double squares = 0, product = 0;
    for (std::size_t i = 0; i < values; ++i) squares += features[i] * features[i], product += features[i] * features[values + i];
    EXPECT_NEAR(squares, 1, 1e-5);
    EXPECT_LT(product, .999);
  }
  // A black image has features, too.
  for (const float value : features_of(small_dictionary(), std::vector<std::uint8_t>(3072, 0))) ASSERT_TRUE(std::isfinite(value));
}

TEST(PatchFeatures, DoNotDependOnTheNumberOfThreads) {
  const ParallelFor two = [](std::int64_t count, const std::function<void(std::int64_t, std::int64_t)>& body) {
    std::thread other([&] { body(0, count / 2); });
    body(count / 2, count);
    other.join();
  };
  const PatchDictionary again = fit_patches(small_sizes({3, 32}), two);
  const std::vector<std::uint8_t> pixels = made_up_images({3, 32}, 3);
  EXPECT_EQ(features_of(again, pixels), features_of(small_dictionary(), pixels));
  EXPECT_EQ(patch_probe(again), patch_probe(small_dictionary()));
}

TEST(PatchFeatures, OfAPartOfAnImageAreRefused) {
  EXPECT_THROW(features_of(small_dictionary(), std::vector<std::uint8_t>(3000)), InputError);
}

}  // namespace
}  // namespace fodp
