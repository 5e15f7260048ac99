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
};

template <>
struct EnumNames<Clipping> {
  static constexpr std::pair<std::string_view, Clipping> values[] = {{"flat", Clipping::flat}, {"automatic", Clipping::automatic}};
};

struct ClipOptions {
  double clip_norm = 1;
  Clipping clipping = Clipping::flat;

  static auto fields() {
    return std::tuple{
        field("clip-norm", &ClipOptions::clip_norm, "C: the largest norm of one example's gradient", above(0)),
        field("clipping", &ClipOptions::clipping, "flat: scale down what is longer than C; automatic: scale every gradient to about C"),
    };
  }
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

class Clipper {
 public:
  // `block_rows` is the most rows that any block will have: a public constant that sets the slack. Checks the model (tape.h), now and
  // before every sum, and keeps references to it, to the parameters and the loss.
  Clipper(const torch::nn::Module& model, FlatParameters& parameters, RowLosses losses, const ClipOptions& options,
          std::int64_t block_rows);

  ClippedSum clipped_sum(const Blocks& blocks, double sample_rate, const Gather& gather, ClipDiagnostics* insecure = nullptr) const;

  // Each row's loss, squared gradient norm and gradient, un-noised: not private (mixing.h uses it on made-up rows).
  struct InsecureRows {
    std::vector<double> losses, squared_norms;
    at::Tensor gradients;  // [rows, parameters]
  };
  InsecureRows insecure_rows(const Batch& batch) const;

  double slack() const { return slack_; }
  const ClipOptions& options() const { return options_; }

 private:
  struct Recorded;
  Recorded record(const Batch& batch, bool measure = false) const;
  std::int64_t rows_at_once(const Blocks& blocks, const Gather& gather) const;
  void write_block(std::span<const std::int64_t> rows, std::int64_t at_once, const Gather& gather, const at::Tensor& sum,
                   ClipDiagnostics* insecure) const;
  void write_part(std::span<const std::int64_t> rows, const Gather& gather, const at::Tensor& sum, ClipDiagnostics* insecure) const;

  const torch::nn::Module& model_;
  FlatParameters& parameters_;
  RowLosses losses_;
  ClipOptions options_;
  std::int64_t block_rows_;
  mutable std::int64_t rows_at_once_ = 0;  // 0: not known yet
  double grid_, slack_;
};

}  // namespace fodp
