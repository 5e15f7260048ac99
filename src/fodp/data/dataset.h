// Labelled images in memory, and where they come from. Pixels stay bytes; rows are normalised when they are gathered.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "fodp/base/fields.h"
#include "fodp/base/file_names.h"
#include "fodp/base/number_list.h"
#include "fodp/base/sha256.h"
#include "fodp/base/wide_loops.h"
#include "fodp/data/feature_size.h"
#include "fodp/data/rows.h"

namespace fodp {

// What is public about a data set before any file is opened.
struct DataFormat {
  std::string_view name;  // "cifar-10"
  std::int64_t channels, height, width, classes;
  std::int64_t train_examples, test_examples;  // the published sizes
  std::vector<double> mean, std;               // per channel, after division by 255

  std::int64_t features() const { return channels * height * width; }
};

// Examples laid out channel, row, column, one byte a pixel. The format must outlive them; those of the table below do.
class Examples : public Rows {
 public:
  // InputError if the sizes do not fit each other or the format, if there is no example, or for a label that is no class.
  Examples(const DataFormat& format, std::vector<std::uint8_t> pixels, std::vector<std::uint8_t> labels);

  std::int64_t size() const { return static_cast<std::int64_t>(labels_.size()); }
  const DataFormat& format() const { return *format_; }
  std::span<const std::uint8_t> labels() const { return labels_; }
  std::span<const std::uint8_t> pixels() const { return pixels_; }

  std::int64_t count() const override { return size(); }
  std::vector<RowShape> inputs() const override;
  Target target() const override;
  Batch gather(std::span<const std::int64_t> rows) const override { return {inputs(rows), targets(rows)}; }
  std::span<const std::uint8_t> bytes() const override { return pixels_; }

  // The normalised inputs, float32 [rows, channels, height, width], and labels, int64 [rows], of these examples in this order. InputError
  // for a row that does not exist.
  at::Tensor inputs(std::span<const std::int64_t> rows) const;
  at::Tensor targets(std::span<const std::int64_t> rows) const;

  // Keeps the first n and frees the rest. InputError, which calls n `what`, if there are fewer.
  void keep_first(std::int64_t n, std::string_view what);

  // Takes the last n away and gives them. InputError, which calls n `what`, unless some are left.
  Examples take_last(std::int64_t n, std::string_view what);

 private:
  void check_rows(std::span<const std::int64_t> rows) const;

  const DataFormat* format_;
  std::vector<std::uint8_t> pixels_, labels_;
  std::vector<ByteLine> lines_;  // from a byte to its normalised value, per channel
};

struct Dataset {
  const DataFormat* format;
  Examples train, test;
  // SHA-256, in hexadecimal, of the contents of the training files, one after the other in the order of the table below: gzip files as
  // unpacked, all others as they are. It does not depend on how many of the examples are kept. Empty for examples that came from no file.
  std::string fingerprint = {};
};

// One line of the table of data sets: its format, the sub-folder it usually stands in, the folders it may be found in when none is given,
// its files, and how to read them and to count what they hold.
struct DataSource {
  DataFormat format;
  std::string_view folder;                          // usual sub-folder: "cifar-10-batches-bin"
  std::vector<std::filesystem::path> installed_at;  // where a package puts it: "/usr/share/datasets/fashion-mnist"
  std::vector<std::string> train_files, test_files;
  bool may_be_gzipped;  // then X.gz stands for a missing X
  // Reads files to their last byte, and adds their unpacked contents to the digest if there is one.
  Examples (*read)(const DataFormat&, const std::vector<std::filesystem::path>& files, Sha256* contents);
  // How many examples the files hold, by their headers and sizes alone. InputError where these are damaged.
  std::int64_t (*count)(const DataFormat&, const std::vector<std::filesystem::path>& files);
};

std::span<const DataSource> data_sources();
const DataSource& find_data_source(std::string_view name);  // InputError with the known names

// The folder that holds the source's files: with a data folder DIR, DIR/<usual folder> or DIR itself and nothing else; without, where a
// package puts it. InputError naming each place that was looked in and what is missing there.
std::filesystem::path find_data_folder(const DataSource& source, const std::optional<std::filesystem::path>& data_dir);

struct DataOptions {
  std::string data = "fashion-mnist";
  std::optional<std::string> data_dir;
  std::optional<std::int64_t> train_size, test_size, insecure_validation;

  // Of data of one's own (own_data.h).
  FileNames train, test;
  std::optional<std::string> schema, privacy_unit;
  std::optional<double> test_fraction;
  std::optional<std::int64_t> test_seed;
  bool test_public = false;
  std::optional<std::string> labels, test_labels;
  std::optional<std::int64_t> classes, image_size, channels;
  std::optional<double> target_low, target_high;
  std::optional<NumberList> mean, std;

  // What stands for an image (features/feature_data.h).
  std::string features = "none";
  FeatureSize feature_size = FeatureSize::standard;
  std::optional<std::string> feature_cache;

  static auto fields() {
    return std::tuple{
        field("data", &DataOptions::data,
              "data set: fashion-mnist, mnist, cifar-10, cifar-100 or svhn; or table, tensors or images, for files of your own"),
        field("train", &DataOptions::train,
              "what to train on: the file of a table, which may be repeated; the file with tensors; the folder with images"),
        field("test", &DataOptions::test, "what to test on, of the same kind"),
        field("schema", &DataOptions::schema, "what the columns of the table are: fodp schema FILE drafts one"),
        field("privacy-unit", &DataOptions::privacy_unit,
              "the column that says whose row it is: what is protected is then all that they have in the table, however many rows", {},
              "the schema's, or each row by itself"),
        field("test-fraction", &DataOptions::test_fraction, "hold so many of the units out of training, and test on them",
              strictly_between(0, 1)),
        field("test-seed", &DataOptions::test_seed, "which units `test-fraction` holds out follows from this number and the unit alone",
              between(0, 9007199254740992.0), "drawn"),
        field("test-public", &DataOptions::test_public,
              "declare that the test rows are public, as those of a benchmark are: they are tested on without noise, at every evaluation"),
        field("labels", &DataOptions::labels,
              "the .npy file with the labels of a .npy file in `train`; other files hold theirs themselves"),
        field("test-labels", &DataOptions::test_labels, "likewise, of a .npy file in `test`"),
        field("classes", &DataOptions::classes, "how many classes there are: labels are 0 and up, below this", between(2, 1 << 20)),
        field("target-low", &DataOptions::target_low,
              "instead of `classes`, where the labels are numbers to predict: the least that they can be, known without the rows; smaller "
              "ones are taken for it"),
        field("target-high", &DataOptions::target_high, "and the largest"),
        field("image-size", &DataOptions::image_size, "images are resized to so many pixels a side", between(1, 4096)),
        field("channels", &DataOptions::channels, "3 for red, green and blue, 1 for gray", between(1, 3), "3"),
        field("mean", &DataOptions::mean,
              "subtracted from the inputs (bytes are divided by 255 before): one number, or one for each channel, known without the rows",
              {}, "0.5 for images, else 0"),
        field("std", &DataOptions::std, "then they are divided by this", {}, "0.5 for images, else 1"),
        field("data-dir", &DataOptions::data_dir, "folder with the data set's standard files, in it or in its usual sub-folder", {},
              "where Debian's dataset-fashion-mnist puts it"),
        field("train-size", &DataOptions::train_size, "train on the first so many examples", at_least(1), "all"),
        field("test-size", &DataOptions::test_size, "test on the first so many examples", at_least(1), "all"),
        field("insecure-validation", &DataOptions::insecure_validation,
              "hold the last so many training examples out of training and test on them, without noise, in place of the test set: for "
              "choosing options on public data, NOT PRIVATE",
              at_least(1)),
        field(
            "features", &DataOptions::features,
            "what the model gets of an image: none: its pixels; patches: features that were learnt from computer-drawn images, which cost "
            "no privacy; FILE.ts: what a TorchScript module of your own gives, which must be public (docs/features.md)"),
        field("feature-size", &DataOptions::feature_size, "small, standard or large: more features are more accurate, and take longer"),
        field("feature-cache", &DataOptions::feature_cache,
              "folder where features are kept for the next run; those of private images are as private as these", {},
              "~/.cache/fodp/features"),
    };
  }
};

Dataset load_dataset(const DataOptions& options);

// Where sizes were learnt: from the files themselves, from --train-size, or from what the authors of the data set published.
enum class SizesFrom { files, option, published };

template <>
struct EnumNames<SizesFrom> {
  static constexpr std::pair<std::string_view, SizesFrom> values[] = {
      {"files", SizesFrom::files}, {"option", SizesFrom::option}, {"published", SizesFrom::published}};
};

struct DataSizes {
  std::int64_t train, test;
  SizesFrom from = SizesFrom::files;  // of the training examples
};

// How many examples the files hold, by their headers and sizes alone. None if the files are not where load_dataset would look for them;
// InputError if headers are damaged.
std::optional<DataSizes> sizes_from_headers(const DataOptions& options);

// How many examples load_dataset would give, without reading any: those of the files if they are found, else what the options say, else the
// published sizes. InputError, as from load_dataset, if the options ask for more than there are.
DataSizes announced_sizes(const DataOptions& options);

// What loading one data set comes to.
struct DataReport {
  std::string name;
  std::optional<std::filesystem::path> folder;         // where all of its files stand
  bool found = false;                                  // they are there and were read to the last byte
  std::int64_t train_examples = 0, test_examples = 0;  // as read
  std::int64_t channels = 0, height = 0, width = 0, classes = 0;
  std::string fingerprint;  // as of Dataset; empty unless found
  std::string problem;      // why it is not found or cannot be read; else empty
};

// Loads every data set of the table from where load_dataset would.
std::vector<DataReport> inspect_data(const std::optional<std::filesystem::path>& data_dir);

}  // namespace fodp
