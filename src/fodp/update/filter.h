// A filter makes one gradient of the releases so far, before the update rule sees it: post-processing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "fodp/base/fields.h"
#include "fodp/mechanism/kernel.h"

namespace fodp {

enum class FilterKind {
  none,
  low_pass,  // DOPPLER's
  memory,    // Post-FM-DP-SGD's: the fractional memory, after the release
  kalman,    // DiSK's: m <- (1-kappa)*m + kappa*g from the first g
};

template <>
struct EnumNames<FilterKind> {
  static constexpr std::pair<std::string_view, FilterKind> values[] = {
      {"none", FilterKind::none}, {"low-pass", FilterKind::low_pass}, {"memory", FilterKind::memory}, {"kalman", FilterKind::kalman}};
};

struct LowPassOptions {
  std::int64_t filter_order = 2;

  static auto fields() {
    return std::tuple{
        field("filter-order", &LowPassOptions::filter_order, "1: m <- .9*m + .1*g; 2: the published second-order low pass", between(1, 2))};
  }
};

struct KalmanOptions {
  double disk_kappa = .7;

  static auto fields() {
    return std::tuple{
        field("disk-kappa", &KalmanOptions::disk_kappa, "gain of the filter: weight of the newest gradient", above_up_to(0, 1))};
  }
};

class Filter {
 public:
  virtual ~Filter() = default;
  // The filtered sum after this one; valid until the next.
  virtual std::span<const float> apply(std::span<const float> sum) = 0;
};

// None for FilterKind::none. `memory` as resolved, in the units of the sums; its beta by schedule over the steps of the run.
std::unique_ptr<Filter> make_filter(FilterKind kind, const LowPassOptions& low_pass, const KalmanOptions& kalman,
                                    const FractionalParameters& memory, const Schedule& beta, std::int64_t steps);

}  // namespace fodp
