// A fuzz target hands bytes to one of the file readers. It is a file of its own beside this one:
//
//   FODP_FUZZ_TARGET(safetensors) { files::from_safetensors(text(bytes), "FILE"); }
//
// The body may end or throw InputError. Anything else (another exception, a crash, a leak, undefined behaviour, more memory or time than a
// small file is worth) is a find. `make fuzz` looks for them; tests/fuzz reads what stands in fuzz/corpus with every target.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

namespace fodp::fuzz {

using Bytes = std::span<const std::uint8_t>;

struct Target {
  std::string_view name;
  void (*read)(Bytes bytes);
};

// The targets that are linked into this program.
std::vector<Target>& targets();

// Whether the target's reader takes these bytes. It is false where the reader refuses them with InputError.
bool reads(const Target& target, Bytes bytes);

std::string_view text(Bytes bytes);

// The path of a file that holds these bytes until the same name is written again. Programs that run at the same time have files of their
// own.
std::filesystem::path file_with(std::string_view name, Bytes bytes);

// Ends the program if a property that a reader promises does not hold for these bytes.
void require(bool holds, const char* what);

}  // namespace fodp::fuzz

#define FODP_FUZZ_TARGET(name)                                                                          \
  namespace fodp::fuzz {                                                                                \
  static void read_##name(Bytes bytes);                                                                 \
  [[maybe_unused]] static const bool listed_##name = (targets().push_back({#name, read_##name}), true); \
  }                                                                                                     \
  void fodp::fuzz::read_##name(Bytes bytes)
