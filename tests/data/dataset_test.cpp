#include "fodp/data/dataset.h"

#include <cmath>
#include <numeric>

#include <ATen/ops/equal.h>

#include "data/temporary_files.h"

namespace fodp {
namespace {

using namespace fodp::testing;

const DataFormat tiny{"tiny", 2, 2, 3, 4, 10, 5, {.5, .25}, {.2, .4}};

Examples tiny_examples(std::int64_t count) {
  std::vector<std::uint8_t> labels;
  for (std::int64_t i = 0; i < count; ++i) labels.push_back(static_cast<std::uint8_t>(3 - i % 4));
  return Examples(tiny, pattern(static_cast<std::size_t>(count * tiny.features()), 1), labels);
}

// Two examples in each of the training and test sets, in whatever folder.
void write_idx_set(const std::filesystem::path& folder, unsigned seed) {
  std::filesystem::create_directories(folder);
  for (const char* part : {"train", "t10k"}) {
    write_bytes(folder / (std::string(part) + "-images-idx3-ubyte"), idx_images(2, pattern(2 * 784, seed)));
    write_bytes(folder / (std::string(part) + "-labels-idx1-ubyte.gz"), gzip(idx_labels(2, {static_cast<std::uint8_t>(seed), 1})));
  }
}

TEST(Examples, GatheredRowsAreNormalisedPerChannelInTheOrderAsked) {
  Examples examples = tiny_examples(5);
  std::vector<std::int64_t> rows{4, 0, 4};
  at::Tensor inputs = examples.inputs(rows), targets = examples.targets(rows);
  ASSERT_EQ(inputs.sizes(), (at::IntArrayRef{3, 2, 2, 3}));
  ASSERT_EQ(inputs.scalar_type(), at::kFloat);
  ASSERT_TRUE(inputs.is_contiguous());
  ASSERT_EQ(targets.sizes(), (at::IntArrayRef{3}));
  ASSERT_EQ(targets.scalar_type(), at::kLong);
  for (std::int64_t i = 0; i < 3; ++i) {
    std::int64_t row = rows[static_cast<std::size_t>(i)];
    EXPECT_EQ(targets[i].item<std::int64_t>(), 3 - row % 4);
    for (std::int64_t c = 0; c < 2; ++c)
      for (std::int64_t y = 0; y < 2; ++y)
        for (std::int64_t x = 0; x < 3; ++x) {
          int byte = examples.pixels()[static_cast<std::size_t>(((row * 2 + c) * 2 + y) * 3 + x)];
          auto expected = static_cast<float>((byte / 255.0 - (c ? .25 : .5)) / (c ? .4 : .2));
          EXPECT_EQ(inputs[i][c][y][x].item<float>(), expected);
        }
  }
}

TEST(Examples, NoRowsGiveAnEmptyBatchOfTheRightShape) {
  Examples examples = tiny_examples(3);
  EXPECT_EQ(examples.inputs({}).sizes(), (at::IntArrayRef{0, 2, 2, 3}));
  EXPECT_EQ(examples.targets({}).sizes(), (at::IntArrayRef{0}));
}

TEST(Examples, RowsThatDoNotExistAreRefused) {
  Examples examples = tiny_examples(3);
  for (std::int64_t row : {std::int64_t{-1}, std::int64_t{3}}) {
    std::vector<std::int64_t> rows{0, row};
    expect_all_in(input_error([&] { examples.inputs(rows); }), {"tiny", "row " + std::to_string(row), "[0, 2]"});
    expect_all_in(input_error([&] { examples.targets(rows); }), {"row " + std::to_string(row)});
  }
}

TEST(Examples, SizesAndLabelsMustFitTheFormat) {
  expect_all_in(input_error([] { Examples(tiny, Bytes(23), Bytes(2)); }), {"tiny", "23 bytes", "2 labels", "12 bytes"});
  expect_all_in(input_error([] { Examples(tiny, {}, {}); }), {"tiny", "no examples"});
  expect_all_in(input_error([] { Examples(tiny, Bytes(24), {0, 4}); }), {"tiny", "example 1 is 4", "[0, 3]"});
  DataFormat lopsided = tiny;
  lopsided.mean = {.5};
  expect_all_in(input_error([&] { Examples(lopsided, Bytes(24), Bytes(2)); }), {"1 means", "2 channels"});
}

TEST(Examples, KeepFirstKeepsTheFirstAndRefusesMoreThanThereAre) {
  Examples examples = tiny_examples(5);
  Bytes before(examples.pixels().begin(), examples.pixels().end());
  expect_all_in(input_error([&] { examples.keep_first(6, "train-size"); }), {"train-size is 6", "[1, 5]"});
  expect_all_in(input_error([&] { examples.keep_first(0, "train-size"); }), {"train-size is 0", "[1, 5]"});
  examples.keep_first(5, "train-size");
  EXPECT_EQ(examples.size(), 5);
  examples.keep_first(2, "train-size");
  EXPECT_EQ(examples.size(), 2);
  EXPECT_TRUE(std::ranges::equal(examples.pixels(), std::span(before).first(24)));
  EXPECT_TRUE(std::ranges::equal(examples.labels(), Bytes{3, 2}));
}

TEST(Sources, TheTableHasThePublishedConstants) {
  std::vector<std::string_view> names;
  for (const DataSource& source : data_sources()) {
    names.push_back(source.format.name);
    EXPECT_EQ(source.format.mean.size(), static_cast<std::size_t>(source.format.channels));
    EXPECT_EQ(&find_data_source(source.format.name), &source);
  }
  EXPECT_EQ(names, (std::vector<std::string_view>{"fashion-mnist", "mnist", "cifar-10", "cifar-100", "svhn"}));
  const DataFormat& svhn = find_data_source("svhn").format;
  EXPECT_EQ(svhn.features(), 3072);
  EXPECT_EQ(svhn.train_examples, 73257);
  EXPECT_EQ(svhn.test_examples, 26032);
  EXPECT_EQ(svhn.std, (std::vector<double>{.1980, .2010, .1970}));
  EXPECT_EQ(find_data_source("cifar-100").format.classes, 100);
  EXPECT_EQ(find_data_source("fashion-mnist").format.mean, std::vector<double>{.2860});
}

TEST(Sources, AnUnknownNameGetsASuggestion) {
  expect_all_in(input_error([] { find_data_source("cifar10"); }), {"'cifar10'", "cifar-10"});
}

TEST(FindFolder, TheUsualSubFolderWinsOverTheFolderItself) {
  TemporaryFolder folder;
  const DataSource& mnist = find_data_source("mnist");
  write_idx_set(folder.path(), 3);
  EXPECT_EQ(find_data_folder(mnist, folder.path()), folder.path());
  write_idx_set(folder / "mnist", 4);
  EXPECT_EQ(find_data_folder(mnist, folder.path()), folder / "mnist");
  std::filesystem::remove(folder / "mnist" / "t10k-labels-idx1-ubyte.gz");
  EXPECT_EQ(find_data_folder(mnist, folder.path()), folder.path());
}

TEST(FindFolder, AGivenFolderWithoutTheFilesIsAnErrorEvenWhereAPackageHasThem) {
  TemporaryFolder folder;
  for (const DataSource& source : data_sources()) {
    std::string message = input_error([&] { find_data_folder(source, folder.path()); });
    expect_all_in(message, {std::string(source.format.name), folder.path().string() + ": has no " + source.train_files[0],
                            source.test_files[0], (folder / std::string(source.folder)).string() + ": no such folder"});
  }
}

TEST(FindFolder, MnistInASubFolderIsNeverTakenForFashionMnist) {
  TemporaryFolder folder;
  write_idx_set(folder / "mnist", 3);
  EXPECT_EQ(find_data_folder(find_data_source("mnist"), folder.path()), folder / "mnist");
  input_error([&] { find_data_folder(find_data_source("fashion-mnist"), folder.path()); });
  write_idx_set(folder / "fashion-mnist", 4);
  EXPECT_EQ(find_data_folder(find_data_source("fashion-mnist"), folder.path()), folder / "fashion-mnist");
}

TEST(FindFolder, MissingFilesAreNamed) {
  TemporaryFolder folder;
  write_idx_set(folder.path(), 3);
  std::filesystem::remove(folder / "t10k-labels-idx1-ubyte.gz");
  std::string message = input_error([&] { find_data_folder(find_data_source("mnist"), folder.path()); });
  expect_all_in(message, {"has no t10k-labels-idx1-ubyte (packed as .gz or not)"});
  EXPECT_EQ(message.find("train-images"), std::string::npos);
}

TEST(FindFolder, WithoutAFolderOnlyPackagesAreLookedAt) {
  expect_all_in(input_error([] { find_data_folder(find_data_source("cifar-10"), std::nullopt); }),
                {"cifar-10", "`data-dir`", "DIR/cifar-10-batches-bin", "data_batch_5.bin", "test_batch.bin"});
  input_error([] { find_data_folder(find_data_source("mnist"), std::filesystem::path()); });
}

TEST(FindFolder, AFileOrNothingInPlaceOfTheFolderIsNamedSo) {
  TemporaryFolder folder;
  write_bytes(folder / "file", {1});
  const DataSource& svhn = find_data_source("svhn");
  expect_all_in(input_error([&] { find_data_folder(svhn, folder / "file"); }), {(folder / "file").string() + ": is not a folder"});
  expect_all_in(input_error([&] { find_data_folder(svhn, folder / "none"); }), {(folder / "none").string() + ": no such folder"});
}

TEST(LoadDataset, SizesKeepTheFirstAndMoreThanThereAreIsRefused) {
  TemporaryFolder folder;
  write_idx_set(folder / "mnist", 3);
  Dataset all = load_dataset({.data = "mnist", .data_dir = folder.path().string()});
  EXPECT_EQ(all.train.size(), 2);
  EXPECT_EQ(all.test.size(), 2);
  EXPECT_EQ(all.format, &find_data_source("mnist").format);
  Dataset some = load_dataset({.data = "mnist", .data_dir = folder.path().string(), .train_size = 1});
  EXPECT_EQ(some.train.size(), 1);
  EXPECT_EQ(some.test.size(), 2);
  EXPECT_EQ(some.train.labels()[0], 3);
  DataOptions too_many{.data = "mnist", .data_dir = folder.path().string(), .test_size = 3};
  expect_all_in(input_error([&] { load_dataset(too_many); }), {"`test-size` is 3", "[1, 2]", "mnist"});
  DataOptions none{.data = "mnist", .data_dir = folder.path().string(), .train_size = 0};
  expect_all_in(input_error([&] { load_dataset(none); }), {"train-size is 0", "1"});
}

TEST(LoadDataset, TheFingerprintIsOfTheTrainingFilesUnpackedWhateverIsKept) {
  TemporaryFolder folder;
  const DataOptions options{.data = "mnist", .data_dir = folder.path().string()};
  write_idx_set(folder / "mnist", 3);
  const std::string expected = sha256_text(idx_images(2, pattern(2 * 784, 3)) + idx_labels(2, {3, 1}));
  EXPECT_EQ(load_dataset(options).fingerprint, expected);
  EXPECT_EQ(load_dataset({.data = "mnist", .data_dir = folder.path().string(), .train_size = 1}).fingerprint, expected);
  write_bytes(folder / "mnist/t10k-images-idx3-ubyte", idx_images(2, pattern(2 * 784, 4)));
  EXPECT_EQ(load_dataset(options).fingerprint, expected);
  write_bytes(folder / "mnist/train-labels-idx1-ubyte.gz", gzip(idx_labels(2, {3, 2})));
  EXPECT_NE(load_dataset(options).fingerprint, expected);
}

TEST(AnnouncedSizes, AreTheFilesWhereTheyAreFound) {
  TemporaryFolder folder;
  write_idx_set(folder / "mnist", 3);
  write_bytes(folder / "mnist/t10k-images-idx3-ubyte", idx_images(1, pattern(784, 3)));
  write_bytes(folder / "mnist/t10k-labels-idx1-ubyte.gz", gzip(idx_labels(1, {1})));
  DataOptions options{.data = "mnist", .data_dir = folder.path().string()};
  const auto expect = [&](std::int64_t train, std::int64_t test) {
    const DataSizes sizes = announced_sizes(options);
    EXPECT_EQ(sizes.train, train);
    EXPECT_EQ(sizes.test, test);
    EXPECT_EQ(sizes.from, SizesFrom::files);
    const Dataset data = load_dataset(options);
    EXPECT_EQ(data.train.size(), train);
    EXPECT_EQ(data.test.size(), test);
  };
  expect(2, 1);
  options.train_size = 1;
  expect(1, 1);
  EXPECT_EQ(sizes_from_headers(options)->train, 2);  // all of them
  const auto refused = [&](const std::vector<std::string>& parts) {
    const std::string message = input_error([&] { announced_sizes(options); });
    expect_all_in(message, parts);
    EXPECT_EQ(message, input_error([&] { load_dataset(options); }));
  };
  options.train_size = 3;
  refused({"`train-size` is 3", "[1, 2]"});
  options.train_size = 0;
  refused({"train-size", "0"});
  options.train_size = 2;
  options.test_size = 2;
  refused({"`test-size` is 2", "[1, 1]"});
  options.test_size = {};
  write_bytes(folder / "mnist/t10k-images-idx3-ubyte", idx_images(1, pattern(700, 3)));
  refused({"t10k-images-idx3-ubyte", "ends after 716 bytes"});
}

TEST(AnnouncedSizes, AGivenFolderWithoutTheFilesSaysNothing) {
  TemporaryFolder folder;
  for (const char* data : {"fashion-mnist", "cifar-10"}) {
    const DataOptions options{.data = data, .data_dir = folder.path().string(), .train_size = 5};
    EXPECT_FALSE(sizes_from_headers(options));
    EXPECT_EQ(announced_sizes(options).train, 5);
    EXPECT_EQ(announced_sizes(options).from, SizesFrom::option);
  }
}

TEST(AnnouncedSizes, WithoutFilesAreTheOptionElseThePublishedSize) {
  const auto expect = [&](const DataOptions& options, std::int64_t train, std::int64_t test, SizesFrom from) {
    EXPECT_FALSE(sizes_from_headers(options));
    const DataSizes sizes = announced_sizes(options);
    EXPECT_EQ(sizes.train, train);
    EXPECT_EQ(sizes.test, test);
    EXPECT_EQ(sizes.from, from);
  };
  expect({.data = "svhn"}, 73257, 26032, SizesFrom::published);
  expect({.data = "svhn", .train_size = 500}, 500, 26032, SizesFrom::option);
  expect({.data = "svhn", .test_size = 9}, 73257, 9, SizesFrom::published);
  expect({.data = "svhn", .train_size = 73257, .test_size = 26032}, 73257, 26032, SizesFrom::option);
  expect_all_in(input_error([] { announced_sizes({.data = "svhn", .train_size = 73258}); }),
                {"`train-size` is 73258", "[1, 73257]", "published", "svhn"});
  expect_all_in(input_error([] { announced_sizes({.data = "svhn", .test_size = 26033}); }), {"`test-size` is 26033", "[1, 26032]"});
  expect_all_in(input_error([] { announced_sizes({.data = "svnh"}); }), {"'svnh'", "svhn"});
}

TEST(AnnouncedSizes, APackagesFilesCountAsFoundWithoutAFolder) {
  const bool installed = std::filesystem::exists(find_data_source("fashion-mnist").installed_at[0]);
  const DataSizes sizes = announced_sizes({});
  EXPECT_EQ(sizes.train, 60000);
  EXPECT_EQ(sizes.test, 10000);
  EXPECT_EQ(sizes.from, installed ? SizesFrom::files : SizesFrom::published);
}

TEST(InspectData, SaysWhatIsThereWhatIsBrokenAndWhatIsMissing) {
  TemporaryFolder folder;
  write_idx_set(folder / "mnist", 3);
  std::filesystem::create_directories(folder / "cifar-100-binary");
  write_bytes(folder / "cifar-100-binary/train.bin", Bytes(3074));
  write_bytes(folder / "cifar-100-binary/test.bin", Bytes(3075));
  std::vector<DataReport> reports = inspect_data(folder.path());
  ASSERT_EQ(reports.size(), data_sources().size());
  const DataReport &fashion = reports[0], &mnist = reports[1], &cifar100 = reports[3];

  EXPECT_EQ(mnist.name, "mnist");
  EXPECT_TRUE(mnist.found);
  EXPECT_EQ(mnist.folder, folder / "mnist");
  EXPECT_EQ(mnist.train_examples, 2);
  EXPECT_EQ(mnist.test_examples, 2);
  EXPECT_EQ(mnist.height, 28);
  EXPECT_EQ(mnist.classes, 10);
  EXPECT_EQ(mnist.problem, "");
  EXPECT_EQ(mnist.fingerprint, sha256_text(idx_images(2, pattern(2 * 784, 3)) + idx_labels(2, {3, 1})));

  EXPECT_FALSE(fashion.found);
  EXPECT_FALSE(fashion.folder);
  expect_all_in(fashion.problem, {"fashion-mnist is not found", folder.path().string()});

  EXPECT_FALSE(cifar100.found);
  EXPECT_EQ(cifar100.folder, folder / "cifar-100-binary");
  EXPECT_EQ(cifar100.train_examples, 0);
  expect_all_in(cifar100.problem, {"test.bin", "3075 bytes"});
}

// The published constants are the means and deviations of the published training sets: a wrong layout or channel order shows here.
struct RealSet {
  std::string name;
  std::int64_t train, test;
  std::vector<std::uint8_t> first_train, first_test;
  double mean_tolerance, std_tolerance;  // of the normalised values; the first 5,000 of a set differ from all of it
};

void PrintTo(const RealSet& real, std::ostream* out) { *out << real.name; }

// Of one channel's normalised values, in pieces that fit the cache.
std::pair<double, double> mean_and_std(const Examples& examples, std::int64_t channel) {
  double sum = 0, squares = 0, count = 0;
  for (std::int64_t first = 0; first < examples.size(); first += 500) {
    std::vector<std::int64_t> rows(static_cast<std::size_t>(std::min<std::int64_t>(500, examples.size() - first)));
    std::iota(rows.begin(), rows.end(), first);
    at::Tensor values = examples.inputs(rows).select(1, channel).to(at::kDouble);
    sum += values.sum().item<double>();
    squares += values.square().sum().item<double>();
    count += static_cast<double>(values.numel());
  }
  double mean = sum / count;
  return {mean, std::sqrt(squares / count - mean * mean)};
}

class RealFiles : public ::testing::TestWithParam<RealSet> {};

TEST_P(RealFiles, HaveTheKnownCountsFirstLabelsAndChannelMeans) {
  const RealSet& real = GetParam();
  const DataSource& source = find_data_source(real.name);
  DataOptions options{.data = real.name};
  if (source.installed_at.empty()) {
    if (!real_data_folder()) GTEST_SKIP() << "no folder of real data: set FODP_DATA_DIR";
    options.data_dir = real_data_folder()->string();
  } else if (!std::filesystem::exists(source.installed_at[0])) {
    GTEST_SKIP() << source.installed_at[0] << " is not installed";
  }
  Dataset data = load_dataset(options);
  EXPECT_EQ(announced_sizes(options).train, data.train.size());
  EXPECT_EQ(announced_sizes(options).test, data.test.size());
  EXPECT_TRUE(data.train.size() == real.train || data.train.size() == source.format.train_examples) << data.train.size();
  EXPECT_TRUE(data.test.size() == real.test || data.test.size() == source.format.test_examples) << data.test.size();
  EXPECT_TRUE(std::ranges::equal(data.train.labels().first(10), real.first_train));
  EXPECT_TRUE(std::ranges::equal(data.test.labels().first(10), real.first_test));

  for (std::int64_t c = 0; c < source.format.channels; ++c) {
    auto [mean, std] = mean_and_std(data.train, c);
    EXPECT_NEAR(mean, 0, real.mean_tolerance) << "channel " << c;
    EXPECT_NEAR(std, 1, real.std_tolerance) << "channel " << c;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Data, RealFiles,
    ::testing::Values(
        RealSet{"fashion-mnist", 60000, 10000, {9, 0, 0, 3, 0, 2, 7, 2, 5, 5}, {9, 2, 1, 1, 6, 1, 4, 6, 5, 7}, .001, .001},
        RealSet{"mnist", 60000, 10000, {5, 0, 4, 1, 9, 2, 1, 3, 1, 4}, {7, 2, 1, 0, 4, 1, 4, 9, 5, 9}, .001, .001},
        RealSet{"cifar-10", 50000, 10000, {6, 9, 9, 4, 1, 1, 2, 7, 8, 3}, {3, 8, 8, 0, 6, 6, 1, 6, 3, 1}, .001, .001},
        RealSet{"cifar-100", 5000, 2000, {19, 29, 0, 11, 1, 86, 90, 28, 23, 31}, {49, 33, 72, 51, 71, 92, 15, 14, 23, 0}, .03, .03},
        RealSet{"svhn", 5000, 2000, {1, 9, 2, 3, 2, 5, 9, 3, 3, 1}, {5, 2, 1, 0, 6, 1, 9, 1, 1, 8}, .1, .1}),
    [](const auto& parameter) {
      std::string name = parameter.param.name;
      std::erase(name, '-');
      return name;
    });

}  // namespace
}  // namespace fodp
