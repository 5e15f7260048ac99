// The power-law exponent of a layer's spectrum (rho_t of SMA-DP-SGD, arXiv 2605.20450), in double: squared singular values by one-sided
// Jacobi rotations, then the maximum-likelihood exponent of every tail, judged by its Kolmogorov-Smirnov distance. It uses the standard
// library only and shares nothing with the mechanism that it is compared with.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace fodp::plain {

namespace power_law {

inline double inner(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// The rotation that makes a and b orthogonal; false if they already are to rounding.
inline bool rotate(std::vector<double>& a, std::vector<double>& b) {
  const double aa = inner(a, a), bb = inner(b, b), ab = inner(a, b);
  if (std::abs(ab) <= 1e-15 * std::sqrt(aa * bb)) return false;
  const double zeta = (bb - aa) / (2 * ab);
  const double tangent = std::copysign(1.0, zeta) / (std::abs(zeta) + std::hypot(1.0, zeta));
  const double cosine = 1 / std::hypot(1.0, tangent), sine = cosine * tangent;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = a[i], y = b[i];
    a[i] = cosine * x - sine * y;
    b[i] = sine * x + cosine * y;
  }
  return true;
}

// rho and its distance for an ascending tail that starts at x_min.
inline std::pair<double, double> fit_tail(const std::vector<double>& tail) {
  const double n = static_cast<double>(tail.size()), x_min = tail.front();
  double logs = 0;
  for (double x : tail) logs += std::log(x / x_min);
  const double rho = 1 + n / logs;
  double distance = 0;
  for (std::size_t i = 0; i < tail.size(); ++i) {
    const double f = 1 - std::pow(tail[i] / x_min, 1 - rho), below = static_cast<double>(i);
    distance = std::max({distance, std::abs((below + 1) / n - f), std::abs(below / n - f)});
  }
  return {rho, distance};
}

}  // namespace power_law

// min(rows, cols) values of a row-major matrix, ascending.
inline std::vector<double> squared_singular_values(const std::vector<double>& matrix, std::size_t rows, std::size_t cols) {
  const std::size_t count = std::min(rows, cols), length = std::max(rows, cols);
  std::vector<std::vector<double>> lines(count, std::vector<double>(length));
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < cols; ++c) (rows <= cols ? lines[r][c] : lines[c][r]) = matrix[r * cols + c];
  }
  bool turned = true;
  for (int sweep = 0; turned && sweep < 100; ++sweep) {
    turned = false;
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = i + 1; j < count; ++j) turned |= power_law::rotate(lines[i], lines[j]);
    }
  }
  std::vector<double> squares;
  for (const auto& line : lines) squares.push_back(power_law::inner(line, line));
  std::sort(squares.begin(), squares.end());
  return squares;
}

// rho of the best tail of at least five values; none if there is no such tail.
inline std::optional<double> power_law_exponent(std::vector<double> squares) {
  if (squares.empty()) return std::nullopt;
  std::sort(squares.begin(), squares.end());
  const double least = 1e-12 * squares.back();
  std::erase_if(squares, [least](double x) { return !(x > least); });
  std::optional<double> best;
  double best_distance = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i + 5 <= squares.size(); ++i) {
    if (i > 0 && squares[i] == squares[i - 1]) continue;  // the same x_min
    if (squares[i] == squares.back()) continue;           // no spread, no exponent
    const auto [rho, distance] = power_law::fit_tail({squares.begin() + static_cast<std::ptrdiff_t>(i), squares.end()});
    if (distance < best_distance) {
      best = rho;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace fodp::plain
