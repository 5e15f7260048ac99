// What a PrivateSteps holds, for the files that implement it.
#pragma once

#include <atomic>
#include <thread>

#include "fodp/accounting/ledger_file.h"
#include "fodp/base/sha256.h"
#include "fodp/data/sampling.h"
#include "fodp/gradients/row_format.h"
#include "fodp/training/private_steps.h"
#include "fodp/training/run_name.h"

namespace fodp {

struct PrivateSteps::Run {
  Run(torch::nn::Module& model, RowLosses losses, TrainingRows training_rows, Plan made);

  Plan plan;
  RunParts& parts;  // the plan's
  TrainingRows rows;
  RunName name = RunName::of_new_run(plan);
  RunKey key;
  RandomStream noise, acceptance, choice;
  PoissonSampler sampler;
  FlatParameters parameters;
  Clipper clipper;
  std::unique_ptr<Accountant> accountant;
  std::unique_ptr<Ledger> ledger;
  ParallelFor parallel;
  std::vector<std::string> warnings;
  std::optional<RowFormat> format;                           // of every batch that is fetched
  std::shared_ptr<const std::vector<std::uint16_t>> groups;  // of each row, where only one group takes part in a step
  std::optional<Sha256::Digest> rows_at_start;               // of some rows, where each must stay the same record; as secret as these

  std::optional<Charge> charge;  // of the rows that the last sum was made of
  std::uint64_t charged_ticket = 0;
  std::int64_t sums_released = 0;
  std::uint64_t lots_drawn = 0;
  std::optional<LedgerFile> ledger_file;
  std::string data_fingerprint;
  std::int64_t charges_lost = 0;
  bool without_its_ledger = false;    // a ledger that should be kept could not be: nothing may be released
  std::atomic<std::thread::id> user;  // the thread that is inside a call, if one is
  int calls = 0;                      // of that thread, one inside the other
  bool in_step = false;
  std::vector<float> moved_from;  // the parameters, while they are moved
  std::optional<InUse> moving;    // held while they are
  at::Tensor gradients;           // flat; the parameters' .grad are views of it
  ClipDiagnostics insecure_clip;

  std::int64_t queries() const { return plan.method().sums_per_step; }
  // The step that the next sum belongs to, from 0; beyond the plan, the last one's numbers go on.
  std::int64_t present_step() const { return std::min(sums_released / queries(), plan.steps() - 1); }
  // The step that the last sum belonged to.
  std::int64_t released_step() const { return std::min(std::max<std::int64_t>(0, sums_released - 1) / queries(), plan.steps() - 1); }
  std::span<const float> unmoved() { return moved_from.empty() ? std::span<const float>(parameters.values()) : moved_from; }

  void check_own(const Draw& draw) const {
    check_privacy(draw.source() == sampler.id(), "these rows were drawn by another run: its ledger would not know of their release");
  }

  void check_ledger_is_kept() const {
    check_privacy(
        !without_its_ledger,
        "the ledger that this run was told to keep could not be opened or written, so that what it released would not be on record: "
        "keep it elsewhere, or make a new run");
  }

  void end_of_step() {
    if (parts.average) parts.average->add(parameters.values());
  }

  void check_fetching(const torch::nn::Module& model);
  Gather gather_in(const Lot& lot) const;
  void check_rows_stay() const;
  void state(StateVisitor& visit);
  void load_state(const State& from);

  // The same under a name in the file system (run_files.cpp).
  LedgerHeader ledger_header() const;
  void take_over_ledger();  // what the file has charged beyond what this run knows of counts as spent
  Events affordable(const Events& rest) const;
  void close_ledger() noexcept;
};

}  // namespace fodp
