// Is what a mechanism adds to its sums the noise that it is charged for? Collects noise, scaled to what should be standard normals that are
// independent over coordinates and releases, and tests that.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <unordered_set>
#include <vector>

#include "fodp/audit/check.h"

namespace fodp {

class NoiseStatistics {
 public:
  // The noise of one release over its claimed standard deviation.
  void add(std::span<const double> noise);

  std::int64_t count() const { return count_; }
  // The interval of the noise's standard deviation over the claimed one that holds with this confidence.
  std::array<double, 2> scale_interval(double confidence) const;
  std::vector<AuditCheck> checks(double confidence) const;

 private:
  static constexpr std::size_t kBins = 100, kLags = 8;

  AuditCheck scale(double confidence) const;
  AuditCheck shape() const;
  AuditCheck coordinates() const;
  AuditCheck releases() const;

  struct Products {
    double sum = 0;
    std::int64_t count = 0;
    double standard() const;  // about a standard normal if the factors are independent
    double chance() const;    // that it is so far from 0; 1 for so few products that it is no normal
  };
  void add_products(std::span<const double> a, std::span<const double> b, Products& products) const;

  std::int64_t count_ = 0, releases_ = 0, repeated_ = 0;
  double sum_ = 0, squares_ = 0;
  double least_release_ = 1;                  // the least chance of the squares of a single release
  std::vector<double> coordinate_squares_;    // over all releases
  std::int64_t repeated_within_ = 0;          // windows that came twice in one release
  std::array<std::int64_t, kBins> bins_{};    // of equal probability
  Products neighbours_, blocks_;              // coordinates side by side, and one block of noise apart
  std::array<Products, kLags> lags_;          // releases so many apart
  std::deque<std::vector<double>> earlier_;   // the last one first
  std::unordered_set<std::uint64_t> starts_;  // of every block of noise seen
};

}  // namespace fodp
