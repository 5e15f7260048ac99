// --data images: a folder of PNG and JPEG files, one sub-folder for each class.
#include <algorithm>

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>

#include "fodp/base/check.h"
#include "fodp/data/array_file.h"
#include "fodp/data/byte_rows.h"
#include "fodp/data/file_bytes.h"
#include "fodp/data/held_out.h"
#include "fodp/data/image_file.h"
#include "fodp/data/image_folder.h"
#include "fodp/data/own_data.h"
#include "fodp/data/row_views.h"

namespace fodp {
namespace {

namespace fs = std::filesystem;

const Normalisation kStandard{{.5}, {.5}};

// What the inputs are, from options or from a model.json.
struct ImageRule {
  std::int64_t size, channels;
  Normalisation normalisation;
  std::vector<std::string> classes;

  std::vector<std::int64_t> shape() const { return {channels, size, size}; }
  std::int64_t features() const { return channels * size * size; }
};

ImageRule rule_of(const DataOptions& options) {
  check_input(options.image_size.has_value(), "`data` images needs `image-size`: all images are resized to so many pixels a side");
  check_input(options.train.names.size() == 1 && options.test.names.size() <= 1, "`train` and `test`: images come from one folder each");
  check_input(!options.train_size && !options.test_size,
              "`train-size` and `test-size` are not for images: these are sorted by class, and the first of them are of one class");
  ImageRule rule{.size = *options.image_size, .channels = options.channels.value_or(3), .normalisation = {}, .classes = {}};
  check_input(rule.channels == 1 || rule.channels == 3, "`channels` is {}: must be 1 for gray or 3 for colour", rule.channels);
  rule.normalisation = normalisation_for(rule.shape(), options.mean, options.std, kStandard);
  rule.classes = class_folders(options.train.names[0]);
  check_input(rule.classes.size() >= 2, "{}: has one sub-folder, which is one class: there is nothing to tell apart",
              options.train.names[0]);
  return rule;
}

DataDescription described(const ImageRule& rule) {
  const auto classes = static_cast<std::int64_t>(rule.classes.size());
  DataDescription about{.name = "", .row_shape = rule.shape(), .target = {Target::Kind::classes, classes, {{}, at::kLong}}};
  about.class_names = rule.classes;
  about.inputs = {
      {"kind", "images"}, {"divide_by", 255}, {"mean", rule.normalisation.mean}, {"std", rule.normalisation.std}, {"shape", rule.shape()}};
  return about;
}

DataDescription describe(const DataOptions& options) { return described(rule_of(options)); }

std::vector<std::uint8_t> file_contents(const fs::path& file) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 28;
  FileBytes bytes(file);
  check_input(bytes.file_size() <= kMost, "{}: {} bytes: images of at most {} are read", file.string(), bytes.file_size(), kMost);
  return bytes.read_up_to(bytes.file_size());
}

// Channel after channel, as models take them.
void put_planes(const Picture& picture, std::uint8_t* to) {
  const auto channels = static_cast<std::size_t>(picture.channels);
  for (std::size_t c = 0; c < channels; ++c)
    for (std::size_t at = c; at < picture.values.size(); at += channels) *to++ = picture.values[at];
}

// The images in order, resized, as bytes. Some are read side by side; the digest gets the contents of the files one after the other. Of
// several that cannot be read, the first one is reported.
std::vector<std::uint8_t> read_images(const fs::path& folder, std::span<const ImageName> images, const ImageRule& rule, Sha256* contents,
                                      const ReadProgress& progress) {
  constexpr std::size_t kAtOnce = 64;
  const auto features = static_cast<std::size_t>(rule.features());
  check_memory(images.size() * features, folder.string() + ": the images, resized,");
  std::vector<std::uint8_t> pixels(images.size() * features);
  for (std::size_t begin = 0; begin < images.size(); begin += kAtOnce) {
    const std::size_t count = std::min(kAtOnce, images.size() - begin);
    std::vector<std::vector<std::uint8_t>> files(count);
    std::vector<std::string> problems(count);
    at::parallel_for(0, static_cast<std::int64_t>(count), 1, [&](std::int64_t first, std::int64_t last) {
      for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i) try {
          const fs::path file = images[begin + i].name.empty() ? folder : folder / images[begin + i].name;
          files[i] = file_contents(file);
          put_planes(resized(read_picture(files[i], rule.channels, file.string()), rule.size, rule.size),
                     pixels.data() + (begin + i) * features);
        } catch (const InputError& error) {
          problems[i] = error.what();
        }
    });
    for (std::size_t i = 0; i < count; ++i) {
      if (!problems[i].empty()) throw InputError(problems[i]);
      if (contents) contents->add(fmt::format("{}:{}:{}:", images[begin + i].name.size(), images[begin + i].name, files[i].size()));
      if (contents) contents->add(files[i]);
    }
    if (progress) progress(static_cast<std::int64_t>(begin + count), static_cast<std::int64_t>(images.size()));
  }
  return pixels;
}

std::shared_ptr<const Rows> rows_of(const fs::path& folder, std::span<const ImageName> images, const ImageRule& rule, Sha256* contents,
                                    const ReadProgress& progress) {
  at::Tensor labels = at::empty({static_cast<std::int64_t>(images.size())}, at::kLong);
  for (std::size_t i = 0; i < images.size(); ++i) labels.data_ptr<std::int64_t>()[i] = images[i].label;
  return std::make_shared<ByteRows>(rule.shape(), rule.normalisation, read_images(folder, images, rule, contents, progress), labels,
                                    static_cast<std::int64_t>(rule.classes.size()));
}

// An image is held out by its name and its class.
RowsInTwo divided(std::span<const ImageName> images, const DataOptions& options) {
  std::vector<bool> held_out;
  if (const std::optional<HoldOut> hold_out = hold_out_of(options))
    for (const ImageName& image : images) {
      Sha256 hash = hold_out->start();
      hash.add(fmt::format(",{}:", image.name.size())).add(image.name);
      held_out.push_back(hold_out->unit_is_held_out(hash));
    }
  return in_two(static_cast<std::int64_t>(images.size()), held_out, options);
}

std::optional<DataSizes> sizes(const DataOptions& options) {
  const ImageRule rule = rule_of(options);
  const RowsInTwo rows = divided(images_by_class(options.train.names[0], rule.classes), options);
  auto test = static_cast<std::int64_t>(rows.test.size());
  if (!options.test.names.empty()) test = static_cast<std::int64_t>(images_by_class(options.test.names[0], rule.classes).size());
  return DataSizes{static_cast<std::int64_t>(rows.train.size()), test, SizesFrom::files};
}

RunData load(const DataOptions& options, DataDescription about, const ReadProgress& progress) {
  RunData data{.about = std::move(about)};
  const ImageRule rule = rule_of(options);
  const fs::path folder = options.train.names[0];
  const std::vector<ImageName> images = images_by_class(folder, rule.classes);
  RowsInTwo rows = divided(images, options);
  Sha256 contents;
  const std::shared_ptr<const Rows> all = rows_of(folder, images, rule, &contents, progress);
  data.fingerprint = contents.text();
  data.train = options.test_fraction ? std::make_shared<SomeRows>(all, std::move(rows.train)) : all;
  if (options.test_fraction) data.test = std::make_shared<SomeRows>(all, std::move(rows.test));
  if (!options.test.names.empty())
    data.test = rows_of(options.test.names[0], images_by_class(options.test.names[0], rule.classes), rule, nullptr, progress);
  return data;
}

ImageRule trained_rule(const nlohmann::json& model, const std::string& where) {
  const nlohmann::json& inputs = model.at("inputs");
  const auto shape = inputs.at("shape").get<std::vector<std::int64_t>>();
  check_input(shape.size() == 3 && (shape[0] == 1 || shape[0] == 3) && shape[1] == shape[2] && shape[1] >= 1 && shape[1] <= 4096,
              "{}: inputs: the shape is not that of a square image", where);
  return {.size = shape[1],
          .channels = shape[0],
          .normalisation = normalisation_for(shape, NumberList{inputs.at("mean").get<std::vector<double>>()},
                                             NumberList{inputs.at("std").get<std::vector<double>>()}, kStandard),
          .classes = model.at("class_names").get<std::vector<std::string>>()};
}

DataDescription describe_trained(const nlohmann::json& model, const std::string& where) { return described(trained_rule(model, where)); }

NewRows read_new(const nlohmann::json& model, const NewRowsOptions& options, const std::string& where) {
  check_input(!options.labels, "`labels` is for .npy files: the class of an image is the sub-folder that it stands in");
  const ImageRule rule = trained_rule(model, where);
  const std::vector<ImageName> images = options.with_labels ? images_by_class(options.data, rule.classes) : images_in(options.data);
  Sha256 contents;
  NewRows made{.rows = rows_of(options.data, images, rule, &contents, {})};
  made.fingerprint = contents.text();
  for (const ImageName& image : images) made.names.push_back(image.name.empty() ? options.data : image.name);
  return made;
}

}  // namespace

extern const DataKind kImageData = {
    .name = "images",
    .reads = {"train", "test", "image-size", "channels", "mean", "std", "test-fraction", "test-seed", "test-public"},
    .describe = describe,
    .sizes = sizes,
    .load = load,
    .describe_trained = describe_trained,
    .read_new = read_new,
};

}  // namespace fodp
