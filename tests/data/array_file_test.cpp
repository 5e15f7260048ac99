// Arrays of .npy, .npz and .safetensors files, sound and hostile.
#include "fodp/data/array_file.h"

#include <zip.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/arrays.h"
#include "python.h"

namespace fodp {
namespace {

using testing::Bytes;
using ::testing::HasSubstr;
using testing::input_error;
using testing::npy_of;
using testing::operator+;

std::vector<double> numbers_in(ArrayFile& file, std::size_t place = 0) {
  const at::ScalarType type = file.info(place).type;
  std::vector<double> all;
  file.read(place, [&](std::span<const std::uint8_t> piece) {
    const std::size_t had = all.size();
    all.resize(had + piece.size() / c10::elementSize(type));
    to_numbers(type, piece, all.data() + had);
  });
  return all;
}

class ArrayFiles : public ::testing::Test {
 protected:
  std::unique_ptr<ArrayFile> open(const std::string& name, const Bytes& bytes) const {
    testing::write_bytes(folder_ / name, bytes);
    return ArrayFile::open(folder_ / name);
  }
  std::string refusal(const std::string& name, const Bytes& bytes) const {
    return input_error([&] { numbers_in(*open(name, bytes)); });
  }

  testing::TemporaryFolder folder_;
};

TEST_F(ArrayFiles, TypesAndByteOrdersAreRead) {
  const auto values = [&](const std::string& type, const std::string& shape, const Bytes& data) {
    return numbers_in(*open("a.npy", npy_of(type, shape, data)));
  };
  EXPECT_EQ(values("<f4", "(2,)", {0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0}), (std::vector<double>{1, -2}));
  EXPECT_EQ(values(">f4", "(2,)", {0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0}), (std::vector<double>{1, -2}));
  EXPECT_EQ(values("<f8", "(1,)", {0, 0, 0, 0, 0, 0, 0xf8, 0x3f}), (std::vector<double>{1.5}));
  EXPECT_EQ(values("<f2", "(1,)", {0, 0x3e}), (std::vector<double>{1.5}));
  EXPECT_EQ(values("|u1", "(1, 3)", {0, 7, 255}), (std::vector<double>{0, 7, 255}));
  EXPECT_EQ(values("|i1", "(1,)", {0xff}), (std::vector<double>{-1}));
  EXPECT_EQ(values("<i2", "(1,)", {0xfe, 0xff}), (std::vector<double>{-2}));
  EXPECT_EQ(values(">i4", "(1,)", {0xff, 0xff, 0xff, 0xfd}), (std::vector<double>{-3}));
  EXPECT_EQ(values(">i8", "(1,)", {0, 0, 0, 0, 0, 0, 1, 0}), (std::vector<double>{256}));
  EXPECT_EQ(values("<i4", "()", {5, 0, 0, 0}), (std::vector<double>{5}));
}

TEST_F(ArrayFiles, ALongArrayComesInPiecesOfWholeValues) {
  const Bytes data = testing::pattern(8 * 100000, 1);
  Bytes all;
  const auto file = open("a.npy", npy_of("<i8", "(100000,)", data));
  file->read(0, [&](std::span<const std::uint8_t> piece) {
    EXPECT_EQ(piece.size() % 8, 0u);
    all.insert(all.end(), piece.begin(), piece.end());
  });
  EXPECT_EQ(all, data);
}

TEST_F(ArrayFiles, HostileNpyIsRefused) {
  EXPECT_THAT(refusal("a.npy", {}), HasSubstr("is empty"));
  EXPECT_THAT(refusal("a.npy", {'P', 'K', 3, 4, 0, 0, 0, 0, 0, 0}), HasSubstr("not an array file of NumPy"));
  EXPECT_THAT(refusal("a.npy", npy_of("|O", "(2,)", {0x80, 4})), HasSubstr("Python objects"));
  EXPECT_THAT(refusal("a.npy", npy_of("<U3", "(2,)", {})), HasSubstr("type is one that is not read"));
  EXPECT_THAT(refusal("a.npy", npy_of("<c8", "(1,)", Bytes(8))), HasSubstr("type is one that is not read"));
  EXPECT_THAT(refusal("a.npy", npy_of("<f4", "(2, 3)", Bytes(20))), HasSubstr("which takes 24 bytes: the file has 20"));
  EXPECT_THAT(refusal("a.npy", npy_of("<f4", "(2, 3)", Bytes(28))), HasSubstr("which takes 24 bytes: the file has 28"));
  EXPECT_THAT(refusal("a.npy", npy_of("<f4", "(4294967296, 4294967296)", Bytes(8))), HasSubstr("larger than 2^48 bytes"));
  EXPECT_THAT(refusal("a.npy", npy_of("<f4", "(99999999999999999999,)", Bytes(8))), HasSubstr("expected a shape"));
  EXPECT_THAT(refusal("a.npy", npy_of("<f4", "(-1,)", Bytes(8))), HasSubstr("expected a shape"));
  EXPECT_THAT(refusal("a.npy", npy_of("<f4", "(2, 3)", Bytes(24), "True")), HasSubstr("Fortran order"));
  EXPECT_THAT(refusal("a.npy", npy_of("<f4", "(2,)", Bytes(8), "__import__('os')")), HasSubstr("expected False"));
  const Bytes records = testing::npy_with_header("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", Bytes(4));
  EXPECT_THAT(refusal("a.npy", records), HasSubstr("records of several fields"));
  EXPECT_THAT(refusal("a.npy", testing::npy_with_header("{'descr': '<f4', 'shape': (1,), }", Bytes(4))), HasSubstr("is damaged"));
  EXPECT_THAT(refusal("a.txt", {1}), HasSubstr("the ending '.txt' is not known"));
}

TEST_F(ArrayFiles, OneLineInFortranOrderIsTheSameInC) {
  EXPECT_EQ(numbers_in(*open("a.npy", npy_of("|u1", "(3, 1)", {1, 2, 3}, "True"))), (std::vector<double>{1, 2, 3}));
}

TEST_F(ArrayFiles, ArchivesAreReadPackedOrNot) {
  const Bytes x = npy_of("|u1", "(4, 2)", {1, 2, 3, 4, 5, 6, 7, 8}), y = npy_of("<i4", "(1,)", {9, 0, 0, 0});
  for (const bool packed : {false, true}) {
    testing::write_zip(folder_ / "a.npz", {{"x.npy", x}, {"note.txt", {1}}, {"y.npy", y}}, packed);
    const auto file = ArrayFile::open(folder_ / "a.npz");
    EXPECT_EQ(file->names(), (std::vector<std::string>{"x", "y"}));
    EXPECT_EQ(file->info(0).shape, (std::vector<std::int64_t>{4, 2}));
    EXPECT_EQ(numbers_in(*file), (std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8}));
    EXPECT_EQ(numbers_in(*file, 1), (std::vector<double>{9}));
  }
}

TEST_F(ArrayFiles, HostileArchivesAreRefused) {
  const Bytes x = npy_of("|u1", "(2000, 2)", testing::pattern(4000, 3));
  EXPECT_THAT(refusal("a.npz", {'P', 'K', 1, 2}), HasSubstr("not a zip archive"));
  testing::write_zip(folder_ / "a.npz", {{"x.npy", npy_of("|u1", "(99,)", {1, 2})}}, true);
  EXPECT_THAT(input_error([&] { numbers_in(*ArrayFile::open(folder_ / "a.npz")); }), HasSubstr("takes 99 bytes: the file has 2"));
  testing::write_zip(folder_ / "a.npz", {{"x.npy", x}}, false);
  Bytes damaged = testing::read_bytes(folder_ / "a.npz");
  damaged[1000] ^= 1;  // a value: only the checksum tells
  EXPECT_THAT(refusal("a.npz", damaged), HasSubstr("CRC"));
  testing::write_zip(folder_ / "a.npz", {{"x.npy", npy_of("|u1", "(1000000,)", Bytes(1000000))}}, true);
  Bytes bomb = testing::read_bytes(folder_ / "a.npz");
  for (std::size_t i = 0; i + 28 < bomb.size(); ++i)  // the size after unpacking, in both headers
    if (bomb[i] == 'P' && bomb[i + 1] == 'K' && (bomb[i + 2] == 1 || bomb[i + 2] == 3)) bomb[i + (bomb[i + 2] == 1 ? 27 : 25)] = 0x7f;
  EXPECT_THAT(refusal("a.npz", bomb), HasSubstr("a.npz"));
}

TEST_F(ArrayFiles, DamageEndsInARefusalOrAnArray) {
  testing::write_bytes(folder_ / "a.npy", npy_of("<f4", "(10, 3)", testing::pattern(120, 1)));
  const auto read = [&](const std::string& name) {
    return [this, name] {
      const auto file = ArrayFile::open(folder_ / name);
      for (std::size_t i = 0; i < file->names().size(); ++i) numbers_in(*file, i);
    };
  };
  EXPECT_GT(testing::refused_when_damaged(folder_ / "a.npy", read("a.npy")), 200);
  for (const bool packed : {false, true}) {
    testing::write_zip(folder_ / "a.npz", {{"x.npy", npy_of("<f4", "(10, 3)", testing::pattern(120, 1))}}, packed);
    EXPECT_GT(testing::refused_when_damaged(folder_ / "a.npz", read("a.npz")), 200);
  }
}

// What NumPy itself writes.
TEST_F(ArrayFiles, NumPysFilesAreRead) {
  const std::string python = testing::python_with("numpy");
  if (python.empty()) GTEST_SKIP() << "no Python with NumPy";
  const std::string code =
      "import numpy as np; x = np.arange(24).reshape(2, 3, 4); np.save(\"a.npy\", x.astype(\">f8\")); np.savez(\"a.npz\", "
      "x=x.astype(\"f4\"), "
      "y=x[0, 0]); np.savez_compressed(\"b.npz\", x=x.astype(\"f2\")); np.save(\"f.npy\", np.asfortranarray(x)); "
      "np.save(\"o.npy\", np.array([{}, []], dtype=object), allow_pickle=True)";
  ASSERT_EQ(std::system(("cd '" + folder_.path().string() + "' && " + python + " -c '" + code + "'").c_str()), 0);
  std::vector<double> expected(24);
  for (std::size_t i = 0; i < 24; ++i) expected[i] = static_cast<double>(i);
  for (const char* name : {"a.npy", "a.npz", "b.npz"}) EXPECT_EQ(numbers_in(*ArrayFile::open(folder_ / name)), expected) << name;
  EXPECT_EQ(numbers_in(*ArrayFile::open(folder_ / "a.npz"), 1), (std::vector<double>{0, 1, 2, 3}));
  EXPECT_THAT(input_error([&] { ArrayFile::open(folder_ / "f.npy"); }), HasSubstr("numpy.ascontiguousarray"));
  EXPECT_THAT(input_error([&] { ArrayFile::open(folder_ / "o.npy"); }), HasSubstr("Python objects"));
}

}  // namespace
}  // namespace fodp
