// Events as JSON, as they stand in a run's summary and wherever else what was spent is written down: a list of
//   {"kind", "sample_rate", "effective_noise_multiplier", "count", "slack"}
// with sampled events first. Written and read back they are the same to the last bit, up to that order, so that an accountant says the same
// of them. An infinite noise multiplier is the string "inf".
//
// Where a schedule makes 32 or more steps unlike, one entry stands for all of them: `count` is their number, and a number that changes is
// {"first", "last", "weight"}, as in ramp.h (`weight` is left out where it is 1). Read back, these are the same to a trillionth.
#pragma once

#include <string_view>

#include <nlohmann/json.hpp>

#include "fodp/accounting/event.h"

namespace fodp {

nlohmann::ordered_json events_to_json(const Events& events);

// `slack` may be left out and is 0 then. InputError, which begins with `where` and names entry (from 1) and field, for anything else that
// is missing, not known or out of range.
Events events_from_json(const nlohmann::json& list, std::string_view where);

}  // namespace fodp
