#include "fodp/features/patch_dictionary.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "features/small_patches.h"
#include "fodp/base/check.h"

namespace fodp {
namespace {

namespace fs = std::filesystem;

class PatchDictionaryFile : public ::testing::Test {
 protected:
  PatchDictionaryFile() { fs::remove_all(folder_); }
  ~PatchDictionaryFile() override { fs::remove_all(folder_); }

  // Tells whether it was learnt.
  bool find(const FeatureCache& cache) {
    bool learnt = false;
    found_ = find_or_fit_patches(cache, sizes_, one_by_one, [&](std::int64_t, std::int64_t) { learnt = true; });
    return learnt;
  }
  fs::path file() const { return fs::directory_iterator(folder_)->path(); }
  std::vector<float> features() const { return testing::features_of(found_, testing::made_up_images(sizes_.image, 3)); }

  fs::path folder_ = fs::temp_directory_path() / fmt::format("fodp_dictionary_{}", getpid());
  FeatureCache cache_{folder_.string()};
  PatchSizes sizes_ = testing::small_sizes({1, 28});
  PatchDictionary found_;
};

TEST_F(PatchDictionaryFile, IsLearntOnceAndReadBackToTheBit) {
  EXPECT_TRUE(find(cache_));
  const std::vector<float> learnt = features();
  EXPECT_FALSE(find(cache_));
  EXPECT_EQ(features(), learnt);
}

TEST_F(PatchDictionaryFile, OfOtherSizesIsAnother) {
  EXPECT_TRUE(find(cache_));
  sizes_.drawn.atom_images -= 1;
  EXPECT_TRUE(find(cache_));
}

TEST_F(PatchDictionaryFile, ThatIsDamagedIsLearntAnew) {
  EXPECT_TRUE(find(cache_));
  const std::vector<float> learnt = features();
  std::fstream(file(), std::ios::in | std::ios::out | std::ios::binary).seekp(2000).put('x').put('y');
  EXPECT_TRUE(find(cache_));
  EXPECT_EQ(features(), learnt);
  fs::resize_file(file(), 5000);
  EXPECT_TRUE(find(cache_));
  EXPECT_EQ(features(), learnt);
}

TEST_F(PatchDictionaryFile, IsDoneWithoutWhereItCannotBeKept) {
  std::ofstream(folder_) << "a file where the folder should be";
  EXPECT_TRUE(find(cache_));
  EXPECT_TRUE(find(cache_));
}

}  // namespace
}  // namespace fodp
