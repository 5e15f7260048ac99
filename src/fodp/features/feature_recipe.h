// A way to make features of images, and the table of all of them. A recipe is public and is made before any image is read. What it needs to
// compute may take minutes to learn, so that its encoder is made when the first features are computed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fodp/features/feature_cache.h"
#include "fodp/features/feature_work.h"

namespace fodp {

// Computes features. Those of an image follow from that image alone.
class ImageEncoder {
 public:
  virtual ~ImageEncoder() = default;

  virtual std::int64_t image_bytes() const = 0;  // of one image, laid out channel, row, column
  // Of images of that many bytes each, one after the other.
  virtual void encode(std::span<const std::uint8_t> pixels, const ParallelFor& parallel, const TakeFeatures& take,
                      const WorkDone& done = {}) const = 0;
  // Some features of an image that everybody can draw: whoever computes others computes something else.
  virtual std::vector<double> probe() const = 0;
};

class FeatureRecipe {
 public:
  virtual ~FeatureRecipe() = default;

  // Which recipe, its version, size and number of values; the rest is left open.
  virtual FeatureFacts facts() const = 0;
  // The same for model.json and the summary, with what else tells this recipe from others.
  virtual nlohmann::ordered_json about() const;
  // Where the file is that it needs, if it needs one: for whoever uses the model later.
  virtual std::optional<std::string> file() const { return std::nullopt; }
  virtual std::string statement() const = 0;  // for the privacy statement: what the inputs are and why they cost nothing

  virtual std::shared_ptr<const ImageEncoder> encoder(const FeatureCache& cache, const FeatureWork& work) const = 0;
};

// The images that a recipe is made for, by the description of the data.
struct ImageRows {
  std::int64_t channels, height, width;
  std::string whose;  // what messages call them
};

// What a model that was trained says of its features, and where to look for the file that they need, if it was moved.
struct TrainedFeatures {
  const nlohmann::json& about;
  std::optional<std::string> file;
  std::string where;  // what messages call the model
};

struct FeatureKind {
  std::string_view name;                             // as model.json has it
  std::int64_t version;                              // whatever changes a feature changes this
  bool (*is_meant)(const std::string& features);     // by the option
  std::string (*title)(const DataOptions& options);  // for people
  std::shared_ptr<const FeatureRecipe> (*make)(const DataOptions& options, const ImageRows& images);
  std::shared_ptr<const FeatureRecipe> (*make_trained)(const TrainedFeatures& trained, const ImageRows& images);
};

const FeatureKind& find_feature_kind(const std::string& features);   // by the option. InputError for one that there is not
const FeatureKind& feature_kind_of(const TrainedFeatures& trained);  // InputError for a recipe or version that this program does not have

extern const FeatureKind kPatchFeatures, kExtractorFeatures;

}  // namespace fodp
