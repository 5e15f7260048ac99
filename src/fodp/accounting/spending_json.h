// What a run and those before it cost, as it stands in summary.json, in model.json and in model files:
//   run         the identity of the run
//   insecure    why it was not private (a list)
//   unit        whom it is private for: "row", or the column that says whose row it is
//   earlier     what was spent before it, a list of {"run", "events"}; left out where there is nothing
//   own_events  what the run itself cost; left out where nothing was spent before it, since the total says it then
// The total, earlier runs included, stands under a name of the file's own: "event" in summary.json, "events" in model.json.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "fodp/accounting/spending.h"

namespace fodp {

// Adds these fields but the total.
void add_spending(nlohmann::ordered_json& out, const std::vector<Spending>& earlier, const Spending& own);

// The run and those before it. `total` names the field that has all events. A file of before runs had identities gives one entry without.
// InputError, which begins with `where` and names the field, for what is missing or not as above.
std::vector<Spending> spending_from_json(const nlohmann::json& object, const std::string& total, const std::string& where);

}  // namespace fodp
