// Dependencies point down the list only (docs/design.md): base < accounting, noise, stages, files < mechanism, data < features, gradients <
// update < methods < models < training < audit; and what fodp::core holds never sees torch.
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace {

using std::filesystem::path;

// Folder -> what it may include besides itself.
const std::map<std::string, std::set<std::string>> kAllowed = {
    {"base", {}},
    {"accounting", {"base"}},
    {"noise", {"base"}},
    {"stages", {"base"}},
    {"files", {"base"}},
    {"mechanism", {"base", "accounting", "noise", "stages"}},
    {"data", {"base", "accounting", "noise", "files"}},
    {"features", {"base", "noise", "data"}},
    {"gradients", {"base", "accounting", "noise", "stages", "mechanism", "data"}},
    {"update", {"base", "stages", "mechanism"}},
    {"methods", {"base", "accounting", "noise", "stages", "mechanism", "data", "gradients", "update"}},
    {"models", {"base", "data", "gradients"}},
    {"training",
     {"base", "accounting", "noise", "stages", "files", "mechanism", "data", "features", "gradients", "update", "methods", "models"}},
    {"audit",
     {"base", "accounting", "noise", "stages", "files", "mechanism", "data", "features", "gradients", "update", "methods", "models",
      "training"}},
};

bool in_core(const std::string& folder, const path& file) {
  if (folder == "mechanism") return file.stem() != "spectral" && file.filename() != "release_table.cpp";
  return folder == "base" || folder == "accounting" || folder == "noise" || folder == "stages";
}

struct Include {
  std::string name;
  bool ours;
};

std::vector<Include> includes_of(std::istream& stream) {
  std::vector<Include> found;
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with("#include")) continue;
    const std::size_t open = line.find_first_of("<\""), close = line.find_last_of(">\"");
    const std::string name = line.substr(open + 1, close - open - 1);
    found.push_back({name, name.starts_with("fodp/")});
  }
  return found;
}

// Empty if the include is allowed.
std::string complaint(const std::string& folder, const path& file, const Include& include) {
  const bool torch = include.name.starts_with("torch/") || include.name.starts_with("ATen/") || include.name.starts_with("c10/") ||
                     include.name.starts_with("caffe2/");
  if (torch && in_core(folder, file)) return "core includes torch: " + include.name;
  if (include.name.starts_with("torch/nn") && folder != "gradients" && folder != "models" && include.name != "torch/nn/module.h")
    return "torch/nn outside gradients and models: " + include.name;
  if (include.name == "torch/torch.h" || include.name == "torch/all.h") return "wide header: " + include.name;
  if (!include.ours) return "";
  const path target = include.name.substr(5);
  const std::string other = target.begin()->string();
  if (other == folder) {
    if (in_core(folder, file) && !in_core(folder, target)) return "core includes what is not: " + include.name;
    return "";
  }
  if (!kAllowed.contains(other)) return "unknown folder: " + include.name;
  return kAllowed.at(folder).contains(other) ? "" : folder + " must not include " + include.name;
}

TEST(Architecture, IncludesPointDownOnly) {
  const path root = path(FODP_SOURCE_DIR) / "src/fodp";
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (!entry.is_regular_file()) continue;
    const path relative = std::filesystem::relative(entry.path(), root);
    if (!relative.has_parent_path()) continue;  // fodp.h and core.h, which gather what users include
    const std::string folder = relative.begin()->string();
    ASSERT_TRUE(kAllowed.contains(folder)) << "folder " << folder << " is not in the list";
    std::ifstream stream(entry.path());
    for (const Include& include : includes_of(stream)) EXPECT_EQ(complaint(folder, relative, include), "") << relative;
    ++files;
  }
  EXPECT_GT(files, 40);
}

TEST(Architecture, AWrongArrowIsFound) {
  EXPECT_NE(complaint("accounting", "accounting/rdp.cpp", {"fodp/gradients/clip.h", true}), "");
  EXPECT_NE(complaint("noise", "noise/stream.cpp", {"ATen/core/Tensor.h", false}), "");
  EXPECT_NE(complaint("mechanism", "mechanism/kernel.h", {"fodp/mechanism/spectral.h", true}), "");
  EXPECT_NE(complaint("data", "data/sampling.h", {"fodp/gradients/clip.h", true}), "");
  EXPECT_EQ(complaint("gradients", "gradients/clip.h", {"fodp/data/rows.h", true}), "");
  EXPECT_NE(complaint("mechanism", "mechanism/gaussian.cpp", {"fodp/gradients/clip.h", true}), "");
  EXPECT_NE(complaint("training", "training/trainer.cpp", {"torch/torch.h", false}), "");
  EXPECT_NE(complaint("files", "files/pt_file.cpp", {"fodp/gradients/tape.h", true}), "");
  EXPECT_EQ(complaint("training", "training/trainer.cpp", {"fodp/methods/method.h", true}), "");
}

}  // namespace
