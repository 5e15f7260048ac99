#include "fodp/base/check.h"
#include "fodp/methods/method.h"

namespace fodp {

// Every method, in the order of the lists people see: one line each.
#define FODP_METHODS(M) \
  M(kFoDpSgd)           \
  M(kDpSgd)             \
  M(kPostFmDpSgd)       \
  M(kSmaDpSgd)          \
  M(kMomentum)          \
  M(kDpAdam)            \
  M(kDpAdamBc)          \
  M(kDpAdamW)           \
  M(kAdpAdamW)          \
  M(kDpSat)             \
  M(kDpSam)             \
  M(kAnnealedDpSgd)     \
  M(kDpIs)              \
  M(kDpAdamAc)          \
  M(kDoppler)           \
  M(kDisk)              \
  M(kBandMf)

#define FODP_DECLARE(entry) extern const MethodEntry entry;
FODP_METHODS(FODP_DECLARE)

std::span<const MethodEntry> method_table() {
#define FODP_LIST(entry) entry,
  static const MethodEntry table[] = {FODP_METHODS(FODP_LIST)};
  return table;
}

const MethodEntry& find_method(std::string_view name) {
  std::vector<std::string_view> known;
  for (const MethodEntry& entry : method_table()) {
    if (entry.name == name || (!name.empty() && entry.alias == name)) return entry;
    known.push_back(entry.name);
    if (!entry.alias.empty()) known.push_back(entry.alias);
  }
  throw InputError(fmt::format("method '{}' is not known: {}", name, suggestion(name, known)));
}

std::string_view MethodEntry::standard(std::string_view option) const {
  for (const Default& entry : defaults)
    if (entry.option == option) return entry.value;
  return {};
}

}  // namespace fodp
