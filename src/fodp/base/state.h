// What a stateful part of a run carries from one step to the next. A part lists it once,
//
//   void state(StateVisitor& visit) {
//     visit("steps", steps_);
//     visit.part("memory", memory_);
//   }
//
// and saving, loading and comparing follow from that list. Keys of random streams are never part of it. What is as secret as the training
// data (the noise history of correlated noise) is listed only where `visit.insecure()` says that the run is not private anyway.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "fodp/base/check.h"

namespace fodp {

using StateValue = std::variant<bool, std::int64_t, std::uint64_t, double, std::vector<float>, std::vector<double>, std::string>;
using State = std::map<std::string, StateValue, std::less<>>;  // by the path of the part: "mechanism.memory.ring"

class StateVisitor {
 public:
  // A visitor that saves into an empty state.
  static StateVisitor saving(State& to, bool insecure) { return StateVisitor(&to, nullptr, insecure); }
  // A visitor that gives back what a state holds.
  static StateVisitor loading(const State& from, bool insecure) { return StateVisitor(nullptr, &from, insecure); }

  bool loads() const { return from_ != nullptr; }
  bool insecure() const { return insecure_; }

  // Saves the value, or replaces it by the saved one. InputError, naming it, for one that was not saved or is of another type.
  template <class T>
  void operator()(std::string_view name, T& value) {
    const std::string path = path_ + std::string(name);
    if (to_) check_input(to_->emplace(path, value).second, "state: '{}' is listed twice", path);
    if (from_) value = std::get<T>(saved(path, StateValue(T()).index()));
  }
  // The same for values whose number is fixed.
  void operator()(std::string_view name, std::span<float> values);
  void operator()(std::string_view name, std::vector<std::vector<double>>& rows);

  template <class Part>
  void part(std::string_view name, Part& part) {
    const std::size_t outer = path_.size();
    path_ += std::string(name) + ".";
    part.state(*this);
    path_.resize(outer);
  }

  // InputError, naming one, if the state holds values that no part asked for.
  void check_all_taken() const;

 private:
  StateVisitor(State* to, const State* from, bool insecure) : to_(to), from_(from), insecure_(insecure) {}
  const StateValue& saved(const std::string& path, std::size_t type);

  State* to_;
  const State* from_;
  bool insecure_;
  std::size_t taken_ = 0;
  std::string path_;
};

}  // namespace fodp
