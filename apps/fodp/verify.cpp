// fodp verify: is what a run claims what its files say? No data, no LibTorch.
#include "fodp/accounting/verify.h"

#include <fmt/core.h>

#include "command.h"
#include "flags.h"
#include "fodp/base/fields_json.h"
#include "text.h"

namespace fodp::app {
namespace {

nlohmann::ordered_json or_null(const std::optional<double>& number) { return number ? json_number(*number) : nlohmann::ordered_json(); }

}  // namespace

int verify(const Words& words) {
  std::string run;
  Flags flags("verify",
              "Checks a run from its files alone: the ledger is intact, its events, composed anew, add up to the epsilon that the summary "
              "and the statement claim, and the model is the one that was recorded. Exit status 3 where not. It finds damage and claims "
              "that do not follow; it cannot show that whoever wrote the files told the truth.",
              "fodp verify runs/demo");
  flags.add_positional("RUN", "the run directory, as `fodp train --out` made it", run);
  if (!flags.parse(words)) return 0;
  check_input(!run.empty(), "give the run directory; for example: fodp verify runs/demo");

  const Verification found = verify_run(run);
  const int status = found.valid() ? 0 : 3;
  if (flags.json()) {
    nlohmann::ordered_json out;
    out["valid"] = found.valid();
    out["epsilon"] = or_null(found.epsilon);
    out["delta"] = or_null(found.delta);
    out["claimed_epsilon"] = or_null(found.claimed_epsilon);
    out["events"] = found.events;
    out["model_matches"] = found.model_matches ? nlohmann::ordered_json(*found.model_matches) : nlohmann::ordered_json();
    out["problems"] = found.problems;
    print_json(out);
    return status;
  }
  std::string text = fmt::format("{}: {}\n", run, found.valid() ? "valid" : "NOT VALID");
  for (const std::string& problem : found.problems) text += "  problem   " + problem + "\n";
  if (found.epsilon)
    text += fmt::format("  computed  epsilon {} at delta {}, from {} events of the ledger\n", upper_text(*found.epsilon),
                        number_text(*found.delta), found.events);
  text += found.claimed_epsilon ? fmt::format("  claimed   epsilon {}\n", upper_text(*found.claimed_epsilon))
                                : std::string("  claimed   nothing yet: the run has not ended\n");
  text += !found.model_matches   ? "  model     none yet\n"
          : *found.model_matches ? "  model     as recorded\n"
                                 : "  model     not as recorded\n";
  print_text(text);
  return status;
}

}  // namespace fodp::app
