#include "fodp/features/feature_data.h"

#include <algorithm>
#include <map>
#include <numeric>

#include <ATen/ops/cat.h>

#include "fodp/base/check.h"
#include "fodp/base/sha256.h"
#include "fodp/data/row_views.h"
#include "fodp/features/encoded_rows.h"
#include "fodp/features/feature_cache.h"
#include "fodp/features/patch_features.h"

namespace fodp {
namespace {

constexpr std::string_view kNone = "none";

void check_options(const DataOptions& options) {
  const DataOptions defaults;
  check_input(has_features(options) || (options.feature_size == defaults.feature_size && !options.feature_cache),
              "`feature-size` and `feature-cache` are for `features`: give `features` {}, or leave them out", kPatchRecipe);
  check_input(!has_features(options) || options.features == kPatchRecipe, "`features`: '{}' is not known: {}", options.features,
              suggestion(options.features, {kNone, kPatchRecipe}));
}

// Of data that is described so. `whose` names it in messages.
PatchSizes sizes_for(const DataDescription& about, FeatureSize size, const std::string& whose) {
  const std::vector<std::int64_t>& shape = about.row_shape;
  const bool bytes = about.inputs.contains("divide_by") && about.inputs["divide_by"] == 255;
  check_input(bytes && shape.size() == 3 && about.target.kind == Target::Kind::classes,
              "{}: features are of images with classes, bytes of [channels, height, width]: a row here is not one", whose);
  check_input(shape[1] == shape[2], "{}: features are of square images, and these have {} x {} pixels", whose, shape[1], shape[2]);
  const ImageShape image{shape[0], shape[1]};
  const SyntheticImages drawable(image);  // refuses shapes that it cannot draw
  return patch_sizes(image, size);
}

PatchSizes sizes_of(const DataOptions& options, const DataDescription& pixels) {
  return sizes_for(pixels, options.feature_size, fmt::format("`features` {}", options.features));
}

void describe_features(DataDescription& about, const PatchSizes& sizes, FeatureSize size) {
  about.row_shape = {sizes.values()};
  about.inputs["features"] = {{"recipe", kPatchRecipe}, {"version", kPatchVersion}, {"size", enum_name(size)}, {"values", sizes.values()}};
  about.unit_norm = true;
}

WorkDone told(const FeatureWork& work, std::string what) {
  return [&work, what = std::move(what)](std::int64_t done, std::int64_t all) {
    if (work.progress) work.progress(what, done, all);
  };
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

// Gives rows of features for rows of images, and learns the dictionary when it is first needed.
class Features {
 public:
  Features(const DataOptions& options, const PatchSizes& sizes, const FeatureWork& work)
      : options_(options), work_(work), sizes_(sizes), cache_(options.feature_cache) {
    report_ = {.recipe = options.features, .size = std::string(enum_name(options.feature_size)), .values = sizes.values(), .cached = true};
  }

  // `which` is what people call these rows. Some of the rows of others have their features in the file of all.
  std::shared_ptr<const Rows> of(const std::shared_ptr<const Rows>& images, std::string_view which) {
    if (!images) return nullptr;
    if (const auto* some = dynamic_cast<const SomeRows*>(images.get()))
      return std::make_shared<SomeRows>(of(some->all(), which), some->which());
    std::shared_ptr<const Rows>& known = made_[images.get()];
    if (known) return known;
    const FeatureFacts facts{.recipe = std::string(kPatchRecipe),
                             .version = kPatchVersion,
                             .size = std::string(enum_name(options_.feature_size)),
                             .images = Sha256().add(images->bytes()).text(),
                             .what = fmt::format("{}, {} rows", options_.data, which),
                             .rows = images->count(),
                             .values = sizes_.values()};
    const FeatureCache::Made made = cache_.find_or_make(
        facts, work_.parallel, [&](FeatureWriter& writer) { make(*images, which, writer); },
        [this] { note("another process computes these features: waiting for it"); });
    report_.rows += facts.rows;
    report_.bytes += facts.bytes();
    report_.cached = report_.cached && made.cached;
    probe_ = made.file->facts().probe;
    return known = std::make_shared<FeatureRows>(made.file, all_targets(*images), images->target().classes);
  }

  const std::vector<double>& probe() const { return probe_; }
  const FeatureReport& report() const { return report_; }

 private:
  void note(const std::string& text) const {
    if (work_.note) work_.note(text);
  }

  void make(const Rows& images, std::string_view which, FeatureWriter& writer) {
    if (!dictionary_) {
      note(fmt::format("features {} ({}, {} values) are computed once and kept in {}", kPatchRecipe, enum_name(options_.feature_size),
                       sizes_.values(), cache_.folder().string()));
      dictionary_ = fit_patches(sizes_, work_.parallel, told(work_, "dictionary from drawn images"));
    }
    encode_images(
        *dictionary_, images.bytes(), work_.parallel,
        [&](std::int64_t first, std::int64_t count, const float* features) { writer.put(first, count, features); },
        told(work_, fmt::format("features of {} images", which)));
    writer.set_probe(patch_probe(*dictionary_));
  }

  const DataOptions& options_;
  const FeatureWork& work_;
  PatchSizes sizes_;
  FeatureCache cache_;
  std::optional<PatchDictionary> dictionary_;
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

FeatureSize trained_size(const nlohmann::json& model, const std::string& where) {
  const nlohmann::json& features = model.at("inputs").at("features");
  check_input(features.at("recipe") == kPatchRecipe && features.at("version") == kPatchVersion,
              "{}: the model takes features {}, version {}: this program computes {}, version {}", where, features.at("recipe").dump(),
              features.at("version").dump(), kPatchRecipe, kPatchVersion);
  return FieldText<FeatureSize>::parse(features.at("size").get<std::string>(), where, {});
}

// Features that another machine computes differ in their last digits.
void check_probe(const nlohmann::json& expected, const std::vector<double>& computed, const std::string& where) {
  const auto probe = expected.get<std::vector<double>>();
  bool same = probe.size() == computed.size() && !probe.empty();
  for (std::size_t i = 0; same && i < probe.size(); ++i) same = std::abs(probe[i] - computed[i]) < 1e-4;
  check_input(same, "{}: the model takes features that differ from those that this program computes", where);
}

}  // namespace

bool has_features(const DataOptions& options) { return options.features != kNone; }

DataDescription describe_with_features(const DataOptions& options) {
  check_options(options);
  DataDescription about = describe_data(options);
  if (has_features(options)) describe_features(about, sizes_of(options, about), options.feature_size);
  return about;
}

RunData load_with_features(const DataOptions& options, const FeatureWork& work) {
  check_options(options);
  if (!has_features(options)) return load_data(options, work.read);
  sizes_before_reading(options);  // refuses sizes that there are not
  RunData data = load_data(with_all_training_rows(options), work.read);
  const PatchSizes sizes = sizes_of(options, data.about);
  Features features(options, sizes, work);
  data.train = features.of(data.train, "training");
  if (options.insecure_validation) {
    const std::int64_t held_out = *options.insecure_validation, kept = data.train->count() - held_out;
    data.test = range_of(data.train, kept, held_out);
    data.train = range_of(data.train, 0, kept);
  } else {
    data.test = features.of(data.test, "test");
  }
  describe_features(data.about, sizes, options.feature_size);
  data.about.inputs["features"]["probe"] = features.probe();
  return data;
}

FeatureReport compute_features(const DataOptions& options, const FeatureWork& work) {
  check_options(options);
  check_input(has_features(options), "`features` none: there is nothing to compute");
  const RunData data = load_data(with_all_training_rows(options), work.read);
  Features features(options, sizes_of(options, data.about), work);
  features.of(data.train, "training");
  features.of(data.test, "test");
  return features.report();
}

DataDescription describe_trained_with_features(const nlohmann::json& model, const std::string& where) {
  DataDescription about = kind_of_trained(model, where).describe_trained(model, where);
  if (!takes_features(model)) return about;
  const FeatureSize size = trained_size(model, where);
  describe_features(about, sizes_for(about, size, where), size);
  return about;
}

NewRows read_new_with_features(const nlohmann::json& model, const NewRowsOptions& options, const std::string& where,
                               const FeatureWork& work) {
  const DataKind& kind = kind_of_trained(model, where);
  NewRows rows = kind.read_new(model, options, where);
  if (!takes_features(model)) return rows;
  const PatchSizes sizes = sizes_for(kind.describe_trained(model, where), trained_size(model, where), where);
  PatchDictionary dictionary = fit_patches(sizes, work.parallel, told(work, "dictionary from drawn images"));
  check_probe(model.at("inputs").at("features").at("probe"), patch_probe(dictionary), where);
  rows.rows = std::make_shared<EncodedRows>(rows.rows, std::move(dictionary), work.parallel);
  return rows;
}

}  // namespace fodp
