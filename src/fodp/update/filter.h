// The stage "filter": makes one gradient of the releases so far, before the update rule sees it. Post-processing.
#pragma once

#include <optional>
#include <span>

#include "fodp/base/state.h"
#include "fodp/stages/stage.h"

namespace fodp {

class Filter {
 public:
  virtual ~Filter() = default;
  // The filtered sum after this one; valid until the next.
  virtual std::span<const float> apply(std::span<const float> sum) = 0;
  virtual void state(StateVisitor& /*visit*/) {}
};

struct FilterTraits {
  // The learning rate that suits plain descent through the filter, where that is not the update rule's own.
  std::optional<double> (*lr)(const OptionSet& options) = [](const OptionSet&) { return std::optional<double>(); };
};

using FilterEntry = StageEntry<Filter, FilterTraits>;

Table<FilterEntry> filter_table();

}  // namespace fodp
