// Texts that are UTF-8, as JSON and TOML need them.
#pragma once

#include <string_view>

namespace fodp {

bool is_utf8(std::string_view text);

}  // namespace fodp
