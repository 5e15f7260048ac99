#include "fodp/files/pt_file.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <random>
#include <sstream>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <caffe2/serialize/inline_container.h>
#include <gtest/gtest.h>

#include "fodp/base/check.h"
#include "python.h"

namespace fodp::files {
namespace {

namespace fs = std::filesystem;

const fs::path folder = fs::path(FODP_SOURCE_DIR) / "tests/files";

std::string fixture(const std::string& name) {
  std::ifstream in(folder / "fixtures" / name, std::ios::binary);
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

StateDict mixed() {
  const at::Tensor base = at::arange(12, at::kFloat).reshape({3, 4});
  return {{"f32", base / 4},
          {"transposed", base.t()},
          {"slice", base.slice(0, 1).slice(1, 1, 3)},
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

void expect_same(const StateDict& given, const StateDict& expected) {
  ASSERT_EQ(given.size(), expected.size());
  for (std::size_t i = 0; i < given.size(); ++i) {
    SCOPED_TRACE(expected[i].name);
    EXPECT_EQ(given[i].name, expected[i].name);
    EXPECT_EQ(given[i].value.scalar_type(), expected[i].value.scalar_type());
    EXPECT_TRUE(given[i].value.is_contiguous());
    EXPECT_TRUE(given[i].value.equal(expected[i].value)) << given[i].value;
  }
}

std::string refusal(std::string_view bytes) {
  try {
    from_pt(bytes, "FILE");
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

#define EXPECT_REFUSED(bytes, part)                                                                                       \
  {                                                                                                                       \
    const std::string message = refusal(bytes);                                                                           \
    EXPECT_TRUE(message.find(part) != message.npos && message.starts_with("FILE: ")) << message << "\nexpected " << part; \
  }

// An archive as torch.save lays it out, around any pickle.
using Records = std::map<std::string, std::string>;

std::string archive(const Records& records) {
  std::string bytes;
  caffe2::serialize::PyTorchStreamWriter writer([&](const void* data, std::size_t size) {
    bytes.append(static_cast<const char*>(data), size);
    return size;
  });
  for (const auto& [name, record] : records) writer.writeRecord(name, record.data(), record.size());
  writer.writeEndOfFile();
  return bytes;
}

Records records_of(const std::string& bytes) {
  std::istringstream in(bytes);
  caffe2::serialize::PyTorchStreamReader reader(&in);
  Records records;
  for (const auto& name : reader.getAllRecords()) {
    if (name == "version" || name.starts_with(".data/")) continue;  // the writer's own
    const auto [data, size] = reader.getRecord(name);
    records[name] = std::string(static_cast<const char*>(data.get()), size);
  }
  return records;
}

// A pickle by hand. Storage '0' holds `count` floats.
std::string little_endian(std::uint64_t value, int width) {
  std::string bytes;
  for (int i = 0; i < width; ++i) bytes += static_cast<char>(value >> 8 * i);
  return bytes;
}
std::string text(const std::string& value) { return "X" + little_endian(value.size(), 4) + value; }
std::string number(std::int64_t value) { return "\x8a\x08" + little_endian(static_cast<std::uint64_t>(value), 8); }
std::string numbers(const std::vector<std::int64_t>& values) {
  std::string bytes = "(";
  for (const auto value : values) bytes += number(value);
  return bytes + "t";
}
std::string global(const std::string& module, const std::string& name) { return "c" + module + "\n" + name + "\n"; }
const std::string start = "\x80\x02", empty_dict = global("collections", "OrderedDict") + ")R";

std::string storage(std::int64_t count, const std::string& type = "FloatStorage") {
  return "(" + text("storage") + global("torch", type) + text("0") + text("cpu") + number(count) + "tQ";
}

struct Layout {
  std::vector<std::int64_t> size{2, 3}, stride{3, 1};
  std::int64_t offset = 0, count = 6;
  std::string storage_type = "FloatStorage", extra;
};

std::string tensor(const Layout& layout) {
  return global("torch._utils", "_rebuild_tensor_v2") + "(" + storage(layout.count, layout.storage_type) + number(layout.offset) +
         numbers(layout.size) + numbers(layout.stride) + "\x89" + empty_dict + layout.extra + "tR";
}

std::string file_with(const std::string& pickle, const std::string& data = std::string(24, '\0')) {
  return archive({{"data.pkl", pickle}, {"data/0", data}});
}

std::string file_with(const Layout& layout) { return file_with(start + "}" + text("w") + tensor(layout) + "s."); }

TEST(PtFile, ReadsWhatTorch113And213Wrote) {
  for (const auto* name : {"sequential_torch_1_13.pt", "sequential_torch_2_13.pt", "parameters.pt"}) {
    SCOPED_TRACE(name);
    expect_same(from_pt(fixture(name), name), sequential());
  }
}

TEST(PtFile, ReadsEveryTypeAndLayoutOfTorch) { expect_same(from_pt(fixture("mixed.pt"), "mixed.pt"), mixed()); }

TEST(PtFile, ReadsBackWhatItWrote) {
  StateDict dict = mixed();
  for (auto& [name, value] : dict) value = value.contiguous();
  expect_same(from_pt(to_pt(dict, {}, "FILE"), "FILE"), dict);
  expect_same(from_pt(to_pt({}, {}, "FILE"), "FILE"), {});
}

TEST(PtFile, TheSameDictGivesTheSameBytes) { EXPECT_EQ(to_pt(sequential(), {}, "FILE"), to_pt(sequential(), {}, "FILE")); }

TEST(PtFile, CarriesTextsBesideItsTensors) {
  const Metadata metadata = {{"fodp", "{\"größe\": [1, \"\\\\\", {}]}\n"}, {"", "x"}};
  const std::string bytes = to_pt(sequential(), metadata, "FILE");
  EXPECT_EQ(metadata_of_pt(bytes, "FILE"), metadata);
  expect_same(from_pt(bytes, "FILE"), sequential());
  EXPECT_EQ(metadata_of_pt(to_pt(sequential(), {}, "FILE"), "FILE"), Metadata());
  EXPECT_EQ(metadata_of_pt(fixture("sequential_torch_2_13.pt"), "FILE"), Metadata());
  EXPECT_THROW(metadata_of_pt(bytes.substr(0, bytes.size() / 2), "FILE"), InputError);
}

TEST(PtFile, ThousandsOfTensorsKeepTheirOrder) {
  StateDict dict;
  for (int i = 0; i < 3000; ++i) dict.push_back({"layer." + std::to_string(i * 7919 % 3000), at::full({2}, i, at::kFloat)});
  expect_same(from_pt(to_pt(dict, {}, "FILE"), "FILE"), dict);
}

TEST(PtFile, PythonReadsWhatIsWritten) {
  const std::string program = testing::python_with("torch");
  if (program.empty()) GTEST_SKIP() << "needs Python's torch";
  const fs::path scratch = fs::temp_directory_path() / ("fodp_pt_" + std::to_string(::getpid()));
  fs::create_directories(scratch);
  const auto python = [&](const std::string& name, const StateDict& dict, const Metadata& metadata = {}) {
    std::ofstream(scratch / name, std::ios::binary) << to_pt(dict, metadata, name);
    return std::system(
        (program + " '" + (folder / "python_reads_model.py").string() + "' '" + (scratch / name).string() + "' 2>/dev/null").c_str());
  };
  StateDict changed = sequential();
  changed[2].value.view(-1)[5] += 1;
  EXPECT_EQ(python("model.pt", sequential()), 0);
  EXPECT_EQ(python("with_metadata.pt", sequential(), {{"fodp", "{\"größe\": 1}"}}), 0);
  EXPECT_NE(python("changed.pt", changed), 0);
  fs::remove_all(scratch);
}

TEST(PtFile, RefusesByNameWhatIsNotAStateDict) {
  EXPECT_REFUSED(fixture("hostile_system.pt"), "refused: the file asks for os.system; only state dicts are read");
  EXPECT_REFUSED(fixture("hostile_eval.pt"), "refused: the file asks for builtins.eval; only state dicts are read");
  EXPECT_REFUSED(fixture("hostile_getattr.pt"), "refused: the file asks for builtins.getattr; only state dicts are read");
  EXPECT_REFUSED(fixture("whole_module.pt"), "refused: the file asks for torch.nn.modules.container.Sequential");
  EXPECT_FALSE(fs::exists("/tmp/fodp_hostile_file_ran"));
}

TEST(PtFile, SaysWhatAFileHoldsInstead) {
  EXPECT_REFUSED(fixture("checkpoint.pt"), "entry 'epoch' is a number: a state dict holds tensors only");
  EXPECT_REFUSED(fixture("tensor.pt"), "holds a tensor: expected a state dict");
  EXPECT_REFUSED(fixture("old_format.pt"), "save it again");
  EXPECT_REFUSED(fixture("sequential.safetensors"), "not a zip archive");
  EXPECT_REFUSED("", "not a zip archive");
}

TEST(PtFile, RefusesTensorsThatReachOutsideTheirStorage) {
  expect_same(from_pt(fixture("good_by_hand.pt"), "FILE"), {{"w", at::arange(6, at::kFloat).reshape({2, 3})}});
  EXPECT_REFUSED(fixture("stride_outside.pt"),
                 "parameter 'w' (size [2, 3], stride [4, 1], offset 0, storage '0' of 6 elements): reaches outside");
  EXPECT_REFUSED(fixture("offset_outside.pt"), "reaches outside its storage");
  EXPECT_REFUSED(fixture("negative_stride.pt"), "must not be negative");
  EXPECT_REFUSED(fixture("storage_too_long.pt"), "the storage's record has 24 bytes: expected 4 for each element");
  EXPECT_REFUSED(fixture("size_absurd.pt"), "more than 16 times the file");
}

TEST(PtFile, BoundsAreExact) {
  constexpr auto huge = std::numeric_limits<std::int64_t>::max(), lowest = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(refusal(file_with(Layout{})), "accepted");
  EXPECT_EQ(refusal(file_with(Layout{.size = {1, 3}, .stride = {huge, 1}, .offset = 3})), "accepted");
  EXPECT_EQ(refusal(file_with(Layout{.size = {}, .stride = {}, .offset = 5})), "accepted");
  EXPECT_EQ(refusal(file_with(Layout{.size = {0, 3}})), "accepted");
  EXPECT_REFUSED(file_with(Layout{.size = {}, .stride = {}, .offset = 6}), "reaches outside");
  EXPECT_REFUSED(file_with(Layout{.offset = -1}), "reaches outside");
  EXPECT_REFUSED(file_with(Layout{.offset = huge}), "reaches outside");
  EXPECT_REFUSED(file_with(Layout{.offset = lowest}), "reaches outside");
  EXPECT_REFUSED(file_with(Layout{.stride = {huge, huge}}), "reaches outside");
  EXPECT_REFUSED(file_with(Layout{.size = {2, -3}}), "must not be negative");
  EXPECT_REFUSED(file_with(Layout{.size = {lowest, lowest}}), "must not be negative");
  EXPECT_REFUSED(file_with(Layout{.size = {huge, 0}}), "more than 16 times");
  EXPECT_REFUSED(file_with(Layout{.size = {6}}), "as many strides as sizes");
  EXPECT_REFUSED(file_with(Layout{.size = std::vector<std::int64_t>(65, 1), .stride = std::vector<std::int64_t>(65, 1)}),
                 "at most 64 dimensions");
  EXPECT_REFUSED(file_with(Layout{.count = 7}), "24 bytes");
  EXPECT_REFUSED(file_with(Layout{.count = 5}), "24 bytes");
  EXPECT_REFUSED(file_with(Layout{.count = huge}), "24 bytes");
  EXPECT_REFUSED(file_with(Layout{.count = lowest}), "24 bytes");
  EXPECT_REFUSED(file_with(Layout{.storage_type = "DoubleStorage"}), "24 bytes: expected 8");
}

TEST(PtFile, ManyViewsOfOneStorageDoNotMultiplyItsMemory) {
  std::string pickle = start + "}(";
  for (int i = 0; i < 100; ++i) pickle += text(std::to_string(i)) + tensor({.size = {100000}, .stride = {1}, .count = 100000});
  EXPECT_REFUSED(file_with(pickle + "u.", std::string(400000, '\0')), "all tensors together are more than 16 times the file");
}

TEST(PtFile, RefusesWhatAStateDictIsNotMadeOf) {
  const auto refuse = [](const std::string& pickle, const std::string& part) { EXPECT_REFUSED(file_with(pickle), part); };
  refuse("\x80\x04}.", "pickle protocol 2");
  refuse(start + "cos\nsystem\n.", "asks for os.system;");
  refuse(start + "ctorch\nBoolStorage\n.", "asks for torch.BoolStorage;");
  refuse(start + "cev\x1b[2Jil\nf\xffn\n.", "asks for ev?[2Jil.f?n;");
  refuse(start + "ios\nsystem\n.", "no pickle instruction 0x69");
  refuse(start + "}" + text("w") + tensor({.extra = "}" + text("neg") + "\x88s"}) + "s.", "a tensor without flags");
  refuse(start + "}" + text("w") + "Ns.", "entry 'w' is None");
  refuse(start + "}K\x01K\x02s.", "a key is a number");
  refuse(start + "}" + text("w") + tensor({}) + "s" + text("w") + tensor({}) + "s.", "parameter 'w' comes twice");
  refuse(start + empty_dict + "}" + text("items") + "Nsb.", "no attribute but _metadata");
  refuse(start + "}}", "more bytes");
  refuse(start + "}}.", "ends with 2 values");
  refuse(start + "(}.", "ends with 1 values");
  refuse(start + ".", "ends with 0 values");
  refuse(start + "R", "a value on the stack");
  refuse(start + "}(s", "a value on the stack");
  refuse(start + "u", "a mark");
  refuse(start + "(Nu", "a value on the stack");
  refuse(start + "}(Nu", "a value for every key");
  refuse(start + "h\x07", "a value in the memo");
  refuse(start + "}r\xff\xff\xff\xff.", "a smaller memo");
  refuse(start + "X\xff\xff\xff\xff", "more bytes");
  refuse(start + "\x8a\xff" + std::string(255, '\0'), "at most 64 bits");
  refuse(start + "ccollections\nOrdered", "the end of a name");
  refuse(start + global("torch", "FloatStorage") + ")R.", "a tensor or an OrderedDict");
  refuse(start + "NQ", "a tuple that names a storage");
}

TEST(PtFile, DepthAndCyclesCostNothing) {
  std::string deep = start + ")";
  deep.append(1'000'000, '\x85');
  EXPECT_REFUSED(file_with(deep + "."), "holds a tuple");
  deep.append(3'000'000, '\x85');
  EXPECT_REFUSED(file_with(deep + "."), "fewer values");
  EXPECT_REFUSED(file_with(start + std::string(5'000'000, '(')), "fewer marks");
  // One long tuple, used again and again as sizes and as arguments: refused at its first use.
  std::string sizes = start + "(";
  for (int i = 0; i < 100'000; ++i) sizes += "K\x01";
  sizes += "tq" + std::string(1, '\0');
  const std::string use = "h" + std::string(1, '\0');
  EXPECT_REFUSED(file_with(sizes + global("torch._utils", "_rebuild_tensor_v2") + "(" + storage(6) + number(0) + use + use + "\x89" +
                           empty_dict + "tR."),
                 "at most 64 dimensions");
  EXPECT_REFUSED(file_with(sizes + global("torch._utils", "_rebuild_tensor_v2") + use + "R."), "at most seven arguments");
  EXPECT_REFUSED(file_with(start + "}q" + std::string(1, '\0') + text("me") + "h" + std::string(1, '\0') + "s."), "entry 'me' is a dict");
}

TEST(PtFile, RefusesRecordsThatAreMissingDamagedOrCompressed) {
  EXPECT_REFUSED(archive({{"data/0", "x"}}), "record 'data.pkl' is missing");
  EXPECT_REFUSED(archive({{"data.pkl", start + "}" + text("w") + tensor({}) + "s."}}), "record 'data/0' is missing");
  EXPECT_REFUSED(archive({{"data.pkl", start + "}."}, {"byteorder", "big"}}), "big-endian");
  std::string damaged = file_with(start + "}" + text("w") + tensor({}) + "s.", "damaged values damaged !");
  damaged[damaged.find("values")] ^= 1;
  EXPECT_REFUSED(damaged, "record 'data/0' is damaged");

  // Marked as a folder, without a checksum: torch would hand out memory that nothing was written to.
  std::string folder_mark = file_with(Layout{});
  const auto entry = folder_mark.rfind("PK\x01\x02", folder_mark.rfind("data/0"));
  folder_mark[entry + 38] = 0x10;
  folder_mark.replace(entry + 16, 4, 4, '\0');
  EXPECT_REFUSED(folder_mark, "record 'archive/data/0' is compressed, encrypted, a folder");

  std::string bomb;
  caffe2::serialize::PyTorchStreamWriter writer([&](const void* data, std::size_t size) {
    bomb.append(static_cast<const char*>(data), size);
    return size;
  });
  const std::string zeros(1 << 20, '\0'), pickle = start + "}.";
  writer.writeRecord("data.pkl", pickle.data(), pickle.size());
  writer.writeRecord("data/0", zeros.data(), zeros.size(), /*compress=*/true);
  writer.writeEndOfFile();
  ASSERT_LT(bomb.size(), zeros.size());
  EXPECT_REFUSED(bomb, "record 'archive/data/0' is compressed, encrypted, a folder");
}

TEST(PtFile, RefusesTypesItCannotWrite) { EXPECT_THROW(to_pt({{"mask", at::ones({2}, at::kBool)}}, {}, "FILE"), InputError); }

// The rest is chance, always the same: any damage ends in success or InputError. Records are wrapped anew after the damage, so that
// checksums do not hide the pickle from it.
void expect_orderly(const std::string& bytes) {
  try {
    from_pt(bytes, "FILE");
  } catch (const InputError&) {
  }
}

TEST(PtFileFuzz, CutFiles) {
  for (const auto* name : {"sequential_torch_1_13.pt", "mixed.pt"}) {
    const std::string bytes = fixture(name);
    for (std::size_t i = 0; i < 300; ++i) EXPECT_NE(refusal(bytes.substr(0, bytes.size() * i / 300)), "accepted") << i;
    for (std::size_t cut = 1; cut < 100; ++cut) EXPECT_NE(refusal(bytes.substr(0, bytes.size() - cut)), "accepted") << cut;
  }
}

TEST(PtFileFuzz, ChangedBytes) {
  std::mt19937 random(1);
  for (const auto* name : {"sequential_torch_1_13.pt", "sequential_torch_2_13.pt", "good_by_hand.pt"}) {
    const std::string bytes = fixture(name);
    for (int i = 0; i < 300; ++i) {
      std::string changed = bytes;
      for (auto count = random() % 3 + 1; count > 0; --count) changed[random() % changed.size()] = static_cast<char>(random());
      expect_orderly(changed);
    }
    for (std::size_t back = 1; back <= std::min<std::size_t>(bytes.size(), 400); ++back) {  // the directory, byte by byte
      std::string changed = bytes;
      for (const auto value : {0x01, 0xff}) {
        changed[changed.size() - back] = static_cast<char>(value);
        expect_orderly(changed);
      }
    }
  }
}

TEST(PtFileFuzz, ChangedPickles) {
  std::mt19937 random(2);
  const std::string codes = ".(cRbQNKMJX)t}suqrhj\x80\x88\x89\x8a\x85\x86\x87";
  int accepted = 0;
  for (const auto* name : {"sequential_torch_2_13.pt", "mixed.pt", "good_by_hand.pt"}) {
    const Records records = records_of(fixture(name));
    for (int i = 0; i < 1000; ++i) {
      Records changed = records;
      std::string& pickle = changed["data.pkl"];
      for (auto count = random() % 4 + 1; count > 0; --count) {
        const auto at = random() % pickle.size();
        switch (random() % 4) {
          case 0:
            pickle[at] = static_cast<char>(random());
            break;
          case 1:
            pickle[at] = codes[random() % codes.size()];
            break;
          case 2:
            pickle.insert(at, 1, codes[random() % codes.size()]);
            break;
          default:
            pickle.erase(at, 1);
        }
      }
      const std::string bytes = archive(changed);
      accepted += refusal(bytes) == "accepted";
    }
  }
  EXPECT_GT(accepted, 0);  // else the damage never reaches past the archive
  EXPECT_LT(accepted, 2000);
}

}  // namespace
}  // namespace fodp::files
