#include "fodp/stages/option_set.h"

#include <algorithm>

namespace fodp {

bool OptionPart::has(std::string_view field) const {
  return std::ranges::any_of(fields, [&](const OptionField& own) { return own.name == field; });
}

OptionSet::OptionSet(const OptionSet& other) {
  for (const auto& [part, options] : other.parts_) parts_.emplace(part, part->copy(options.get()));
}

OptionSet& OptionSet::operator=(const OptionSet& other) {
  parts_ = std::move(OptionSet(other).parts_);
  return *this;
}

void* OptionSet::edit(const OptionPart& part) {
  std::shared_ptr<void>& options = parts_[&part];
  if (!options) options = part.copy(part.defaults.get());
  return options.get();
}

const void* OptionSet::look(const OptionPart& part) const {
  const auto found = parts_.find(&part);
  return found == parts_.end() ? part.defaults.get() : found->second.get();
}

}  // namespace fodp
