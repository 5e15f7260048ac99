#include "fodp/gradients/contraction.h"

#include <algorithm>
#include <limits>
#include <vector>

#include <ATen/ops/bmm.h>
#include <ATen/ops/empty.h>

#include "fodp/base/check.h"
#include "fodp/base/wide.h"
#include "fodp/gradients/narrow_inputs.h"

namespace fodp {
namespace {

// Independent sums run side by side, while the compiler may not reorder a single one.
FODP_WIDE double sum_of_squares(const float* values, std::size_t count) {
  EightDoubles sums = {}, more = {};
  EightFloats x, y;
  std::size_t k = 0;
  for (; k + 16 <= count; k += 16) {
    std::memcpy(&x, values + k, sizeof x);
    std::memcpy(&y, values + k + 8, sizeof y);
    const EightDoubles a = __builtin_convertvector(x, EightDoubles), b = __builtin_convertvector(y, EightDoubles);
    sums += a * a;
    more += b * b;
  }
  for (; k < count; ++k) sums[0] += static_cast<double>(values[k]) * values[k];
  sums += more;
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

// Infinite for a row that is not to count because of its inputs. It is 0 for NaN, which shows in the norm.
double if_huge(double squared_inputs) { return squared_inputs >= kHugeInputs ? std::numeric_limits<double>::infinity() : 0; }

void add_per_example(const at::Tensor& inputs, const at::Tensor& output_gradients, std::span<double> squared) {
  const std::int64_t rows = inputs.size(0), each = std::max<std::int64_t>(1, inputs.size(1) * output_gradients.size(1));
  const std::int64_t chunk = std::max<std::int64_t>(1, kChunkElements / each);
  for (std::int64_t begin = 0; begin < rows; begin += chunk) {
    const std::int64_t count = std::min(chunk, rows - begin);
    const at::Tensor gradients = output_gradients.narrow(0, begin, count).bmm(inputs.narrow(0, begin, count).transpose(1, 2));
    add_squared_norms_of_rows(gradients, squared.subspan(begin, count));
  }
}

double trace(const double* gram, std::int64_t positions) {
  double sum = 0;
  for (std::int64_t t = 0; t < positions; ++t) sum += gram[t * (positions + 1)];
  return sum;
}

void add_ghost(const at::Tensor& inputs, const at::Tensor& output_gradients, std::span<double> squared) {
  const std::int64_t rows = inputs.size(0), positions = inputs.size(2);
  const std::int64_t each = std::max<std::int64_t>(1, positions * (inputs.size(1) + output_gradients.size(1) + 2 * positions));
  const std::int64_t chunk = std::max<std::int64_t>(1, kChunkElements / each);
  for (std::int64_t begin = 0; begin < rows; begin += chunk) {
    const std::int64_t count = std::min(chunk, rows - begin);
    const auto gram = [&](const at::Tensor& factor) {
      const at::Tensor exact = factor.narrow(0, begin, count).to(at::kDouble);
      return exact.transpose(1, 2).bmm(exact).contiguous();
    };
    const at::Tensor of_inputs = gram(inputs), of_gradients = gram(output_gradients);
    for (std::int64_t i = 0; i < count; ++i) {
      const double* a = of_inputs.data_ptr<double>() + i * positions * positions;
      const double* b = of_gradients.data_ptr<double>() + i * positions * positions;
      double sum = 0;
      for (std::int64_t k = 0; k < positions * positions; ++k) sum += a[k] * b[k];
      squared[begin + i] += if_huge(trace(a, positions));
      if (sum < kGhostCancels * trace(a, positions) * trace(b, positions))
        add_per_example(inputs.narrow(0, begin + i, 1), output_gradients.narrow(0, begin + i, 1), squared.subspan(begin + i, 1));
      else
        squared[begin + i] += sum;  // a NaN comes here, since it is not below anything
    }
  }
}

}  // namespace

double squared_norm(std::span<const float> values) { return sum_of_squares(values.data(), values.size()); }

void add_squared_norms_of_rows(const at::Tensor& rows, std::span<double> squared) {
  const at::Tensor values = rows.contiguous();
  const std::size_t each = squared.empty() ? 0 : static_cast<std::size_t>(values.numel()) / squared.size();
  const bool narrow = values.scalar_type() == at::kBFloat16;
  for (std::size_t i = 0; i < squared.size(); ++i)
    squared[i] +=
        narrow ? narrow_squared_norm({narrow_bits(values) + i * each, each}) : squared_norm({values.data_ptr<float>() + i * each, each});
}

void add_reach(const at::Tensor& a, const at::Tensor& b, double times, std::span<double> reach) {
  std::vector<double> of_a(reach.size(), 0.0), of_b(reach.size(), 0.0);
  add_squared_norms_of_rows(a, of_a);
  add_squared_norms_of_rows(b, of_b);
  for (std::size_t i = 0; i < reach.size(); ++i) reach[i] += times * of_a[i] * of_b[i];
}

void add_contracted_squared_norms(const at::Tensor& inputs, const at::Tensor& output_gradients, std::span<double> squared) {
  if (inputs.size(2) == 1) {  // at one position the norm of b a^T is the product of their norms
    std::vector<double> of_inputs(squared.size(), 0.0), of_gradients(squared.size(), 0.0);
    add_squared_norms_of_rows(inputs, of_inputs);
    add_squared_norms_of_rows(output_gradients, of_gradients);
    for (std::size_t i = 0; i < squared.size(); ++i) squared[i] += if_huge(of_inputs[i]) + of_inputs[i] * of_gradients[i];
  } else if (ghost_is_cheaper(inputs.size(1), output_gradients.size(1), inputs.size(2))) {
    add_ghost(inputs, output_gradients, squared);
  } else {
    std::vector<double> of_inputs(squared.size(), 0.0);
    add_squared_norms_of_rows(inputs, of_inputs);
    for (std::size_t i = 0; i < squared.size(); ++i) squared[i] += if_huge(of_inputs[i]);
    add_per_example(inputs, output_gradients, squared);
  }
}

}  // namespace fodp
