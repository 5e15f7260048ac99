#include "fodp/data/resize.h"

#include <algorithm>
#include <cmath>

namespace fodp {
namespace {

constexpr int kBits = 22;

// What one line of pixels becomes: new pixel i is the sum of weights[i][k] * old pixel (first[i] + k).
struct Weights {
  std::vector<std::int64_t> first;
  std::vector<std::vector<std::int32_t>> weights;

  Weights(std::int64_t from, std::int64_t to) {
    const double scale = static_cast<double>(from) / static_cast<double>(to), support = std::max(scale, 1.0);
    for (std::int64_t i = 0; i < to; ++i) {
      const double center = (static_cast<double>(i) + .5) * scale;
      const auto begin = std::max<std::int64_t>(0, static_cast<std::int64_t>(center - support + .5));
      const auto end = std::min<std::int64_t>(from, static_cast<std::int64_t>(center + support + .5));
      std::vector<double> exact;
      double sum = 0;
      for (std::int64_t x = begin; x < end; ++x) {
        exact.push_back(std::max(0.0, 1 - std::abs((static_cast<double>(x) - center + .5) * (1 / support))));
        sum += exact.back();
      }
      std::vector<std::int32_t>& rounded = weights.emplace_back();
      for (const double one : exact)
        rounded.push_back(static_cast<std::int32_t>(.5 + (sum != 0 ? one / sum : one) * static_cast<double>(1 << kBits)));
      first.push_back(begin);
    }
  }
};

std::uint8_t rounded(std::int32_t sum) { return static_cast<std::uint8_t>(std::clamp(sum >> kBits, 0, 255)); }

// Lines of `count` values that stand `step` apart are made `to` values long, for `lines` lines that stand side by side or one after the
// other: `place(line, i)` is where value i of a line stands.
template <class FromPlace, class ToPlace>
void resize_lines(const std::uint8_t* from, std::uint8_t* out, std::int64_t lines, std::int64_t to, const Weights& weights,
                  std::int64_t step, const FromPlace& from_place, const ToPlace& to_place) {
  for (std::int64_t line = 0; line < lines; ++line)
    for (std::int64_t i = 0; i < to; ++i) {
      const std::vector<std::int32_t>& own = weights.weights[static_cast<std::size_t>(i)];
      const std::uint8_t* value = from + from_place(line) + weights.first[static_cast<std::size_t>(i)] * step;
      std::int32_t sum = 1 << (kBits - 1);
      for (const std::int32_t weight : own) {
        sum += *value * weight;
        value += step;
      }
      out[to_place(line) + i * step] = rounded(sum);
    }
}

Picture with_width(const Picture& from, std::int64_t width) {
  Picture to{width, from.height, from.channels, {}};
  to.values.resize(static_cast<std::size_t>(width * from.height * from.channels));
  const std::int64_t channels = from.channels;
  resize_lines(
      from.values.data(), to.values.data(), from.height * channels, width, Weights(from.width, width), channels,
      [&](std::int64_t line) { return line / channels * from.width * channels + line % channels; },
      [&](std::int64_t line) { return line / channels * width * channels + line % channels; });
  return to;
}

Picture with_height(const Picture& from, std::int64_t height) {
  Picture to{from.width, height, from.channels, {}};
  const std::int64_t row = from.width * from.channels;
  to.values.resize(static_cast<std::size_t>(row * height));
  const auto place = [](std::int64_t line) { return line; };
  resize_lines(from.values.data(), to.values.data(), row, height, Weights(from.height, height), row, place, place);
  return to;
}

}  // namespace

Picture resized(const Picture& from, std::int64_t width, std::int64_t height) {
  Picture wide = from.width == width ? from : with_width(from, width);
  return wide.height == height ? wide : with_height(wide, height);
}

Picture to_gray(const Picture& from) {
  Picture gray{from.width, from.height, 1, {}};
  for (std::size_t i = 0; i + 2 < from.values.size(); i += 3)
    gray.values.push_back(
        static_cast<std::uint8_t>((from.values[i] * 19595u + from.values[i + 1] * 38470u + from.values[i + 2] * 7471u + 0x8000u) >> 16));
  return gray;
}

Picture to_color(const Picture& from) {
  Picture color{from.width, from.height, 3, {}};
  for (const std::uint8_t value : from.values) color.values.insert(color.values.end(), 3, value);
  return color;
}

}  // namespace fodp
