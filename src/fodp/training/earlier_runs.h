// What the options of a run say of earlier runs on the same rows, and of the parameters that it starts from.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fodp/accounting/spending.h"
#include "fodp/training/options.h"

namespace fodp {

// What the parameters cost that a run starts from: nothing, as its user declares; what their file says; or nobody knows.
enum class StartCost { declared_public, spent, unknown };

template <>
struct EnumNames<StartCost> {
  static constexpr std::pair<std::string_view, StartCost> values[] = {
      {"public", StartCost::declared_public}, {"spent", StartCost::spent}, {"unknown", StartCost::unknown}};
};

struct StartedFrom {
  std::string file;
  StartCost cost;
};

struct EarlierRuns {
  std::vector<Spending> runs;               // each run once
  Events events;                            // of all of them, equal ones merged
  std::string names;                        // by which files they are known
  std::vector<std::string> insecure;        // why runs that start from these are not private
  std::optional<StartedFrom> started_from;  // nothing for fresh parameters
};

// Reads the files that the options name. InputError for one that cannot be read.
EarlierRuns earlier_runs(const TrainOptions& options);

// PrivacyError if one of them protects another unit: what a run cost each row does not tell what it cost a person with several rows, nor
// the other way round.
void check_same_unit(const EarlierRuns& earlier, const std::string& unit);

}  // namespace fodp
