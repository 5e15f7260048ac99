// The privacy loss of one sampled Gaussian for a group of k records that are all in the data or all not in it.
//
// P is the mixture over j ~ Binomial(k, q) of N(j, z^2), Q is N(0, z^2). The likelihood ratio at t standard deviations is
// sum_j p_j * exp(j*t/z - j^2/(2*z^2)), so the loss grows with t and has one inverse. Every sum here has positive terms only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "fodp/accounting/event.h"

namespace fodp {

inline constexpr std::int64_t kMostRecords = 8;  // of a group

class GroupLoss {
 public:
  explicit GroupLoss(const SampledGaussian& event);  // 1 to kMostRecords records, a rate below 1

  double at(double t) const;                       // log dP/dQ
  double where(double loss) const;                 // the t with this loss; -inf where the loss never falls that low
  double mass_above(double t) const;               // under P
  double least() const { return log_chance_[0]; }  // the loss never falls below
  double steepest() const { return static_cast<double>(records_) * slope_; }  // no loss changes faster with t
  double rounding(double furthest) const;  // of a loss where |t| is at most `furthest`, in units in the last place

  // What lies between two grid points, at begin and end, is shared between them so that its mass is kept under P and under Q. begin is
  // -inf where the loss never falls to the lower point, which is at `low_loss`.
  class Cell {
   public:
    Cell(const GroupLoss& loss, double begin, double end, double low_loss);
    struct Shares {
      double low, high;
    };
    Shares at(double t) const;

   private:
    std::int64_t records_;
    double slope_, begin_, end_;
    std::array<double, kMostRecords + 1> weight_{};  // of the terms of the ratio at `end`, beside the largest
    double rest_ = 0;                                // how far the least ratio is above that of the lower point
    double whole_ = 0;
  };

 private:
  double log_term(std::size_t j, double t) const;

  std::int64_t records_;
  double slope_;                                       // 1/z
  std::array<double, kMostRecords + 1> log_chance_{};  // that j records are drawn
};

}  // namespace fodp
