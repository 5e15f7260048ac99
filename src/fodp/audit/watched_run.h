// A run that an audit watches: a PrivateSteps whose lots, un-noised sums, noised sums and releases are seen by a Watcher, which may also
// change what goes on to the release. Everything else is the run as its user would have it: the same model, loss, rows, sampler, clipper,
// mechanism and update.
//
// What a watcher sees is not private: it is as secret as the training rows.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fodp/audit/sampler_statistics.h"
#include "fodp/training/private_steps.h"

namespace fodp {

// One sum of a run, from its rows to its release.
struct SeenSum {
  ClippedRows sum;        // un-noised, on its lattice
  std::int64_t step = 0;  // of the run, from 0
  LotTaken lot;           // how its rows were announced to be drawn
  std::uint64_t lot_number = 0;
  std::vector<std::int64_t> rows;  // the records that were fetched for it, ascending
  double sensitivity = 0;          // claimed: the root of the groups' squared clip norms
  double noise_scale = 0;          // claimed: the standard deviation of the noise in each value
  std::vector<double> noised;      // what was released of it, before any memory; empty where it has numbers only
  std::vector<double> noised_numbers;
  std::vector<float> released;
};

class Watcher {
 public:
  virtual ~Watcher() = default;
  // Before the release; `passed_on` is what the mechanism is given, the sum itself unless it is changed here.
  virtual void pass_on(const SeenSum& /*seen*/, ClippedRows& /*passed_on*/) {}
  virtual void released(const SeenSum& /*seen*/) {}
};

// A fault that is planted into a watched run to see whether an audit finds it (faults.h).
class Fault {
 public:
  virtual ~Fault() = default;
  virtual void begin_run() {}                                    // forgets what an earlier run left
  virtual void change(PrivateOptions& /*options*/) {}            // what the run is made with, instead of what it claims
  virtual RowLosses losses(RowLosses losses) { return losses; }  // the loss that the user gave
  virtual Gather rows(Gather gather) { return gather; }          // the function that the user gave
  virtual Gather drawn(Gather gather) { return gather; }         // between the sampler and that
  virtual void begin_lot() {}
  virtual void sum(ClippedRows& /*sum*/, std::int64_t /*rows*/, std::int64_t /*step*/) {}  // what is summed
  virtual void noise(ClippedRows& /*passed_on*/, const SeenSum& /*seen*/) {}               // what noise is put on, and how much
};

// What is audited: a model, its loss and rows, and how they are trained.
struct AuditSubject {
  torch::nn::Module& model;
  RowLosses losses;
  TrainingRows rows;
  PrivateOptions options;
  std::vector<float> start = {};  // the parameters that every run starts from; the model's own if empty
  Fault* fault = nullptr;
};

// The training rows with one record taken away or replaced, from the first lot on, and a note of which were fetched.
class WatchedRows : public std::enable_shared_from_this<WatchedRows> {
 public:
  // `drawn` is there for rows that are drawn anew for each lot, as those of a unit are (TrainingRows::gather_drawn).
  explicit WatchedRows(Gather gather, DrawnGather drawn = {}) : gather_(std::move(gather)), drawn_(std::move(drawn)) {}

  void remove(std::int64_t row) { removed_ = row; }
  // The record is replaced by one made to be hard to bound: the inputs of another record, much larger, with the target of a third.
  void replace(std::int64_t row, std::int64_t inputs_of, std::int64_t target_of) { replaced_ = {row, inputs_of, target_of}; }

  // Both go through here, from any thread.
  Gather gather();
  DrawnGather gather_drawn();  // null if the rows are not drawn
  void begin_lot();
  void end_lot();                             // what is fetched outside of lots are the rows as they are
  std::vector<std::int64_t> fetched() const;  // since the lot began

 private:
  struct Replaced {
    std::int64_t row, inputs_of, target_of;
  };
  Batch fetch(std::span<const std::int64_t> rows, const Gather& gather);

  Gather gather_;
  DrawnGather drawn_;
  std::optional<std::int64_t> removed_;
  std::optional<Replaced> replaced_;
  mutable std::mutex mutex_;
  bool in_lot_ = false;  // not while the run is being made, nor where it looks whether rows stay the same
  std::set<std::int64_t> fetched_;
};

class WatchedRun : public PrivateSteps {
 public:
  // `options` instead of the subject's. The subject, the rows and the watcher must outlive this, and no other run of the subject may be in
  // use meanwhile: they share the model.
  WatchedRun(const AuditSubject& subject, PrivateOptions options, std::shared_ptr<WatchedRows> rows, Watcher& watcher);

  Lot sample(const LotOptions& options) override;
  using PrivateSteps::clipped_sum;
  ClippedSum clipped_sum(const Lot& lot, const Query& query) override;
  Release release(ClippedSum sum) override;
  void update(const Release& release, double lr_factor) override;

  // Goes on from the state of another run of the same plan that had taken so many steps. Before the first step, of insecure runs only.
  void go_on(const State& state, std::int64_t steps);

  // The verbs that the method used, with their public numbers: must not depend on the rows.
  const std::vector<std::string>& flow() const { return flow_; }

 private:
  std::int64_t step_taken() const;

  Fault* fault_;
  std::shared_ptr<WatchedRows> rows_;
  Watcher& watcher_;
  std::optional<double> drawn_rate_;  // of the last lot, where it is not what is charged
  std::optional<SeenSum> seen_;
  std::int64_t sums_ = 0;  // with a vector
  std::vector<std::string> flow_;
};

}  // namespace fodp
