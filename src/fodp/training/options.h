// Everything a run can be told, each option once. The command line, config files, help and config.json follow from the field lists.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fodp/accounting/accountant.h"
#include "fodp/accounting/run_choice.h"
#include "fodp/accounting/spending.h"
#include "fodp/base/fields.h"
#include "fodp/base/file_names.h"
#include "fodp/data/dataset.h"
#include "fodp/gradients/clip.h"
#include "fodp/gradients/clip_rule.h"
#include "fodp/mechanism/release_table.h"
#include "fodp/methods/method.h"
#include "fodp/models/model.h"
#include "fodp/stages/option_set.h"
#include "fodp/training/class_weights.h"
#include "fodp/update/averaging.h"
#include "fodp/update/filter.h"
#include "fodp/update/update_rule.h"

namespace fodp {

struct PrivacyOptions {
  std::optional<double> epsilon;
  std::optional<Schedule> noise_multiplier;
  std::optional<double> delta;
  std::optional<Schedule> sample_rate;
  std::optional<double> lot;
  std::optional<std::int64_t> steps;
  std::optional<double> epochs;
  AccountantKind accountant = AccountantKind::pld;

  static constexpr double kUsualEpsilon = 3;

  static auto fields() {
    using Self = PrivacyOptions;
    return std::tuple{
        field("epsilon", &Self::epsilon, "the budget: the noise is calibrated to it for the planned steps, and it is never exceeded",
              above(0), number_text(kUsualEpsilon) + ", unless `noise-multiplier` is given"),
        field("noise-multiplier", &Self::noise_multiplier,
              "sigma: noise over the clip norm, instead of `epsilon`; 0 trains without privacy. 1.2:.8 goes linearly over the steps, "
              "1.2,1,.8 in equal parts",
              between(0, 1e6)),
        field("delta", &Self::delta, "chance that the guarantee fails; well below 1/examples", strictly_between(0, 1),
              "the largest power of ten at most 1/(10 x examples)"),
        field("sample-rate", &Self::sample_rate, "q: the chance of each example to be in a step's lot; .01:.03 and .01,.02,.03 as above",
              above_up_to(0, 1), "0.0171, more for fewer than 60000 examples (fodp plan)"),
        field("lot", &Self::lot, "expected examples per step, instead of `sample-rate`", above(0)),
        field("steps", &Self::steps, "T: how many steps to train", between(1, 1e9), number_text(kPlannedSteps) + " (fodp plan)"),
        field("epochs", &Self::epochs, "instead of `steps`: one epoch is round(1/q) steps", between(0, 1e9)),
        field("accountant", &Self::accountant, "pld: privacy loss distributions, tight; rdp: Renyi, an upper bound"),
    };
  }
};

// What a method is put together from, by the names of the stages' tables; each method has its own choice, and takes any other.
struct StageOptions {
  std::optional<std::string> clipping, release, filter, update, averaging;

  static auto fields() {
    using Self = StageOptions;
    return std::tuple{
        field("clipping", &Self::clipping, "how each example's gradient is bounded: " + entry_list(clipping_table()), {}, "the method's"),
        field("release", &Self::release, "what is released: " + entry_list(release_table()), {}, "the method's"),
        field("filter", &Self::filter, "what releases pass before the update: " + entry_list(filter_table()), {}, "the method's"),
        field("update", &Self::update, "the rule that moves the parameters: " + entry_list(update_table()), {}, "the method's"),
        field("averaging", &Self::averaging, "what is evaluated and saved: " + entry_list(averaging_table()), {}, "the method's"),
    };
  }
};

// Options that change speed and memory, and results by float rounding only.
struct SpeedOptions {
  std::int64_t physical_batch = 128;
  std::optional<std::int64_t> threads;

  static auto fields() {
    return std::tuple{
        field("physical-batch", &SpeedOptions::physical_batch, "the most rows at once: less memory when small", between(1, 128)),
        field("threads", &SpeedOptions::threads, "worker threads", between(1, 1024), "the cores this process may use, at most 8"),
    };
  }
};

// How to train a model privately: what PrivateSteps (private_steps.h) takes.
//
//   PrivateOptions options{.method = "dp-sat", .privacy = {.epsilon = 3, .sample_rate = .01, .steps = 500}};
//   options.stages.release = "fractional";
//   options.own.of<FractionalOptions>().beta = .9;       // the options of a stage or method, by type
//   options.set("rho", ".05");                           // or by name, as on the command line
struct PrivateOptions {
  std::string method{method_table().front()->name};
  PrivacyOptions privacy;
  StageOptions stages;
  ClipOptions clip;
  UpdateOptions update;
  OptionSet own;
  SpeedOptions speed;
  std::optional<std::int64_t> insecure_seed;    // repeatable noise and sampling: not private
  bool insecure_diagnostics = false;            // un-noised views of the training data: not private
  std::string data_name = "the training data";  // what the privacy statement calls it
  // What earlier runs on the same rows have cost, such as the one whose parameters this one starts from (model_file.h,
  // accounting/run_file.h): it counts against the budget, and the guarantee is for all together.
  std::vector<Spending> spent = {};

  // InputError for a name that is none, or a text that is not allowed.
  void set(std::string_view option, std::string_view text);

  static auto fields() {
    using Self = PrivateOptions;
    return std::tuple{
        field("method", &Self::method, "how to train: see fodp methods"),
        field("insecure-seed", &Self::insecure_seed, "repeatable noise and sampling: NOT PRIVATE, for tests and research",
              between(0, 9007199254740992.0)),
        field("insecure-diagnostics", &Self::insecure_diagnostics,
              "report un-noised views of the training data (loss, clip fraction, norms, parts of the release): NOT PRIVATE"),
    };
  }
};

struct RunOptions {
  std::optional<std::string> init;
  bool init_public = false;
  FileNames spent;
  std::optional<std::int64_t> init_seed;
  ClassWeights class_weights;
  std::optional<std::string> save;
  std::optional<std::string> export_to;
  std::optional<std::string> out;
  std::optional<std::string> resume;
  std::optional<std::int64_t> checkpoint_every;
  std::optional<std::int64_t> eval_every;
  bool dry_run = false;

  static auto fields() {
    using Self = RunOptions;
    return std::tuple{
        field("init", &Self::init,
              "start from these parameters: a .pt or .safetensors state dict; what a file of fodp's says that they cost is spent first"),
        field("init-public", &Self::init_public,
              "declare that the parameters of `init` owe nothing to the training rows: they cost nothing"),
        field("spent", &Self::spent,
              "what an earlier run on the same rows cost is spent first, and `epsilon` is the budget of all together: a summary.json, a "
              "list of "
              "events or a run directory; may be repeated"),
        field("init-seed", &Self::init_seed, "start from PyTorch's initial values under this seed", between(0, 9007199254740992.0),
              "drawn"),
        field("class-weights", &Self::class_weights,
              "multiply the loss of each example by the weight of its class: a number for each class, in the order of the classes, as 1,5; "
              "state them without looking at the training examples, whose counts are private",
              {}, "1 for each"),
        field("save", &Self::save, "write the trained parameters here: .pt or .safetensors"),
        field("export", &Self::export_to,
              "write the trained model here as TorchScript (.ts), with what it does to raw inputs: Python's torch.jit.load runs it without "
              "fodp (docs/models.md)"),
        field("out", &Self::out,
              "the run directory: config.json, metrics.jsonl, summary.json, statement.txt, model.json, model.pt, ledger, checkpoint; it is "
              "made "
              "for you alone, and one that is there already keeps its permissions"),
        field("resume", &Self::resume,
              "go on with the interrupted run in this directory, and with no other option but `threads`, "
              "`physical-batch`, `quiet` and `json`"),
        field("checkpoint-every", &Self::checkpoint_every, "steps between two savings of the run in `out`", between(1, 1e9),
              "about a minute"),
        field("eval-every", &Self::eval_every, "steps between evaluations on the test set", between(1, 1e9), "an epoch"),
        field("dry-run", &Self::dry_run, "print the plan and its cost; read no row of the data"),
    };
  }
};

// A run of the command line: the same on named data and a named model.
struct TrainOptions : PrivateOptions {
  RunOptions run;
  DataOptions data;
  ModelOptions model;
};

// An options struct of a run, without its type, under the heading that help gives it.
struct OptionView {
  std::string heading;
  const OptionPart* part;
  void* options;
};

// Every options struct of a run, in the order of the help.
std::vector<OptionView> parts_of(PrivateOptions& options);
std::vector<OptionView> parts_of(TrainOptions& options);

}  // namespace fodp
