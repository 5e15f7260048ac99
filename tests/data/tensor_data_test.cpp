// --data tensors: what is taken, what it becomes, and what is refused.
#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/arrays.h"
#include "fodp/data/own_data.h"
#include "fodp/files/safetensors.h"

namespace fodp {
namespace {

using ::testing::AllOf;
using testing::Bytes;
using ::testing::HasSubstr;
using testing::input_error;
using ::testing::Not;
using testing::npy_of;

class TensorData : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const Bytes& bytes) const {
    testing::write_bytes(folder_ / name, bytes);
    return (folder_ / name).string();
  }

  // 4 rows of 2 bytes, of 3 classes.
  DataOptions bytes_and_classes() const {
    testing::write_zip(folder_ / "a.npz",
                       {{"x.npy", npy_of("|u1", "(4, 2)", Bytes{0, 255, 51, 102, 1, 2, 3, 4})},
                        {"y.npy", npy_of<std::int64_t>("<i8", "(4,)", {2, 0, 1, 1})}},
                       true);
    DataOptions options{.data = "tensors", .classes = 3};
    options.train.names = {(folder_ / "a.npz").string()};
    return options;
  }

  DataOptions two_files(const Bytes& inputs, const Bytes& labels) const {
    DataOptions options{.data = "tensors", .classes = 3};
    options.train.names = {write("x.npy", inputs)};
    options.labels = write("y.npy", labels);
    return options;
  }

  std::string refusal(const DataOptions& options) const {
    return input_error([&] { load_data(options); });
  }

  static Batch all_of(const Rows& rows) {
    std::vector<std::int64_t> all(static_cast<std::size_t>(rows.count()));
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
    return rows.gather(all);
  }
  static std::vector<float> inputs_of(const Rows& rows) {
    const Batch batch = all_of(rows);
    const at::Tensor& inputs = batch.inputs;
    return {inputs.data_ptr<float>(), inputs.data_ptr<float>() + inputs.numel()};
  }

  testing::TemporaryFolder folder_;
};

TEST_F(TensorData, BytesAreDividedBy255AndNormalised) {
  DataOptions options = bytes_and_classes();
  const RunData data = load_data(options);
  EXPECT_EQ(data.about.row_shape, (std::vector<std::int64_t>{2}));
  EXPECT_EQ(data.train->target().classes, 3);
  EXPECT_EQ(data.test, nullptr);
  EXPECT_THAT(inputs_of(*data.train), ::testing::ElementsAre(0, 1, .2f, .4f, 1 / 255.f, 2 / 255.f, 3 / 255.f, 4 / 255.f));
  EXPECT_TRUE(at::equal(all_of(*data.train).targets, at::tensor({2, 0, 1, 1}, at::kLong)));
  options.mean = NumberList{{.5, 1}};
  options.std = NumberList{{2}};
  EXPECT_THAT(inputs_of(*load_data(options).train), ::testing::Contains(static_cast<float>((.2 - .5) / 2)));
  EXPECT_EQ(describe_data(options).inputs["divide_by"], 255);
  EXPECT_EQ(describe_data(options).inputs["std"], nlohmann::json({2, 2}));
}

TEST_F(TensorData, OtherNumbersAreTakenAsTheyAre) {
  for (const auto& [type, bytes] : {std::pair{"<f4", npy_of<float>("<f4", "(2, 2)", {1, -2, 3.5, 1000})},
                                    {"<f8", npy_of<double>("<f8", "(2, 2)", {1, -2, 3.5, 1000})}}) {
    const RunData data = load_data(two_files(bytes, npy_of("|u1", "(2, 1)", {0, 2})));
    EXPECT_THAT(inputs_of(*data.train), ::testing::ElementsAre(1, -2, 3.5f, 1000)) << type;
    EXPECT_EQ(data.about.inputs["divide_by"], 1);
  }
}

TEST_F(TensorData, ImagesWithoutChannelsHaveOne) {
  const RunData data = load_data(two_files(npy_of("|u1", "(2, 3, 5)", Bytes(30)), npy_of("|u1", "(2,)", {0, 2})));
  EXPECT_EQ(data.train->inputs()[0].shape, (std::vector<std::int64_t>{1, 3, 5}));
  EXPECT_THAT(refusal(two_files(npy_of("|u1", "(2, 8, 8, 3)", Bytes(384)), npy_of("|u1", "(2,)", {0, 2}))),
              HasSubstr("x.transpose(0, 3, 1, 2)"));
}

TEST_F(TensorData, ALabelThatIsANumberIsClippedAndScaled) {
  DataOptions options = two_files(npy_of("|u1", "(3, 1)", {1, 2, 3}), npy_of<double>("<f8", "(3,)", {10, -7, 25}));
  options.classes.reset();
  options.target_low = 0;
  options.target_high = 20;
  const RunData data = load_data(options);
  EXPECT_EQ(data.about.target_scale, 10);
  EXPECT_EQ(data.about.target.kind, Target::Kind::number);
  EXPECT_TRUE(at::equal(all_of(*data.train).targets, at::tensor({0.f, -1.f, 1.f})));
}

TEST_F(TensorData, SafetensorsAreRead) {
  DataOptions options{.data = "tensors", .classes = 3};
  const std::string text = files::to_safetensors(
      {{"Images", at::arange(6, at::kFloat).reshape({3, 2})}, {"more", at::zeros({5})}, {"labels", at::tensor({2, 0, 1}, at::kInt)}}, {},
      "a");
  options.train.names = {write("a.safetensors", Bytes(text.begin(), text.end()))};
  const RunData data = load_data(options);
  EXPECT_THAT(inputs_of(*data.train), ::testing::ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_TRUE(at::equal(all_of(*data.train).targets, at::tensor({2, 0, 1}, at::kLong)));
}

TEST_F(TensorData, TheClassesAreStatedAndNeverCounted) {
  DataOptions options = bytes_and_classes();
  options.classes.reset();
  EXPECT_THAT(refusal(options), HasSubstr("`data` tensors needs `classes`"));
  options.classes = 5;
  EXPECT_EQ(load_data(options).train->target().classes, 5);
  options.target_low = 0;
  EXPECT_THAT(refusal(options), HasSubstr("needs `classes`"));
  options.classes.reset();
  EXPECT_THAT(refusal(options), HasSubstr("give both"));
  options.target_high = 0;
  EXPECT_THAT(refusal(options), HasSubstr("must be finite and in order"));
}

// The place is named, and no value.
TEST_F(TensorData, WrongRowsAreRefusedWithTheirPlace) {
  DataOptions options = bytes_and_classes();
  options.classes = 2;
  EXPECT_THAT(refusal(options), AllOf(HasSubstr("a.npz: row 1: the label is no class: must be from 0 to 1"), Not(HasSubstr("2"))));
  const Bytes labels = npy_of("|u1", "(2,)", {0, 2});
  for (const float bad : {NAN, INFINITY})
    EXPECT_THAT(refusal(two_files(npy_of<float>("<f4", "(2, 2)", {1, 2, 3, bad}), labels)), HasSubstr("x.npy: row 2: an input is not"));
  EXPECT_THAT(refusal(two_files(npy_of<double>("<f8", "(2, 2)", {1, 1e300, 3, 4}), labels)), HasSubstr("row 1: an input is not"));
  EXPECT_THAT(refusal(two_files(npy_of("|u1", "(2, 1)", {1, 2}), npy_of<float>("<f4", "(2,)", {0, 1}))), HasSubstr("classes are whole"));
  EXPECT_THAT(refusal(two_files(npy_of("|u1", "(2, 1)", {1, 2}), npy_of("|u1", "(3,)", {0, 1, 2}))), HasSubstr("each of the 2 rows"));
  EXPECT_THAT(refusal(two_files(npy_of("|u1", "(2, 1)", {1, 2}), npy_of("|u1", "(2, 3)", Bytes(6)))), HasSubstr("y.argmax(1)"));
  EXPECT_THAT(refusal(two_files(npy_of("|u1", "(0, 1)", {}), npy_of("|u1", "(0,)", {}))), HasSubstr("there must be one"));
}

TEST_F(TensorData, ArraysAreFoundByTheirNames) {
  DataOptions options = bytes_and_classes();
  const Bytes x = npy_of("|u1", "(2, 1)", {1, 2}), y = npy_of("|u1", "(2,)", {0, 1});
  const auto says = [&](const std::vector<std::pair<std::string, Bytes>>& arrays) {
    testing::write_zip(folder_ / "a.npz", arrays, false);
    return refusal(options);
  };
  EXPECT_THAT(says({{"arr_0.npy", x}, {"arr_1.npy", y}}), HasSubstr("no array for the inputs: expected exactly one called x, inputs"));
  EXPECT_THAT(says({{"x.npy", x}, {"DATA.npy", x}, {"y.npy", y}}), HasSubstr("more than one array for the inputs"));
  EXPECT_THAT(says({{"x.npy", x}}), HasSubstr("no array for the labels"));
  options.labels = "y.npy";
  EXPECT_THAT(says({{"x.npy", x}, {"y.npy", y}}), HasSubstr("has its labels itself"));
  options = two_files(x, y);
  options.labels.reset();
  EXPECT_THAT(refusal(options), HasSubstr("`labels` names the .npy file"));
}

TEST_F(TensorData, SizesComeFromTheHeaders) {
  DataOptions options = bytes_and_classes();
  options.test.names = {options.train.names.at(0) + ".test.npz"};
  std::filesystem::copy_file(options.train.names.at(0), options.test.names[0]);
  options.test_size = 3;
  const std::optional<DataSizes> sizes = sizes_before_reading(options);
  ASSERT_TRUE(sizes.has_value());
  EXPECT_EQ(sizes->train, 4);
  EXPECT_EQ(sizes->test, 3);
  EXPECT_FALSE(describe_data(options).test_is_public);
  EXPECT_EQ(load_data(options).test->count(), 3);
  options.test_size = 5;
  EXPECT_THAT(refusal(options), HasSubstr("`test-size` is 5: there are 4 rows"));
}

TEST_F(TensorData, TestRowsAreLikeTheOthers) {
  DataOptions options = bytes_and_classes();
  options.test.names = {write("t.npy", npy_of("|u1", "(2, 3)", Bytes(6)))};
  options.test_labels = write("ty.npy", npy_of("|u1", "(2,)", {0, 1}));
  EXPECT_THAT(refusal(options), HasSubstr("a row is [3]: in"));
  write("t.npy", npy_of<float>("<f4", "(2, 2)", {1, 2, 3, 4}));
  EXPECT_THAT(refusal(options), HasSubstr("the inputs are not uint8, unlike"));
}

// Another row more or less changes nothing for the rest.
TEST_F(TensorData, WhoIsHeldOutFollowsFromTheRowAlone) {
  const auto held = [&](Bytes values) {
    const std::string count = std::to_string(values.size());
    DataOptions options = two_files(npy_of("|u1", "(" + count + ", 1)", values), npy_of("|u1", "(" + count + ",)", Bytes(values.size())));
    options.test_fraction = .3;
    options.test_seed = 3;
    const RunData data = load_data(options);
    EXPECT_EQ(data.train->count() + data.test->count(), static_cast<std::int64_t>(values.size()));
    return inputs_of(*data.test);
  };
  Bytes values(200);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint8_t>(i);
  const std::vector<float> some = held(values);
  EXPECT_NEAR(static_cast<double>(some.size()), 60, 30);  // 4.6 standard deviations, and the seed is fixed
  EXPECT_EQ(some.front(), held(Bytes(values.begin(), values.begin() + 100)).front());
  std::vector<float> without = some;
  const auto gone = static_cast<std::uint8_t>(std::lround(some.front() * 255));
  without.erase(without.begin());
  std::erase(values, gone);
  EXPECT_EQ(held(values), without);
}

TEST_F(TensorData, TheFingerprintIsOfTheValues) {
  const auto fingerprint = [&](const Bytes& x, const Bytes& y) { return load_data(two_files(x, y)).fingerprint; };
  const Bytes y = npy_of("|u1", "(2,)", {0, 1});
  const std::string one = fingerprint(npy_of("|u1", "(2, 1)", {1, 2}), y);
  EXPECT_EQ(one, fingerprint(npy_of("|u1", "(2,1)", {1, 2}), y));
  EXPECT_NE(one, fingerprint(npy_of("|u1", "(2, 1)", {1, 3}), y));
  EXPECT_NE(one, fingerprint(npy_of("|u1", "(2, 1)", {1, 2}), npy_of("|u1", "(2,)", {1, 1})));
  EXPECT_EQ(one.size(), 64u);
}

TEST_F(TensorData, OptionsOfOtherKindsAreRefused) {
  DataOptions options = bytes_and_classes();
  options.image_size = 8;
  EXPECT_THAT(refusal(options), HasSubstr("`image-size` is not for the data tensors"));
  options = bytes_and_classes();
  options.train.names.push_back("b.npz");
  EXPECT_THAT(refusal(options), HasSubstr("tensors come from one file"));
  options = bytes_and_classes();
  options.std = NumberList{{0}};
  EXPECT_THAT(refusal(options), HasSubstr("`std` has the number 0: must be above 0"));
  options.std = NumberList{{1, 2, 3}};
  EXPECT_THAT(refusal(options), HasSubstr("`std` has 3 numbers: give one, or one for each of the 2"));
  options = bytes_and_classes();
  options.privacy_unit = "who";
  EXPECT_THAT(refusal(options), HasSubstr("`privacy-unit` is not for the data tensors"));
}

}  // namespace
}  // namespace fodp
