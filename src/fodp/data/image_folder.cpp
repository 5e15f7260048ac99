#include "fodp/data/image_folder.h"

#include <algorithm>
#include <cctype>

#include <nlohmann/json.hpp>

#include "fodp/base/check.h"

namespace fodp {
namespace {

namespace fs = std::filesystem;

bool is_image(const fs::path& name) {
  std::string ending = name.extension().string();
  for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return ending == ".png" || ending == ".jpg" || ending == ".jpeg";
}

void check_is_image(const fs::path& file) {
  std::error_code error;
  check_input(fs::is_regular_file(file, error), "{}: not a file: a folder of images has its images in one sub-folder for each class",
              file.string());
  check_input(
      is_image(file),
      "{}: its name ends in none of .png, .jpg and .jpeg: convert it, or take it out of the folder (names that begin with a dot are "
      "passed over)",
      file.string());
}

bool is_utf8(const std::string& text) {
  try {
    nlohmann::json(text).dump();
    return true;
  } catch (const nlohmann::json::exception&) {
    return false;
  }
}

// In the order of their bytes, without those that begin with a dot.
std::vector<std::string> names_in(const fs::path& folder) {
  std::error_code error;
  check_input(fs::is_directory(folder, error), "{}: {}: expected a folder with images", folder.string(),
              fs::exists(folder, error) ? "is not a folder" : "no such folder");
  std::vector<std::string> names;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error))
    if (std::string name = entry->path().filename().string(); !name.starts_with('.')) names.push_back(std::move(name));
  check_input(!error, "{}: cannot be read: {}", folder.string(), error.message());
  std::ranges::sort(names);
  return names;
}

}  // namespace

std::vector<std::string> class_folders(const fs::path& folder) {
  std::vector<std::string> names = names_in(folder);
  for (const std::string& name : names) {
    std::error_code error;
    check_input(fs::is_directory(folder / name, error),
                "{}: a file beside the class folders: images stand in one sub-folder for each class; take the file away if it is no image",
                (folder / name).string());
    check_input(is_utf8(name), "{}: the name of sub-folder {} is not UTF-8: the names of classes are written to files", folder.string(),
                &name - names.data() + 1);
  }
  check_input(!names.empty(), "{}: has no sub-folder: images stand in one sub-folder for each class", folder.string());
  return names;
}

std::vector<ImageName> images_by_class(const fs::path& folder, std::span<const std::string> classes) {
  std::vector<ImageName> images;
  for (const std::string& name : class_folders(folder)) {
    const auto known = std::ranges::find(classes, name);
    check_input(known != classes.end(), "{}: none of the {} classes has that name", (folder / name).string(), classes.size());
    for (const std::string& file : names_in(folder / name)) {
      check_is_image(folder / name / file);
      images.push_back({name + "/" + file, known - classes.begin()});
    }
  }
  check_input(!images.empty(), "{}: there are no images in its sub-folders", folder.string());
  return images;
}

std::vector<ImageName> images_in(const fs::path& place) {
  std::error_code error;
  if (fs::is_regular_file(place, error)) return {{.name = ""}};
  std::vector<ImageName> images;
  for (const std::string& name : names_in(place)) {
    if (!fs::is_directory(place / name, error)) {
      check_is_image(place / name);
      images.push_back({.name = name});
      continue;
    }
    for (const std::string& file : names_in(place / name)) {
      check_is_image(place / name / file);
      images.push_back({.name = name + "/" + file});
    }
  }
  check_input(!images.empty(), "{}: there are no images in it", place.string());
  return images;
}

}  // namespace fodp
