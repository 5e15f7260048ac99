#include "fodp/data/idx.h"

#include <unistd.h>

#include "data/temporary_files.h"

namespace fodp {
namespace {

using namespace fodp::testing;

const DataFormat& mnist_format() { return find_data_source("mnist").format; }

class Idx : public ::testing::Test {
 protected:
  void SetUp() override {
    write_bytes(images, idx_images(3, pixels));
    write_bytes(labels, idx_labels(3, {7, 0, 9}));
  }
  Examples read() const { return read_idx(mnist_format(), {images, labels}); }
  std::int64_t count() const { return count_idx(mnist_format(), {images, labels}); }
  std::string error() const {
    return input_error([&] { read(); });
  }
  std::string count_error() const {
    return input_error([&] { count(); });
  }

  TemporaryFolder folder;
  std::filesystem::path images = folder / "train-images-idx3-ubyte", labels = folder / "train-labels-idx1-ubyte";
  Bytes pixels = pattern(3 * 784, 5);
};

TEST_F(Idx, ReadsEveryPixelAndLabel) {
  Examples examples = read();
  EXPECT_TRUE(std::ranges::equal(examples.pixels(), pixels));
  EXPECT_TRUE(std::ranges::equal(examples.labels(), Bytes{7, 0, 9}));
  std::vector<std::int64_t> rows{2};
  at::Tensor image = examples.inputs(rows);
  EXPECT_EQ(image.sizes(), (at::IntArrayRef{1, 1, 28, 28}));
  EXPECT_EQ(image[0][0][5][20].item<float>(), static_cast<float>((pixels[2 * 784 + 5 * 28 + 20] / 255.0 - .1307) / .3081));
}

TEST_F(Idx, ReadsGzipAsThePlainFileInOneStreamOrSeveral) {
  Bytes plain = read_bytes(images), first(plain.begin(), plain.begin() + 1000), rest(plain.begin() + 1000, plain.end());
  labels = folder / "labels.gz";
  images = folder / "images.gz";
  write_bytes(labels, gzip(idx_labels(3, {7, 0, 9})));
  for (const Bytes& packed : {gzip(plain), gzip(first) + gzip(rest)}) {
    write_bytes(images, packed);
    Examples examples = read();
    EXPECT_TRUE(std::ranges::equal(examples.pixels(), pixels));
    EXPECT_TRUE(std::ranges::equal(examples.labels(), Bytes{7, 0, 9}));
  }
}

// Larger than any buffer of the reader, so that streams are refilled and vectors grow.
TEST_F(Idx, ReadsFilesOfManyBuffers) {
  Bytes many = pattern(2000 * 784, 6);
  labels = folder / "labels.gz";
  images = folder / "images.gz";
  write_bytes(labels, gzip(idx_labels(2000, Bytes(2000, 4))));
  write_bytes(images, gzip(idx_images(2000, many)));
  EXPECT_TRUE(std::ranges::equal(read().pixels(), many));
}

TEST_F(Idx, SymlinksAreFollowed) {
  std::filesystem::create_symlink(labels, folder / "link");
  labels = folder / "link";
  EXPECT_EQ(read().size(), 3);
}

TEST_F(Idx, WrongMagicNamesFileFoundAndExpected) {
  write_bytes(labels, read_bytes(images));
  expect_all_in(error(), {labels.string(), "00000803", "expected 00000801", "labels"});
  write_bytes(images, idx_labels(3, {7, 0, 9}));
  expect_all_in(error(), {images.string(), "00000801", "expected 00000803", "images"});
}

TEST_F(Idx, WrongDimensionsNameFileFoundAndExpected) {
  write_bytes(images, idx_images(3, pixels, 32, 28));
  expect_all_in(error(), {images.string(), "32 x 28", "expected 28 x 28"});
}

TEST_F(Idx, TruncatedFilesNameFileLengthAndExpectedLength) {
  std::filesystem::resize_file(images, 2367);
  expect_all_in(error(), {images.string(), "ends after 2367 bytes", "expected 2368", "3 images"});
  std::filesystem::resize_file(images, 13);
  expect_all_in(error(), {images.string(), "ends after 13 bytes", "header"});
  write_bytes(images, idx_images(3, pixels));
  std::filesystem::resize_file(labels, 10);
  expect_all_in(error(), {labels.string(), "ends after 10 bytes", "expected 11", "3 labels"});
}

TEST_F(Idx, BytesAfterTheLastRecordAreRefused) {
  write_bytes(images, idx_images(3, pixels) + Bytes{0});
  expect_all_in(error(), {images.string(), "after byte 2368", "3 images"});
  write_bytes(images, idx_images(3, pixels));
  write_bytes(labels, idx_labels(2, {7, 0, 9}));
  expect_all_in(error(), {labels.string(), "after byte 10", "2 labels"});
}

TEST_F(Idx, DifferentCountsAreRefused) {
  write_bytes(labels, idx_labels(2, {7, 0}));
  expect_all_in(error(), {images.string(), "3 images", labels.string(), "2 labels"});
}

TEST_F(Idx, AHeaderThatClaimsTheLargestCountFailsWithoutAllocatingIt) {
  write_bytes(images, idx_images(0xffffffff, pixels));
  expect_all_in(error(), {images.string(), "ends after 2368 bytes", "4294967295 images"});
  images = folder / "images.gz";
  const Bytes packed = gzip(idx_images(0xffffffff, pixels));
  write_bytes(images, packed);
  const auto can_have = [](std::uint64_t bytes) { return " can have " + std::to_string(bytes); };
  expect_all_in(error(), {images.string(), "4294967295 images", can_have(1032 * packed.size())});
  EXPECT_EQ(count_error(), error());
  // The length of the file is no bound where it is large, too.
  std::filesystem::resize_file(images, std::uintmax_t{1} << 32);
  expect_all_in(error(), {images.string(), "4294967295 images", can_have(std::uint64_t{8} << 30)});
}

TEST_F(Idx, ALabelOutOfRangeNamesFileRecordValueAndRange) {
  write_bytes(labels, idx_labels(3, {7, 10, 9}));
  expect_all_in(error(), {labels.string(), "record 1 ", "is 10", "[0, 9]"});
}

TEST_F(Idx, NoExamplesIsAnError) {
  write_bytes(labels, idx_labels(0, {}));
  expect_all_in(error(), {labels.string(), "0 labels", "at least 1"});
}

TEST_F(Idx, EmptyMissingAndFolderAreNamedSo) {
  write_bytes(images, {});
  expect_all_in(error(), {images.string(), "is empty"});
  std::filesystem::remove(images);
  expect_all_in(error(), {images.string(), "cannot be opened", "No such file"});
  std::filesystem::create_directory(images);
  expect_all_in(error(), {images.string(), "is a folder"});
}

TEST_F(Idx, AnUnreadableFileIsNamedSo) {
  std::filesystem::permissions(folder.path(), std::filesystem::perms::all);
  std::filesystem::permissions(images, std::filesystem::perms::none);
  bool root = geteuid() == 0;
  if (root && seteuid(65534) != 0) GTEST_SKIP() << "root reads everything, and cannot become another user here";
  std::string message = error();
  ASSERT_EQ(seteuid(root ? 0 : geteuid()), 0);
  expect_all_in(message, {images.string(), "cannot be opened", "Permission denied"});
}

TEST_F(Idx, DamagedGzipIsRefusedWithTheByte) {
  images = folder / "images.gz";
  const Bytes good = gzip(idx_images(3, pixels));

  write_bytes(images, good + Bytes{'x', 'y'});
  expect_all_in(error(), {images.string(), "2 bytes after the end of the gzip stream at byte " + std::to_string(good.size())});

  // Cut anywhere, down to the last byte of the checksum.
  for (std::size_t size : {std::size_t{5}, std::size_t{500}, good.size() - 9, good.size() - 4, good.size() - 1}) {
    write_bytes(images, Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)));
    expect_all_in(error(), {images.string(), "ends early, at byte " + std::to_string(size)});
  }

  Bytes wrong_checksum = good;
  wrong_checksum[good.size() - 6] ^= 1;
  write_bytes(images, wrong_checksum);
  expect_all_in(error(), {images.string(), "corrupt gzip data", "data check"});

  write_bytes(images, idx_images(3, pixels));
  expect_all_in(error(), {images.string(), "corrupt gzip data", "header check"});
}

TEST_F(Idx, CountingTakesTheHeadersWordAndReadsNothingAfterThem) {
  write_bytes(labels, idx_labels(3, {7, 10, 9}));
  EXPECT_EQ(count(), 3);
  images = folder / "images.gz";
  const Bytes packed = gzip(idx_images(3, pixels));
  write_bytes(images, Bytes(packed.begin(), packed.begin() + 1500));
  EXPECT_EQ(count(), 3);
  error();  // but reading refuses both
}

TEST_F(Idx, CountingRefusesWhatReadingRefusesInHeadersAndLengths) {
  const Bytes good_images = read_bytes(images), good_labels = read_bytes(labels);
  const auto refused = [&](const Bytes& image_bytes, const Bytes& label_bytes) {
    write_bytes(images, image_bytes);
    write_bytes(labels, label_bytes);
    EXPECT_EQ(count_error(), error());
  };
  refused(good_labels, good_labels);
  refused(good_images, good_images);
  refused(idx_images(3, pixels, 32, 28), good_labels);
  refused(idx_images(0, {}), good_labels);
  refused(good_images, idx_labels(0, {}));
  refused(idx_images(4, pixels), good_labels);
  refused(good_images + Bytes{0}, good_labels);
  refused(good_images, idx_labels(3, {7, 0}));
  refused(good_images, idx_labels(2, {7, 0, 9}));
  refused(good_images, idx_labels(2, {7, 0}));
  refused(Bytes(13), good_labels);
  refused({}, good_labels);
  labels = folder / "labels.gz";
  refused(good_images, gzip(idx_labels(2, {7, 0})));
  refused(good_images, Bytes(5, 0x1f));
}

TEST_F(Idx, TheDigestGetsImagesThenLabelsUnpacked) {
  const std::string expected = sha256_text(idx_images(3, pixels) + idx_labels(3, {7, 0, 9}));
  Sha256 plain, packed;
  read_idx(mnist_format(), {images, labels}, &plain);
  EXPECT_EQ(plain.text(), expected);
  images = folder / "images.gz";
  write_bytes(images, gzip(idx_images(3, pixels)));
  read_idx(mnist_format(), {images, labels}, &packed);
  EXPECT_EQ(packed.text(), expected);
}

TEST_F(Idx, DamagedFilesAreReadOrRefusedNeverMore) {
  EXPECT_GT(refused_when_damaged(images, [&] { read(); }), 100);
  EXPECT_GT(refused_when_damaged(labels, [&] { read(); }), 100);
  images = folder / "images.gz";
  write_bytes(images, gzip(idx_images(3, pixels)));
  // The checksum sees all but changes of the header's name, time and system.
  EXPECT_GT(refused_when_damaged(images, [&] { read(); }), 450);
  EXPECT_GT(refused_when_damaged(images, [&] { count(); }), 50);
}

}  // namespace
}  // namespace fodp
