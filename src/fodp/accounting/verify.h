// Checks of a run directory from its files alone, by anybody: what the ledger says was spent is computed anew and compared with what the
// summary and the statement claim, and the model is compared with its recorded hash.
//
// This finds damage, files of different runs put together, and claims that do not follow from the events. It does not show that whoever
// wrote the files told the truth: all of them together can be forged.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace fodp {

struct Verification {
  std::optional<double> epsilon, delta;   // computed anew from the ledger; none if that cannot be read
  std::optional<double> claimed_epsilon;  // of summary.json; none where the run has not ended
  std::int64_t events = 0;                // how many the guarantee composes
  std::optional<bool> model_matches;      // none where the run has no model yet
  std::vector<std::string> problems;      // in plain words; none if all is well

  bool valid() const { return problems.empty(); }
};

// InputError if this is not the directory of a run.
Verification verify_run(const std::filesystem::path& directory);

}  // namespace fodp
