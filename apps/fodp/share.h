// Files that come with the program and are not part of it: the shipped studies, the template of the report page.
#pragma once

#include <filesystem>
#include <string_view>

namespace fodp::app {

// The folder that this program stands in.
std::filesystem::path own_folder();

// "experiments" or "report/page.html", beside the program in a build folder, or below share/fodp where it is installed. FaultError if it is
// in neither.
std::filesystem::path shared_file(std::string_view name);

}  // namespace fodp::app
