// --data images: a folder, what it becomes, and what is refused.
#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/pictures.h"
#include "fodp/data/own_data.h"

namespace fodp {
namespace {

namespace fs = std::filesystem;
using testing::Bytes;
using ::testing::HasSubstr;
using testing::input_error;
using testing::jpeg_of;
using testing::operator+;
using testing::png_of;

Picture flat(std::uint8_t red, std::uint8_t green, std::uint8_t blue) {
  Picture picture{5, 3, 3, {}};
  for (int i = 0; i < 15; ++i) picture.values.insert(picture.values.end(), {red, green, blue});
  return picture;
}

class ImageData : public ::testing::Test {
 protected:
  void write(const std::string& name, const Bytes& bytes) const {
    fs::create_directories((folder_ / name).parent_path());
    testing::write_bytes(folder_ / name, bytes);
  }

  DataOptions options(std::int64_t size = 2) const {
    DataOptions options{.data = "images"};
    options.train.names = {(folder_ / "train").string()};
    options.image_size = size;
    return options;
  }

  std::string refusal(const DataOptions& options) const {
    return input_error([&] { load_data(options); });
  }

  void write_three() const {
    write("train/dog/b.png", png_of(flat(255, 0, 51)));
    write("train/dog/a.PNG", png_of(flat(0, 255, 0)));
    write("train/cat/z.png", png_of(flat(102, 102, 102)));
  }

  testing::TemporaryFolder folder_;
};

TEST_F(ImageData, ClassesAreTheSubFoldersAndFilesAreSorted) {
  write_three();
  const RunData data = load_data(options());
  EXPECT_EQ(data.about.class_names, (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ(data.train->inputs()[0].shape, (std::vector<std::int64_t>{3, 2, 2}));
  const Batch batch = data.train->gather(std::vector<std::int64_t>{0, 1, 2});
  EXPECT_TRUE(at::equal(batch.targets, at::tensor({0, 1, 1}, at::kLong)));
  const at::Tensor& inputs = batch.inputs;
  EXPECT_FLOAT_EQ(inputs[0][0][1][1].item<float>(), static_cast<float>((102 / 255. - .5) / .5));
  EXPECT_EQ(inputs[1][1][0][0].item<float>(), 1);   // green of a.PNG
  EXPECT_EQ(inputs[2][0][0][1].item<float>(), 1);   // red of b.png
  EXPECT_EQ(inputs[2][1][0][1].item<float>(), -1);  // its green
  const auto hashed = [](const std::string& name, const Bytes& bytes) {
    const std::string head = fmt::format("9:{}:{}:", name, bytes.size());
    return Bytes(head.begin(), head.end()) + bytes;
  };
  EXPECT_EQ(data.fingerprint,
            testing::sha256_text(hashed("cat/z.png", png_of(flat(102, 102, 102))) + hashed("dog/a.PNG", png_of(flat(0, 255, 0))) +
                                 hashed("dog/b.png", png_of(flat(255, 0, 51)))));
}

TEST_F(ImageData, GrayAndConstantsAreOptions) {
  write_three();
  DataOptions gray = options();
  gray.channels = 1;
  gray.mean = NumberList{{0}};
  gray.std = NumberList{{1}};
  const at::Tensor inputs = load_data(gray).train->gather(std::vector<std::int64_t>{0, 2}).inputs;
  EXPECT_EQ(inputs.sizes(), (std::vector<std::int64_t>{2, 1, 2, 2}));
  EXPECT_FLOAT_EQ(inputs[0][0][0][0].item<float>(), static_cast<float>(102 / 255.));
  EXPECT_FLOAT_EQ(inputs[1][0][0][0].item<float>(), static_cast<float>(82 / 255.));  // (19595*255 + 7471*51 + 32768)/65536 = 82.6
  gray.channels = 2;
  EXPECT_THAT(refusal(gray), HasSubstr("`channels` is 2: must be 1 for gray or 3 for colour"));
  DataOptions two = options();
  two.mean = NumberList{{.1, .2}};
  EXPECT_THAT(refusal(two), HasSubstr("`mean` has 2 numbers: give one, or one for each of the 3 channels"));
}

TEST_F(ImageData, AnEmptyClassIsAClass) {
  write_three();
  fs::create_directories(folder_ / "train/bird");
  EXPECT_EQ(load_data(options()).train->target().classes, 3);
}

TEST_F(ImageData, NamesOfClassesAreUtf8) {
  write_three();
  write("train/caf\xc3\xa9/1.png", png_of(flat(1, 2, 3)));
  EXPECT_EQ(load_data(options()).about.class_names.front(), "caf\xc3\xa9");
  write("train/caf\xe9/1.png", png_of(flat(1, 2, 3)));
  EXPECT_THAT(refusal(options()), HasSubstr("the name of sub-folder 2 is not UTF-8"));
}

TEST_F(ImageData, NothingIsLeftOutByAccident) {
  write_three();
  write("train/.DS_Store", {1});
  write("train/dog/.hidden", {1});
  EXPECT_EQ(load_data(options()).train->count(), 3);
  write("train/dog/c.gif", {1});
  EXPECT_THAT(refusal(options()), HasSubstr("dog/c.gif: its name ends in none of"));
  fs::remove(folder_ / "train/dog/c.gif");
  write("train/dog/more/c.png", png_of(flat(1, 2, 3)));
  EXPECT_THAT(refusal(options()), HasSubstr("dog/more: not a file"));
  fs::remove_all(folder_ / "train/dog/more");
  write("train/readme.txt", {1});
  EXPECT_THAT(refusal(options()), HasSubstr("readme.txt: a file beside the class folders"));
}

TEST_F(ImageData, ADamagedImageIsNamed) {
  write_three();
  Bytes cut = png_of(flat(1, 2, 3));
  cut.resize(40);
  write("train/dog/m.png", cut);
  write("train/dog/n.png", {1, 2, 3});
  EXPECT_THAT(refusal(options()), HasSubstr("train/dog/m.png: the PNG file is damaged")) << "the first one in order";
  write("train/dog/m.png", jpeg_of(flat(1, 2, 3)));  // by its bytes, not by its name
  fs::remove(folder_ / "train/dog/n.png");
  EXPECT_EQ(load_data(options()).train->count(), 4);
}

TEST_F(ImageData, ATestFolderHasTheSameClasses) {
  write_three();
  DataOptions both = options();
  both.test.names = {(folder_ / "test").string()};
  EXPECT_THAT(refusal(both), HasSubstr("test: no such folder"));
  write("test/dog/1.png", png_of(flat(1, 2, 3)));
  const RunData data = load_data(both);
  EXPECT_TRUE(at::equal(data.test->gather(std::vector<std::int64_t>{0}).targets, at::tensor({1}, at::kLong)));
  EXPECT_FALSE(data.about.test_is_public);
  EXPECT_EQ(sizes_before_reading(both)->test, 1);
  write("test/wolf/1.png", png_of(flat(1, 2, 3)));
  EXPECT_THAT(refusal(both), HasSubstr("test/wolf: none of the 2 classes has that name"));
}

TEST_F(ImageData, HeldOutImagesAreKnownByTheirNames) {
  for (int i = 0; i < 60; ++i) write(fmt::format("train/{}/{}.png", i % 2, i), png_of(flat(static_cast<std::uint8_t>(i), 0, 0)));
  DataOptions part = options();
  part.test_fraction = .3;
  part.test_seed = 5;
  const std::optional<DataSizes> sizes = sizes_before_reading(part);
  const RunData data = load_data(part);
  ASSERT_TRUE(sizes.has_value());
  EXPECT_EQ(sizes->train, data.train->count());
  EXPECT_EQ(sizes->test, data.test->count());
  EXPECT_EQ(sizes->train + sizes->test, 60);
  EXPECT_GT(sizes->test, 5);
  EXPECT_LT(sizes->test, 35);
}

TEST_F(ImageData, OptionsThatDoNotFitAreRefused) {
  write_three();
  DataOptions one = options();
  one.image_size.reset();
  EXPECT_THAT(refusal(one), HasSubstr("needs `image-size`"));
  one = options();
  one.train_size = 2;
  EXPECT_THAT(refusal(one), HasSubstr("sorted by class"));
  one = options();
  one.classes = 2;
  EXPECT_THAT(refusal(one), HasSubstr("`classes` is not for the data images"));
  one = options();
  one.train.names = {(folder_ / "nowhere").string()};
  EXPECT_THAT(refusal(one), HasSubstr("nowhere: no such folder"));
  one.train.names.clear();
  EXPECT_THAT(refusal(one), HasSubstr("needs `train`"));
}

}  // namespace
}  // namespace fodp
