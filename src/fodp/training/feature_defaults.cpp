#include "fodp/training/feature_defaults.h"

#include <algorithm>

#include "fodp/features/feature_data.h"

namespace fodp {
namespace {

struct Filling {
  std::string_view option, text;
  std::vector<std::string_view> unless;  // one of these was chosen, besides the option itself
};

std::vector<Filling> fillings() {
  const std::vector<std::string_view> moves = {"method", "update", "momentum-form"};
  return {{"sample-rate", "1", {"lot"}},
          {"steps", "60", {"epochs", "sample-rate", "lot"}},
          {"clip-norm", ".06", {"clipping"}},
          {"momentum-form", "heavy-ball", moves},
          {"method", "momentum", moves}};
}

}  // namespace

std::vector<std::string> fill_feature_defaults(TrainOptions& options, const std::function<bool(std::string_view)>& is_set) {
  std::vector<std::string> filled;
  if (!has_features(options.data) || options.model.model != ModelKind::linear) return filled;
  for (const auto& [option, text, unless] : fillings()) {
    if (is_set(option) || std::ranges::any_of(unless, is_set)) continue;
    options.set(option, text);
    filled.push_back(fmt::format("{} {}", option, text));
  }
  if (!is_set("eval-every") && !is_set("sample-rate") && !is_set("lot")) {
    options.run.eval_every = 10;  // an epoch is one step
    filled.push_back("eval-every 10");
  }
  return filled;
}

}  // namespace fodp
