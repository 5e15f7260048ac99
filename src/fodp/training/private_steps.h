// Private training of one's own model on one's own rows, step by step: the four verbs of methods/step.h, ready to use.
//
//   auto model = std::make_shared<Net>();                                      // of fodp::nn layers
//   fodp::PrivateSteps steps(*model,
//       [&](const at::Tensor& x, const at::Tensor& y) { return cross_entropy(model->forward(x), y); },   // one loss per row
//       {.count = n, .gather = [&](std::span<const std::int64_t> rows) { return Batch{...}; }},
//       {.privacy = {.epsilon = 3, .delta = 1e-5, .sample_rate = .01, .steps = 500}, .update = {.lr = .5}});
//   while (!steps.done()) steps.step();                                        // or sample, clipped_sum, release, update by hand
//   std::cout << steps.statement();
//
// The trainer (trainer.h) is this with named data, evaluation and records.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "fodp/accounting/ledger.h"
#include "fodp/base/state.h"
#include "fodp/gradients/clip.h"
#include "fodp/training/plan.h"

namespace fodp {

// Training data: how many rows there are, and how to fetch some of them by number. The number of rows is public.
struct TrainingRows {
  std::int64_t count;
  Gather gather;  // called from several threads at once, as the model's forward and the loss are (speed.threads = 1 avoids it)
  // Public rows of the same shapes, at least two that differ, for the check that rows do not mix (gradients/mixing.h). Made-up ones if
  // none.
  std::optional<Batch> sample = {};
};

class PrivateSteps : public Step {
 public:
  // PrivacyError if the model cannot be trained privately, by name; also if made-up rows of the shape of row 0 mix (gradients/mixing.h).
  // The model must outlive this; its parameters are moved into one vector, so move or load it before. Sets torch's number of threads.
  PrivateSteps(torch::nn::Module& model, RowLosses losses, TrainingRows rows, const PrivateOptions& options);
  PrivateSteps(torch::nn::Module& model, RowLosses losses, TrainingRows rows, Plan plan);
  ~PrivateSteps() override;

  bool done() const;  // all steps of the plan are taken
  void step();        // one whole step of the method

  // By hand, in this order.
  using Step::sample;
  using Step::update;
  Lot sample(const LotOptions& options) override;
  ClippedSum clipped_sum(const Lot& lot) override;
  ClippedSum clipped_sum(const Lot& lot, const Query& query) override;
  Release release(ClippedSum sum) override;
  void update(const Release& release, double lr_factor) override;
  // Instead of update(), for an optimiser of torch's: every parameter's .grad becomes its part of the release over the expected lot.
  void set_gradients(const Release& release);

  double expected_lot() const override;
  std::span<const float> parameters() const override;
  void set_parameters(std::span<const float> values) override;

  double clip_norm() const;  // now: adaptive clipping moves it, by releases only

  // f() with the averaged parameters in the model, if the plan asks for an average; then the present ones are back.
  template <class F>
  auto at_average(F&& f) {
    return at_point(average(), std::forward<F>(f));
  }

  const Plan& plan() const;
  const Events& events() const;  // charged so far
  double epsilon() const;        // spent so far, at the plan's delta
  std::string statement() const;

  // Everything that a run of the same plan needs to go on from here: parameters, optimiser, memory, average, position of the sampler,
  // ledger. No key of randomness, and of a private run nothing that is as secret as the data.
  State state() const;
  // Before the first step only (PrivacyError after): repeated steps would draw the same noise on other sums. The key stays this run's own,
  // which is fresh unless the seed is insecure. InputError for a state of another plan.
  void load_state(const State& state);

  // Norms of the parts of the last release (paper B.3) and un-noised views of its lot, if the plan's options ask for them: not private.
  struct InsecureDiagnostics {
    double train_loss = 0, clip_fraction = 0, mean_norm = 0, largest_norm = 0;
    std::optional<Mechanism::InsecureParts> parts;  // of mechanisms that tell them
  };
  InsecureDiagnostics insecure_diagnostics() const;

 protected:
  void move_to(std::span<const float> point) override;
  void move_back() override;

 private:
  std::vector<float> average() const;  // empty if there is none

  struct Run;
  std::unique_ptr<Run> run_;
};

}  // namespace fodp
