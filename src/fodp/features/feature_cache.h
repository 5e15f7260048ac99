// A folder of feature files, shared by runs. Features of private images are as private as the images: the folder is made for its user
// alone, and so are its files.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fodp/features/feature_file.h"

namespace fodp {

class FeatureCache {
 public:
  // The folder that was asked for, or fodp/features in the user's cache folder. Nothing is made yet. InputError if there is no such folder
  // to be found.
  explicit FeatureCache(const std::optional<std::string>& folder);

  const std::filesystem::path& folder() const { return folder_; }
  void make() const;  // the folder. InputError if it cannot be made

  struct Made {
    std::shared_ptr<const FeatureFile> file;
    bool cached = false;  // it was there already
  };
  // The file of these features. If there is none, or not as it was written, `make` fills one. Of several processes that want the same
  // features at once one makes them, and the others tell `wait` and wait.
  Made find_or_make(const FeatureFacts& facts, const ParallelFor& parallel, const std::function<void(FeatureWriter&)>& make,
                    const std::function<void()>& wait = {}) const;

  struct Entry {
    std::string name;
    FeatureFacts facts;
  };
  std::vector<Entry> list() const;
  // Deletes the file of that name, or all; gives back how many bytes. InputError for a name that is not there.
  std::int64_t remove(const std::string& name) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace fodp
