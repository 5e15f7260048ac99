// A training method: in which order a step uses the four verbs, and at which point. Which mechanism releases, what filters the releases and
// which rule updates are stages of the run (stages/stage.h): a method names those it is known for, and any other may be asked for. The
// table in table.cpp lists the methods, once.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "fodp/accounting/event.h"
#include "fodp/base/state.h"
#include "fodp/methods/step.h"
#include "fodp/stages/stage.h"

namespace fodp {

class Method {
 public:
  virtual ~Method() = default;
  virtual void step(Step& s) = 0;

  // The rate that its sums are charged at, where that is not the run's.
  virtual double charged_rate(double sample_rate) const { return sample_rate; }
  // What a run costs besides its sums.
  virtual Events more_events() const { return {}; }

  // What it carries from one step to the next.
  virtual void state(StateVisitor& /*visit*/) {}
};

// Sample, clip, release, update: the step of every method that differs from DP-SGD in its stages only.
std::unique_ptr<Method> make_plain_step(const RunContext& context);

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
  // The stages it is made of; empty for the first of the stage's table.
  std::string_view release = {}, filter = {}, update = {}, clipping = {}, averaging = {};
  std::vector<Reads> options = {};
  std::vector<Default> defaults = {};  // as a user would type them, where they are not those of every run; lr always
  bool own_sampling = false;           // draws lots of its own: takes no cyclic sampling and no rate or noise that varies
  bool weighs_rows = false;            // rows count with a length of its own, not with that of their clipped gradients
  std::string_view other_noise = {};   // the option that makes its other query cheaper
  std::string_view source;
  std::string_view reading = {};  // what the source leaves open, and how it is read here; empty if nothing
  std::string_view alias = {}, alias_reason = {};
  void (*fill)(OptionSet& options, const RunContext& context) = nullptr;  // as in stages/stage.h
  void (*check)(const RunContext& context) = nullptr;
  std::unique_ptr<Method> (*make)(const RunContext& context) = make_plain_step;

  std::string_view standard(std::string_view option) const;  // its own default; empty if it is that of every run
};

Table<MethodEntry> method_table();
const MethodEntry& find_method(std::string_view name);  // or alias; InputError with the nearest name

// A check for methods that steer by the noisy count of unclipped rows.
void check_rows_are_counted(const RunContext& context);

}  // namespace fodp
