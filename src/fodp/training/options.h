// Everything a run can be told, each option once. The command line, config files, help and config.json follow from the field lists.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "fodp/accounting/accountant.h"
#include "fodp/base/fields.h"
#include "fodp/data/dataset.h"
#include "fodp/gradients/adaptive_clip.h"
#include "fodp/gradients/clip.h"
#include "fodp/mechanism/kernel.h"
#include "fodp/mechanism/release_options.h"
#include "fodp/methods/own_options.h"
#include "fodp/models/model.h"
#include "fodp/update/averaging.h"
#include "fodp/update/filter.h"
#include "fodp/update/update.h"

namespace fodp {

struct PrivacyOptions {
  std::optional<double> epsilon;
  std::optional<Schedule> noise_multiplier;
  double delta = 1e-5;
  std::optional<Schedule> sample_rate;
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
              "sigma: noise over the clip norm, instead of --epsilon; 0 trains without privacy. 1.2:.8 goes linearly over the steps, "
              "1.2,1,.8 in equal parts",
              between(0, 1e6)),
        field("delta", &Self::delta, "chance that the guarantee fails; well below 1/examples", strictly_between(0, 1)),
        field("sample-rate", &Self::sample_rate, "q: the chance of each example to be in a step's lot; .01:.03 and .01,.02,.03 as above",
              above_up_to(0, 1), ".0171"),
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

// What a method is put together from; each method has its own choice, and takes any other.
struct StageOptions {
  std::optional<ReleaseKind> release;
  std::optional<FilterKind> filter;
  std::optional<UpdateKind> update;

  static auto fields() {
    using Self = StageOptions;
    return std::tuple{
        field("release", &Self::release,
              "what is released: gaussian, the noisy sum; fractional, fo-dp-sgd's memory; spectral, sma-dp-sgd's; banded, bandmf's noise",
              {}, "the method's"),
        field("filter", &Self::filter, "what releases pass before the update: none, low-pass (doppler), memory (post-fm), kalman (disk)",
              {}, "the method's"),
        field("update", &Self::update, "the rule that moves the parameters: sgd, momentum, adam, adambc or adamw", {}, "the method's"),
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

// The options of methods and their stages.
struct MethodOptions {
  StageOptions stages;
  ClipOptions clip;
  AdaptiveClipOptions adaptive;
  UpdateOptions update;
  MomentumOptions momentum;
  AdamOptions adam;
  LowPassOptions low_pass;
  KalmanOptions kalman;
  AveragingOptions averaging;
  FractionalOptions memory;
  SpectralOptions spectral;
  BandOptions bands;
  SharpnessOptions sharpness;
  AnnealingOptions annealing;
  ImportanceOptions importance;

  // f(heading, part) for each part, in the order of the help.
  template <class Self, class F>
  static void for_each_part(Self& self, F&& f) {
    f("Stages", self.stages);
    f("Clipping", self.clip);
    f("Clipping", self.adaptive);
    f("Update", self.update);
    f("Update: momentum", self.momentum);
    f("Update: adam, adambc, adamw", self.adam);
    f("Filter: low-pass (doppler)", self.low_pass);
    f("Filter: kalman (disk)", self.kalman);
    f("Averaging", self.averaging);
    f("Memory: release fractional or spectral, filter memory", self.memory);
    f("Memory: release spectral (sma-dp-sgd)", self.spectral);
    f("Correlated noise: release banded (bandmf)", self.bands);
    f("Sharpness (dp-sat, dp-sam)", self.sharpness);
    f("Acceptance (annealed-dp-sgd)", self.annealing);
    f("Importance (dp-is)", self.importance);
  }
};

// Which parts a run reads, once its stages are known.
struct Stages {
  ReleaseKind release;
  FilterKind filter;
  UpdateKind update;
  Clipping clipping;
  Averaging averaging;
  OwnOptions own;

  template <class Part>
  bool read(const Part&) const {
    return true;
  }
  bool read(const AdaptiveClipOptions&) const { return clipping == Clipping::adaptive; }
  bool read(const MomentumOptions&) const { return update == UpdateKind::momentum; }
  bool read(const AdamOptions&) const { return update == UpdateKind::adam || update == UpdateKind::adambc || update == UpdateKind::adamw; }
  bool read(const LowPassOptions&) const { return filter == FilterKind::low_pass; }
  bool read(const KalmanOptions&) const { return filter == FilterKind::kalman || own == OwnOptions::look_ahead; }
  bool read(const FractionalOptions&) const {
    return release == ReleaseKind::fractional || release == ReleaseKind::spectral || filter == FilterKind::memory;
  }
  bool read(const SpectralOptions&) const { return release == ReleaseKind::spectral; }
  bool read(const BandOptions&) const { return release == ReleaseKind::banded; }
  bool read(const SharpnessOptions&) const { return own == OwnOptions::sharpness; }
  bool read(const AnnealingOptions&) const { return own == OwnOptions::annealing; }
  bool read(const ImportanceOptions&) const { return own == OwnOptions::importance; }

  // Whether this option of a part is read: some parts serve several choices.
  template <class Part>
  bool read(const Part& part, std::string_view option) const {
    if (!read(part)) return false;
    if (option == "weight-decay") return update == UpdateKind::adamw;
    if (option == "adambc-floor") return update == UpdateKind::adambc;
    if (option == "adam-stability") return update != UpdateKind::adambc;
    if (option == "averaging-decay") return averaging == Averaging::ema;
    if (option == "averaging-power") return averaging == Averaging::polynomial;
    if constexpr (std::same_as<Part, FractionalOptions>) {
      if (option == "denoise") return release == ReleaseKind::fractional;
      const bool kernels = release == ReleaseKind::fractional || filter == FilterKind::memory;
      return kernels || option == "beta" || option == "alpha" || option == "window" || option == "gamma" || option == "stability";
    }
    return true;
  }
};

struct TrainOptions : MethodOptions {
  RunOptions run;
  DataOptions data;
  ModelOptions model;
  PrivacyOptions privacy;
  SpeedOptions speed;

  // f(heading, part) for each part, in the order of the help.
  template <class Self, class F>
  static void for_each_part(Self& self, F&& f) {
    f("What to train", self.run);
    f("Data", self.data);
    f("Model", self.model);
    f("Privacy", self.privacy);
    MethodOptions::for_each_part(self, f);
    f("Speed", self.speed);
  }
};

// The same for a model and data of one's own, in C++ (private_steps.h).
struct PrivateOptions {
  std::string method = "fo-dp-sgd";
  PrivacyOptions privacy;
  StageOptions stages;
  ClipOptions clip;
  AdaptiveClipOptions adaptive;
  UpdateOptions update;
  MomentumOptions momentum;
  AdamOptions adam;
  LowPassOptions low_pass;
  KalmanOptions kalman;
  AveragingOptions averaging;
  FractionalOptions memory;
  SpectralOptions spectral;
  BandOptions bands;
  SharpnessOptions sharpness;
  AnnealingOptions annealing;
  ImportanceOptions importance;
  SpeedOptions speed;
  std::optional<std::int64_t> insecure_seed;  // repeatable noise and sampling: not private
  std::string data = "the training data";     // what the privacy statement calls it

  TrainOptions as_train_options() const;
};

nlohmann::ordered_json to_json(const TrainOptions& options);

}  // namespace fodp
