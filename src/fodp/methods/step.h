// What a method may do in one step: four verbs, in this order, and nothing flows back.
//
//   sample -> clip -> release -> update
//
// The types keep the order: a Lot gives no more sums than it was drawn for (two sums of one lot cost more than two of two), only clipping
// makes a ClippedSum, only release makes a Release (after charging the ledger), and only a Release reaches update. Whatever a method
// computes from parameters and releases is post-processing.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "fodp/data/sampling.h"
#include "fodp/gradients/query.h"
#include "fodp/mechanism/mechanism.h"

namespace fodp {

struct LotOptions {
  std::optional<double> sample_rate;   // instead of the run's; 1: every record
  std::optional<double> charged_rate;  // a public bound of a rate that depends on earlier releases
  std::int64_t queries = 1;            // sums that will be made of it
};

class Step {
 public:
  virtual ~Step() = default;

  Lot sample() { return sample(LotOptions{}); }  // a fresh Poisson lot
  virtual Lot sample(const LotOptions& options) = 0;

  virtual ClippedSum clipped_sum(const Lot& lot) = 0;  // of per-example gradients at the present parameters
  // What a query of the method's own asks of the rows (gradients/query.h).
  virtual ClippedSum clipped_sum(const Lot& lot, const Query& query) = 0;

  virtual Release release(ClippedSum sum) = 0;  // by the run's mechanism; PrivacyError if the budget would be passed

  void update(const Release& release) { update(release, 1); }
  virtual void update(const Release& release, double lr_factor) = 0;  // by the run's filter and update rule

  virtual double expected_lot() const = 0;  // of the present step
  virtual std::span<const float> parameters() const = 0;
  virtual void set_parameters(std::span<const float> values) = 0;

  // f() at the parameters plus `offset` (none if empty), which then are restored exactly.
  template <class F>
  auto at(std::span<const float> offset, F&& f) {
    std::vector<float> point(offset.begin(), offset.end());
    const std::span<const float> here = parameters();
    for (std::size_t i = 0; i < point.size(); ++i) point[i] += here[i];
    return at_point(point, std::forward<F>(f));
  }

  // f() at these parameters (the present ones if empty).
  template <class F>
  auto at_point(std::span<const float> point, F&& f) {
    const Moved moved(*this, point);
    return f();
  }

 protected:
  virtual void move_to(std::span<const float> point) = 0;
  virtual void move_back() = 0;

 private:
  class Moved {
   public:
    Moved(Step& step, std::span<const float> point) : step_(point.empty() ? nullptr : &step) {
      if (step_) step_->move_to(point);
    }
    ~Moved() {
      if (step_) step_->move_back();
    }
    Moved(const Moved&) = delete;
    Moved& operator=(const Moved&) = delete;

   private:
    Step* step_;
  };
};

}  // namespace fodp
