// Every file of fuzz/corpus, read as `make fuzz` reads it: seeds, and what fuzzing found. A file whose name begins with "good" is read,
// every other one is refused.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "target.h"

// These files have some thousand bytes: who asks for more memory than this for one of them has believed a size without a look at the file.
// (The sanitizers have an allocator of their own.)
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
constexpr std::size_t most_memory = std::size_t{64} << 20;

void* operator new(std::size_t size) {
  if (size > most_memory) throw std::bad_alloc();
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
// GCC takes an inlined free() for the wrong partner of an operator new that it did not inline.
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
#endif

namespace fodp::fuzz {
namespace {

const std::filesystem::path kCorpus = FODP_SOURCE_DIR "/fuzz/corpus";

std::vector<std::uint8_t> content(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST(FuzzCorpus, GoodFilesAreReadAndAllOthersRefused) {
  for (const Target& target : targets()) {
    int good = 0;
    for (const auto& entry : std::filesystem::directory_iterator(kCorpus / target.name)) {
      const std::string name = entry.path().filename().string();
      SCOPED_TRACE(entry.path().string());
      EXPECT_NO_THROW(EXPECT_EQ(reads(target, content(entry.path())), name.starts_with("good")));
      good += name.starts_with("good");
    }
    EXPECT_GT(good, 0) << target.name;
  }
}

TEST(FuzzCorpus, EveryFolderHasATarget) {
  std::size_t folders = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(kCorpus)) ++folders;
  EXPECT_EQ(targets().size(), folders);
}

}  // namespace
}  // namespace fodp::fuzz
