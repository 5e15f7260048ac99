// Computer-drawn images: what features are learnt from, so that no data set has a part in them.
//
// An image is a "dead leaves" picture (Lee, Mumford and Huang 2001): shapes of many sizes that cover each other, with shading and noise
// whose spectrum falls like that of photographs. Everything in image number n follows from n and the shape: the seed is a public constant,
// the generator is integer arithmetic, and the bytes are the same on every machine (up to the last digit of the C library's functions,
// which rounding to bytes hides).
#pragma once

#include <cstdint>
#include <vector>

namespace fodp {

// Square images, laid out channel, row, column, one byte a pixel.
struct ImageShape {
  std::int64_t channels = 3, side = 32;

  std::int64_t bytes() const { return channels * side * side; }
  friend bool operator==(const ImageShape&, const ImageShape&) = default;
};

// Random numbers that are public: the same for the same (purpose, number) wherever the program runs. Never for noise.
class PublicRandom {
 public:
  PublicRandom(std::uint64_t purpose, std::uint64_t number);

  std::uint64_t word();                             // 64 bits (splitmix64)
  std::int64_t below(std::int64_t count);           // 0 .. count-1
  double uniform(double low = 0, double high = 1);  // in [low, high)
  double normal();                                  // mean 0, standard deviation 1

 private:
  std::uint64_t state_;
};

class SyntheticImages {
 public:
  explicit SyntheticImages(const ImageShape& shape);  // InputError unless it has 1 or 3 channels and a side of 28 to 96

  const ImageShape& shape() const { return shape_; }
  std::vector<std::uint8_t> image(std::uint64_t number) const;  // may be called from several threads at once

 private:
  ImageShape shape_;
  std::int64_t canvas_;         // side of what is drawn, twice that of the image
  std::vector<double> cosine_;  // the orthonormal cosine basis, [frequency, place]
};

}  // namespace fodp
