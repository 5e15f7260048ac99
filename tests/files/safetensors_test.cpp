#include "fodp/files/safetensors.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "fodp/base/check.h"
#include "python.h"

namespace fodp::files {
namespace {

std::string fixture(const std::string& name) {
  std::ifstream in(std::string(FODP_SOURCE_DIR "/tests/files/fixtures/") + name, std::ios::binary);
  EXPECT_TRUE(in) << name;
  return (std::ostringstream() << in.rdbuf()).str();
}

// The values of fixtures/make_fixtures.py.
StateDict sequential() {
  return {{"1.weight", at::arange(24, at::kFloat).reshape({4, 6}) / 8 - 1},
          {"1.bias", at::arange(4, at::kFloat) / 4 - .5},
          {"3.weight", at::arange(12, at::kFloat).reshape({3, 4}) / 16},
          {"3.bias", -at::arange(3, at::kFloat) / 2}};
}

const Metadata metadata = {{"fodp", "{\"größe\": [1, \"\\\\\", {}]}\n"}};  // that of python_reads_model.py

StateDict mixed() {
  const at::Tensor base = at::arange(12, at::kFloat).reshape({3, 4});
  return {{"f32", base / 4},
          {"transposed", base.t().contiguous()},
          {"slice", base.slice(0, 1).slice(1, 1, 3).contiguous()},
          {"expanded", at::full({5}, 7., at::kFloat)},
          {"f64", at::arange(3, at::kDouble) / 3},
          {"f16", at::arange(5, at::kHalf) / 2},
          {"bf16", at::arange(3, at::kBFloat16) - 1},
          {"i64", at::tensor({-(std::int64_t{1} << 40), std::int64_t{0}, std::int64_t{1} << 40})},
          {"i32", at::tensor({-5, 70000})},
          {"i16", at::tensor({-300, 300}).to(at::kShort)},
          {"i8", at::tensor({-128, 127}).to(at::kChar)},
          {"u8", at::tensor({0, 255}).to(at::kByte)},
          {"scalar", at::tensor(2.5f).reshape({})},
          {"empty", at::empty({0, 3}, at::kFloat)},
          {"größe", at::ones({1}, at::kFloat)}};
}

void expect_same(const NamedTensor& given, const NamedTensor& expected) {
  SCOPED_TRACE(expected.name);
  EXPECT_EQ(given.name, expected.name);
  EXPECT_EQ(given.value.scalar_type(), expected.value.scalar_type());
  EXPECT_TRUE(given.value.is_contiguous());
  EXPECT_TRUE(given.value.equal(expected.value)) << given.value;
}

void expect_same(const StateDict& given, const StateDict& expected) {
  ASSERT_EQ(given.size(), expected.size());
  for (std::size_t i = 0; i < given.size(); ++i) expect_same(given[i], expected[i]);
}

StateDict sorted(StateDict dict) {
  std::ranges::sort(dict, {}, &NamedTensor::name);
  return dict;
}

std::string refusal(std::string_view bytes) {
  try {
    from_safetensors(bytes, "FILE");
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

std::string file_with(const std::string& header, std::size_t data_size) {
  const std::uint64_t size = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &size, 8);
  return bytes + header + std::string(data_size, '\0');
}

#define EXPECT_REFUSED(header, data_size, part)                                                                           \
  {                                                                                                                       \
    const std::string message = refusal(file_with(header, data_size));                                                    \
    EXPECT_TRUE(message.find(part) != message.npos && message.starts_with("FILE: ")) << message << "\nexpected " << part; \
  }

TEST(Safetensors, ReadsWhatPythonWrote) {
  expect_same(sorted(from_safetensors(fixture("sequential.safetensors"), "FILE")), sorted(sequential()));
  expect_same(sorted(from_safetensors(fixture("mixed.safetensors"), "FILE")), sorted(mixed()));
}

TEST(Safetensors, ReadsBackWhatItWroteInOrder) {
  expect_same(from_safetensors(to_safetensors(sequential(), {}, "FILE"), "FILE"), sequential());
  expect_same(from_safetensors(to_safetensors(mixed(), {}, "FILE"), "FILE"), mixed());
  expect_same(from_safetensors(to_safetensors({}, {}, "FILE"), "FILE"), {});
  StateDict many;
  for (int i = 0; i < 3000; ++i) many.push_back({"layer." + std::to_string(i * 7919 % 3000), at::full({2}, i, at::kFloat)});
  expect_same(from_safetensors(to_safetensors(many, {}, "FILE"), "FILE"), many);
}

TEST(Safetensors, EveryTensorIsAlignedToItsType) {
  const auto half = at::full({3}, 1, at::kHalf), single = at::full({1}, 2, at::kFloat), wide = at::full({1}, 3, at::kDouble);
  const std::string bytes = to_safetensors({{"a", half}, {"b", single}, {"c", wide}}, {}, "FILE");
  std::uint64_t header = 0;
  std::memcpy(&header, bytes.data(), 8);
  EXPECT_EQ(header % 8, 0u);
  const std::string data = bytes.substr(8 + header);
  ASSERT_EQ(data.size(), 18u);
  EXPECT_EQ(std::memcmp(data.data(), wide.data_ptr(), 8), 0);
  EXPECT_EQ(std::memcmp(data.data() + 8, single.data_ptr(), 4), 0);
  EXPECT_EQ(std::memcmp(data.data() + 12, half.data_ptr(), 6), 0);
}

TEST(Safetensors, RefusesHeadersThatDoNotFitTheFile) {
  EXPECT_NE(refusal("1234567").find("at least 8"), std::string::npos);
  EXPECT_NE(refusal(std::string(8, '\xff') + "{}").find("would have 18446744073709551615 bytes"), std::string::npos);
  EXPECT_NE(refusal(file_with("{}", 0).substr(0, 9)).find("would have 2 bytes"), std::string::npos);
  EXPECT_EQ(refusal(file_with("{}", 0)), "accepted");
  EXPECT_EQ(refusal(file_with("{}      ", 0)), "accepted");
  EXPECT_REFUSED(" {}", 0, "must begin with {");
  EXPECT_REFUSED("", 0, "must begin with {");
  EXPECT_REFUSED("{} x", 0, "not JSON");
  EXPECT_REFUSED("{\"\xff\":1}", 0, "not JSON");
  EXPECT_REFUSED("{}", 1, "describes 0 bytes of data, the file has 1");
}

TEST(Safetensors, RefusesEntriesThatContradictThemselves) {
  const auto entry = [](const std::string& dtype, const std::string& shape, const std::string& offsets) {
    return R"({"w":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
  };
  EXPECT_EQ(refusal(file_with(entry("F32", "[2,3]", "[0,24]"), 24)), "accepted");
  EXPECT_EQ(refusal(file_with(entry("F32", "[0,3]", "[0,0]"), 0)), "accepted");
  EXPECT_REFUSED(entry("F32", "[2,3]", "[0,20]"), 20, "data_offsets 24 bytes apart");
  EXPECT_REFUSED(entry("F64", "[2,3]", "[0,24]"), 24, "data_offsets 48 bytes apart");
  EXPECT_REFUSED(entry("F32", "[2,3]", "[24,0]"), 24, "do not run backwards");
  EXPECT_REFUSED(entry("F32", "[2,3]", "[4,28]"), 28, "begins at byte 4 of the data: expected 0");
  EXPECT_REFUSED(entry("F32", "[2,3]", "[0,24]"), 23, "describes 24 bytes of data, the file has 23");
  EXPECT_REFUSED(entry("F32", "[2,3]", "[0,24]"), 25, "describes 24 bytes of data, the file has 25");
  EXPECT_REFUSED(entry("F32", "[2,-3]", "[0,24]"), 24, "a shape of at most 64 sizes");
  EXPECT_REFUSED(entry("F32", "[2,3.0]", "[0,24]"), 24, "a shape of at most 64 sizes");
  EXPECT_REFUSED(entry("F32", "6", "[0,24]"), 24, "a shape of at most 64 sizes");
  EXPECT_REFUSED(entry("F32", "[4294967296,4294967296]", "[0,0]"), 0, "a smaller shape");
  EXPECT_REFUSED(entry("F32", "[0,18446744073709551615]", "[0,0]"), 0, "a smaller shape");
  EXPECT_REFUSED(entry("F32", "[2,3]", "[0]"), 24, "two data_offsets");
  EXPECT_REFUSED(entry("F32", "[2,3]", "[-24,0]"), 24, "two data_offsets");
  EXPECT_REFUSED(entry("F8_E4M3", "[2,3]", "[0,6]"), 6, "a dtype of F64, F32, F16, BF16, I64, I32, I16, I8, U8");
  EXPECT_REFUSED(R"({"w":{"dtype":4,"shape":[],"data_offsets":[0,4]}})", 4, "a dtype of");
  EXPECT_REFUSED(R"({"w":{"dtype":"F32","shape":[]}})", 4, "dtype, shape and data_offsets");
  EXPECT_REFUSED(R"({"w":{"dtype":"F32","shape":[],"data_offsets":[0,4],"more":1}})", 4, "dtype, shape and data_offsets");
  EXPECT_REFUSED(R"({"w":7})", 4, "dtype, shape and data_offsets");
}

TEST(Safetensors, RefusesNamesThatComeTwiceAndDataThatOverlaps) {
  const auto entry = [](const std::string& name, int begin, int end) {
    return fmt::format(R"("{}":{{"dtype":"U8","shape":[{}],"data_offsets":[{},{}]}})", name, end - begin, begin, end);
  };
  EXPECT_EQ(refusal(file_with("{" + entry("b", 4, 8) + "," + entry("a", 0, 4) + "}", 8)), "accepted");
  EXPECT_REFUSED("{" + entry("a", 0, 4) + "," + entry("b", 2, 6) + "}", 6, "parameter 'b' begins at byte 2 of the data: expected 4");
  EXPECT_REFUSED("{" + entry("a", 0, 4) + "," + entry("b", 0, 4) + "}", 4, "expected 4");
  EXPECT_REFUSED("{" + entry("a", 0, 4) + "," + entry("b", 5, 6) + "}", 6, "begins at byte 5 of the data: expected 4");
  EXPECT_REFUSED("{" + entry("a", 0, 4) + "," + entry("a", 4, 8) + "}", 8, "'a' comes twice");
  EXPECT_REFUSED(R"({"a":{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1, "'dtype' comes twice");
}

TEST(Safetensors, MetadataIsTextsOnly) {
  EXPECT_EQ(refusal(file_with(R"({"__metadata__":{"a":"b"}})", 0)), "accepted");
  EXPECT_REFUSED(R"({"__metadata__":{"a":1}})", 0, "must map texts to texts");
  EXPECT_REFUSED(R"({"__metadata__":["a"]})", 0, "must map texts to texts");
  EXPECT_REFUSED(R"({"__metadata__":{"a":"b"},"__metadata__":{"a":"b"}})", 0, "comes twice");
}

TEST(Safetensors, MetadataComesBack) {
  const auto written = [](const Metadata& metadata) { return to_safetensors(sequential(), metadata, "FILE"); };
  EXPECT_EQ(metadata_of_safetensors(written({}), "FILE"), (Metadata{{"format", "pt"}}));
  EXPECT_EQ(metadata_of_safetensors(written(metadata), "FILE"), (Metadata{{"format", "pt"}, {"fodp", metadata.at("fodp")}}));
  EXPECT_EQ(metadata_of_safetensors(written({{"format", "own"}}), "FILE"), (Metadata{{"format", "own"}}));
  expect_same(from_safetensors(written(metadata), "FILE"), sequential());
  EXPECT_EQ(metadata_of_safetensors(fixture("mixed.safetensors"), "FILE").at("written by"), "make_fixtures.py");
  EXPECT_EQ(metadata_of_safetensors(file_with("{}", 0), "FILE"), Metadata());
}

// By hand, and by Python where it has the modules.
TEST(Safetensors, OthersReadTensorsAndMetadata) {
  const auto written = [](const Metadata& given) { return to_safetensors(sequential(), given, "FILE"); };
  const std::string bytes = written(metadata);
  std::uint64_t size = 0;
  std::memcpy(&size, bytes.data(), 8);
  const auto header = nlohmann::json::parse(bytes.substr(8, size));
  EXPECT_EQ(header.at("__metadata__"), (nlohmann::json{{"format", "pt"}, {"fodp", metadata.at("fodp")}}));
  EXPECT_EQ(header.size(), 1 + sequential().size());

  const std::string program = testing::python_with("torch, safetensors.torch");
  if (program.empty()) return;
  const auto scratch = std::filesystem::temp_directory_path() / ("fodp_safetensors_" + std::to_string(::getpid()));
  std::filesystem::create_directories(scratch);
  const auto python = [&](const Metadata& given) {
    std::ofstream(scratch / "model.safetensors", std::ios::binary) << written(given);
    const std::string words = " '" FODP_SOURCE_DIR "/tests/files/python_reads_model.py' '" + (scratch / "model.safetensors").string() + "'";
    return std::system((program + words + " 2>/dev/null").c_str());
  };
  EXPECT_EQ(python(metadata), 0);
  EXPECT_NE(python({}), 0);
  std::filesystem::remove_all(scratch);
}

TEST(Safetensors, DepthCostsNothing) {
  const std::string deep(1'000'000, '[');
  EXPECT_REFUSED(R"({"w":)" + deep, 0, "nested deeper");
}

// It takes minutes if any step looks through all the others. The time is that of the processor, so that other programs do not count.
TEST(Safetensors, TimeGrowsAsTheNumberOfTensors) {
  StateDict many;
  for (int i = 0; i < 100'000; ++i) many.push_back({std::to_string(i), at::empty({0}, at::kFloat)});
  const std::clock_t start = std::clock();
  EXPECT_EQ(from_safetensors(to_safetensors(many, {}, "FILE"), "FILE").size(), many.size());
  EXPECT_LT((std::clock() - start) / CLOCKS_PER_SEC, 30);
}

TEST(Safetensors, RefusesWhatItCannotWrite) {
  EXPECT_THROW(to_safetensors({{"mask", at::ones({2}, at::kBool)}}, {}, "FILE"), InputError);
  EXPECT_THROW(to_safetensors({{"__metadata__", at::ones({2})}}, {}, "FILE"), InputError);
}

// Chance, always the same: any damage ends in success or InputError.
TEST(SafetensorsFuzz, CutFiles) {
  for (const auto* name : {"sequential.safetensors", "mixed.safetensors"}) {
    const std::string bytes = fixture(name);
    for (std::size_t size = 0; size < bytes.size(); ++size) EXPECT_NE(refusal(std::string_view(bytes).substr(0, size)), "accepted") << size;
  }
}

TEST(SafetensorsFuzz, ChangedBytes) {
  std::mt19937 random(3);
  const std::string characters = "0123456789-[]{}\",:eE.tfn \\u";
  int accepted = 0;
  for (const auto* name : {"sequential.safetensors", "mixed.safetensors"}) {
    const std::string bytes = fixture(name);
    std::uint64_t header = 0;
    std::memcpy(&header, bytes.data(), 8);
    for (int i = 0; i < 3000; ++i) {
      std::string changed = bytes;
      for (auto count = random() % 3 + 1; count > 0; --count) {
        const auto at = random() % (header + 8);
        changed[at] = random() % 2 ? characters[random() % characters.size()] : static_cast<char>(random());
      }
      accepted += refusal(changed) == "accepted";
    }
  }
  EXPECT_GT(accepted, 0);
  EXPECT_LT(accepted, 3000);
}

}  // namespace
}  // namespace fodp::files
