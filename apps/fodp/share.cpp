#include "share.h"

#include "fodp/base/check.h"

namespace fodp::app {

std::filesystem::path own_folder() { return std::filesystem::read_symlink("/proc/self/exe").parent_path(); }

std::filesystem::path shared_file(std::string_view name) {
  for (const char* place : {"share/fodp", FODP_SHARE_FROM_BIN, FODP_SHARE_FROM_LIBEXEC})
    if (const std::filesystem::path file = own_folder() / place / name; std::filesystem::exists(file)) return file.lexically_normal();
  throw FaultError(fmt::format("{}, which comes with fodp, is not where fodp looks for it: build or install fodp again", name));
}

}  // namespace fodp::app
