// Options and numbers as JSON. Apart from fields.h so that only what writes JSON compiles the JSON library.
#pragma once

#include <nlohmann/json.hpp>

#include "fodp/base/fields.h"

namespace fodp {

// A double as JSON: infinite values are the string "inf" or "-inf", NaN is null.
nlohmann::ordered_json json_number(double value);
nlohmann::ordered_json json_value(const FieldValue& value);

template <class T>
nlohmann::ordered_json json_of(const T& value) {
  return json_value(FieldText<T>::value(value));
}

}  // namespace fodp
