#include "fodp/base/fields_json.h"

namespace fodp {

nlohmann::ordered_json json_number(double value) {
  if (std::isnan(value)) return nullptr;
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

nlohmann::ordered_json json_value(const FieldValue& value) {
  return std::visit(
      [](const auto& held) -> nlohmann::ordered_json {
        using Held = std::remove_cvref_t<decltype(held)>;
        if constexpr (std::same_as<Held, std::monostate>)
          return nullptr;
        else if constexpr (std::same_as<Held, double>)
          return json_number(held);
        else
          return held;
      },
      value);
}

}  // namespace fodp
