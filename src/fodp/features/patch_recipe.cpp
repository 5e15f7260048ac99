// The entry "patches" of the table of recipes: patch_features.h behind it, and its dictionary kept in the cache.
#include "fodp/base/check.h"
#include "fodp/features/feature_recipe.h"
#include "fodp/features/patch_dictionary.h"

namespace fodp {
namespace {

class Encoder : public ImageEncoder {
 public:
  explicit Encoder(PatchDictionary dictionary) : dictionary_(std::move(dictionary)) {}

  std::int64_t image_bytes() const override { return dictionary_.sizes.image.bytes(); }
  void encode(std::span<const std::uint8_t> pixels, const ParallelFor& parallel, const TakeFeatures& take,
              const WorkDone& done) const override {
    encode_images(dictionary_, pixels, parallel, take, done);
  }
  std::vector<double> probe() const override { return patch_probe(dictionary_); }

 private:
  PatchDictionary dictionary_;
};

class Recipe : public FeatureRecipe {
 public:
  Recipe(const ImageRows& images, FeatureSize size) : size_(size) {
    check_input(images.height == images.width, "{}: features are of square images, and these have {} x {} pixels", images.whose,
                images.height, images.width);
    const ImageShape shape{images.channels, images.height};
    const SyntheticImages drawable(shape);  // refuses shapes that it cannot draw
    sizes_ = patch_sizes(shape, size);
  }

  FeatureFacts facts() const override {
    FeatureFacts facts;
    facts.recipe = kPatchRecipe, facts.version = kPatchVersion, facts.size = enum_name(size_), facts.values = sizes_.values();
    return facts;
  }

  std::string statement() const override {
    return fmt::format("features ({}, {}) of each image by itself, learnt from computer-drawn images alone: they cost nothing",
                       kPatchRecipe, enum_name(size_));
  }

  std::shared_ptr<const ImageEncoder> encoder(const FeatureCache& cache, const FeatureWork& work) const override {
    return encoder_of(find_or_fit_patches(cache, sizes_, work.parallel, work.told("dictionary from drawn images")));
  }

 private:
  FeatureSize size_;
  PatchSizes sizes_;
};

}  // namespace

std::shared_ptr<const ImageEncoder> encoder_of(PatchDictionary dictionary) { return std::make_shared<Encoder>(std::move(dictionary)); }

const FeatureKind kPatchFeatures = {
    .name = kPatchRecipe,
    .version = kPatchVersion,
    .is_meant = [](const std::string& features) { return features == kPatchRecipe; },
    .title = [](const DataOptions& options) { return fmt::format("{} ({})", kPatchRecipe, enum_name(options.feature_size)); },
    .make = [](const DataOptions& options, const ImageRows& images) -> std::shared_ptr<const FeatureRecipe> {
      return std::make_shared<Recipe>(images, options.feature_size);
    },
    .make_trained = [](const TrainedFeatures& trained, const ImageRows& images) -> std::shared_ptr<const FeatureRecipe> {
      check_input(!trained.file, "{}: the model takes features that need no file: leave `features` out", trained.where);
      return std::make_shared<Recipe>(images,
                                      FieldText<FeatureSize>::parse(trained.about.at("size").get<std::string>(), trained.where, {}));
    }};

}  // namespace fodp
