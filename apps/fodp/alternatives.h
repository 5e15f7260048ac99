// Options of a training that say the same thing in different ways. Whoever gives one means the other one not to count.
#pragma once

#include <array>
#include <string_view>
#include <utility>

namespace fodp::app {

inline constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kAlternatives = {
    {{"epsilon", "noise-multiplier"}, {"sample-rate", "lot"}, {"steps", "epochs"}, {"init", "init-seed"}, {"init-public", "init-seed"}}};

}  // namespace fodp::app
