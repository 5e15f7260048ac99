// A clipper with a rule of its own, and the queries that methods ask, written out for tests.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "fodp/gradients/adaptive_clip.h"
#include "fodp/gradients/clip.h"

namespace fodp::testing {

struct ClipSettings {
  double clip_norm = 1;
  std::string clipping = "flat";
  GroupClip group_clip = GroupClip::whole;
};

inline std::unique_ptr<ClipRule> make_rule(const ClipSettings& settings) {
  RunContext context;
  context.clip_norm = settings.clip_norm;
  return find_entry(clipping_table(), "clipping", settings.clipping).make(context);
}

// The factor of a gradient of this norm, as exactly as a double has it.
inline double clip_factor(double norm, const ClipSettings& settings) { return make_rule(settings)->factor(norm, settings.clip_norm); }

// DP-IS: rows kept with probability |gbar|/C, each counting with one length.
struct Importance {
  double length;
  std::function<double(std::int64_t row)> chance;
};

// What is asked of a sum beyond the settings.
struct ClipRequest {
  std::optional<double> count_noise = {};
  std::optional<Importance> importance = {};
};

class ImportanceQuery : public Query {
 public:
  ImportanceQuery(double clip_norm, double length) : clip_norm_(clip_norm), length_(length) {}
  std::optional<double> length() const override { return length_; }
  bool draws_coins() const override { return true; }
  bool keeps(const RowFacts& row) const override { return row.coin < row.bounded / clip_norm_; }

 private:
  double clip_norm_, length_;
};

// Any number of any depth.
class NumberQuery : public Query {
 public:
  NumberQuery(Depth depth, Number number, std::function<double(const RowFacts&)> part, std::span<const float> before = {})
      : depth_(depth), number_(std::move(number)), part_(std::move(part)), before_(before) {}
  Depth depth() const override { return depth_; }
  std::vector<Number> numbers() const override { return {number_}; }
  double part(std::size_t, const RowFacts& row) const override { return part_(row); }
  std::span<const float> before() const override { return before_; }

 private:
  Depth depth_;
  Number number_;
  std::function<double(const RowFacts&)> part_;
  std::span<const float> before_;
};

// Rows that a test draws itself; a number is their rate.
struct TestDraw : Draw {
  TestDraw(const DrawTerms& terms = {}) : Draw(vouching_that_rows_were_drawn_so(terms)) {}
  TestDraw(double rate) : TestDraw(DrawTerms{.sample_rate = rate}) {}
};

class TestClipper {
 public:
  TestClipper(const torch::nn::Module& model, FlatParameters& parameters, RowLosses losses, const ClipSettings& settings,
              std::int64_t block_rows)
      : rule_(make_rule(settings)), clipper_(model, parameters, std::move(losses), *rule_, settings.group_clip, block_rows) {}

  ClippedSum clipped_sum(const Blocks& blocks, const TestDraw& draw, const Gather& gather, const ClipRequest& request = {}) const {
    ClipRows rows{blocks, draw, gather};
    if (request.importance) {
      rows.coin = request.importance->chance;
      return clipper_.clipped_sum(rows, ImportanceQuery(rule_->clip_norm(), request.importance->length));
    }
    if (!request.count_noise) return clipper_.clipped_sum(rows);
    return clipper_.clipped_sum(rows, NumberQuery(Query::Depth::gradients, {"count", .5, *request.count_noise},
                                                  [](const RowFacts& row) { return row.unclipped - .5; }));
  }
  ClippedSum norm_total(const Blocks& blocks, const TestDraw& draw, const Gather& gather, double noise_multiplier) const {
    return clipper_.clipped_sum({blocks, draw, gather},
                                NumberQuery(Query::Depth::norms, {"norm_total", rule_->clip_norm(), noise_multiplier},
                                            [](const RowFacts& row) { return row.bounded; }));
  }
  ClippedSum loss_change(const Blocks& blocks, const TestDraw& draw, const Gather& gather, std::span<const float> before, double lot,
                         double bound, double noise_multiplier) const {
    return clipper_.clipped_sum({blocks, draw, gather}, NumberQuery(
                                                            Query::Depth::losses, {"loss_change", bound, noise_multiplier, true, lot},
                                                            [](const RowFacts& row) { return row.loss - row.loss_before; }, before));
  }
  Clipper::InsecureRows insecure_rows(const Batch& batch) const { return clipper_.insecure_rows(batch); }
  double slack() const { return clipper_.slack(); }
  operator const Clipper&() const { return clipper_; }

 private:
  std::unique_ptr<ClipRule> rule_;
  Clipper clipper_;
};

}  // namespace fodp::testing
