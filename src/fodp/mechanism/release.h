// A private sum, with the private numbers that came with it: free to copy, use and publish. Only a mechanism makes one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fodp {

class Release {
 public:
  std::span<const float> values() const { return *values_; }
  std::uint64_t number() const { return number_; }  // in the ledger: no other release of the run has it

  bool has_scalar(std::string_view name) const;
  double scalar(std::string_view name) const;  // InputError if it came without one

  // The noised sum that the values were made of, before any memory, where the mechanism was asked to keep it
  // (Mechanism::keep_noised_sums); empty else. It is as private as the values, which are computed from it and from earlier ones.
  std::span<const double> noised_sum() const { return noised_sum_ ? std::span<const double>(*noised_sum_) : std::span<const double>(); }

  // Of the noise in each value, where the mechanism knows it.
  std::optional<double> noise_variance() const { return noise_variance_; }

 private:
  friend class Mechanism;
  struct Scalar {
    std::string name;
    double value;
  };
  Release(std::shared_ptr<const std::vector<float>> values, std::vector<Scalar> scalars, std::optional<double> noise_variance,
          std::uint64_t number, std::shared_ptr<const std::vector<double>> noised_sum)
      : values_(std::move(values)),
        noised_sum_(std::move(noised_sum)),
        scalars_(std::move(scalars)),
        noise_variance_(noise_variance),
        number_(number) {}

  std::shared_ptr<const std::vector<float>> values_;
  std::shared_ptr<const std::vector<double>> noised_sum_;
  std::vector<Scalar> scalars_;
  std::optional<double> noise_variance_;
  std::uint64_t number_;
};

}  // namespace fodp
