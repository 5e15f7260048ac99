// Everything a run can be told, each option once. The command line, config files, help and config.json follow from the field lists.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "fodp/accounting/accountant.h"
#include "fodp/base/fields.h"
#include "fodp/data/dataset.h"
#include "fodp/gradients/clip.h"
#include "fodp/mechanism/kernel.h"
#include "fodp/models/model.h"
#include "fodp/update/update.h"

namespace fodp {

struct PrivacyOptions {
  std::optional<double> epsilon;
  std::optional<double> noise_multiplier;
  double delta = 1e-5;
  std::optional<double> sample_rate;
  std::optional<double> lot;
  std::optional<std::int64_t> steps;
  std::optional<double> epochs;
  AccountantKind accountant = AccountantKind::pld;

  static auto fields() {
    using Self = PrivacyOptions;
    return std::tuple{
        field("epsilon", &Self::epsilon, "the budget: the noise is calibrated to it for the planned steps, and it is never exceeded",
              above(0), "3, unless --noise-multiplier is given"),
        field("noise-multiplier", &Self::noise_multiplier,
              "sigma: noise over the clip norm, instead of --epsilon; 0 trains without privacy", between(0, 1e6)),
        field("delta", &Self::delta, "chance that the guarantee fails; well below 1/examples", strictly_between(0, 1)),
        field("sample-rate", &Self::sample_rate, "q: the chance of each example to be in a step's lot", above_up_to(0, 1), ".0171"),
        field("lot", &Self::lot, "expected examples per step, instead of --sample-rate", above(0)),
        field("steps", &Self::steps, "T: how many steps to train", between(1, 1e9), "585"),
        field("epochs", &Self::epochs, "instead of --steps: one epoch is round(1/q) steps", between(0, 1e9)),
        field("accountant", &Self::accountant, "pld: privacy loss distributions, tight; rdp: Renyi, an upper bound"),
    };
  }
};

struct RunOptions {
  std::string method = "fo-dp-sgd";
  std::optional<std::string> init;
  std::optional<std::int64_t> init_seed;
  std::optional<std::string> save;
  std::optional<std::string> out;
  std::optional<std::int64_t> eval_every;
  bool dry_run = false;
  std::optional<std::int64_t> insecure_seed;
  bool insecure_diagnostics = false;

  static auto fields() {
    using Self = RunOptions;
    return std::tuple{
        field("method", &Self::method, "how to train: see fodp methods"),
        field("init", &Self::init, "start from these parameters: a .pt or .safetensors state dict"),
        field("init-seed", &Self::init_seed, "start from PyTorch's initial values under this seed", between(0, 9007199254740992.0),
              "drawn"),
        field("save", &Self::save, "write the trained parameters here: .pt or .safetensors"),
        field("out", &Self::out, "the run directory: config.json, metrics.jsonl, summary.json, model.pt"),
        field("eval-every", &Self::eval_every, "steps between evaluations on the test set", between(1, 1e9), "an epoch"),
        field("dry-run", &Self::dry_run, "print the plan and its cost; touch no data"),
        field("insecure-seed", &Self::insecure_seed, "repeatable noise and sampling: NOT PRIVATE, for tests and research",
              between(0, 9007199254740992.0)),
        field("insecure-diagnostics", &Self::insecure_diagnostics,
              "report un-noised views of the training data (loss, clip fraction, norms, parts of the release): NOT PRIVATE"),
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

struct TrainOptions {
  RunOptions run;
  DataOptions data;
  ModelOptions model;
  PrivacyOptions privacy;
  ClipOptions clip;
  UpdateOptions update;
  FractionalOptions memory;
  SpeedOptions speed;

  // f(heading, part) for each part, in the order of the help.
  template <class Self, class F>
  static void for_each_part(Self& self, F&& f) {
    f("What to train", self.run);
    f("Data", self.data);
    f("Model", self.model);
    f("Privacy", self.privacy);
    f("Clipping", self.clip);
    f("Update", self.update);
    f("Memory (fo-dp-sgd)", self.memory);
    f("Speed", self.speed);
  }
};

// The same for a model and data of one's own, in C++ (private_steps.h).
struct PrivateOptions {
  std::string method = "fo-dp-sgd";
  PrivacyOptions privacy;
  ClipOptions clip;
  UpdateOptions update;
  FractionalOptions memory;
  SpeedOptions speed;
  std::optional<std::int64_t> insecure_seed;  // repeatable noise and sampling: not private
  std::string data = "the training data";     // what the privacy statement calls it

  TrainOptions as_train_options() const;
};

nlohmann::ordered_json to_json(const TrainOptions& options);

}  // namespace fodp
