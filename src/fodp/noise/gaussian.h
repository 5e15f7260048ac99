// Standard normals from random words, two from two, by Box and Muller. The radius comes from a 75-bit uniform that keeps its full
// resolution near zero, so the tail reaches 10.2 sigma; docs/finite-precision.md says how far the result is from a true Gaussian.
//
// The same words give the same normals, bit for bit, whatever the machine's vector width.
#pragma once

#include <cstdint>
#include <span>

namespace fodp {

// normals.size() must be even and equal to words.size().
void normals_from_words(std::span<const std::uint64_t> words, std::span<double> normals);

// The same with a chosen vector width, 1, 2 or 4 lanes up to widest_lanes(): for the test that all give the same bits.
void normals_from_words(std::span<const std::uint64_t> words, std::span<double> normals, int lanes);
int widest_lanes();

}  // namespace fodp
