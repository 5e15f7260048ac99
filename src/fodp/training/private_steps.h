// Private training of one's own model on one's own rows, step by step: the four verbs of methods/step.h, ready to use.
//
//   auto model = std::make_shared<Net>();                                      // of fodp::nn layers
//   fodp::PrivateSteps steps(*model,
//       [&](const at::Tensor& x, const at::Tensor& y) { return cross_entropy(model->forward(x), y); },   // one loss per row
//       {.count = n, .gather = [&](std::span<const std::int64_t> rows) { return Batch{...}; }},
//       {.privacy = {.epsilon = 3, .sample_rate = .01, .steps = 500}, .update = {.lr = .5}});
//   while (!steps.done()) steps.step();                                        // or sample, clipped_sum, release, update by hand
//   std::cout << steps.statement();
//
// The trainer (trainer.h) is this with named data, evaluation and records.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "fodp/accounting/ledger.h"
#include "fodp/base/state.h"
#include "fodp/gradients/clip.h"
#include "fodp/training/guarantee.h"
#include "fodp/training/plan.h"

namespace fodp {

// Training data: how many rows there are, and how to fetch some of them by number. The number of rows is public.
//
// What is fetched for a row must depend on that row alone, and all rows have one shape, which is public. Pad each row to a fixed length and
// cut what is longer; never pad to the longest row of a batch, nor standardise a batch, since one row would then change what all others
// give. Every batch is compared with the shapes and types of row 0, and some rows are fetched alone and together before training
// (gradients/row_format.h). A batch that differs is refused with a PrivacyError.
//
// A row that `gather`, the model or the loss throws for, such as one with a label out of range, contributes zero by itself, and nothing
// tells of it (gradients/row_by_row.h). Check what is public about the data, such as the range of labels, before training.
//
// A number is one record for the whole run. With correlated noise (BandMF) the guarantee rests on it: a record may take part only when its
// turn comes. The turn follows from what is fetched for the record, so that no other record's joining or leaving changes it; with
// random_rows from its number, so that a record that is taken out must leave its number empty. So do not shuffle, refill or replace the
// rows between steps. Such a run remembers a hash of 16 rows that lie
// evenly between the first and the last, unless random_rows is set, and sample() throws a PrivacyError at the beginning of a cycle if they
// are not what they were. Between two processes of a run, the fingerprint of the data that load() compares does the same.
struct TrainingRows {
  std::int64_t count;
  Gather gather;  // called from several threads at once, as the model's forward and the loss are (speed.threads = 1 avoids it)
  // Public rows of the same shapes, at least two that differ, for the check that rows do not mix (gradients/mixing.h). Made-up ones if
  // none.
  std::optional<Batch> sample = {};
  // Instead of `gather`, where what stands for a row is drawn anew for each lot, as one row of a unit is (data/row_views.h): the words are
  // of the run's secure stream. `gather` then gives any one choice.
  DrawnGather gather_drawn = {};
  // True if `gather` changes rows at random, as augmentation does. This declares that the random change of a row depends on no other row.
  // Rows alone and together are then compared by their shapes only, and PrivateSteps::run_warnings() says so.
  bool random_rows = false;
};

// It is used by one thread at a time; one thread after another is fine. A call that draws, charges, releases, changes or saves something,
// or that tells how far the run is or what it costs, is refused with a PrivacyError while another thread is inside such a call, before
// anything is drawn or charged. So `gather`, the model and the loss, which run in several threads, do not call it.
class PrivateSteps : public Step {
 public:
  // PrivacyError if the model cannot be trained privately, by name; also if made-up rows of the shape of row 0 mix (gradients/mixing.h), or
  // if what is fetched for a row depends on other rows (gradients/row_format.h).
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

  // Releases sums over test rows that are private, each of which one unit moves by at most its bound, with the noise of the plan's tests()
  // and at its cost. PrivacyError if the budget would be passed.
  std::vector<double> release_test_sums(std::span<const double> sums, std::span<const double> bounds);
  // Instead of update(), for an optimiser of torch's: every parameter's .grad becomes its part of the release over the expected lot.
  void set_gradients(const Release& release);

  double expected_lot() const override;
  std::span<const float> parameters() const override;
  void set_parameters(std::span<const float> values) override;

  double clip_norm() const;  // now: adaptive clipping moves it, by releases only

  // f() with the averaged parameters in the model, if the plan asks for an average; then the present ones are back.
  template <class F>
  auto at_average(F&& f) {
    const InUse in_use(*this);
    return at_point(average(), std::forward<F>(f));
  }

  const Plan& plan() const;
  // The identity of this run, 32 hexadecimal digits, by which files that tell its cost are known to speak of one run. A run that goes on
  // from a state has the identity of the run that the state is of.
  std::string name() const;
  const Events& events() const;  // charged so far, after what was spent before
  // What holds at the plan's delta whenever the loop is left, for whatever reason: the epsilon of the whole plan, or of what was charged
  // where that is more.
  double epsilon() const;
  // The epsilon of what was charged so far. It holds only if the number of steps does not depend on anything computed from the training
  // data, such as a test result of the model or a look at its parameters.
  double epsilon_if_stop_was_fixed() const;
  Guarantee guarantee() const;    // both of them, and what they are computed from
  std::string statement() const;  // has both, with the condition
  // What could not be checked about the rows of this run. The statement has it, too.
  const std::vector<std::string>& run_warnings() const;

  // A run that outlives its process. keep_ledger() writes every charge to this file before its release is made; whatever happens then, what
  // was spent is on record (accounting/ledger_file.h). A file that is there already is this run's own from before, and all that it has
  // charged counts as spent. InputError if it is of another plan or another process uses it, PrivacyError if it is damaged, BudgetError if
  // the budget is spent.
  void keep_ledger(const std::filesystem::path& file, const std::string& data_fingerprint = {});
  // Saves the run between two steps, whole or not at all, with `more` for the caller's own values. Keeps a ledger beside it, under the same
  // name with ".ledger", unless one is kept already: what is charged from here on is not lost with the process.
  void save(const std::filesystem::path& file, const State& more = {});
  // Goes on from there, before the first step of a new run of the same plan, model and data; returns the caller's own values. The ledger
  // must lie beside the file, or where `ledger` says. Randomness is fresh: steps that are done again because they came after the save are
  // charged again, and the run ends earlier where the budget does not allow that (step() throws BudgetError). With an insecure seed they
  // are the very same steps, and cost nothing.
  State load(const std::filesystem::path& file, const std::filesystem::path& ledger = {}, const std::string& data_fingerprint = {});
  std::int64_t charges_lost() const;  // what the ledger had charged, when this run went on from it, for steps that are done again

  // Everything that a run of the same plan needs to go on from here: parameters, optimiser, memory, average, position of the sampler,
  // ledger. No key of randomness, and of a private run nothing that is as secret as the data.
  State state() const;
  // For runs that are not private, before the first step only (PrivacyError else): the ledger in a state does not know what was released
  // after it was taken. Private runs use load(). InputError for a state of another plan.
  void load_state(const State& state);

  // From here on every release also carries the noised sum that it was made of (Release::noised_sum), which is as private as the release.
  void keep_noised_sums();

  // Norms of the parts of the last release (paper B.3) and un-noised views of its lot, if the plan's options ask for them: not private.
  struct InsecureDiagnostics {
    double train_loss = 0, clip_fraction = 0, mean_norm = 0, largest_norm = 0;
    std::optional<Mechanism::InsecureParts> parts;  // of mechanisms that tell them
  };
  InsecureDiagnostics insecure_diagnostics() const;

 protected:
  // Of correlated noise: the group of each row, which is as secret as the rows. Null where a row's group is its number.
  std::shared_ptr<const std::vector<std::uint16_t>> cycle_groups() const;
  void move_to(std::span<const float> point) override;
  void move_back() override;

 private:
  struct Run;

  // A call of one thread, which may hold calls of the same thread. PrivacyError if another thread is inside one.
  class InUse {
   public:
    explicit InUse(const PrivateSteps& steps);
    InUse(const InUse&) = delete;
    InUse& operator=(const InUse&) = delete;
    ~InUse();

   private:
    Run& run_;
  };

  std::vector<float> average() const;  // empty if there is none

  std::unique_ptr<Run> run_;
};

}  // namespace fodp
