#include "fodp/features/feature_data.h"

#include <algorithm>
#include <map>
#include <numeric>

#include <ATen/ops/cat.h>

#include "fodp/base/check.h"
#include "fodp/base/sha256.h"
#include "fodp/data/row_views.h"
#include "fodp/features/encoded_rows.h"
#include "fodp/features/feature_recipe.h"
#include "fodp/features/patch_dictionary.h"

namespace fodp {
namespace {

void check_options(const DataOptions& options) {
  const DataOptions defaults;
  check_input(has_features(options) || (options.feature_size == defaults.feature_size && !options.feature_cache),
              "`feature-size` and `feature-cache` are for `features`: give `features` {}, or leave them out", kPatchFeatures.name);
  if (has_features(options)) find_feature_kind(options.features);
}

// Of data that is described so. `whose` names it in messages.
ImageRows images_of(const DataDescription& about, const std::string& whose) {
  const std::vector<std::int64_t>& shape = about.row_shape;
  const bool bytes = about.inputs.contains("divide_by") && about.inputs["divide_by"] == 255;
  check_input(bytes && shape.size() == 3 && about.target.kind == Target::Kind::classes,
              "{}: features are of images with classes, bytes of [channels, height, width]: a row here is not one", whose);
  return {shape[0], shape[1], shape[2], whose};
}

std::shared_ptr<const FeatureRecipe> recipe_of(const DataOptions& options, const DataDescription& pixels) {
  return find_feature_kind(options.features).make(options, images_of(pixels, fmt::format("`features` {}", options.features)));
}

void describe_features(DataDescription& about, const FeatureRecipe& recipe) {
  about.row_shape = {recipe.facts().values};
  about.inputs["features"] = recipe.about();
  about.unit_norm = true;
}

at::Tensor all_targets(const Rows& rows) {
  constexpr std::int64_t kAtOnce = 1024;
  std::vector<at::Tensor> parts;
  for (std::int64_t begin = 0; begin < rows.count(); begin += kAtOnce) {
    std::vector<std::int64_t> some(static_cast<std::size_t>(std::min(kAtOnce, rows.count() - begin)));
    std::iota(some.begin(), some.end(), begin);
    parts.push_back(rows.gather(some).targets);
  }
  return at::cat(parts);
}

// Gives rows of features for rows of images, and makes the encoder when it is first needed.
class Features {
 public:
  Features(const DataOptions& options, const FeatureRecipe& recipe, const FeatureWork& work)
      : options_(options), work_(work), recipe_(recipe), cache_(options.feature_cache) {
    const FeatureFacts facts = recipe.facts();
    report_ = {.recipe = facts.recipe, .size = facts.size, .values = facts.values, .cached = true};
  }

  // `which` is what people call these rows. Some of the rows of others have their features in the file of all.
  std::shared_ptr<const Rows> of(const std::shared_ptr<const Rows>& images, std::string_view which) {
    if (!images) return nullptr;
    if (const auto* some = dynamic_cast<const SomeRows*>(images.get()))
      return std::make_shared<SomeRows>(of(some->all(), which), some->which());
    std::shared_ptr<const Rows>& known = made_[images.get()];
    if (known) return known;
    FeatureFacts facts = recipe_.facts();
    facts.images = Sha256().add(images->bytes()).text();
    facts.what = fmt::format("{}, {} rows", options_.data, which);
    facts.rows = images->count();
    const FeatureCache::Made made = cache_.find_or_make(
        facts, work_.parallel, [&](FeatureWriter& writer) { make(*images, which, writer); },
        [this] { work_.tell("another process computes these features: waiting for it"); });
    report_.rows += facts.rows;
    report_.bytes += facts.bytes();
    report_.cached = report_.cached && made.cached;
    probe_ = made.file->facts().probe;
    return known = std::make_shared<FeatureRows>(made.file, all_targets(*images), images->target().classes);
  }

  const std::vector<double>& probe() const { return probe_; }
  const FeatureReport& report() const { return report_; }

 private:
  void make(const Rows& images, std::string_view which, FeatureWriter& writer) {
    if (!encoder_) {
      work_.tell(fmt::format("features {}, {} values of each image, are computed once and kept in {}",
                             find_feature_kind(options_.features).title(options_), recipe_.facts().values, cache_.folder().string()));
      encoder_ = recipe_.encoder(cache_, work_);
    }
    encoder_->encode(
        images.bytes(), work_.parallel,
        [&](std::int64_t first, std::int64_t count, const float* features) { writer.put(first, count, features); },
        work_.told(fmt::format("features of {} images", which)));
    writer.set_probe(encoder_->probe());
  }

  const DataOptions& options_;
  const FeatureWork& work_;
  const FeatureRecipe& recipe_;
  FeatureCache cache_;
  std::shared_ptr<const ImageEncoder> encoder_;
  std::map<const Rows*, std::shared_ptr<const Rows>> made_;
  std::vector<double> probe_;
  FeatureReport report_;
};

// Rows that are held out of training to validate on have their features in the file of all training rows.
DataOptions with_all_training_rows(DataOptions options) {
  options.insecure_validation.reset();
  return options;
}

std::shared_ptr<const Rows> range_of(const std::shared_ptr<const Rows>& all, std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> which(static_cast<std::size_t>(count));
  std::iota(which.begin(), which.end(), first);
  return std::make_shared<SomeRows>(all, std::move(which));
}

bool takes_features(const nlohmann::json& model) { return model.at("inputs").contains("features"); }

// Features that another machine computes differ in their last digits.
void check_probe(const nlohmann::json& expected, const std::vector<double>& computed, const std::string& where) {
  const auto probe = expected.get<std::vector<double>>();
  bool same = probe.size() == computed.size() && !probe.empty();
  for (std::size_t i = 0; same && i < probe.size(); ++i) same = std::abs(probe[i] - computed[i]) < 1e-4;
  check_input(same, "{}: the model takes features that differ from those that this program computes", where);
}

}  // namespace

bool has_features(const DataOptions& options) { return options.features != "none"; }

std::string feature_statement(const DataOptions& options) {
  return has_features(options) ? recipe_of(options, describe_data(options))->statement() : "";
}

DataDescription describe_with_features(const DataOptions& options) {
  check_options(options);
  DataDescription about = describe_data(options);
  if (has_features(options)) describe_features(about, *recipe_of(options, about));
  return about;
}

RunData load_with_features(const DataOptions& options, const FeatureWork& work) {
  check_options(options);
  if (!has_features(options)) return load_data(options, work.read);
  sizes_before_reading(options);  // refuses sizes that there are not
  RunData data = load_data(with_all_training_rows(options), work.read);
  const auto recipe = recipe_of(options, data.about);
  Features features(options, *recipe, work);
  data.train = features.of(data.train, "training");
  if (options.insecure_validation) {
    const std::int64_t held_out = *options.insecure_validation, kept = data.train->count() - held_out;
    data.test = range_of(data.train, kept, held_out);
    data.train = range_of(data.train, 0, kept);
  } else {
    data.test = features.of(data.test, "test");
  }
  describe_features(data.about, *recipe);
  data.about.inputs["features"]["probe"] = features.probe();
  if (recipe->file()) data.about.inputs["features"]["file"] = *recipe->file();
  return data;
}

FeatureReport compute_features(const DataOptions& options, const FeatureWork& work) {
  check_options(options);
  check_input(has_features(options), "`features` none: there is nothing to compute");
  const RunData data = load_data(with_all_training_rows(options), work.read);
  const auto recipe = recipe_of(options, data.about);
  Features features(options, *recipe, work);
  features.of(data.train, "training");
  features.of(data.test, "test");
  return features.report();
}

PatchDictionary patch_dictionary(const DataOptions& options, const FeatureWork& work) {
  const DataDescription about = describe_data(options);
  recipe_of(options, about);  // refuses images that it is not for
  return find_or_fit_patches(FeatureCache(options.feature_cache),
                             patch_sizes({about.row_shape[0], about.row_shape[1]}, options.feature_size), work.parallel,
                             work.told("dictionary from drawn images"));
}

DataDescription describe_trained_with_features(const nlohmann::json& model, const std::string& where) {
  DataDescription about = kind_of_trained(model, where).describe_trained(model, where);
  if (!takes_features(model)) return about;
  const nlohmann::json& features = model.at("inputs").at("features");
  feature_kind_of({features, {}, where});  // refuses recipes that there are not
  images_of(about, where);
  about.row_shape = {features.at("values").get<std::int64_t>()};
  check_input(about.row_shape[0] >= 1, "{}: the model takes {} features", where, about.row_shape[0]);
  about.inputs["features"] = features;
  about.unit_norm = true;
  return about;
}

NewRows read_new_with_features(const nlohmann::json& model, const NewRowsOptions& options, const NewFeatures& asked,
                               const std::string& where, const FeatureWork& work) {
  const DataKind& kind = kind_of_trained(model, where);
  check_input(takes_features(model) || (!asked.features && !asked.feature_cache),
              "{}: the model takes pixels: `features` and `feature-cache` are for models of features", where);
  NewRows rows = kind.read_new(model, options, where);
  if (!takes_features(model)) return rows;
  const TrainedFeatures trained{model.at("inputs").at("features"), asked.features, where};
  const auto recipe = feature_kind_of(trained).make_trained(trained, images_of(kind.describe_trained(model, where), where));
  const auto encoder = recipe->encoder(FeatureCache(asked.feature_cache), work);
  check_probe(trained.about.at("probe"), encoder->probe(), where);
  rows.rows = std::make_shared<EncodedRows>(rows.rows, encoder, recipe->facts().values, work.parallel);
  return rows;
}

}  // namespace fodp
