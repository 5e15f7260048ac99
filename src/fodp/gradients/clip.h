// Per-example clipping: from rows to a ClippedSum. The only maker of one.
//
// Rows run in blocks (data/sampling.h says which rows form a block). A block's clipped sum is formed in float32, rounded to the lattice and
// added to the other blocks' as integers, so the result does not depend on the order of blocks or the number of threads. A block of a large
// model goes through it in parts, since a row's factor depends on that row alone: memory is bounded by kHeldElements a thread, not by the
// lot nor by the parameters times the rows.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include "fodp/base/fields.h"
#include "fodp/gradients/clipped_sum.h"
#include "fodp/gradients/parameters.h"

namespace fodp {

enum class Clipping {
  flat,       // g / max(1, |g|/C)
  automatic,  // C * g / (|g| + .01): Bu et al. 2022, "Automatic clipping"
  adaptive,   // flat, with C led to a quantile of the norms by a noisy count: adaptive_clip.h
};

template <>
struct EnumNames<Clipping> {
  static constexpr std::pair<std::string_view, Clipping> values[] = {
      {"flat", Clipping::flat}, {"automatic", Clipping::automatic}, {"adaptive", Clipping::adaptive}};
};

// What is clipped to which norm.
enum class GroupClip {
  whole,   // the gradient of all parameters together to C
  shared,  // each of G layers to C/sqrt(G): together to C
  each,    // each of G layers to C: together to sqrt(G)*C, which is what is charged
};

template <>
struct EnumNames<GroupClip> {
  static constexpr std::pair<std::string_view, GroupClip> values[] = {
      {"whole", GroupClip::whole}, {"shared", GroupClip::shared}, {"each", GroupClip::each}};
};

struct ClipOptions {
  double clip_norm = 1;
  std::optional<Clipping> clipping;
  std::optional<GroupClip> group_clip;

  static auto fields() {
    return std::tuple{
        field("clip-norm", &ClipOptions::clip_norm, "C: the largest norm of one example's gradient", above(0)),
        field("clipping", &ClipOptions::clipping,
              "flat: scale down what is longer than C; automatic: scale every gradient to about C; adaptive: lead C to a quantile of the "
              "norms by a noisy count in the same release",
              {}, "flat"),
        field("group-clip", &ClipOptions::group_clip,
              "whole: all parameters together to C; shared: each of G layers to C/sqrt(G), at the same cost; each: each layer to C, "
              "charged at sigma/sqrt(G)",
              {}, "whole"),
    };
  }

  Clipping rule() const { return clipping.value_or(Clipping::flat); }
  GroupClip grouping() const { return group_clip.value_or(GroupClip::whole); }
};

// A row is clipped as if its norm were at least its reach (tape.h) over this: however much its positions cancel, what passes through the
// float32 sum is at most so many clip norms (docs/finite-precision.md).
inline constexpr double kMostCancelled = 256;

// The factor of a gradient of this norm; 0 for a norm that is not finite. Rounded towards zero, so that the product is never too long.
float clip_factor(double norm, const ClipOptions& options);

struct Batch {
  at::Tensor inputs, targets;
};

// One loss per row: [rows]. A row's loss must depend on that row alone. Called from several threads at once, each with rows of its own.
using RowLosses = std::function<at::Tensor(const at::Tensor& inputs, const at::Tensor& targets)>;
using Gather = std::function<Batch(std::span<const std::int64_t> rows)>;
// Blocks of rows.
using Blocks = std::vector<std::vector<std::int64_t>>;

// Un-noised views of the training data: not private (--insecure-diagnostics).
struct ClipDiagnostics {
  std::int64_t rows = 0, clipped = 0, not_finite = 0;
  double loss_sum = 0, norm_sum = 0, largest_norm = 0;

  void merge(const ClipDiagnostics& other);
};

// The most rows of a block that the project's bounds are made for.
inline constexpr std::int64_t kMostBlockRows = 128;

// What a thread may hold at once, activations and tape: 64 MB. One row is always allowed.
inline constexpr std::int64_t kHeldElements = 1 << 24;

// DP-IS: a row of bounded norm n is kept with probability n/C and then counts with this length, whatever its norm.
struct Importance {
  double length;
  std::function<double(std::int64_t row)> chance;  // uniform in [0, 1), its own for each row
};

// What a sum is asked for beyond the options of the run.
struct ClipRequest {
  std::optional<double> clip_norm;    // instead of the options'
  std::optional<double> count_noise;  // with the sum, sum_i (b_i - 1/2), b_i the share of row i's groups that are not clipped; noised at
                                      // this multiple of its sensitivity 1/2
  std::optional<Importance> importance;
};

// Below the level of runs: it believes the Draw that it is given. PrivateSteps (training/private_steps.h) takes it from the sampler.
class Clipper {
 public:
  // `block_rows` is the most rows that any block will have: a public constant that sets the slack. Checks the model (tape.h), now and
  // before every sum, and keeps references to it, to the parameters and the loss.
  Clipper(const torch::nn::Module& model, FlatParameters& parameters, RowLosses losses, const ClipOptions& options,
          std::int64_t block_rows);

  ClippedSum clipped_sum(const Blocks& blocks, const Draw& draw, const Gather& gather, const ClipRequest& request = {},
                         ClipDiagnostics* insecure = nullptr) const;

  // The sum of the rows' clipped norms: a scalar "norm_total" that one row moves by at most C.
  ClippedSum norm_total(const Blocks& blocks, const Draw& draw, const Gather& gather, double noise_multiplier) const;

  // (sum of the rows' losses now - sum at the parameters `before`) / lot, clipped as a whole to [-bound, bound]: a scalar "loss_change"
  // that one row moves by at most 2*bound.
  ClippedSum loss_change(const Blocks& blocks, const Draw& draw, const Gather& gather, std::span<const float> before, double lot,
                         double bound, double noise_multiplier) const;

  // Each row's loss, squared gradient norm and gradient, un-noised: not private (mixing.h uses it on made-up rows).
  struct InsecureRows {
    std::vector<double> losses, squared_norms;
    at::Tensor gradients;  // [rows, parameters]
  };
  InsecureRows insecure_rows(const Batch& batch) const;

  double slack() const { return slack_; }  // of a sum at the options' clip norm
  const ClipOptions& options() const { return options_; }

 private:
  struct Recorded;
  struct Part;
  struct Job;
  std::vector<ClipGroup> groups(double clip_norm) const;
  void check_rows(const Blocks& blocks) const;
  Recorded record(const Batch& batch, bool measure = false) const;
  std::int64_t rows_at_once(const Blocks& blocks, const Gather& gather) const;
  Part part_of_block(std::span<const std::int64_t> rows, const Job& job, const at::Tensor& sum) const;
  Part part_of_rows(std::span<const std::int64_t> rows, const Job& job, const at::Tensor& sum) const;
  double loss_sum(const Blocks& blocks, const Gather& gather) const;

  const torch::nn::Module& model_;
  FlatParameters& parameters_;
  RowLosses losses_;
  ClipOptions options_;
  std::int64_t block_rows_;
  mutable std::int64_t rows_at_once_ = 0;  // 0: not known yet
  double slack_;
};

}  // namespace fodp
