#include "fodp/base/check.h"
#include "fodp/methods/method.h"

namespace fodp {

std::span<const MethodEntry> method_table() {
  static const MethodEntry table[] = {kFoDpSgd, kDpSgd, kPostFmDpSgd,   kSmaDpSgd, kMomentum, kDpAdam,  kDpAdamBc, kDpAdamW, kAdpAdamW,
                                      kDpSat,   kDpSam, kAnnealedDpSgd, kDpIs,     kDpAdamAc, kDoppler, kDisk,     kBandMf};
  return table;
}

const MethodEntry& find_method(std::string_view name) {
  std::vector<std::string_view> known;
  for (const MethodEntry& entry : method_table()) {
    if (entry.name == name || (!name.empty() && entry.alias == name)) return entry;
    known.push_back(entry.name);
  }
  throw InputError(fmt::format("--method: '{}' is not known: {}", name, suggestion(name, known)));
}

std::string_view MethodEntry::standard(std::string_view option) const {
  for (const Default& entry : defaults)
    if (entry.option == option) return entry.value;
  return {};
}

}  // namespace fodp
