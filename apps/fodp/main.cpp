// The program people type. It links no LibTorch, which takes most of a second to load: commands that need it run in fodp-torch, which
// stands beside it or in libexec.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

#include <fmt/core.h>

#include "command.h"
#include "fodp/base/check.h"
#include "fodp/base/fields.h"
#include "fodp/base/version.h"
#include "pages.h"
#include "share.h"
#include "text.h"

namespace fodp::app {
namespace {

#define FODP_PLAIN(name, summary) {command_name(#name), summary, name},
#define FODP_WITH_TORCH(name, summary) {command_name(#name), summary, nullptr},
constexpr Command kCommands[] = {FODP_COMMANDS(FODP_PLAIN, FODP_WITH_TORCH)};

void print_help() {
  std::string text = fmt::format("fodp {}: private training with memory\n\nUsage: fodp COMMAND [OPTIONS]\n\nCommands:\n", kVersion);
  for (const Command& command : kCommands) text += fmt::format("  {:<10}  {}\n", command.name, command.summary);
  print_text(text +
             "\nfodp help COMMAND explains a command; fodp --version prints the version.\nA first run (Fashion-MNIST, epsilon 3):\n");
  fmt::print("  fodp train --method fo-dp-sgd --data fashion-mnist --epsilon 3 --out runs/demo\n");
}

std::optional<std::filesystem::path> torch_program() {
  for (const char* place : {"fodp-torch", FODP_LIBEXEC_FROM_BIN "/fodp-torch"})
    if (std::filesystem::exists(own_folder() / place)) return own_folder() / place;
  return std::nullopt;
}

// OpenBLAS picks its matrix products by the processor's model, and takes slow ones for a model that is newer than itself. What the
// processor can do decides better: on a Xeon of 2023 the default training is twice as fast.
// MKL, which LibTorch 2.x brings, gives other last digits on some processors when it is called from one of several threads, unless it is
// asked not to.
void choose_matrix_products() {
  setenv("MKL_CBWR", "AUTO,STRICT", /*overwrite=*/0);
#ifdef __x86_64__
  const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512vl");
  if (wide)
    setenv("OPENBLAS_CORETYPE", "SKYLAKEX", /*overwrite=*/0);
  else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    setenv("OPENBLAS_CORETYPE", "HASWELL", /*overwrite=*/0);
#endif
}

// Replaces this process. A waiting OpenMP thread must sleep, not spin: on a shared machine a spinning pool makes two threads slower than
// one.
int run_with_torch(Words words) {
  const std::optional<std::filesystem::path> program = torch_program();
  check_fault(program.has_value(), "fodp-torch, which does this command, is not beside {}: build or install it again",
              own_folder().string());
  setenv("OMP_WAIT_POLICY", "passive", /*overwrite=*/0);
  setenv("OPENBLAS_NUM_THREADS", "1", /*overwrite=*/0);
  choose_matrix_products();
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  execv(program->c_str(), pointers.data());
  throw FaultError(fmt::format("{} cannot be started: {}", program->string(), std::strerror(errno)));
}

// A line of JSON for each command (command_text.h).
int describe() {
  for (const Command& command : kCommands)
    if (command.run) command.run({std::string(kDescribe)});
  std::fflush(stdout);
  return torch_program() ? run_with_torch({"fodp", std::string(kDescribe)}) : 0;
}

int run_command(const std::string& name, const Words& words) {
  std::vector<std::string_view> known;
  for (const Command& command : kCommands) {
    known.push_back(command.name);
    if (command.name != name) continue;
    if (command.run) return command.run(words);
    Words all{"fodp", name};
    all.insert(all.end(), words.begin(), words.end());
    return run_with_torch(std::move(all));
  }
  throw InputError(fmt::format("there is no command '{}': {}", name, suggestion(name, known)));
}

int dispatch(const Words& words) {
  const std::string first = words.empty() ? "help" : words.front();
  if (first == "help" && words.size() > 1) return run_command(words[1], {"--help"});
  if (first == "help" || first == "--help" || first == "-h") return print_help(), 0;
  if (first == "--version" || first == "-v") return fmt::print("fodp {}\n", kVersion), 0;
  if (first == kDescribe) return describe();
  if (first == kWritePages && words.size() == 2) return write_pages(words[1]), 0;
  return run_command(first, {words.begin() + 1, words.end()});
}

}  // namespace

std::span<const Command> commands() { return kCommands; }

}  // namespace fodp::app

int main(int argc, char** argv) {
  return fodp::app::run_guarded([&] { return fodp::app::dispatch({argv + 1, argv + argc}); });
}
