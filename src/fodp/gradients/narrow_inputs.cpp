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
constexpr std::int64_t kColumns = 1024;  // at once: some rows of them and of the weights stay in the cache
constexpr std::int64_t kTogether = 4;    // rows of a sum that share what is loaded
constexpr std::int64_t kOutputs = 5;     // that share it

// Sixteen numbers, which the compiler keeps in as many registers as the processor needs for them.
typedef float Floats __attribute__((vector_size(64)));
typedef double Doubles __attribute__((vector_size(64)));  // eight
typedef std::uint16_t Halves __attribute__((vector_size(32)));
typedef std::uint32_t Words __attribute__((vector_size(64)));

FODP_WIDE void widen(const std::uint16_t* from, float* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = std::bit_cast<float>(static_cast<std::uint32_t>(from[i]) << 16);
}

// Adds x[i] times five rows of weights, kColumns apart, to five sums of 16 lanes each, lane by lane. `count` is a multiple of 16. Sums are
// named one by one, because the compiler keeps them in registers then.
FODP_WIDE void add_products(const std::uint16_t* x, const float* weights, std::int64_t count, float* sums) {
  const float *w0 = weights, *w1 = w0 + kColumns, *w2 = w1 + kColumns, *w3 = w2 + kColumns, *w4 = w3 + kColumns;
  Floats s0, s1, s2, s3, s4, f0, f1, f2, f3, f4;
  std::memcpy(&s0, sums, sizeof s0);
  std::memcpy(&s1, sums + 16, sizeof s1);
  std::memcpy(&s2, sums + 32, sizeof s2);
  std::memcpy(&s3, sums + 48, sizeof s3);
  std::memcpy(&s4, sums + 64, sizeof s4);
  for (std::int64_t i = 0; i < count; i += 16) {
    Halves halves;
    std::memcpy(&halves, x + i, sizeof halves);
    const Words words = __builtin_convertvector(halves, Words) << 16;
    Floats values;
    std::memcpy(&values, &words, sizeof values);
    std::memcpy(&f0, w0 + i, sizeof f0);
    std::memcpy(&f1, w1 + i, sizeof f1);
    std::memcpy(&f2, w2 + i, sizeof f2);
    std::memcpy(&f3, w3 + i, sizeof f3);
    std::memcpy(&f4, w4 + i, sizeof f4);
    s0 += values * f0;
    s1 += values * f1;
    s2 += values * f2;
    s3 += values * f3;
    s4 += values * f4;
  }
  std::memcpy(sums, &s0, sizeof s0);
  std::memcpy(sums + 16, &s1, sizeof s1);
  std::memcpy(sums + 32, &s2, sizeof s2);
  std::memcpy(sums + 48, &s3, sizeof s3);
  std::memcpy(sums + 64, &s4, sizeof s4);
}

// Adds to sum[i] the four products factors[k] * rows[k * kColumns + i], one after the other. `count` is rounded up to a multiple of 16.
FODP_WIDE void add_rows(const float* rows, const float* factors, std::int64_t count, float* sum) {
  const float a = factors[0], b = factors[1], c = factors[2], d = factors[3];
  for (std::int64_t i = 0; i < count; i += 16) {
    Floats total, r0, r1, r2, r3;
    std::memcpy(&total, sum + i, sizeof total);
    std::memcpy(&r0, rows + i, sizeof r0);
    std::memcpy(&r1, rows + kColumns + i, sizeof r1);
    std::memcpy(&r2, rows + 2 * kColumns + i, sizeof r2);
    std::memcpy(&r3, rows + 3 * kColumns + i, sizeof r3);
    total += r0 * a;
    total += r1 * b;
    total += r2 * c;
    total += r3 * d;
    std::memcpy(sum + i, &total, sizeof total);
  }
}
static_assert(kTogether == 4 && kColumns % 16 == 0);

FODP_WIDE double sum_of_squares(const std::uint16_t* values, std::int64_t count) {
  Doubles sums[4] = {};
  std::int64_t i = 0;
  for (; i + 32 <= count; i += 32)
    for (std::int64_t part = 0; part < 4; ++part) {
      Doubles wide;
      for (std::int64_t lane = 0; lane < 8; ++lane)
        wide[lane] = std::bit_cast<float>(static_cast<std::uint32_t>(values[i + part * 8 + lane]) << 16);
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
  std::vector<std::uint16_t> last(kColumns);
  std::vector<float> own(static_cast<std::size_t>(padded * kColumns), 0.f);
  std::vector<float> sums(static_cast<std::size_t>(rows * padded * 16), 0.f);
  for (std::int64_t begin = 0; begin < in; begin += kColumns) {
    const std::int64_t count = std::min(kColumns, in - begin);
    for (std::int64_t o = 0; o < out; ++o) std::copy_n(factors.data_ptr<float>() + o * in + begin, count, own.begin() + o * kColumns);
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::uint16_t* x = narrow_bits(inputs) + row * in + begin;
      if (count % 16 != 0) {  // filled up with zeros
        std::fill(std::copy_n(x, count, last.begin()), last.end(), std::uint16_t(0));
        x = last.data();
      }
      for (std::int64_t o = 0; o < padded; o += kOutputs)
        add_products(x, own.data() + o * kColumns, (count + 15) / 16 * 16, sums.data() + (row * padded + o) * 16);
    }
  }
  at::Tensor products = at::empty({rows, out}, at::kFloat);
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t o = 0; o < out; ++o) {
      float sum = 0;
      for (std::int64_t lane = 0; lane < 16; ++lane) sum += sums[static_cast<std::size_t>((row * padded + o) * 16 + lane)];
      products.data_ptr<float>()[row * out + o] = sum;
    }
  return products;
}

void write_narrow_sum(const at::Tensor& gradients, const at::Tensor& inputs, at::Tensor& sum) {
  const std::int64_t rows = inputs.size(0), in = inputs.size(1), out = gradients.size(1);
  const at::Tensor scaled = gradients.contiguous();
  std::vector<float> x(static_cast<std::size_t>(kTogether * kColumns)), total(static_cast<std::size_t>(out * kColumns));
  for (std::int64_t begin = 0; begin < in; begin += kColumns) {
    const std::int64_t count = std::min(kColumns, in - begin);
    std::ranges::fill(total, 0.f);
    for (std::int64_t first = 0; first < rows; first += kTogether) {
      const std::int64_t some = std::min(kTogether, rows - first);
      if (some < kTogether) std::ranges::fill(x, 0.f);
      for (std::int64_t k = 0; k < some; ++k) widen(narrow_bits(inputs) + (first + k) * in + begin, x.data() + k * kColumns, count);
      for (std::int64_t o = 0; o < out; ++o) {
        float factors[kTogether] = {};
        for (std::int64_t k = 0; k < some; ++k) factors[k] = scaled.data_ptr<float>()[(first + k) * out + o];
        add_rows(x.data(), factors, count, total.data() + o * kColumns);
      }
    }
    for (std::int64_t o = 0; o < out; ++o) std::copy_n(total.begin() + o * kColumns, count, sum.data_ptr<float>() + o * in + begin);
  }
}

}  // namespace fodp
