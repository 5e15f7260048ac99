#include "fodp/stages/stage.h"

#include <algorithm>

namespace fodp {

bool Reads::reads(std::string_view field) const {
  return part->has(field) && (only.empty() || std::ranges::find(only, field) != only.end());
}

}  // namespace fodp
