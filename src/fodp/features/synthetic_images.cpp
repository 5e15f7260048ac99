#include "fodp/features/synthetic_images.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "fodp/base/check.h"
#include "fodp/base/wide.h"

namespace fodp {
namespace {

constexpr std::uint64_t kSeed = 20250101, kDrawing = 1;

std::uint64_t mixed(std::uint64_t word) {
  word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9u;
  word = (word ^ word >> 27) * 0x94D049BB133111EBu;
  return word ^ word >> 31;
}

using Plane = std::vector<double>;     // [row, column] of the canvas
using Canvas = std::array<Plane, 3>;   // luminance and two opponent colours, blue against red and green against both
using Colour = std::array<double, 3>;  // in the same coordinates

// How the colours of one image vary.
struct Palette {
  Colour base;
  double lightness, chroma;  // standard deviations

  explicit Palette(PublicRandom& random)
      : base{random.uniform(.25, .75), .06 * random.normal(), .025 * random.normal()},
        lightness(random.uniform(.1, .3)),
        chroma(random.uniform(.02, .12)) {}

  Colour draw(PublicRandom& random) const {
    Colour colour = base;
    colour[0] += lightness * random.normal();
    colour[1] += chroma * random.normal();
    colour[2] += .45 * chroma * random.normal();
    return colour;
  }
};

struct Leaf {
  double x, y, cosine, sine, along, across;  // centre, direction and half axes, in pixels of the canvas
  int kind;                                  // 0, 1: ellipse; 2: rectangle; 3: triangle
  Colour colour;
  double shade_u, shade_v;

  bool covers(double u, double v) const {
    if (kind < 2) return u * u + v * v < 1;
    if (kind == 2) return std::abs(u) < .85 && std::abs(v) < .85;
    return v > -.5 && v < 1 - 1.7 * std::abs(u);
  }
};

Leaf draw_leaf(PublicRandom& random, const Palette& palette, double exponent, double side) {
  Leaf leaf;
  const double least = std::pow(2.0, 1 - exponent), most = std::pow(.6 * side, 1 - exponent);
  const double radius = std::pow(least + random.uniform() * (most - least), 1 / (1 - exponent));
  leaf.x = random.uniform(-.1, 1.1) * side;
  leaf.y = random.uniform(-.1, 1.1) * side;
  const double angle = random.uniform(0, std::numbers::pi), aspect = std::exp(.6 * random.normal());
  leaf.cosine = std::cos(angle);
  leaf.sine = std::sin(angle);
  leaf.along = radius * std::sqrt(aspect);
  leaf.across = radius / std::sqrt(aspect);
  leaf.kind = static_cast<int>(random.below(4));
  leaf.colour = palette.draw(random);
  leaf.shade_u = .1 * random.normal() * 3 * palette.lightness;
  leaf.shade_v = .1 * random.normal() * 3 * palette.lightness;
  return leaf;
}

void paint(Canvas& canvas, std::int64_t side, const Leaf& leaf) {
  const double reach = std::hypot(leaf.along, leaf.across);
  const auto bound = [&](double at) { return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::floor(at)), 0, side); };
  for (std::int64_t y = bound(leaf.y - reach); y < bound(leaf.y + reach + 2); ++y)
    for (std::int64_t x = bound(leaf.x - reach); x < bound(leaf.x + reach + 2); ++x) {
      const double dx = static_cast<double>(x) - leaf.x, dy = static_cast<double>(y) - leaf.y;
      const double u = (leaf.cosine * dx + leaf.sine * dy) / leaf.along, v = (leaf.cosine * dy - leaf.sine * dx) / leaf.across;
      if (!leaf.covers(u, v)) continue;
      const auto at = static_cast<std::size_t>(y * side + x);
      for (std::size_t c = 0; c < 3; ++c) canvas[c][at] = leaf.colour[c];
      canvas[0][at] += leaf.shade_u * u + leaf.shade_v * v;
    }
}

FODP_WIDE void add_times(double factor, const double* from, double* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] += factor * from[i];
}

// left^T right, of square matrices.
Plane transposed_product(const Plane& left, const Plane& right, std::int64_t side) {
  Plane out(left.size(), 0.0);
  for (std::int64_t k = 0; k < side; ++k)
    for (std::int64_t i = 0; i < side; ++i)
      add_times(left[static_cast<std::size_t>(k * side + i)], right.data() + k * side, out.data() + i * side, side);
  return out;
}

// Noise whose amplitude falls with frequency f like f^-exponent, with mean 0 and standard deviation 1.
Plane coloured_noise(PublicRandom& random, const Plane& cosine, std::int64_t side, double exponent) {
  Plane spectrum(cosine.size());
  for (std::int64_t k = 0; k < side; ++k)
    for (std::int64_t l = 0; l < side; ++l) {
      const double squared = static_cast<double>(k * k + l * l), white = random.normal();
      spectrum[static_cast<std::size_t>(k * side + l)] = squared == 0 ? 0 : white * std::pow(squared, -exponent / 2);
    }
  double power = 0;
  for (const double amplitude : spectrum) power += amplitude * amplitude;
  const double scale = static_cast<double>(side) / std::sqrt(power);
  for (double& amplitude : spectrum) amplitude *= scale;
  const Plane columns = transposed_product(spectrum, cosine, side);  // [l, column]: the rows of the spectrum become places
  return transposed_product(columns, cosine, side);
}

// Separable, 7 taps, the edge repeated.
void blur(Plane& plane, std::int64_t side, double sigma) {
  std::array<double, 7> taps;
  double sum = 0;
  for (int i = 0; i < 7; ++i) sum += taps[static_cast<std::size_t>(i)] = std::exp(-.5 * (i - 3) * (i - 3) / (sigma * sigma));
  for (double& tap : taps) tap /= sum;
  const auto at = [side](std::int64_t y, std::int64_t x) {
    return static_cast<std::size_t>(std::clamp<std::int64_t>(y, 0, side - 1) * side + std::clamp<std::int64_t>(x, 0, side - 1));
  };
  for (const bool down : {true, false}) {
    Plane out(plane.size(), 0.0);
    for (std::int64_t y = 0; y < side; ++y)
      for (std::int64_t x = 0; x < side; ++x)
        for (std::int64_t i = -3; i <= 3; ++i)
          out[at(y, x)] += taps[static_cast<std::size_t>(i + 3)] * plane[down ? at(y + i, x) : at(y, x + i)];
    plane = std::move(out);
  }
}

Canvas draw_canvas(PublicRandom& random, std::int64_t side, const Plane& cosine) {
  const Palette palette(random);
  const double size = static_cast<double>(side);
  const Colour background = palette.draw(random);
  const double down = .15 * random.normal() / size, right = .15 * random.normal() / size;
  Canvas canvas;
  for (std::size_t c = 0; c < 3; ++c) canvas[c].assign(static_cast<std::size_t>(side * side), background[c]);
  for (std::int64_t y = 0; y < side; ++y)
    for (std::int64_t x = 0; x < side; ++x)
      canvas[0][static_cast<std::size_t>(y * side + x)] += down * static_cast<double>(y) + right * static_cast<double>(x);
  const std::int64_t leaves = 20 + random.below(140);
  const double exponent = random.uniform(1.5, 3);
  for (std::int64_t i = 0; i < leaves; ++i) paint(canvas, side, draw_leaf(random, palette, exponent, size));
  const double strength = random.uniform(0, .1), falls = random.uniform(.8, 1.6);
  for (std::size_t c = 0; c < 3; ++c) {
    const Plane noise = coloured_noise(random, cosine, side, falls);
    add_times(strength * std::array{1.0, .25, .12}[c], noise.data(), canvas[c].data(), side * side);
  }
  if (random.uniform() < .7) {
    const double sigma = random.uniform(.3, .9);
    for (Plane& plane : canvas) blur(plane, side, sigma);
  }
  return canvas;
}

std::uint8_t byte_of(double value) { return static_cast<std::uint8_t>(std::lround(std::clamp(value, 0.0, 1.0) * 255)); }

constexpr std::int64_t kLeastDrawn = 32;  // smaller images are cut out of the middle of one of this side

}  // namespace

PublicRandom::PublicRandom(std::uint64_t purpose, std::uint64_t number) : state_(mixed(mixed(kSeed + purpose) + number)) {}

std::uint64_t PublicRandom::word() { return mixed(state_ += 0x9E3779B97F4A7C15u); }

std::int64_t PublicRandom::below(std::int64_t count) { return static_cast<std::int64_t>(word() % static_cast<std::uint64_t>(count)); }

double PublicRandom::uniform(double low, double high) { return low + (high - low) * static_cast<double>(word() >> 11) * 0x1p-53; }

double PublicRandom::normal() {
  const double radius = std::sqrt(-2 * std::log(1 - uniform())), angle = uniform(0, 2 * std::numbers::pi);
  return radius * std::cos(angle);
}

SyntheticImages::SyntheticImages(const ImageShape& shape) : shape_(shape), canvas_(2 * std::max(kLeastDrawn, shape.side)) {
  check_input(shape.channels == 1 || shape.channels == 3, "images have {} channels: patch features take 1 or 3", shape.channels);
  check_input(shape.side >= 28 && shape.side <= 96, "images have a side of {} pixels: patch features take 28 to 96", shape.side);
  const double size = static_cast<double>(canvas_);
  for (std::int64_t k = 0; k < canvas_; ++k)
    for (std::int64_t x = 0; x < canvas_; ++x)
      cosine_.push_back(std::sqrt((k == 0 ? 1 : 2) / size) *
                        std::cos(std::numbers::pi * static_cast<double>(k) * (static_cast<double>(x) + .5) / size));
}

std::vector<std::uint8_t> SyntheticImages::image(std::uint64_t number) const {
  PublicRandom random(kDrawing, number);
  const Canvas canvas = draw_canvas(random, canvas_, cosine_);
  const double first = std::sqrt(1.5), second = std::sqrt(.5);  // sqrt(3) times the unit vectors of (1, 0, -1) and (1, -2, 1)
  const std::int64_t edge = (canvas_ / 2 - shape_.side) / 2, side = shape_.side;
  std::vector<std::uint8_t> out(static_cast<std::size_t>(shape_.bytes()));
  for (std::int64_t y = 0; y < side; ++y)
    for (std::int64_t x = 0; x < side; ++x) {
      Colour mean = {0, 0, 0};
      for (std::size_t c = 0; c < 3; ++c)
        for (const std::int64_t at : {0L, 1L, canvas_, canvas_ + 1})
          mean[c] += canvas[c][static_cast<std::size_t>(2 * (y + edge) * canvas_ + 2 * (x + edge) + at)] / 4;
      const Colour rgb = {mean[0] + first * mean[1] + second * mean[2], mean[0] - 2 * second * mean[2],
                          mean[0] - first * mean[1] + second * mean[2]};
      const std::array bytes = {byte_of(rgb[0]), byte_of(rgb[1]), byte_of(rgb[2])};
      const auto at = static_cast<std::size_t>(y * side + x), plane = static_cast<std::size_t>(side * side);
      if (shape_.channels == 1) out[at] = static_cast<std::uint8_t>(std::lround((bytes[0] + bytes[1] + bytes[2]) / 3.0));
      for (std::size_t c = 0; shape_.channels == 3 && c < 3; ++c) out[c * plane + at] = bytes[c];
    }
  return out;
}

}  // namespace fodp
