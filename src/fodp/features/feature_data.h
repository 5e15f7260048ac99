// Data whose images are replaced by features: what a run takes in place of describe_data and load_data (data/own_data.h), which these are
// where no features are asked for.
//
// The features of an image follow from that image and from what is public (feature_recipe.h). So a training on them protects the images
// as a training on the images would, and nothing is released or charged for them.
#pragma once

#include <string>

#include "fodp/features/feature_work.h"
#include "fodp/features/patch_features.h"

namespace fodp {

bool has_features(const DataOptions& options);

// What stands for the pixels of an image: a line of the privacy statement. Empty if nothing does.
std::string feature_statement(const DataOptions& options);

// Reads no row. InputError for features that there are none of, or that the data cannot have.
DataDescription describe_with_features(const DataOptions& options);
// Features that are not in the cache are computed and put there.
RunData load_with_features(const DataOptions& options, const FeatureWork& work);

// The same without a run, to have them in the cache.
struct FeatureReport {
  std::string recipe, size;
  std::int64_t values = 0, rows = 0, bytes = 0;
  bool cached = false;  // all of them were there already
};
FeatureReport compute_features(const DataOptions& options, const FeatureWork& work);

// What the patch features of such data are computed by. Reads no row.
PatchDictionary patch_dictionary(const DataOptions& options, const FeatureWork& work);

// Of a run that was trained, by its model.json, which `where` names: what was public about its data, features included, and further rows
// as that run would take them. They are computed when they are gathered, and kept nowhere. InputError if the model takes features that
// this program does not compute, or those of an extractor that is not there.
DataDescription describe_trained_with_features(const nlohmann::json& model, const std::string& where);

// For features of rows that are new to a model.
struct NewFeatures {
  std::optional<std::string> features;       // where its extractor is now, if not where it was
  std::optional<std::string> feature_cache;  // where the dictionary of patches is kept

  static auto fields() {
    return std::tuple{
        field("features", &NewFeatures::features, "the file of the extractor that the model takes features of", {},
              "where it was when the model was trained"),
        field("feature-cache", &NewFeatures::feature_cache, "folder where the dictionary of the features is kept", {},
              "~/.cache/fodp/features"),
    };
  }
};
NewRows read_new_with_features(const nlohmann::json& model, const NewRowsOptions& options, const NewFeatures& asked,
                               const std::string& where, const FeatureWork& work);

}  // namespace fodp
