// A folder of images, by the names in it: one sub-folder for each class, with PNG and JPEG files in it. No image is opened here.
//
// Names that begin with a dot are passed over. Links are followed. Anything else that is not expected (a file beside the sub-folders, a
// folder within one of them, a file whose name ends in none of .png, .jpg and .jpeg) is an InputError, so that nothing is left out by
// accident.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace fodp {

struct ImageName {
  std::string name;        // within the folder: "cats/17.png"
  std::int64_t label = 0;  // the number of its class
};

// The names of the sub-folders in the order of their bytes: these are the classes.
std::vector<std::string> class_folders(const std::filesystem::path& folder);

// All images by class and then by name, in the order of their bytes. A sub-folder that is none of the classes is an InputError; a class
// without a sub-folder, or with an empty one, has no images.
std::vector<ImageName> images_by_class(const std::filesystem::path& folder, std::span<const std::string> classes);

// The images of a folder whose classes do not matter: those in it and in its sub-folders, in the order of their names' bytes. A file
// stands for itself, with an empty name.
std::vector<ImageName> images_in(const std::filesystem::path& place);

}  // namespace fodp
