// fodp features: computes the features of a data set ahead of trainings; lists or deletes those that are kept.
#include <chrono>
#include <cmath>

#include <fmt/core.h>

#include "command.h"
#include "feature_progress.h"
#include "flags.h"
#include "fodp/base/atomic_file.h"
#include "fodp/base/check.h"
#include "fodp/data/image_file.h"
#include "fodp/features/feature_cache.h"
#include "fodp/features/feature_pictures.h"
#include "fodp/features/patch_sizes.h"
#include "text.h"

namespace fodp::app {
namespace {

struct FeaturesOptions {
  std::optional<std::string> remove, pictures;
  std::optional<std::int64_t> threads;
  bool list = false;

  static auto fields() {
    using Self = FeaturesOptions;
    return std::tuple{
        field("list", &Self::list, "list what is kept, and compute nothing"),
        field("delete", &Self::remove, "delete the file of this name from the list, or all"),
        field(
            "pictures", &Self::pictures,
            "write drawn.png and atoms.png into this folder: some of the drawn images that the features of this data set are learnt from, "
            "and the patches of the first dictionary"),
        field("threads", &Self::threads, "worker threads", between(1, 1024), "the cores this process may use, at most 8"),
    };
  }
};

nlohmann::ordered_json entry_json(const FeatureCache::Entry& entry) {
  const FeatureFacts& facts = entry.facts;
  return {{"name", entry.name}, {"recipe", facts.recipe}, {"version", facts.version}, {"size", facts.size},
          {"what", facts.what}, {"rows", facts.rows},     {"values", facts.values},   {"bytes", facts.bytes()}};
}

int list(const FeatureCache& cache, const Flags& flags) {
  nlohmann::ordered_json entries = nlohmann::ordered_json::array();
  for (const FeatureCache::Entry& entry : cache.list()) {
    entries.push_back(entry_json(entry));
    if (!flags.json())
      print_text(fmt::format("{}  {:.2f} GB  {} x {}  {}\n", entry.name, static_cast<double>(entry.facts.bytes()) / 1e9, entry.facts.rows,
                             entry.facts.values, entry.facts.what));
  }
  if (flags.json()) return print_json({{"folder", cache.folder().string()}, {"features", entries}}), 0;
  if (entries.empty()) print_text(fmt::format("No features are kept in {}.\n", cache.folder().string()));
  return 0;
}

int remove(const FeatureCache& cache, const std::string& name, const Flags& flags) {
  const std::int64_t bytes = cache.remove(name);
  if (flags.json()) return print_json({{"deleted", name}, {"bytes", bytes}}), 0;
  print_text(fmt::format("Deleted {:.2f} GB from {}.\n", static_cast<double>(bytes) / 1e9, cache.folder().string()));
  return 0;
}

int compute(const FeaturesOptions& options, const DataOptions& data, const Flags& flags) {
  check_input(flags.given("data"), "--data is missing: the data set to compute features of; or give --list or --delete");
  const auto start = std::chrono::steady_clock::now();
  const FeatureReport report = compute_features(data, feature_work(flags.quiet(), options.threads));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (flags.json())
    return print_json({{"recipe", report.recipe},
                       {"size", report.size},
                       {"values", report.values},
                       {"rows", report.rows},
                       {"bytes", report.bytes},
                       {"seconds", std::llround(seconds)},
                       {"cached", report.cached}}),
           0;
  print_text(fmt::format("{} ({}): {} values for each of {} rows, {:.2f} GB, {}\n", report.recipe, report.size, report.values, report.rows,
                         static_cast<double>(report.bytes) / 1e9,
                         report.cached ? "in the cache already" : fmt::format("computed in {:.0f} s", seconds)));
  return 0;
}

int draw(const std::filesystem::path& folder, const FeaturesOptions& options, const DataOptions& data, const Flags& flags) {
  check_input(flags.given("data"), "--data is missing: the data set whose features are meant");
  check_input(data.features == kPatchRecipe, "--pictures is for --features {}", kPatchRecipe);
  const FeatureWork work = feature_work(flags.quiet(), options.threads);
  const PatchDictionary dictionary = patch_dictionary(data, work);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  write_file_atomically(folder / "drawn.png", png_bytes(zoomed(drawn_images(dictionary.sizes.image, 12), 2)), "picture");
  write_file_atomically(folder / "atoms.png", png_bytes(zoomed(first_atoms(dictionary), 6)), "picture");
  const std::string drawn = (folder / "drawn.png").string(), atoms = (folder / "atoms.png").string();
  if (flags.json()) return print_json({{"drawn", drawn}, {"atoms", atoms}}), 0;
  print_text(fmt::format("{}\n{}\n", drawn, atoms));
  return 0;
}

}  // namespace

int features(const Words& words) {
  FeaturesOptions options;
  DataOptions data;
  data.features = kPatchRecipe;
  Flags flags("features",
              "Computes the features of a data set and keeps them for trainings (fodp train --features). The features of an image follow "
              "from that image and from computer-drawn images alone, so that they cost no privacy; those of private images are as private "
              "as the images.",
              "fodp features --data cifar-10 --data-dir ~/datasets");
  flags.add("Features", options);
  flags.add("Data", data);
  for (const char* name : {"train", "test"}) flags.repeatable(name);
  if (!flags.parse(words)) return 0;
  const FeatureCache cache(data.feature_cache);
  check_input(options.list + options.remove.has_value() + options.pictures.has_value() <= 1,
              "--list, --delete and --pictures: give one of them");
  if (options.list) return list(cache, flags);
  if (options.remove) return remove(cache, *options.remove, flags);
  if (options.pictures) return draw(*options.pictures, options, data, flags);
  return compute(options, data, flags);
}

}  // namespace fodp::app
