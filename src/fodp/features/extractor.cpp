// The entry "extractor" of the table of recipes: a frozen network of the user's, as TorchScript (--features FILE.ts). It gets an image as
// float32 [1, channels, height, width], values 0 to 1, and gives its features, whose norm is then set to 1.
//
// Images go through it one at a time, so that no image's features depend on another image, whatever the network does with its batch. What
// could still carry something from one image to the next is a network that remembers: one that gives other numbers when it is asked again
// is refused. A network that fails on an image, or gives numbers that are not finite, gives zeros for that image and says nothing: whether
// it does depends on the image.
#include <cmath>
#include <map>
#include <mutex>
#include <sstream>

#include <ATen/ops/empty.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/serialization/import.h>
#include <torch/version.h>

#include "fodp/base/check.h"
#include "fodp/base/sha256.h"
#include "fodp/features/feature_recipe.h"
#include "fodp/features/synthetic_images.h"

namespace fodp {
namespace {

constexpr std::string_view kName = "extractor";
constexpr std::int64_t kVersion = 1, kMostValues = 1 << 22;

// How a module is called: without gradients, and with the same operations in the first call and in all others.
struct AsWritten {
  const c10::InferenceMode inference;
  const torch::jit::GraphOptimizerEnabledGuard not_optimised{false};
};

// The line of an error of TorchScript that says what is wrong: the first that says anything, or that of the exception in the script.
std::string said(std::string_view text) {
  const std::size_t raised = text.rfind("Error: ");
  if (raised != text.npos) text.remove_prefix(raised);
  text.remove_prefix(std::min(text.find_first_not_of(" \n"), text.size()));
  return std::string(text.substr(0, std::min<std::size_t>(text.find('\n'), 300)));
}

std::vector<std::uint8_t> some_image(const ImageRows& images, std::uint64_t number) {
  PublicRandom random(/*purpose=*/5, number);
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(images.channels * images.height * images.width));
  for (std::uint8_t& pixel : pixels) pixel = static_cast<std::uint8_t>(random.below(256));
  return pixels;
}

class Extractor : public ImageEncoder {
 public:
  Extractor(const std::string& file, const ImageRows& images) : file_(file), images_(images) {
    const MappedFile mapped = MappedFile::read(file);
    const std::string bytes(reinterpret_cast<const char*>(mapped.data()), static_cast<std::size_t>(mapped.size()));
    sha256_ = sha256_text(bytes);
    try {
      std::istringstream stream(bytes);
      module_ = torch::jit::load(stream);
      module_.eval();
    } catch (const std::exception& error) {
      throw InputError(fmt::format(
          "`features` {}: cannot be read as TorchScript: save it in Python by torch.jit.trace(module.eval(), torch.zeros(1, {}, {}, "
          "{})).save(\"{}\"). LibTorch {} says: {}",
          file, images.channels, images.height, images.width, file, TORCH_VERSION, said(error.what())));
    }
    check_answers();
  }

  const std::string& sha256() const { return sha256_; }
  std::int64_t values() const { return values_; }

  std::int64_t image_bytes() const override { return images_.channels * images_.height * images_.width; }
  void encode(std::span<const std::uint8_t> pixels, const ParallelFor& parallel, const TakeFeatures& take,
              const WorkDone& done) const override {
    const auto bytes = static_cast<std::size_t>(image_bytes());
    check_input(pixels.size() % bytes == 0, "{} bytes are no whole number of images of {} bytes", pixels.size(), bytes);
    const auto all = static_cast<std::int64_t>(pixels.size() / bytes);
    std::int64_t finished = 0;
    std::mutex mutex;
    parallel(all, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) {
        const std::vector<float> features = unit_features(pixels.subspan(static_cast<std::size_t>(i) * bytes, bytes));
        take(i, 1, features.data());
        const std::lock_guard lock(mutex);
        ++finished;
        if (done) done(finished, all);
      }
    });
  }

  std::vector<double> probe() const override {
    std::vector<double> probe;
    const std::vector<float> features = unit_features(some_image(images_, 0));
    for (std::size_t i = 0; i < 8; ++i) probe.push_back(features[i * features.size() / 8]);
    return probe;
  }

 private:
  // As the module gives them.
  std::vector<float> raw_features(std::span<const std::uint8_t> pixels) const {
    const AsWritten as_written;
    at::Tensor image = at::empty({1, images_.channels, images_.height, images_.width}, at::kFloat);
    for (std::size_t i = 0; i < pixels.size(); ++i) image.data_ptr<float>()[i] = static_cast<float>(pixels[i]) / 255.f;
    const at::IValue given = torch::jit::Module(module_).forward({image});
    check_input(given.isTensor(), "it gives a {} and no tensor", given.tagKind());
    const at::Tensor features = given.toTensor().to(at::kCPU, at::kFloat).contiguous();
    const float* values = features.data_ptr<float>();
    return {values, values + features.numel()};
  }

  std::vector<float> unit_features(std::span<const std::uint8_t> pixels) const {
    std::vector<float> features;
    try {
      features = raw_features(pixels);
    } catch (const std::exception&) {
    }
    double squares = 0;
    for (const float value : features) squares += static_cast<double>(value) * value;
    if (static_cast<std::int64_t>(features.size()) != values_ || !std::isfinite(squares) || squares <= 0)
      return std::vector<float>(static_cast<std::size_t>(values_));
    const double norm = std::sqrt(squares);
    for (float& value : features) value = static_cast<float>(value / norm);
    return features;
  }

  // What it gives for images that are no data: as many finite numbers for each, the same when asked again, whatever it saw in between.
  void check_answers() {
    std::vector<std::vector<float>> given;
    std::string problem;
    try {
      for (const std::uint64_t number : {0, 1, 0}) given.push_back(raw_features(some_image(images_, number)));
    } catch (const std::exception& error) {
      problem = said(error.what());
    }
    const std::string takes = fmt::format("an image [1, {}, {}, {}] with values 0 to 1", images_.channels, images_.height, images_.width);
    check_input(problem.empty(), "`features` {}: it fails on {}: {}", file_, takes, problem);
    values_ = static_cast<std::int64_t>(given[0].size());
    check_input(values_ >= 1 && values_ <= kMostValues && given[1].size() == given[0].size(),
                "`features` {}: it gives {} and {} numbers for two images: must be the same number for each, 1 to {}", file_,
                given[0].size(), given[1].size(), kMostValues);
    for (const std::vector<float>& one : given)
      for (const float value : one) check_input(std::isfinite(value), "`features` {}: it gives numbers that are not finite", file_);
    check_input(
        given[0] == given[2],
        "`features` {}: it gives other numbers when the same image is asked for again. Features must follow from the image alone: save "
        "the module after module.eval(), without dropout and without anything that it keeps from one call to the next",
        file_);
  }

  std::string file_, sha256_;
  ImageRows images_;
  torch::jit::Module module_;
  std::int64_t values_ = 0;
};

// Read once, however often a run asks for its description.
std::shared_ptr<const Extractor> load_extractor(const std::string& file, const ImageRows& images) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const Extractor>> loaded;
  const std::lock_guard lock(mutex);
  std::error_code error;
  const auto changed = std::filesystem::last_write_time(file, error);
  const std::string key = fmt::format("{} {} {} {} {}", std::filesystem::absolute(file).string(), changed.time_since_epoch().count(),
                                      images.channels, images.height, images.width);
  std::shared_ptr<const Extractor>& known = loaded[key];
  if (!known) known = std::make_shared<Extractor>(file, images);
  return known;
}

class Recipe : public FeatureRecipe {
 public:
  Recipe(const std::string& file, const ImageRows& images) : file_(file), extractor_(load_extractor(file, images)) {}

  FeatureFacts facts() const override {
    FeatureFacts facts;
    facts.recipe = kName, facts.version = kVersion, facts.size = extractor_->sha256().substr(0, 16), facts.values = extractor_->values();
    return facts;
  }
  nlohmann::ordered_json about() const override {
    nlohmann::ordered_json out = FeatureRecipe::about();
    out["sha256"] = extractor_->sha256();
    return out;
  }
  std::optional<std::string> file() const override { return std::filesystem::absolute(file_).lexically_normal().string(); }

  std::string statement() const override {
    return fmt::format(
        "features of each image by itself, by the extractor {} (SHA-256 {}), which is taken as public: nothing of it may have "
        "been made from the rows that this run protects",
        file_, extractor_->sha256());
  }

  std::shared_ptr<const ImageEncoder> encoder(const FeatureCache&, const FeatureWork&) const override { return extractor_; }

 private:
  std::string file_;
  std::shared_ptr<const Extractor> extractor_;
};

std::shared_ptr<const FeatureRecipe> trained_extractor(const TrainedFeatures& trained, const ImageRows& images) {
  const std::string file = trained.file ? *trained.file : trained.about.at("file").get<std::string>();
  std::error_code error;
  check_input(std::filesystem::exists(file, error),
              "{}: the model takes the features of the extractor {}, which is not there: give `features`", trained.where, file);
  auto recipe = std::make_shared<Recipe>(file, images);
  check_input(trained.about.at("sha256") == recipe->about()["sha256"],
              "{}: {} is not the extractor that the model takes features of: its SHA-256 differs", trained.where, file);
  return recipe;
}

}  // namespace

const FeatureKind kExtractorFeatures = {
    .name = kName,
    .version = kVersion,
    .is_meant = [](const std::string& features) { return features.ends_with(".ts") || features.ends_with(".pt"); },
    .title = [](const DataOptions& options) { return options.features; },
    .make = [](const DataOptions& options, const ImageRows& images) -> std::shared_ptr<const FeatureRecipe> {
      check_input(options.feature_size == DataOptions().feature_size, "`feature-size` is for `features` {}: an extractor has its own",
                  kPatchFeatures.name);
      return std::make_shared<Recipe>(options.features, images);
    },
    .make_trained = trained_extractor};

}  // namespace fodp
