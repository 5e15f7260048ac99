#include "fodp/base/check.h"
#include "fodp/methods/method.h"

namespace fodp {

// Every method, in the order of the lists people see: one line each. The first is the program's default.
#define FODP_METHODS(M, Entry) \
  M(Entry, kFoDpSgd)           \
  M(Entry, kDpSgd)             \
  M(Entry, kPostFmDpSgd)       \
  M(Entry, kSmaDpSgd)          \
  M(Entry, kMomentum)          \
  M(Entry, kDpAdam)            \
  M(Entry, kDpAdamBc)          \
  M(Entry, kDpAdamW)           \
  M(Entry, kAdpAdamW)          \
  M(Entry, kDpSat)             \
  M(Entry, kDpSam)             \
  M(Entry, kAnnealedDpSgd)     \
  M(Entry, kDpIs)              \
  M(Entry, kDpAdamAc)          \
  M(Entry, kDoppler)           \
  M(Entry, kDisk)              \
  M(Entry, kBandMf)

FODP_TABLE(method_table, MethodEntry, FODP_METHODS)

const MethodEntry& find_method(std::string_view name) {
  std::vector<std::string_view> known;
  for (const MethodEntry* entry : method_table()) {
    if (entry->name == name || (!name.empty() && entry->alias == name)) return *entry;
    known.push_back(entry->name);
    if (!entry->alias.empty()) known.push_back(entry->alias);
  }
  throw InputError(fmt::format("method '{}' is not known: {}", name, suggestion(name, known)));
}

std::string_view MethodEntry::standard(std::string_view option) const {
  for (const Default& entry : defaults)
    if (entry.option == option) return entry.value;
  return {};
}

void check_rows_are_counted(const RunContext& context) {
  check_input(context.chosen.counts_rows,
              "`clipping` {}: {} steers by a noisy count of unclipped rows, which adaptive clipping releases; leave `clipping` to it",
              context.chosen.clipping, context.chosen.method);
}

}  // namespace fodp
