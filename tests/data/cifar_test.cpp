#include "fodp/data/cifar.h"

#include "data/temporary_files.h"

namespace fodp {
namespace {

using namespace fodp::testing;

const DataFormat& ten() { return find_data_source("cifar-10").format; }
const DataFormat& hundred() { return find_data_source("cifar-100").format; }

class Cifar : public ::testing::Test {
 protected:
  TemporaryFolder folder;
  std::filesystem::path file = folder / "data.bin";
  Bytes first = pattern(3072, 1), second = pattern(3072, 2), third = pattern(3072, 3);

  std::string ten_error() const {
    return input_error([&] { read_cifar10(ten(), {file}); });
  }
  std::string hundred_error() const {
    return input_error([&] { read_cifar100(hundred(), {file}); });
  }
};

TEST_F(Cifar, RecordsOfAllFilesFollowEachOtherInOrder) {
  std::filesystem::path other = folder / "other.bin";
  write_bytes(file, Bytes{9} + first + Bytes{0} + second);
  write_bytes(other, Bytes{4} + third);
  Examples examples = read_cifar10(ten(), {file, other});
  EXPECT_TRUE(std::ranges::equal(examples.labels(), Bytes{9, 0, 4}));
  EXPECT_TRUE(std::ranges::equal(examples.pixels(), first + second + third));
}

TEST_F(Cifar, InputsAreChannelRowColumnNormalisedPerChannel) {
  write_bytes(file, Bytes{9} + first + Bytes{0} + second);
  std::vector<std::int64_t> rows{1};
  at::Tensor image = read_cifar10(ten(), {file}).inputs(rows);
  ASSERT_EQ(image.sizes(), (at::IntArrayRef{1, 3, 32, 32}));
  const double mean[] = {.4914, .4822, .4465}, std[] = {.2470, .2435, .2616};
  for (std::int64_t c = 0; c < 3; ++c) {
    int byte = second[static_cast<std::size_t>(c * 1024 + 7 * 32 + 30)];
    EXPECT_EQ(image[0][c][7][30].item<float>(), static_cast<float>((byte / 255.0 - mean[c]) / std[c]));
  }
}

TEST_F(Cifar, HundredTakesTheFineLabel) {
  write_bytes(file, Bytes{19, 99} + first + Bytes{0, 20} + second);
  Examples examples = read_cifar100(hundred(), {file});
  EXPECT_TRUE(std::ranges::equal(examples.labels(), Bytes{99, 20}));
  EXPECT_TRUE(std::ranges::equal(examples.pixels(), first + second));
}

TEST_F(Cifar, TrainingFilesAreTheFiveBatchesInOrder) {
  std::filesystem::create_directory(folder / "cifar-10-batches-bin");
  for (std::uint8_t i = 1; i <= 5; ++i)
    write_bytes(folder / ("cifar-10-batches-bin/data_batch_" + std::to_string(i) + ".bin"), Bytes{i} + pattern(3072, i));
  write_bytes(folder / "cifar-10-batches-bin/test_batch.bin", Bytes{8} + first + Bytes{6} + second);
  Dataset data = load_dataset({.data = "cifar-10", .data_dir = folder.path().string()});
  EXPECT_TRUE(std::ranges::equal(data.train.labels(), Bytes{1, 2, 3, 4, 5}));
  EXPECT_TRUE(std::ranges::equal(data.train.pixels().last(3072), pattern(3072, 5)));
  EXPECT_TRUE(std::ranges::equal(data.test.labels(), Bytes{8, 6}));
}

TEST_F(Cifar, PartialRecordsNameFileAndBytes) {
  write_bytes(file, Bytes{9} + first + Bytes{0});
  expect_all_in(ten_error(), {file.string(), "3074 bytes", "1 records of 3073", "1 bytes more"});
}

TEST_F(Cifar, RecordsAreCountedByTheSizesOfTheFilesAlone) {
  std::filesystem::path other = folder / "other.bin";
  write_bytes(file, Bytes{99} + first + Bytes{0} + second);
  write_bytes(other, Bytes{4} + third);
  EXPECT_EQ(count_cifar10(ten(), {file, other}), 3);
  expect_all_in(ten_error(), {"is 99"});
  write_bytes(other, Bytes{4, 4} + third);
  EXPECT_EQ(count_cifar100(hundred(), {other, other}), 2);
  EXPECT_EQ(input_error([&] { count_cifar100(hundred(), {file}); }), hundred_error());
  EXPECT_EQ(input_error([&] { count_cifar10(ten(), {other}); }), input_error([&] { read_cifar10(ten(), {other}); }));
}

TEST_F(Cifar, TheDigestGetsTheFilesInTheirOrder) {
  std::filesystem::path other = folder / "other.bin";
  write_bytes(file, Bytes{9} + first + Bytes{0} + second);
  write_bytes(other, Bytes{4} + third);
  Sha256 contents;
  read_cifar10(ten(), {other, file}, &contents);
  EXPECT_EQ(contents.text(), sha256_text(read_bytes(other) + read_bytes(file)));
}

TEST_F(Cifar, TruncatedRecordsAreRefused) {
  write_bytes(file, Bytes{9, 9} + first);
  std::filesystem::resize_file(file, 3073);
  expect_all_in(hundred_error(), {file.string(), "3073 bytes", "0 records of 3074", "3073 bytes more"});
  std::filesystem::resize_file(file, 3072);
  expect_all_in(ten_error(), {file.string(), "3072 bytes", "0 records of 3073"});
}

TEST_F(Cifar, LabelsOutOfRangeNameFileRecordByteValueAndRange) {
  write_bytes(file, Bytes{9} + first + Bytes{10} + second);
  expect_all_in(ten_error(), {file.string(), "label of record 1 ", "byte 3073", "is 10", "[0, 9]"});
  write_bytes(file, Bytes{9, 1} + first + Bytes{5, 100} + second);
  expect_all_in(hundred_error(), {file.string(), "fine label of record 1 ", "byte 3075", "is 100", "[0, 99]"});
  write_bytes(file, Bytes{20, 1} + first);
  expect_all_in(hundred_error(), {file.string(), "coarse label of record 0 ", "byte 0", "is 20", "[0, 19]"});
}

TEST_F(Cifar, EmptyMissingAndFolderAreNamedSo) {
  expect_all_in(ten_error(), {file.string(), "No such file"});
  write_bytes(file, {});
  expect_all_in(ten_error(), {file.string(), "is empty"});
  file = folder.path();
  expect_all_in(ten_error(), {file.string(), "is a folder"});
}

TEST_F(Cifar, DamagedFilesAreReadOrRefusedNeverMore) {
  write_bytes(file, Bytes{9} + first + Bytes{0} + second);
  EXPECT_GT(refused_when_damaged(file, [&] { read_cifar10(ten(), {file}); }), 90);
  write_bytes(file, Bytes{9, 9} + first + Bytes{0, 0} + second);
  EXPECT_GT(refused_when_damaged(file, [&] { read_cifar100(hundred(), {file}); }), 90);
}

}  // namespace
}  // namespace fodp
