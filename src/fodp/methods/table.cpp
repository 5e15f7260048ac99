#include "fodp/base/check.h"
#include "fodp/methods/method.h"
#include "fodp/update/sgd.h"

namespace fodp {

std::span<const MethodEntry> method_table() {
  static const MethodEntry table[] = {kFoDpSgd, kDpSgd};
  return table;
}

const MethodEntry& find_method(std::string_view name) {
  std::vector<std::string_view> known;
  for (const MethodEntry& entry : method_table()) {
    if (entry.name == name) return entry;
    known.push_back(entry.name);
  }
  throw InputError(fmt::format("--method: '{}' is not known: {}", name, suggestion(name, known)));
}

std::unique_ptr<Update> Method::make_update() const { return std::make_unique<Sgd>(); }

}  // namespace fodp
