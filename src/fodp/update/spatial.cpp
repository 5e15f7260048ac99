// A spatial low pass on the first layer's release: what a pixel's weight learns, its neighbours' weights learn alike, while the noise of
// neighbours is independent. Where the first layer is linear on images laid out [channel, row, column], each unit's weights of a channel
// are an image themselves; it is transformed by the orthonormal 2-D cosine transform, multiplied by 1/(1 + (f/f0)^2), f the root of the
// squared row and column frequencies, and transformed back. All other parameters pass as they are. Post-processing, without state.
#include <cmath>
#include <numbers>
#include <vector>

#include "fodp/update/filter.h"

namespace fodp {
namespace {

struct SpatialOptions {
  double cutoff = 4;

  static auto fields() {
    return std::tuple{
        field("cutoff", &SpatialOptions::cutoff, "f0: the frequency, in half waves over the image, that is halved", above(0))};
  }
};

// The orthonormal cosine transform of so many values as a matrix: element [frequency * size + place].
std::vector<double> cosines(std::int64_t size) {
  std::vector<double> matrix;
  const double n = static_cast<double>(size);
  for (std::int64_t frequency = 0; frequency < size; ++frequency)
    for (std::int64_t place = 0; place < size; ++place)
      matrix.push_back(std::sqrt((frequency == 0 ? 1 : 2) / n) *
                       std::cos(std::numbers::pi / n * (static_cast<double>(place) + .5) * static_cast<double>(frequency)));
  return matrix;
}

class Spatial : public Filter {
 public:
  Spatial(const LayerGroup& layer, std::int64_t height, std::int64_t width, double cutoff)
      : begin_(layer.matrix_offset),
        end_(begin_ + layer.rows * layer.columns),
        height_(height),
        width_(width),
        over_rows_(cosines(height)),
        over_columns_(cosines(width)) {
    for (std::int64_t u = 0; u < height; ++u)
      for (std::int64_t v = 0; v < width; ++v) kept_.push_back(1 / (1 + static_cast<double>(u * u + v * v) / (cutoff * cutoff)));
  }

  std::span<const float> apply(std::span<const float> sum) override {
    filtered_.assign(sum.begin(), sum.end());
    const std::int64_t area = height_ * width_;
    std::vector<double> image(area);
    for (std::int64_t at = begin_; at < end_; at += area) {
      for (std::int64_t i = 0; i < area; ++i) image[i] = sum[at + i];
      transform(image, /*back=*/false);
      for (std::int64_t i = 0; i < area; ++i) image[i] *= kept_[i];
      transform(image, /*back=*/true);
      for (std::int64_t i = 0; i < area; ++i) filtered_[at + i] = static_cast<float>(image[i]);
    }
    return filtered_;
  }

 private:
  // rows * image * columns^T, or its inverse: orthonormal, so that the inverse is the transpose.
  void transform(std::vector<double>& image, bool back) const {
    const auto row = [&](std::int64_t u, std::int64_t y) { return over_rows_[back ? y * height_ + u : u * height_ + y]; };
    const auto column = [&](std::int64_t v, std::int64_t x) { return over_columns_[back ? x * width_ + v : v * width_ + x]; };
    std::vector<double> half(image.size(), 0.0), whole(image.size(), 0.0);
    for (std::int64_t u = 0; u < height_; ++u)
      for (std::int64_t y = 0; y < height_; ++y)
        for (std::int64_t x = 0; x < width_; ++x) half[u * width_ + x] += row(u, y) * image[y * width_ + x];
    for (std::int64_t u = 0; u < height_; ++u)
      for (std::int64_t v = 0; v < width_; ++v)
        for (std::int64_t x = 0; x < width_; ++x) whole[u * width_ + v] += column(v, x) * half[u * width_ + x];
    image = std::move(whole);
  }

  std::int64_t begin_, end_, height_, width_;
  std::vector<double> over_rows_, over_columns_, kept_;
  std::vector<float> filtered_;
};

void check(const RunContext& context) {
  const std::vector<std::int64_t>& shape = context.row_shape;
  const bool images = shape.size() == 3;
  const LayerGroup& first = context.layers.front();
  check_input(
      images && first.columns == shape[0] * shape[1] * shape[2],
      "`filter` {}: it smooths a first layer that is linear on images laid out channel, row, column, such as the mlp's; layer '{}' is "
      "not one",
      context.chosen.filter, first.name);
}

}  // namespace

extern const FilterEntry kSpatialFilter = {
    .name = "spatial",
    .summary = "a low pass over the pixels of the first layer's weights",
    .options = {reads<SpatialOptions>()},
    .check = check,
    .make = [](const RunContext& context) -> std::unique_ptr<Filter> {
      return std::make_unique<Spatial>(context.layers.front(), context.row_shape[1], context.row_shape[2],
                                       context.options.of<SpatialOptions>().cutoff);
    },
};

}  // namespace fodp
