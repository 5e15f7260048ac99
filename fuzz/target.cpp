#include "target.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>

#include "fodp/base/check.h"

namespace fodp::fuzz {
namespace {

struct Folder {
  std::filesystem::path path = std::filesystem::temp_directory_path() / ("fodp-fuzz-" + std::to_string(::getpid()));

  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
};

}  // namespace

std::vector<Target>& targets() {
  static std::vector<Target> list;
  return list;
}

bool reads(const Target& target, Bytes bytes) {
  try {
    target.read(bytes);
    return true;
  } catch (const InputError&) {
    return false;
  }
}

std::string_view text(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

std::filesystem::path file_with(std::string_view name, Bytes bytes) {
  static const Folder folder;
  const std::filesystem::path path = folder.path / name;
  std::ofstream stream(path, std::ios::binary | std::ios::trunc);
  stream << text(bytes) << std::flush;
  if (!stream) throw std::runtime_error("cannot write " + path.string());
  return path;
}

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

}  // namespace fodp::fuzz
