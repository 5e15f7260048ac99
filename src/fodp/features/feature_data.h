// Data whose images are replaced by features: what a run takes in place of describe_data and load_data (data/own_data.h), which these are
// where no features are asked for.
//
// The features of an image follow from that image and from public constants (patch_features.h). So a training on them protects the images
// as a training on the images would, and nothing is released or charged for them.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "fodp/base/parallel.h"
#include "fodp/data/own_data.h"

namespace fodp {

// How the work is done and who is told of it.
struct FeatureWork {
  ParallelFor parallel = one_by_one;
  std::function<void(const std::string& text)> note = {};
  std::function<void(std::string_view what, std::int64_t done, std::int64_t all)> progress = {};  // from several threads, one at a time
  ReadProgress read = {};                                                                         // of the images themselves
};

bool has_features(const DataOptions& options);

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

// Of a run that was trained, by its model.json, which `where` names: what was public about its data, features included, and further rows
// as that run would take them. They are computed when they are gathered, and kept nowhere. InputError if the model takes features that
// this program does not compute.
DataDescription describe_trained_with_features(const nlohmann::json& model, const std::string& where);
NewRows read_new_with_features(const nlohmann::json& model, const NewRowsOptions& options, const std::string& where,
                               const FeatureWork& work);

}  // namespace fodp
