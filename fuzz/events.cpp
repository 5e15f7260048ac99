// The events of a run: a list of steps, or the summary of a training. What was read is written and read again.
#include "fodp/accounting/events_json.h"
#include "fodp/accounting/run_file.h"
#include "target.h"

FODP_FUZZ_TARGET(events) {
  const RunFile run = read_run_file(file_with("events.json", bytes).string(), "events");
  require(total_count(run.events) > 0, "a run has steps");
  const Events again = events_from_json(nlohmann::json::parse(events_to_json(run.events).dump()), "AGAIN");
  require(total_count(again) == total_count(run.events), "as many steps come back");
}
