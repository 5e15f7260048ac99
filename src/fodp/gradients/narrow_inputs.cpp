#include "fodp/gradients/narrow_inputs.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include <ATen/ops/empty.h>

#include "fodp/base/wide.h"

namespace fodp {
namespace {

constexpr std::int64_t kMostOutputs = 32;
constexpr std::int64_t kColumns = 1024;    // of a product at once: some rows of them and of the weights stay in the cache
constexpr std::int64_t kSumColumns = 512;  // of a sum at once
constexpr std::int64_t kTogether = 4;      // rows that share what is loaded
constexpr std::int64_t kOutputs = 5;       // that share it

// Sixteen numbers, which the compiler keeps in as many registers as the processor needs for them.
typedef float Floats __attribute__((vector_size(64)));
typedef double Doubles __attribute__((vector_size(64)));  // eight
typedef std::uint16_t Halves __attribute__((vector_size(32)));
typedef std::uint32_t Words __attribute__((vector_size(64)));
typedef std::uint16_t EightHalves __attribute__((vector_size(16)));
typedef std::uint32_t EightWords __attribute__((vector_size(32)));

FODP_WIDE void widen(const std::uint16_t* from, float* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = std::bit_cast<float>(static_cast<std::uint32_t>(from[i]) << 16);
}

// Adds the products of kTogether rows of inputs with kOutputs rows of weights, which are kColumns apart, to sums of 16 lanes each, lane by
// lane: sums[row][output][lane]. `count` is a multiple of 16. Every number that is loaded is used several times, and the sums stay in
// registers where there are 32 of 16 numbers.
FODP_WIDE void add_products(const std::uint16_t* const* rows, const float* weights, std::int64_t count, float* sums) {
  Floats sum[kTogether][kOutputs];
  std::memcpy(sum, sums, sizeof sum);
  const std::uint16_t* x[kTogether] = {rows[0], rows[1], rows[2], rows[3]};
  for (std::int64_t i = 0; i < count; i += 16) {
    Floats factors[kOutputs];
#pragma GCC unroll 8
    for (std::int64_t o = 0; o < kOutputs; ++o) std::memcpy(&factors[o], weights + o * kColumns + i, sizeof factors[o]);
#pragma GCC unroll 8
    for (std::int64_t row = 0; row < kTogether; ++row) {
      Halves halves;
      std::memcpy(&halves, x[row] + i, sizeof halves);
      const Words words = __builtin_convertvector(halves, Words) << 16;
      Floats values;
      std::memcpy(&values, &words, sizeof values);
#pragma GCC unroll 8
      for (std::int64_t o = 0; o < kOutputs; ++o) sum[row][o] += values * factors[o];
    }
  }
  std::memcpy(sums, sum, sizeof sum);
}

// Adds to each of two sums, which are kSumColumns apart, the four products factors[k] * rows[k * kSumColumns + i], one after the other.
// `count` is rounded up to a multiple of 16. The factors of the second sum follow those of the first.
FODP_WIDE void add_rows(const float* rows, const float* factors, std::int64_t count, float* sums) {
  const float a = factors[0], b = factors[1], c = factors[2], d = factors[3];
  const float e = factors[4], f = factors[5], g = factors[6], h = factors[7];
  for (std::int64_t i = 0; i < count; i += 16) {
    Floats one, other, r0, r1, r2, r3;
    std::memcpy(&one, sums + i, sizeof one);
    std::memcpy(&other, sums + kSumColumns + i, sizeof other);
    std::memcpy(&r0, rows + i, sizeof r0);
    std::memcpy(&r1, rows + kSumColumns + i, sizeof r1);
    std::memcpy(&r2, rows + 2 * kSumColumns + i, sizeof r2);
    std::memcpy(&r3, rows + 3 * kSumColumns + i, sizeof r3);
    one += r0 * a;
    one += r1 * b;
    one += r2 * c;
    one += r3 * d;
    other += r0 * e;
    other += r1 * f;
    other += r2 * g;
    other += r3 * h;
    std::memcpy(sums + i, &one, sizeof one);
    std::memcpy(sums + kSumColumns + i, &other, sizeof other);
  }
}
static_assert(kTogether == 4 && kColumns % 16 == 0 && kSumColumns % 16 == 0);

FODP_WIDE double sum_of_squares(const std::uint16_t* values, std::int64_t count) {
  Doubles sums[4] = {};
  std::int64_t i = 0;
  for (; i + 32 <= count; i += 32)
    for (std::int64_t part = 0; part < 4; ++part) {
      EightHalves halves;
      std::memcpy(&halves, values + i + part * 8, sizeof halves);
      const EightWords words = __builtin_convertvector(halves, EightWords) << 16;
      EightFloats floats;
      std::memcpy(&floats, &words, sizeof floats);
      const Doubles wide = __builtin_convertvector(floats, Doubles);
      sums[part] += wide * wide;
    }
  double sum = 0;
  for (const Doubles& part : sums)
    for (std::int64_t lane = 0; lane < 8; ++lane) sum += part[lane];
  for (; i < count; ++i) {
    const double value = std::bit_cast<float>(static_cast<std::uint32_t>(values[i]) << 16);
    sum += value * value;
  }
  return sum;
}

}  // namespace

const std::uint16_t* narrow_bits(const at::Tensor& values) { return static_cast<const std::uint16_t*>(values.data_ptr()); }

bool is_narrow(const at::Tensor& inputs, const at::Tensor& weight) {
  return inputs.scalar_type() == at::kBFloat16 && weight.scalar_type() == at::kFloat && inputs.dim() == 2 && inputs.is_contiguous() &&
         !inputs.requires_grad() && weight.size(0) <= kMostOutputs;
}

double narrow_squared_norm(std::span<const std::uint16_t> values) {
  return sum_of_squares(values.data(), static_cast<std::int64_t>(values.size()));
}

at::Tensor narrow_products(const at::Tensor& inputs, const at::Tensor& weight) {
  const std::int64_t rows = inputs.size(0), in = inputs.size(1), out = weight.size(0);
  const std::int64_t padded = (out + kOutputs - 1) / kOutputs * kOutputs;
  const at::Tensor factors = weight.contiguous();
  const std::int64_t groups = (rows + kTogether - 1) / kTogether;
  std::vector<std::uint16_t> last(kTogether * kColumns, 0);
  std::vector<float> own(static_cast<std::size_t>(padded * kColumns), 0.f);
  std::vector<float> sums(static_cast<std::size_t>(groups * kTogether * padded * 16), 0.f);  // [group][outputs / 5][row][output][lane]
  for (std::int64_t begin = 0; begin < in; begin += kColumns) {
    const std::int64_t count = std::min(kColumns, in - begin), whole = (count + 15) / 16 * 16;
    for (std::int64_t o = 0; o < out; ++o) std::copy_n(factors.data_ptr<float>() + o * in + begin, count, own.begin() + o * kColumns);
    for (std::int64_t group = 0; group < groups; ++group) {
      const std::uint16_t* x[kTogether];
      for (std::int64_t k = 0; k < kTogether; ++k) {
        x[k] = narrow_bits(inputs) + std::min(group * kTogether + k, rows - 1) * in + begin;  // the last row again in place of none
        if (count == whole) continue;
        std::fill(std::copy_n(x[k], count, last.begin() + k * kColumns), last.begin() + k * kColumns + whole, std::uint16_t(0));
        x[k] = last.data() + k * kColumns;
      }
      for (std::int64_t o = 0; o < padded; o += kOutputs)
        add_products(x, own.data() + o * kColumns, whole, sums.data() + (group * padded + o) * kTogether * 16);
    }
  }
  at::Tensor products = at::empty({rows, out}, at::kFloat);
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t o = 0; o < out; ++o) {
      const std::int64_t five = (row / kTogether * padded + o / kOutputs * kOutputs) * kTogether;
      const float* lanes = sums.data() + (five + row % kTogether * kOutputs + o % kOutputs) * 16;
      float sum = 0;
      for (std::int64_t lane = 0; lane < 16; ++lane) sum += lanes[lane];
      products.data_ptr<float>()[row * out + o] = sum;
    }
  return products;
}

void write_narrow_sum(const at::Tensor& gradients, const at::Tensor& inputs, at::Tensor& sum) {
  const std::int64_t rows = inputs.size(0), in = inputs.size(1), out = gradients.size(1), pairs = (out + 1) / 2;
  const std::int64_t groups = (rows + kTogether - 1) / kTogether;
  const at::Tensor given = gradients.contiguous();
  const float* scaled = given.data_ptr<float>();
  const std::uint16_t* bits = narrow_bits(inputs);
  float* to = sum.data_ptr<float>();
  std::vector<float> factors(static_cast<std::size_t>(groups * pairs * 2 * kTogether), 0.f);  // [group][output][row]
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t o = 0; o < out; ++o)
      factors[static_cast<std::size_t>((row / kTogether * pairs * 2 + o) * kTogether + row % kTogether)] = scaled[row * out + o];
  std::vector<float> x(static_cast<std::size_t>(kTogether * kSumColumns)), total(static_cast<std::size_t>(2 * pairs * kSumColumns));
  for (std::int64_t begin = 0; begin < in; begin += kSumColumns) {
    const std::int64_t count = std::min(kSumColumns, in - begin);
    std::ranges::fill(total, 0.f);
    for (std::int64_t group = 0; group < groups; ++group) {
      const std::int64_t first = group * kTogether, some = std::min(kTogether, rows - first);
      if (some < kTogether) std::ranges::fill(x, 0.f);
      for (std::int64_t k = 0; k < some; ++k) widen(bits + (first + k) * in + begin, x.data() + k * kSumColumns, count);
      for (std::int64_t pair = 0; pair < pairs; ++pair)
        add_rows(x.data(), factors.data() + (group * pairs + pair) * 2 * kTogether, count, total.data() + pair * 2 * kSumColumns);
    }
    for (std::int64_t o = 0; o < out; ++o) std::copy_n(total.begin() + o * kSumColumns, count, to + o * in + begin);
  }
}

}  // namespace fodp
