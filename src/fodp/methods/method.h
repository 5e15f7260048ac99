// A training method: in which order a step uses the four verbs, and at which point. Which mechanism releases, what filters the releases and
// which rule updates are stages of the run (training/options.h): a method names those it is known for, and any other may be asked for. The
// table in table.cpp lists the methods, once.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "fodp/accounting/event.h"
#include "fodp/mechanism/release_options.h"
#include "fodp/methods/own_options.h"
#include "fodp/methods/step.h"
#include "fodp/update/filter.h"
#include "fodp/update/update.h"

namespace fodp {

// What a method is told before a run: public constants only.
struct MethodContext {
  std::int64_t train_examples = 1, steps = 1, steps_per_epoch = 1;
  double sample_rate = 1, expected_lot = 1, clip_norm = 1;
  double noise_multiplier = 0;  // sigma
  SharpnessOptions sharpness;
  KalmanOptions kalman;
  AnnealingOptions annealing;
  ImportanceOptions importance;
};

class Method {
 public:
  virtual ~Method() = default;
  virtual void step(Step& s) = 0;

  // The rate that its sums are charged at, where that is not the run's.
  virtual double charged_rate(double sample_rate) const { return sample_rate; }
  // What a run costs besides its sums.
  virtual Events more_events() const { return {}; }
};

// Sample, clip, release, update: the step of every method that differs from DP-SGD in its stages only.
std::unique_ptr<Method> make_plain_step(const MethodContext& context);

struct MethodEntry {
  struct Default {
    std::string_view option, value;
  };

  std::string_view name;
  std::string_view summary;
  std::string_view formula;           // a step, in the notation of docs/notation.md
  std::string_view event;             // what a step costs
  std::int64_t queries_per_step = 1;  // of the training data
  std::int64_t sums_per_step = 1;     // those of them that are gradient sums
  ReleaseKind release = ReleaseKind::gaussian;
  FilterKind filter = FilterKind::none;
  UpdateKind update = UpdateKind::sgd;
  OwnOptions own = OwnOptions::none;
  std::array<Default, 6> defaults = {};  // where they are not those of every run; lr always
  bool own_sampling = false;             // draws lots of its own: takes no cyclic sampling and no varying rate
  bool needs_adaptive_clipping = false;
  std::string_view source;
  std::string_view reading;  // what the source leaves open, and how it is read here; empty if nothing
  std::string_view alias = {}, alias_reason = {};
  std::unique_ptr<Method> (*make)(const MethodContext&) = make_plain_step;

  std::string_view standard(std::string_view option) const;  // empty if it is that of every run
};

std::span<const MethodEntry> method_table();
const MethodEntry& find_method(std::string_view name);  // or alias; InputError with the nearest name

}  // namespace fodp
