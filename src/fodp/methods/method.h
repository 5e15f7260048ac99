// A training method: which mechanism it releases through, which rule updates, and in which order a step uses the four verbs. The table in
// table.cpp lists them all, once.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "fodp/mechanism/kernel.h"
#include "fodp/methods/step.h"
#include "fodp/update/update.h"

namespace fodp {

// What a method is told before a run: public constants only.
struct MethodContext {
  double noise_multiplier;  // sigma
  double clip_norm;
  std::int64_t parameters;
  FractionalOptions memory;
};

class Method {
 public:
  virtual ~Method() = default;
  virtual std::unique_ptr<Mechanism> make_mechanism(const MethodContext& context) const = 0;
  virtual std::unique_ptr<Update> make_update() const;  // plain descent unless a method says otherwise
  virtual void step(Step& s) = 0;
};

struct MethodEntry {
  std::string_view name;
  std::string_view summary;
  std::string_view formula;       // a step, in the notation of docs/notation.md
  std::string_view event;         // what a step costs
  std::int64_t queries_per_step;  // of the training data
  bool uses_memory;               // takes the options of the fractional mechanism
  double default_lr;
  std::string_view source;
  std::unique_ptr<Method> (*make)();
};

std::span<const MethodEntry> method_table();
const MethodEntry& find_method(std::string_view name);  // InputError with the nearest name

// Each method's file defines its line of the table.
extern const MethodEntry kDpSgd;
extern const MethodEntry kFoDpSgd;

}  // namespace fodp
