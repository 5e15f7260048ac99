#include "fodp/features/feature_cache.h"

#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <fstream>
#include <mutex>
#include <thread>

#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fodp/base/check.h"

namespace fodp {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kRows = 5, kValues = 7;

FeatureFacts facts(const std::string& images = "abc") {
  return {.recipe = "patches", .version = 1, .size = "small", .images = images, .what = "made up", .rows = kRows, .values = kValues};
}

float value(std::int64_t row, std::int64_t i) { return static_cast<float>(row) - .37f * static_cast<float>(i); }

void fill(FeatureWriter& writer) {
  for (std::int64_t row = 0; row < kRows; ++row) {
    std::vector<float> features;
    for (std::int64_t i = 0; i < kValues; ++i) features.push_back(value(row, i));
    writer.put(row, 1, features.data());
  }
  writer.set_probe({.5, -.25});
}

class FeatureCacheTest : public ::testing::Test {
 protected:
  FeatureCacheTest() : folder_(fs::temp_directory_path() / fmt::format("fodp-features-{}", ::getpid())) { fs::remove_all(folder_); }
  ~FeatureCacheTest() override { fs::remove_all(folder_); }

  FeatureCache cache() const { return FeatureCache(folder_.string()); }
  FeatureCache::Made make(const FeatureFacts& of = facts()) const { return cache().find_or_make(of, one_by_one, fill); }
  fs::path file() const { return folder_ / facts().file_name(); }
  static void must_not_be_made(FeatureWriter&) { FAIL() << "these features are there"; }

  fs::path folder_;
};

TEST_F(FeatureCacheTest, GivesBackWhatWasWrittenToTheNearestBfloat16) {
  EXPECT_FALSE(make().cached);
  const FeatureCache::Made again = cache().find_or_make(facts(), one_by_one, must_not_be_made);
  EXPECT_TRUE(again.cached);
  EXPECT_EQ(again.file->facts().probe, (std::vector<double>{.5, -.25}));
  const std::vector<std::int64_t> rows = {4, 0, 4};
  const at::Tensor features = again.file->gather(rows);
  ASSERT_EQ(features.sizes(), (std::vector<std::int64_t>{3, kValues}));
  for (std::size_t k = 0; k < rows.size(); ++k)
    for (std::int64_t i = 0; i < kValues; ++i) {
      const float expected = at::tensor(value(rows[k], i)).to(at::kBFloat16).to(at::kFloat).item<float>();
      EXPECT_EQ(features[static_cast<std::int64_t>(k)][i].item<float>(), expected);
    }
  const at::Tensor in_order = again.file->gather(std::vector<std::int64_t>{3, 4});
  EXPECT_TRUE(in_order[1].equal(features[0]));
  EXPECT_THROW(again.file->gather(std::vector<std::int64_t>{5}), InputError);
  EXPECT_THROW(again.file->gather(std::vector<std::int64_t>{-1}), InputError);
}

TEST_F(FeatureCacheTest, OtherImagesHaveAnotherFile) {
  make();
  EXPECT_FALSE(make(facts("abd")).cached);
  EXPECT_EQ(cache().list().size(), 2u);
}

TEST_F(FeatureCacheTest, IsForItsUserAlone) {
  make();
  const auto mode = [](const fs::path& path) { return static_cast<unsigned>(fs::status(path).permissions()); };
  EXPECT_EQ(mode(folder_), 0700u);
  EXPECT_EQ(mode(file()), 0600u);
}

TEST_F(FeatureCacheTest, AKilledComputationLeavesNothingThatIsTakenForWhole) {
  const pid_t child = ::fork();
  if (child == 0) {
    cache().find_or_make(facts(), one_by_one, [](FeatureWriter& writer) {
      fill(writer);
      ::_exit(7);
    });
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(WEXITSTATUS(status), 7);
  EXPECT_FALSE(fs::exists(file()));
  EXPECT_TRUE(fs::exists(file().string() + ".partial"));
  EXPECT_FALSE(make().cached);
  EXPECT_FALSE(fs::exists(file().string() + ".partial"));
}

TEST_F(FeatureCacheTest, AFileThatWasChangedIsMadeAnew) {
  make();
  const auto size = fs::file_size(file());
  {
    std::fstream stream(file(), std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(static_cast<std::streamoff>(size - 3));
    stream.put('x');
  }
  EXPECT_EQ(FeatureFile::open(file(), one_by_one), nullptr);
  EXPECT_FALSE(make().cached);
  fs::resize_file(file(), size - 1);
  EXPECT_FALSE(make().cached);
  fs::resize_file(file(), 100);
  EXPECT_FALSE(make().cached);
  EXPECT_TRUE(make().cached);
}

TEST_F(FeatureCacheTest, OfTwoThatWantTheSameOneComputesAndOneWaits) {
  std::mutex mutex;
  std::condition_variable changed;
  bool started = false, waits = false;
  const auto until = [&](const bool& flag) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return flag; });
  };
  const auto raise = [&](bool& flag) {
    const std::lock_guard lock(mutex);
    flag = true;
    changed.notify_all();
  };
  std::thread first([&] {
    cache().find_or_make(facts(), one_by_one, [&](FeatureWriter& writer) {
      raise(started);
      until(waits);
      EXPECT_EQ(cache().remove("all"), 0) << "what is being made stays";
      fill(writer);
    });
  });
  until(started);
  const FeatureCache::Made second = cache().find_or_make(facts(), one_by_one, must_not_be_made, [&] { raise(waits); });
  first.join();
  EXPECT_TRUE(second.cached);
}

TEST_F(FeatureCacheTest, WithoutTheSpaceNothingIsComputed) {
  FeatureFacts large = facts();
  large.rows = std::int64_t(1) << 30;
  large.values = 1 << 16;
  try {
    cache().find_or_make(large, one_by_one, must_not_be_made);
    FAIL() << "there is no such disk";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("GB free"));
    EXPECT_THAT(error.what(), ::testing::HasSubstr("`feature-cache`"));
  }
  EXPECT_FALSE(fs::exists(folder_ / (large.file_name() + ".partial")));
}

TEST_F(FeatureCacheTest, ListsAndDeletes) {
  EXPECT_TRUE(cache().list().empty());
  make();
  make(facts("abd"));
  const std::vector<FeatureCache::Entry> entries = cache().list();
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].facts.what, "made up");
  EXPECT_THROW(cache().remove("no-such.features"), InputError);
  EXPECT_THROW(cache().remove(entries[0].name + ".lock"), InputError);
  EXPECT_EQ(cache().remove(entries[0].name), 4096 + kRows * kValues * 2);
  EXPECT_EQ(cache().list().size(), 1u);
  cache().remove("all");
  EXPECT_TRUE(cache().list().empty());
}

TEST_F(FeatureCacheTest, RowsOfFeaturesCarryTheirLabels) {
  const FeatureRows rows(make().file, at::tensor(std::vector<std::int64_t>{3, 1, 4, 1, 5}, at::kLong), 6);
  EXPECT_EQ(rows.count(), kRows);
  EXPECT_EQ(rows.inputs()[0].shape, std::vector<std::int64_t>{kValues});
  const Batch batch = rows.gather(std::vector<std::int64_t>{4, 2});
  EXPECT_EQ(batch.targets[0].item<std::int64_t>(), 5);
  EXPECT_EQ(batch.targets[1].item<std::int64_t>(), 4);
  EXPECT_THROW(rows.gather(std::vector<std::int64_t>{5}), InputError);
  EXPECT_THROW(FeatureRows(make().file, at::tensor(std::vector<std::int64_t>{1}, at::kLong), 6), InputError);
}

}  // namespace
}  // namespace fodp
