// Per-example clipping: from rows to a ClippedSum.
//
// Rows run in blocks (data/sampling.h says which rows form a block). A block's clipped sum is formed in float32, rounded to the lattice and
// added to the other blocks' as integers, so the result does not depend on the order of blocks or the number of threads. A block of a large
// model goes through it in parts, since a row's factor depends on that row alone: memory is bounded by kHeldElements a thread, not by the
// lot nor by the parameters times the rows. A row whose gradient is not finite, or that the model, the loss or the function that fetches
// rows throws for (row_by_row.h), contributes zero.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include "fodp/base/fields.h"
#include "fodp/data/rows.h"
#include "fodp/gradients/clip_rule.h"
#include "fodp/gradients/parameters.h"
#include "fodp/gradients/query.h"
#include "fodp/mechanism/clipped_sum.h"

namespace fodp {

template <class Result>
struct OfRows;  // row_by_row.h

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
  std::optional<GroupClip> group_clip;

  static auto fields() {
    return std::tuple{
        field("clip-norm", &ClipOptions::clip_norm, "C: the largest norm of one example's gradient", above(0)),
        field("group-clip", &ClipOptions::group_clip,
              "whole: all parameters together to C; shared: each of G layers to C/sqrt(G), at the same cost; each: each layer to C, "
              "charged at sigma/sqrt(G)",
              {}, "whole"),
    };
  }

  GroupClip grouping() const { return group_clip.value_or(GroupClip::whole); }
};

// The sensitivity of a sum of rows clipped so, over C, where there are so many layers.
double relative_sensitivity(GroupClip grouping, std::size_t layers);

// A row is clipped as if its norm were at least its reach (tape.h) over this: however much its positions cancel, what passes through the
// float32 sum is at most so many clip norms (docs/finite-precision.md).
inline constexpr double kMostCancelled = 256;

// One loss per row: [rows]. A row's loss must depend on that row alone. Called from several threads at once, each with rows of its own.
using RowLosses = std::function<at::Tensor(const Tensors& inputs, const at::Tensor& targets)>;
// Blocks of rows.
using Blocks = std::vector<std::vector<std::int64_t>>;

// Un-noised views of the training data: not private (--insecure-diagnostics).
struct ClipDiagnostics {
  std::int64_t rows = 0, clipped = 0;
  double loss_sum = 0, norm_sum = 0, largest_norm = 0;

  void merge(const ClipDiagnostics& other);
};

// The most rows of a block that the project's bounds are made for.
inline constexpr std::int64_t kMostBlockRows = 128;

// What a thread may hold at once, activations and tape: 64 MB. One row is always allowed.
inline constexpr std::int64_t kHeldElements = 1 << 24;

// The rows that a sum is made of.
struct ClipRows {
  const Blocks& blocks;
  const Draw& draw;
  const Gather& gather;
  std::function<double(std::int64_t row)> coin = {};  // uniform in [0, 1), its own for each row; for queries that draw coins
};

// Below the level of runs: it believes the Draw that it is given. PrivateSteps (training/private_steps.h) takes it from the sampler.
class Clipper {
 public:
  // `block_rows` is the most rows that any block will have: a public constant that sets the slack. Checks the model (tape.h), now and
  // before every sum, and keeps references to it, to the parameters, the rule and the loss.
  Clipper(const torch::nn::Module& model, FlatParameters& parameters, RowLosses losses, const ClipRule& rule, GroupClip grouping,
          std::int64_t block_rows);

  // What the query asks of the rows, each bounded as the rule and the query say.
  ClippedSum clipped_sum(const ClipRows& rows, const Query& query, ClipDiagnostics* insecure = nullptr) const;
  ClippedSum clipped_sum(const ClipRows& rows) const { return clipped_sum(rows, rule_.query()); }

  // Each row's loss, squared gradient norm and gradient, un-noised: not private (mixing.h uses it on made-up rows).
  struct InsecureRows {
    std::vector<double> losses, squared_norms;
    at::Tensor gradients;  // [rows, parameters]
  };
  InsecureRows insecure_rows(const Batch& batch) const;

  double slack() const;  // of a sum at the rule's present clip norm

 private:
  using Losses = std::vector<std::vector<std::optional<double>>>;  // by block and row; nothing for a row that throws
  struct Recorded;
  struct Answers;
  struct Job;
  struct Weighed;
  std::vector<ClipGroup> groups(double clip_norm) const;
  void check_rows(const Blocks& blocks) const;
  Recorded record(const Batch& batch, bool measure = false) const;
  OfRows<Recorded> record_training_rows(const ClipRows& from, std::span<const std::int64_t> rows, bool measure = false) const;
  std::int64_t rows_at_once(const ClipRows& rows) const;
  void sum_blocks(const Job& job, ClippedRows& total, Answers& answers) const;
  Answers part_of_block(std::size_t block, const Job& job, const at::Tensor& sum) const;
  Answers part_of_rows(std::span<const std::int64_t> rows, std::span<const std::optional<double>> losses_before, const Job& job,
                       const at::Tensor& sum) const;
  Weighed weigh(const OfRows<Recorded>& of_rows, std::span<const std::int64_t> rows, std::span<const std::optional<double>> losses_before,
                const Job& job) const;
  Losses losses_at(std::span<const float> point, const ClipRows& rows) const;
  Losses losses_of(const ClipRows& rows) const;

  const torch::nn::Module& model_;
  FlatParameters& parameters_;
  RowLosses losses_;
  const ClipRule& rule_;
  GroupClip grouping_;
  std::int64_t block_rows_;
  mutable std::int64_t rows_at_once_ = 0;  // 0: not known yet
};

}  // namespace fodp
