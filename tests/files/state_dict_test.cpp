#include "fodp/files/state_dict.h"

#include <unistd.h>

#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <fstream>
#include <limits>
#include <random>
#include <sstream>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "fodp/base/check.h"

namespace fodp::files {
namespace {

namespace fs = std::filesystem;

class StateDictFile : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path file(const std::string& stem = "model") const { return folder_ / (stem + GetParam()); }

  std::size_t files_left() const { return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), {})); }

  const fs::path folder_ = fs::temp_directory_path() / ("fodp_state_dict_" + std::to_string(::getpid()));
};

INSTANTIATE_TEST_SUITE_P(Formats, StateDictFile, testing::Values(".pt", ".pth", ".safetensors"),
                         [](const auto& extension) { return std::string(extension.param).substr(1); });

std::string content(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return (std::ostringstream() << in.rdbuf()).str();
}

template <class Error = InputError, class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

#define EXPECT_SAYS(message, part)                                                                \
  {                                                                                               \
    const std::string given = (message);                                                          \
    EXPECT_TRUE(given.find(part) != given.npos) << "says     " << given << "\nexpected " << part; \
  }

TEST_P(StateDictFile, RoundTripKeepsNamesOrderTypesShapesAndValues) {
  const at::Tensor base = at::arange(24, at::kFloat).reshape({2, 3, 4});
  const StateDict dict = {{"z", base / 8},
                          {"permuted", base.permute({2, 0, 1})},
                          {"every second", base.slice(2, 0, 4, 2)},
                          {"with gradient", at::ones({3}, at::kFloat).requires_grad_()},
                          {"double", at::arange(3, at::kDouble) / 3},
                          {"half", at::arange(3, at::kHalf) / 2},
                          {"bfloat", at::arange(3, at::kBFloat16) / 2},
                          {"long", at::arange(3, at::kLong) - 1},
                          {"int", at::arange(3, at::kInt) - 1},
                          {"scalar", at::full({}, 4.5, at::kFloat)},
                          {"empty", at::empty({3, 0}, at::kFloat)},
                          {"also empty", at::empty({0}, at::kDouble)},
                          {"", at::ones({1}, at::kFloat)},
                          {"\"quoted\" größe\n", at::ones({1}, at::kFloat)}};
  save_state_dict(dict, file());
  const StateDict loaded = load_state_dict(file());
  ASSERT_EQ(loaded.size(), dict.size());
  for (std::size_t i = 0; i < dict.size(); ++i) {
    SCOPED_TRACE(dict[i].name);
    EXPECT_EQ(loaded[i].name, dict[i].name);
    EXPECT_EQ(loaded[i].value.scalar_type(), dict[i].value.scalar_type());
    EXPECT_TRUE(loaded[i].value.is_contiguous());
    EXPECT_FALSE(loaded[i].value.requires_grad());
    EXPECT_TRUE(loaded[i].value.equal(dict[i].value.detach()));
  }
}

TEST_P(StateDictFile, KeepsMetadata) {
  const StateDict dict = {{"w", at::ones({2}, at::kFloat)}};
  save_state_dict(dict, file("plain"));
  save_state_dict(dict, file(), {{"key", "text"}});
  const bool has_format = file().extension() == ".safetensors";
  EXPECT_EQ(load_metadata(file()), has_format ? (Metadata{{"format", "pt"}, {"key", "text"}}) : (Metadata{{"key", "text"}}));
  EXPECT_EQ(load_metadata(file("plain")), has_format ? (Metadata{{"format", "pt"}}) : Metadata());
  EXPECT_TRUE(load_state_dict(file())[0].value.equal(dict[0].value));
  for (const Metadata& bad : {Metadata{{"\xff", "text"}}, Metadata{{"key", "\xff"}}})
    EXPECT_SAYS(message_of([&] { save_state_dict(dict, file("bad"), bad); }), "' is not UTF-8");
  EXPECT_FALSE(fs::exists(file("bad")));
}

TEST_P(StateDictFile, NotFiniteValuesSurviveAFile) {
  save_state_dict({{"w", at::tensor({std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()})}}, file());
  const at::Tensor value = load_state_dict(file())[0].value;
  EXPECT_TRUE(std::isinf(value[0].item<float>()) && std::isnan(value[1].item<float>()));
}

TEST_P(StateDictFile, SavingReplacesAFileAndLeavesNoOther) {
  save_state_dict({{"w", at::ones({2}, at::kFloat)}}, file());
  save_state_dict({{"v", at::zeros({3}, at::kFloat)}}, file());
  EXPECT_EQ(load_state_dict(file())[0].name, "v");
  EXPECT_EQ(files_left(), 1u);
}

TEST_P(StateDictFile, SavingHonoursTheUmask) {
  const mode_t before = ::umask(027);
  save_state_dict({{"w", at::ones({2}, at::kFloat)}}, file());
  ::umask(before);
  EXPECT_EQ(fs::status(file()).permissions(), fs::perms(0640));
}

// A disk that is full after 4 kB, by the limit on the size of a file.
TEST_P(StateDictFile, AFullDiskLeavesWhatWasThere) {
  save_state_dict({{"w", at::ones({2}, at::kFloat)}}, file());
  const std::string old = content(file());
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{4096, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto save = [&](const fs::path& target) {
    return message_of<FaultError>([&] { save_state_dict({{"w", at::ones({5000}, at::kFloat)}}, target); });
  };
  const std::string replaced = save(file()), fresh = save(file("fresh"));
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_SAYS(replaced, file().string() + ": writing failed: File too large");
  EXPECT_SAYS(fresh, file("fresh").string() + ": writing failed: File too large");
  EXPECT_EQ(content(file()), old);
  EXPECT_FALSE(fs::exists(file("fresh")));
  EXPECT_EQ(files_left(), 1u);
}

TEST_P(StateDictFile, PathsThatCannotBeWrittenAreNamed) {
  const StateDict dict = {{"w", at::ones({2}, at::kFloat)}};
  const auto save = [&](const fs::path& target) { return message_of([&] { save_state_dict(dict, target); }); };
  std::ofstream(folder_ / "plain") << "x";
  fs::create_directories(file("folder") / "inside");
  const auto before = files_left();
  EXPECT_SAYS(save(folder_ / "none" / file().filename()), (folder_ / "none").string() + ": No such file or directory");
  EXPECT_SAYS(save(folder_ / "plain" / file().filename()), "Not a directory");
  EXPECT_SAYS(save(file("folder")), file("folder").string() + ": cannot be written: Is a directory");
  EXPECT_SAYS(save(file(std::string(300, 'x'))), "File name too long");
  EXPECT_EQ(files_left(), before);
}

TEST_P(StateDictFile, DictsThatCannotBeSavedLeaveNothing) {
  const at::Tensor one = at::ones({1}, at::kFloat);
  const auto save = [&](const StateDict& dict) { return message_of([&] { save_state_dict(dict, file()); }); };
  EXPECT_SAYS(save({{"w", one}, {"w", one}}), file().string() + ": parameter 'w' comes twice");
  EXPECT_SAYS(save({{"w", {}}}), "parameter 'w' is undefined");
  EXPECT_SAYS(save({{"\xff", one}}), "the name of tensor 0 is not UTF-8");
  EXPECT_SAYS(save({{"w", at::ones({1}, at::kBool)}}), file().string() + ": parameter 'w' is Bool");
  EXPECT_SAYS(save({{"w", one.to_sparse()}}), "only dense tensors are saved");
  EXPECT_EQ(files_left(), 0u);
}

TEST_P(StateDictFile, FilesThatCannotBeReadAreNamed) {
  const auto load = [&](const fs::path& source) { return message_of([&] { load_state_dict(source); }); };
  EXPECT_SAYS(load(file()), file().string() + ": cannot be read: No such file or directory");
  fs::create_directories(file("folder"));
  EXPECT_SAYS(load(file("folder")), file("folder").string() + ": not a regular file");
  ASSERT_EQ(::mkfifo(file("pipe").c_str(), 0600), 0);
  EXPECT_SAYS(load(file("pipe")), "not a regular file");
  std::ofstream(file("empty")).flush();
  EXPECT_SAYS(load(file("empty")), file("empty").string() + ": ");
  std::ofstream(file("text")) << "these are no parameters";
  EXPECT_SAYS(load(file("text")), file("text").string() + ": not a ");
}

TEST_P(StateDictFile, DamagedFilesEndInSuccessOrInputError) {
  save_state_dict({{"w", at::ones({20}, at::kFloat)}, {"b", at::ones({3}, at::kDouble)}}, file());
  const std::string bytes = content(file());
  std::mt19937 random(4);
  int refused = 0;
  for (int i = 0; i < 300; ++i) {
    std::string changed = bytes;
    changed[random() % changed.size()] = static_cast<char>(random());
    std::ofstream(file("changed"), std::ios::binary) << changed;
    refused += message_of([&] { load_state_dict(file("changed")); }) != "no error";
    std::ofstream(file("cut"), std::ios::binary) << bytes.substr(0, bytes.size() * static_cast<std::size_t>(i) / 300);
    EXPECT_NE(message_of([&] { load_state_dict(file("cut")); }), "no error") << i;
  }
  EXPECT_GT(refused, 30);
}

TEST(StateDictFormat, OtherExtensionsAreRefusedWithTheAllowedOnes) {
  for (const auto* name : {"/none/model.bin", "/none/model", "/none/.pt", "/none/model.pt.gz"}) {
    EXPECT_SAYS(message_of([&] { load_state_dict(name); }), "is not known: use .pt, .pth, .safetensors");
    EXPECT_SAYS(message_of([&] { save_state_dict({}, name); }), fmt::format("model file {}: extension '", name));
  }
}

// A model whose parameters are views of one flat vector, as the trainer's are.
struct Model {
  at::Tensor flat = at::zeros({9}, at::kFloat);
  std::vector<NamedTensor> parameters{{"weight", flat.slice(0, 0, 6).view({2, 3})}, {"bias", flat.slice(0, 6)}};
};

std::string assign(const StateDict& from, const Model& model) {
  return message_of([&] { assign_parameters(from, model.parameters, "m.pt"); });
}

const at::Tensor weight = at::arange(6, at::kFloat).reshape({2, 3}), bias = at::arange(3, at::kFloat) - 1;

TEST(AssignParameters, WritesThroughViewsInAnyOrder) {
  Model model;
  assign_parameters({{"bias", bias}, {"weight", weight}}, model.parameters, "m.pt");
  EXPECT_TRUE(model.flat.slice(0, 0, 6).equal(weight.flatten()));
  EXPECT_TRUE(model.flat.slice(0, 6).equal(bias));
}

TEST(AssignParameters, WritesIntoLeavesWithGradients) {
  const at::Tensor leaf = at::zeros({3}, at::kFloat).requires_grad_();
  assign_parameters({{"bias", bias}}, {{"bias", leaf}}, "m.pt");
  EXPECT_TRUE(leaf.detach().equal(bias));
  EXPECT_TRUE(leaf.is_leaf() && leaf.requires_grad());
}

TEST(AssignParameters, ConvertsOtherFloatingTypes) {
  for (const auto type : {at::kDouble, at::kHalf, at::kBFloat16}) {
    Model model;
    assign_parameters({{"bias", bias.to(type)}, {"weight", weight.to(type)}}, model.parameters, "m.pt");
    EXPECT_EQ(model.parameters[0].value.scalar_type(), at::kFloat);
    EXPECT_TRUE(model.flat.slice(0, 6).equal(bias));
  }
  EXPECT_SAYS(assign({{"bias", bias.to(at::kLong)}, {"weight", weight}}, Model()), "parameter 'bias' is Long: the model has Float");
}

TEST(AssignParameters, SaysWhatIsMissingUnexpectedAndOfAnotherShape) {
  EXPECT_EQ(
      assign({{"weight", weight.t()}, {"bios", bias}}, Model()),
      "model file m.pt does not fit the model; 1 missing: bias; 1 unexpected: bios; 1 of another shape: weight is [3, 2] (the model has "
      "[2, 3])");
  EXPECT_SAYS(assign({{"weight", weight}, {"bias", bias}, {"more", bias}}, Model()), "the model; 1 unexpected: more");
  EXPECT_SAYS(assign({{"weight", weight}, {"bias", bias.reshape({3, 1})}}, Model()), "bias is [3, 1] (the model has [3])");
  EXPECT_SAYS(assign({{"weight", weight}, {"bias", bias}, {"bias", bias}}, Model()), "m.pt: parameter 'bias' comes twice");
  StateDict many;
  for (int i = 0; i < 20; ++i) many.push_back({std::to_string(i), bias});
  EXPECT_SAYS(assign(many, Model()), "2 missing: weight, bias; 20 unexpected: 0, 1, 2, 3, 4, 5, 6, 7 and 12 more");
}

TEST(AssignParameters, RefusesValuesThatAreNotFiniteByNameAndIndex) {
  const auto with = [](double value) {
    at::Tensor changed = weight.to(at::kDouble);
    changed[1][2] = value;
    return changed;
  };
  constexpr double infinity = std::numeric_limits<double>::infinity();
  EXPECT_SAYS(assign({{"bias", bias}, {"weight", with(infinity).to(at::kFloat)}}, Model()), "m.pt: parameter 'weight' is inf at [1, 2]");
  EXPECT_SAYS(assign({{"bias", bias}, {"weight", with(-infinity)}}, Model()), "parameter 'weight' is -inf at [1, 2]");
  EXPECT_SAYS(assign({{"bias", bias}, {"weight", with(std::nan(""))}}, Model()), "parameter 'weight' is nan at [1, 2]");
  EXPECT_SAYS(assign({{"bias", bias}, {"weight", with(1e300)}}, Model()),
              "parameter 'weight' is 1e+300 at [1, 2]: must be finite in Float");
}

TEST(AssignParameters, WritesNothingWhenAnythingIsWrong) {
  const Model model;
  const at::Tensor bad = at::full({3}, std::nan(""), at::kFloat);  // the last that is looked at
  EXPECT_NE(assign({{"weight", weight}, {"bias", bad}}, model), "no error");
  EXPECT_NE(assign({{"weight", weight}}, model), "no error");
  EXPECT_NE(assign({{"weight", weight}, {"bias", bias.to(at::kLong)}}, model), "no error");
  EXPECT_TRUE(model.flat.equal(at::zeros({9}, at::kFloat)));
}

}  // namespace
}  // namespace fodp::files
