// A tanh network with per-example gradients written out by hand in double, and small problems for it. Parameters lie flat in PyTorch's
// order: weight (out x in, row-major), bias, layer by layer. Standard library only.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace fodp::plain {

using Vector = std::vector<double>;

// One layer's weight and bias: theta[offset, offset + size), the weight first.
struct Group {
  std::size_t offset, size, rows, cols;
};

// Linear(widths[i], widths[i+1]) with tanh between and the cross entropy of the logits on top.
struct Mlp {
  std::vector<std::int64_t> widths;

  std::vector<Group> groups() const {
    std::vector<Group> all;
    std::size_t offset = 0;
    for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
      const auto rows = static_cast<std::size_t>(widths[i + 1]), cols = static_cast<std::size_t>(widths[i]);
      all.push_back({offset, rows * cols + rows, rows, cols});
      offset += rows * cols + rows;
    }
    return all;
  }

  std::size_t parameters() const { return groups().back().offset + groups().back().size; }

  double loss(const Vector& theta, const Vector& x, int label) const {
    const Vector logits = forward(theta, x).back();
    return log_sum_exp(logits) - logits[static_cast<std::size_t>(label)];
  }

  Vector gradient(const Vector& theta, const Vector& x, int label) const {
    const std::vector<Group> layers = groups();
    const std::vector<Vector> values = forward(theta, x);
    Vector result(theta.size());
    Vector delta = values.back();  // d loss / d the layer's output
    const double log_sum = log_sum_exp(delta);
    for (double& logit : delta) logit = std::exp(logit - log_sum);
    delta[static_cast<std::size_t>(label)] -= 1;
    for (std::size_t k = layers.size(); k-- > 0;) delta = backward(layers[k], theta, values[k], delta, result);
    return result;
  }

 private:
  // The input of every layer, and the logits last.
  std::vector<Vector> forward(const Vector& theta, const Vector& x) const {
    std::vector<Vector> values = {x};
    const std::vector<Group> layers = groups();
    for (std::size_t k = 0; k < layers.size(); ++k) {
      const Group& layer = layers[k];
      Vector out(layer.rows);
      for (std::size_t r = 0; r < layer.rows; ++r) {
        out[r] = theta[layer.offset + layer.rows * layer.cols + r];
        for (std::size_t c = 0; c < layer.cols; ++c) out[r] += theta[layer.offset + r * layer.cols + c] * values.back()[c];
        if (k + 1 < layers.size()) out[r] = std::tanh(out[r]);
      }
      values.push_back(out);
    }
    return values;
  }

  // Fills the layer's part of the gradient; gives the delta of the layer below, whose tanh made `input`.
  static Vector backward(const Group& layer, const Vector& theta, const Vector& input, const Vector& delta, Vector& gradient) {
    Vector below(layer.cols);
    for (std::size_t r = 0; r < layer.rows; ++r) {
      gradient[layer.offset + layer.rows * layer.cols + r] = delta[r];
      for (std::size_t c = 0; c < layer.cols; ++c) {
        gradient[layer.offset + r * layer.cols + c] = delta[r] * input[c];
        below[c] += delta[r] * theta[layer.offset + r * layer.cols + c];
      }
    }
    for (std::size_t c = 0; c < layer.cols; ++c) below[c] *= 1 - input[c] * input[c];
    return below;
  }

  static double log_sum_exp(const Vector& logits) {
    const double top = *std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (double logit : logits) sum += std::exp(logit - top);
    return top + std::log(sum);
  }
};

struct Problem {
  Mlp net;
  std::vector<Vector> inputs;
  std::vector<int> labels;
};

// Uniform in [-scale, scale), rounded to float so that a float library starts from the same numbers. The same everywhere: the standard
// fixes the engine but not its distributions.
inline double uniform_float(std::mt19937_64& engine, double scale) {
  const double unit = static_cast<double>(engine() >> 11) * 0x1p-53;
  return static_cast<double>(static_cast<float>(scale * (2 * unit - 1)));
}

inline Problem small_problem(std::int64_t rows, std::vector<std::int64_t> widths, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  Problem problem{.net = {std::move(widths)}, .inputs = {}, .labels = {}};
  for (std::int64_t i = 0; i < rows; ++i) {
    Vector x(static_cast<std::size_t>(problem.net.widths.front()));
    for (double& value : x) value = uniform_float(engine, 2);
    problem.inputs.push_back(x);
    problem.labels.push_back(static_cast<int>(engine() % static_cast<std::uint64_t>(problem.net.widths.back())));
  }
  return problem;
}

// Parameters to start from, of the size PyTorch's layers start with: uniform up to 1/sqrt(in).
inline Vector small_start(const Mlp& net, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  Vector theta(net.parameters());
  for (const Group& group : net.groups()) {
    const double scale = 1 / std::sqrt(static_cast<double>(group.cols));
    for (std::size_t i = 0; i < group.size; ++i) theta[group.offset + i] = uniform_float(engine, scale);
  }
  return theta;
}

}  // namespace fodp::plain
