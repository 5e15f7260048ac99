#include "fodp/features/feature_recipe.h"

#include <algorithm>

#include "fodp/base/check.h"

namespace fodp {
namespace {

constexpr const FeatureKind* kKinds[] = {&kPatchFeatures, &kExtractorFeatures};

}  // namespace

nlohmann::ordered_json FeatureRecipe::about() const {
  const FeatureFacts own = facts();
  return {{"recipe", own.recipe}, {"version", own.version}, {"size", own.size}, {"values", own.values}};
}

const FeatureKind& find_feature_kind(const std::string& features) {
  const auto found = std::ranges::find_if(kKinds, [&](const FeatureKind* kind) { return kind->is_meant(features); });
  check_input(found != std::end(kKinds), "`features`: '{}' is not known: {}; or give the file of an extractor, which ends in .ts or .pt",
              features, suggestion(features, {"none", kPatchFeatures.name}));
  return **found;
}

const FeatureKind& feature_kind_of(const TrainedFeatures& trained) {
  const nlohmann::json& recipe = trained.about.at("recipe");
  const auto found = std::ranges::find_if(
      kKinds, [&](const FeatureKind* kind) { return recipe == kind->name && trained.about.at("version") == kind->version; });
  std::string known;
  for (const FeatureKind* kind : kKinds) known += fmt::format("{}{}, version {}", known.empty() ? "" : ", and ", kind->name, kind->version);
  check_input(found != std::end(kKinds), "{}: the model takes features {}, version {}: this program computes {}", trained.where,
              recipe.dump(), trained.about.at("version").dump(), known);
  return **found;
}

}  // namespace fodp
