#include "fodp/data/svhn.h"

#include <matio.h>

#include "data/temporary_files.h"
#include "fodp/data/mat5.h"

namespace fodp {
namespace {

using namespace fodp::testing;

const DataFormat& svhn_format() { return find_data_source("svhn").format; }

// One array of a .mat file, as libmatio takes it.
template <class Value>
struct Array {
  const char* name;
  matio_classes kind;
  matio_types type;
  std::vector<std::size_t> dims;
  std::vector<Value> values;
  int options = 0;
};

class Svhn : public ::testing::Test {
 protected:
  template <class... Arrays>
  void write(const Arrays&... arrays) const {
    std::filesystem::remove(file);
    mat_t* out = Mat_CreateVer(file.c_str(), nullptr, MAT_FT_MAT5);
    ASSERT_NE(out, nullptr);
    (write_array(out, arrays), ...);
    Mat_Close(out);
  }
  template <class Value>
  void write_array(mat_t* out, Array<Value> array) const {
    matvar_t* variable = Mat_VarCreate(array.name, array.kind, array.type, static_cast<int>(array.dims.size()), array.dims.data(),
                                       array.values.data(), array.options);
    ASSERT_NE(variable, nullptr);
    EXPECT_EQ(Mat_VarWrite(out, variable, compression), 0);
    Mat_VarFree(variable);
  }

  Array<std::uint8_t> images(std::size_t count) const {
    return {"X", MAT_C_UINT8, MAT_T_UINT8, {32, 32, 3, count}, pattern(count * 3072, 4)};
  }
  static Array<std::uint8_t> labels(Bytes values) { return {"y", MAT_C_UINT8, MAT_T_UINT8, {values.size(), 1}, values}; }
  static Array<double> double_labels(std::vector<double> values) { return {"y", MAT_C_DOUBLE, MAT_T_DOUBLE, {values.size(), 1}, values}; }

  Examples read() const { return read_svhn(svhn_format(), {file}); }
  std::int64_t count() const { return count_svhn(svhn_format(), {file}); }
  std::string error() const {
    return input_error([&] { read(); });
  }

  TemporaryFolder folder;
  std::filesystem::path file = folder / "train_32x32.mat";
  matio_compression compression = MAT_COMPRESSION_ZLIB;
};

TEST_F(Svhn, ColumnMajorImagesBecomeChannelRowColumn) {
  for (matio_compression packed : {MAT_COMPRESSION_ZLIB, MAT_COMPRESSION_NONE}) {
    compression = packed;
    write(images(3), labels({10, 1, 9}));
    Examples examples = read();
    ASSERT_EQ(examples.size(), 3);
    Bytes stored = images(3).values;
    std::vector<std::int64_t> rows{2};
    at::Tensor image = examples.inputs(rows);
    const double mean[] = {.4377, .4438, .4728}, std[] = {.1980, .2010, .1970};
    for (std::size_t c = 0; c < 3; ++c)
      for (std::size_t y = 0; y < 32; ++y)
        for (std::size_t x = 0; x < 32; ++x) {
          std::uint8_t byte = stored[y + 32 * (x + 32 * (c + 3 * 2))];
          ASSERT_EQ(examples.pixels()[((2 * 3 + c) * 32 + y) * 32 + x], byte);
          auto at = [](std::size_t i) { return static_cast<std::int64_t>(i); };
          ASSERT_EQ(image[0][at(c)][at(y)][at(x)].item<float>(), static_cast<float>((byte / 255.0 - mean[c]) / std[c]));
        }
  }
}

TEST_F(Svhn, LabelTenIsTheDigitZeroInBytesAndDoubles) {
  write(images(4), labels({10, 1, 9, 10}));
  EXPECT_TRUE(std::ranges::equal(read().labels(), Bytes{0, 1, 9, 0}));
  write(double_labels({10, 1, 9, 10}), images(4));
  EXPECT_TRUE(std::ranges::equal(read().labels(), Bytes{0, 1, 9, 0}));
}

TEST_F(Svhn, LabelsOutOfRangeNameFileRecordValueAndRange) {
  write(images(3), labels({1, 0, 2}));
  expect_all_in(error(), {file.string(), "record 1 ", "is 0", "[1, 10]"});
  write(images(3), labels({1, 2, 11}));
  expect_all_in(error(), {file.string(), "record 2 ", "is 11", "[1, 10]"});
  write(images(3), double_labels({1.5, 2, 1}));
  expect_all_in(error(), {file.string(), "record 0 ", "is 1.5", "[1, 10]"});
  write(images(3), double_labels({1, std::numeric_limits<double>::quiet_NaN(), 1}));
  expect_all_in(error(), {file.string(), "record 1 ", "is nan"});
}

TEST_F(Svhn, WrongShapesNameTheVariableFoundAndExpected) {
  Array<std::uint8_t> x = images(2);
  x.dims = {32, 32, 2, 3};
  write(x, labels({1, 2, 3}));
  expect_all_in(error(), {file.string(), "X is [32, 32, 2, 3]", "[32, 32, 3, N]"});
  x.dims = {32, 32, 6};
  write(x, labels({1, 2}));
  expect_all_in(error(), {file.string(), "X is [32, 32, 6]"});
  write(images(2), labels({1, 2, 3}));
  expect_all_in(error(), {file.string(), "y is [3, 1]", "[2, 1]"});
  Array<std::uint8_t> y = labels({1, 2});
  y.dims = {1, 2};
  write(images(2), y);
  expect_all_in(error(), {file.string(), "y is [1, 2]", "[2, 1]"});
}

TEST_F(Svhn, WrongTypesNameTheVariableFoundAndExpected) {
  write(Array<double>{"X", MAT_C_DOUBLE, MAT_T_DOUBLE, {32, 32, 3, 1}, std::vector<double>(3072)}, labels({1}));
  expect_all_in(error(), {file.string(), "X is of MATLAB class 6", "uint8"});
  write(images(1), Array<float>{"y", MAT_C_SINGLE, MAT_T_SINGLE, {1, 1}, {1}});
  expect_all_in(error(), {file.string(), "y is of MATLAB class 7", "uint8 or double"});
  Array<std::uint8_t> truth = labels({1});
  truth.options = MAT_F_LOGICAL;
  write(images(1), truth);
  expect_all_in(error(), {file.string(), "y", "logical"});
}

TEST_F(Svhn, MissingVariablesAreNamed) {
  write(images(1));
  expect_all_in(error(), {file.string(), "no variable y"});
  write(labels({1}));
  expect_all_in(error(), {file.string(), "no variable X"});
}

TEST_F(Svhn, AnythingButNumericArraysIsRefused) {
  write(images(1), labels({1}), Array<char>{"note", MAT_C_CHAR, MAT_T_UINT8, {1, 3}, {'a', 'b', 'c'}});
  expect_all_in(error(), {file.string(), "class 4", "numeric"});
}

TEST_F(Svhn, TruncatedFilesNameTheByte) {
  for (matio_compression packed : {MAT_COMPRESSION_ZLIB, MAT_COMPRESSION_NONE}) {
    compression = packed;
    write(images(2), labels({1, 2}));
    const Bytes whole = read_bytes(file);
    for (std::size_t size : {std::size_t{100}, std::size_t{131}, std::size_t{3000}, whole.size() - 1}) {
      write_bytes(file, Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)));
      std::string message = error();
      expect_all_in(message, {file.string(), "end"});
      EXPECT_NE(message.find_first_of("0123456789", message.find("32x32.mat") + 9), std::string::npos) << message;
    }
  }
}

TEST_F(Svhn, BytesAfterTheLastVariableAreRefused) {
  write(images(1), labels({1}));
  const Bytes whole = read_bytes(file);
  write_bytes(file, whole + Bytes{1, 2, 3});
  expect_all_in(error(), {file.string(), "byte " + std::to_string(whole.size())});
  write_bytes(file, whole + Bytes(16));
  expect_all_in(error(), {file.string(), "type 0 at byte " + std::to_string(whole.size())});
}

// A pixel that changed but still inflates: only the checksum can tell, and libmatio does not look at it.
TEST_F(Svhn, AWrongChecksumIsRefused) {
  write(images(1), labels({1}));
  Bytes bytes = read_bytes(file);
  std::size_t length = bytes[132] | std::size_t{bytes[133]} << 8;
  bytes[136 + length - 1] ^= 1;
  write_bytes(file, bytes);
  expect_all_in(error(), {file.string(), "corrupt compressed data", "data check"});
}

TEST_F(Svhn, AHeaderThatClaimsMoreImagesThanTheFileHoldsFailsWithoutAllocatingThem) {
  compression = MAT_COMPRESSION_NONE;
  write(images(1), labels({1}));
  Bytes bytes = read_bytes(file);
  // header 128, tag 8, array flags 16, dimensions' tag 8, then 32, 32, 3, N
  std::size_t n = 128 + 8 + 16 + 8 + 12;
  ASSERT_EQ(bytes[n], 1);
  std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(n), 4, 0xff);
  write_bytes(file, bytes);
  expect_all_in(error(), {file.string(), "4294967295 images"});
}

TEST_F(Svhn, OtherVersionsAndOtherFilesAreRefused) {
  write(images(1), labels({1}));
  Bytes bytes = read_bytes(file);
  bytes[125] = 2;
  write_bytes(file, bytes);
  expect_all_in(error(), {file.string(), "v7.3", "v5"});
  write_bytes(file, pattern(5000, 1));
  expect_all_in(error(), {file.string(), "MATLAB v5", "bytes 124 to 127"});
  write_bytes(file, {});
  expect_all_in(error(), {file.string(), "is empty"});
  std::filesystem::remove(file);
  expect_all_in(error(), {file.string(), "No such file"});
  std::filesystem::create_directory(file);
  expect_all_in(error(), {file.string(), "is a folder"});
}

TEST_F(Svhn, DamagedFilesAreReadOrRefusedNeverMoreAndNothingIsPrinted) {
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  write(images(2), labels({10, 3}));
  int refused_packed = refused_when_damaged(file, [&] { read(); });
  compression = MAT_COMPRESSION_NONE;
  write(images(2), labels({10, 3}));
  int refused_plain = refused_when_damaged(file, [&] { read(); });
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_GT(refused_packed, 300);
  EXPECT_GT(refused_plain, 150);
}

TEST_F(Svhn, ImagesAreCountedByTheHeadersAlone) {
  for (matio_compression packed : {MAT_COMPRESSION_ZLIB, MAT_COMPRESSION_NONE}) {
    compression = packed;
    write(images(3), labels({1, 2, 77}));
    EXPECT_EQ(count(), 3);
    write(double_labels({1, 2, 3, 99}), images(4));
    EXPECT_EQ(count(), 4);
    expect_all_in(error(), {"is 99"});
  }
  // Damage to a compressed image: reading refuses it by the checksum, which counting does not reach.
  compression = MAT_COMPRESSION_ZLIB;
  write(images(3), labels({1, 2, 3}));
  Bytes bytes = read_bytes(file);
  bytes[6000] ^= 1;
  write_bytes(file, bytes);
  EXPECT_EQ(count(), 3);
  expect_all_in(error(), {"corrupt compressed data"});
}

TEST_F(Svhn, CountingRefusesWhatReadingRefusesInHeaders) {
  const auto refused = [&] { EXPECT_EQ(input_error([&] { count(); }), error()); };
  Array<std::uint8_t> x = images(2);
  x.dims = {32, 32, 2, 3};
  write(x, labels({1, 2, 3}));
  refused();
  write(images(2), labels({1, 2, 3}));
  refused();
  write(images(1));
  refused();
  write(images(1), labels({1}), Array<char>{"note", MAT_C_CHAR, MAT_T_UINT8, {1, 3}, {'a', 'b', 'c'}});
  refused();
  write(images(1), labels({1}));
  write_bytes(file, read_bytes(file) + Bytes{1, 2, 3});
  refused();
  compression = MAT_COMPRESSION_NONE;
  write(images(1), labels({1}));
  Bytes bytes = read_bytes(file);
  write_bytes(file, Bytes(bytes.begin(), bytes.end() - 1));
  refused();
  std::fill_n(bytes.begin() + 128 + 8 + 16 + 8 + 12, 4, 0xff);  // N of X
  write_bytes(file, bytes);
  refused();
  bytes[125] = 2;  // the version
  write_bytes(file, bytes);
  refused();
}

TEST_F(Svhn, DamagedFilesAreCountedOrRefusedNeverMoreAndNothingIsPrinted) {
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  int refused = 0;
  for (matio_compression packed : {MAT_COMPRESSION_ZLIB, MAT_COMPRESSION_NONE}) {
    compression = packed;
    write(images(2), labels({10, 3}));
    refused += refused_when_damaged(file, [&] { count(); });
  }
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_GT(refused, 300);
}

TEST_F(Svhn, TheDigestGetsTheFileAsItIs) {
  write(images(2), labels({10, 3}));
  Sha256 contents;
  read_svhn(svhn_format(), {file}, &contents);
  EXPECT_EQ(contents.text(), sha256_text(read_bytes(file)));
}

TEST_F(Svhn, ADoubleMayBeStoredAsAnyNumber) {
  for (matio_types type : {MAT_T_INT8, MAT_T_UINT8, MAT_T_INT16, MAT_T_UINT16, MAT_T_INT32, MAT_T_UINT32}) {
    // libmatio stores what it is given: doubles. The type and the values are put in by hand, as MATLAB does for whole numbers.
    compression = MAT_COMPRESSION_NONE;
    write(images(2), double_labels({10, 3}));
    Bytes bytes = read_bytes(file);
    const std::size_t width = type <= MAT_T_UINT8 ? 1 : type <= MAT_T_UINT16 ? 2 : 4, values = bytes.size() - 16;
    Bytes stored(8);
    stored[0] = 10;
    stored[width] = 3;
    bytes.resize(values);
    bytes[values - 8] = static_cast<std::uint8_t>(type);
    bytes[values - 4] = static_cast<std::uint8_t>(2 * width);
    const std::size_t tag = values - 8 - 8 - 16 - 16 - 8;  // of y: flags, shape, name, values
    ASSERT_EQ(bytes[tag], 14);
    bytes[tag + 4] = static_cast<std::uint8_t>(bytes[tag + 4] - 8);
    write_bytes(file, bytes + stored);
    EXPECT_TRUE(std::ranges::equal(read().labels(), Bytes{0, 3})) << type;
  }
}

TEST_F(Svhn, AVariableThatComesTwiceIsRefused) {
  compression = MAT_COMPRESSION_NONE;  // libmatio itself refuses to write one twice
  write(images(1), labels({1}));
  Bytes bytes = read_bytes(file);
  write_bytes(file, bytes + Bytes(bytes.begin() + 128, bytes.end()));
  expect_all_in(error(), {file.string(), "variable y comes twice"});
}

// libmatio took 2 GB for this file of 249 bytes (fuzz/corpus/mat).
TEST(Mat5, LengthsAreHeldAgainstTheFile) {
  const std::filesystem::path corpus = FODP_SOURCE_DIR "/fuzz/corpus/mat";
  EXPECT_EQ(read_mat5(corpus / "good-packed", {"X"})[0].values.size(), 24u);
  EXPECT_TRUE(read_mat5(corpus / "good-packed", {"X"})[1].values.empty());
  EXPECT_EQ(read_mat5_headers(corpus / "good-packed")[0].stored_bytes, 24u);
  EXPECT_EQ(read_mat5_headers(corpus / "good-packed")[0].shape, (std::vector<std::uint64_t>{2, 2, 3, 2}));
  input_error([&] { read_mat5(corpus / "bad-many-dimensions", {"X"}); });
  input_error([&] { read_mat5_headers(corpus / "bad-many-dimensions"); });
}

}  // namespace
}  // namespace fodp
