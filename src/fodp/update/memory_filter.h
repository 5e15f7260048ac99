// Post-FM-DP-SGD's memory (FO-DP-SGD paper A.3): the fractional blend of past releases, taken after DP-SGD's release instead of inside it.
//
//   v_t = beta*y_t + (1-beta)*sum_j ahat_{t,j} y_{t-j}
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "fodp/base/schedule.h"
#include "fodp/mechanism/kernel.h"
#include "fodp/mechanism/memory.h"
#include "fodp/update/filter.h"

namespace fodp {

class MemoryFilter : public Filter {
 public:
  // beta by schedule over the steps, instead of the parameters'.
  MemoryFilter(const FractionalParameters& parameters, Schedule beta, std::int64_t steps)
      : parameters_(parameters), beta_(std::move(beta)), steps_(steps) {}
  std::span<const float> apply(std::span<const float> sum) override;
  void state(StateVisitor& visit) override;

 private:
  void make_memory(std::int64_t size);

  FractionalParameters parameters_;
  Schedule beta_;
  std::int64_t steps_, step_ = 0;
  std::optional<Memory> memory_;
  std::vector<float> blended_;
};

}  // namespace fodp
