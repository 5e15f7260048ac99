// Standard normals from random words by the method of Box and Muller, which makes two normals of two words. The radius comes from a 75-bit
// uniform that keeps its full resolution near zero, so that the tail reaches 10.2 sigma. docs/finite-precision.md says how far the result
// is from a true Gaussian.
//
// The same words give the same normals, bit for bit, whatever the machine's vector width.
#pragma once

#include <cstdint>
#include <span>

namespace fodp {

// Fills `normals` from `words`. Both must have the same even size.
void normals_from_words(std::span<const std::uint64_t> words, std::span<double> normals);

// Does the same with a chosen vector width of 2, 4 or 8 lanes, at most widest_lanes(). It serves the test that every width gives the
// same bits.
void normals_from_words(std::span<const std::uint64_t> words, std::span<double> normals, int lanes);
int widest_lanes();

}  // namespace fodp
