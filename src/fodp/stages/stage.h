// A stage of a run (clipping, release, filter, update, averaging) is a table of entries that describe themselves. An entry stands in the
// file of what it makes; the table names it in one line; plan, command line, help, config files and results follow from the entry.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "fodp/base/check.h"
#include "fodp/base/fields.h"
#include "fodp/stages/context.h"

namespace fodp {

// An options struct that an entry reads: all of it, or only these fields.
struct Reads {
  const OptionPart* part;
  std::vector<std::string_view> only = {};

  bool reads(std::string_view field) const;
};

template <class Options>
Reads reads(std::vector<std::string_view> only = {}) {
  return {&option_part<Options>(), std::move(only)};
}

// What every entry has: `fill` sets options that were left open and follow from the run, `check` refuses (InputError) what does not go
// together, `make` makes the part. `check` is called before the noise is calibrated, with noise multiplier 0, and again after.
template <class Part, class Traits>
struct StageEntry {
  std::string_view name;
  std::string_view summary;
  std::vector<Reads> options = {};
  Traits traits = {};
  void (*fill)(OptionSet& options, const RunContext& context) = nullptr;
  void (*check)(const RunContext& context) = nullptr;
  std::unique_ptr<Part> (*make)(const RunContext& context) = nullptr;  // none: nothing is done in this stage
};

template <class Entry>
using Table = std::span<const Entry* const>;

// A table from a list LIST(M, Entry) of lines M(Entry, kName), each an entry that its own file defines.
#define FODP_DECLARE_ENTRY(Entry, entry) extern const Entry entry;
#define FODP_ENTRY_ADDRESS(Entry, entry) &(entry),
#define FODP_TABLE(function, Entry, LIST)                                    \
  LIST(FODP_DECLARE_ENTRY, Entry)                                            \
  Table<Entry> function() {                                                  \
    static const Entry* const entries[] = {LIST(FODP_ENTRY_ADDRESS, Entry)}; \
    return entries;                                                          \
  }

// InputError, with the nearest name, if the table has none of this one.
template <class Entry>
const Entry& find_entry(Table<Entry> table, std::string_view stage, std::string_view name) {
  std::vector<std::string_view> known;
  for (const Entry* entry : table) {
    if (entry->name == name) return *entry;
    known.push_back(entry->name);
  }
  throw InputError(fmt::format("`{}`: '{}' is not known: {}", stage, name, suggestion(name, known)));
}

// "name, summary" of every entry, for help.
template <class Entry>
std::string entry_list(Table<Entry> table) {
  std::string text;
  for (const Entry* entry : table)
    text += fmt::format("{}{}{}{}", text.empty() ? "" : "; ", entry->name, entry->summary.empty() ? "" : ", ", entry->summary);
  return text;
}

}  // namespace fodp
