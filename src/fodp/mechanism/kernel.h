// The weights of the fractional memory: how much each past release counts in the next query. No torch, no data: only norms of what has
// already been released.
//
// FO-DP-SGD paper eq. 4 to 8 and A.9; docs/notation.md maps the symbols.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fodp/base/fields.h"
#include "fodp/base/schedule.h"
#include "fodp/stages/context.h"

namespace fodp {

enum class Kernel {
  current,      // no memory: plain DP-SGD
  uniform,      // 1/(K_t - 1)
  exponential,  // decay^(j-1)
  tempered,     // (j+1)^(alpha-1) * exp(-lambda*j)
  confidence,   // the paper's: tempered, and damped by inconsistency with the trend
  grunwald,     // Gamma(j+alpha)/(Gamma(alpha) j!) in place of the power
};

template <>
struct EnumNames<Kernel> {
  static constexpr std::pair<std::string_view, Kernel> values[] = {{"current", Kernel::current},         {"uniform", Kernel::uniform},
                                                                   {"exponential", Kernel::exponential}, {"tempered", Kernel::tempered},
                                                                   {"confidence", Kernel::confidence},   {"grunwald", Kernel::grunwald}};
};

// zeta: a number, or the noise's own norm sigma*C*sqrt(d).
struct ConfidenceScale {
  double value = 0;
  bool noise_norm = false;
};

template <>
struct FieldText<ConfidenceScale> {
  static ConfidenceScale parse(std::string_view text, std::string_view where, const Range& range) {
    if (text == "noise") return {.noise_norm = true};
    return {.value = parse_number(text, std::string(where) + " (a number or 'noise')", range)};
  }
  static std::string print(const ConfidenceScale& scale) { return scale.noise_norm ? "noise" : number_text(scale.value); }
  static FieldValue value(const ConfidenceScale& scale) { return scale.noise_norm ? FieldValue("noise") : FieldValue(scale.value); }
};

// What is done to the memory before it enters the query.
enum class Denoise {
  none,
  shrink,  // scaled by max(0, 1 - d*v/|u|^2), v the known variance of the noise in each coordinate of u: positive-part James-Stein
};

template <>
struct EnumNames<Denoise> {
  static constexpr std::pair<std::string_view, Denoise> values[] = {{"none", Denoise::none}, {"shrink", Denoise::shrink}};
};

inline constexpr double kKernelStability = 1e-12;

// The memory mechanism's parameters, with the defaults of the paper's main setting where it gives one.
struct FractionalOptions {
  std::optional<Schedule> beta;
  double alpha = .8;
  std::int64_t window = 8;
  double lambda = 0;
  double tau = .1;
  double gamma = .1;
  std::optional<double> kappa;
  std::optional<ConfidenceScale> zeta;
  std::optional<double> stability;
  Kernel kernel = Kernel::confidence;
  double kernel_decay = .5;
  std::int64_t lag_origin = 1;
  Denoise denoise = Denoise::none;

  static auto fields() {
    using Self = FractionalOptions;
    return std::tuple{
        field("beta", &Self::beta,
              "weight of the current clipped sum in the query; the rest is memory; a release is charged at sigma/beta. .9:.6 goes linearly "
              "over the steps, .9,.8,.7 in equal parts",
              above_up_to(0, 1), ".9; 1 with kernel current"),
        field("alpha", &Self::alpha, "order of the power law: small forgets fast, 1 is no power law", above_up_to(0, 1)),
        field("window", &Self::window, "K: the current release and K-1 past ones", between(1, 4096)),
        field("lambda", &Self::lambda, "baseline tempering exp(-lambda*j) of lag j", at_least(0)),
        field("tau", &Self::tau, "inconsistency tempering: how hard releases far from the trend are damped", at_least(0)),
        field("gamma", &Self::gamma, "weight of the newest release in the trend", above_up_to(0, 1)),
        field("kappa", &Self::kappa, "least norm of the trend in the inconsistency score", above(0), "1e-6*C"),
        field("zeta", &Self::zeta, "norm at which the trend is half trusted; 'noise' is sigma*C*sqrt(d)", above(0), "C"),
        field("stability", &Self::stability, "added to denominators so that none is zero", above(0),
              number_text(kKernelStability) + ", unless the release has its own"),
        field("kernel", &Self::kernel, "how past releases are weighed: current, uniform, exponential, tempered, confidence or grunwald"),
        field("kernel-decay", &Self::kernel_decay, "gamma_exp of the exponential kernel", strictly_between(0, 1)),
        field("lag-origin", &Self::lag_origin, "1: lags count from 1 as in the paper; 0: from 0 as in the slides", between(0, 1)),
        field("denoise", &Self::denoise, "shrink: scale the memory down by the share of noise in it, which is known"),
    };
  }

  Schedule beta_schedule() const { return beta.value_or(kernel == Kernel::current ? 1 : .9); }
};

// The options with every default filled in.
struct FractionalParameters {
  Kernel kernel;
  double beta, alpha;  // beta: that of the first step
  std::int64_t window;
  double lambda, tau, gamma, kappa, zeta, stability, kernel_decay;
  std::int64_t lag_origin;
  Denoise denoise;

  // Whether the weights look at the releases themselves (trend, scores, confidence) or at their lags only.
  bool uses_trend() const { return (kernel == Kernel::confidence || kernel == Kernel::grunwald) && tau > 0; }
};

// `noise_norm` is sigma*C*sqrt(d). InputError for kernel current with another beta than 1.
FractionalParameters resolve(const FractionalOptions& options, double clip_norm, double noise_norm);

// For entries of stages (stages/stage.h) that have a memory: what was left open is filled in, and a schedule of beta fits the steps.
void fill_memory(OptionSet& options, const RunContext& context);
void check_memory(const RunContext& context);

// log a_{t,j} for lags j = 1..scores.size(): eq. 7. scores[j-1] is nu_{t,j}; confidence is chi_t.
std::vector<double> log_coefficients(const FractionalParameters& parameters, double confidence, std::span<const double> scores);

// The same normalised to sum 1: eq. 8. Empty for no lag.
std::vector<double> kernel_weights(const FractionalParameters& parameters, double confidence, std::span<const double> scores);

// nu: eq. 5, and chi: eq. 6, from norms.
double inconsistency(const FractionalParameters& parameters, double distance, double trend_norm);
double confidence(const FractionalParameters& parameters, double trend_norm);

}  // namespace fodp
