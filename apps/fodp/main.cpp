// The program people type. It links no LibTorch, which takes most of a second to load: commands that need it run in fodp-torch, which
// stands beside it or in libexec.
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <fmt/core.h>

#include "command.h"
#include "fodp/base/check.h"
#include "fodp/base/fields.h"
#include "fodp/base/version.h"

namespace fodp::app {
namespace {

constexpr Command kCommands[] = {
    {"train", "train a model privately", nullptr},
    {"account", "what a run costs: epsilon at a delta, or delta at an epsilon", account},
    {"calibrate", "the noise, steps, sample rate or beta that meets a target", calibrate},
    {"methods", "what each method does, releases and costs", nullptr},
    {"data", "which data sets are found where, checked", nullptr},
};

void print_help() {
  fmt::print("fodp {}: private training with memory\n\nUsage: fodp COMMAND [OPTIONS]\n\nCommands:\n", kVersion);
  for (const Command& command : kCommands) fmt::print("  {:<10} {}\n", command.name, command.summary);
  fmt::print(
      "\nfodp COMMAND --help explains a command. A first run (Fashion-MNIST, epsilon 3):\n"
      "  fodp train --method fo-dp-sgd --data fashion-mnist --epsilon 3 --delta 1e-5 --out runs/demo\n");
}

std::filesystem::path torch_program() {
  const std::filesystem::path here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  for (const char* place : {"fodp-torch", FODP_LIBEXEC_FROM_BIN "/fodp-torch"})
    if (std::filesystem::exists(here / place)) return here / place;
  throw FaultError(fmt::format("fodp-torch, which does this command, is not beside {}: build or install it again", here.string()));
}

// Replaces this process. A waiting OpenMP thread must sleep, not spin: on a shared machine a spinning pool makes two threads slower than
// one.
int run_with_torch(char** argv) {
  const std::string program = torch_program();
  setenv("OMP_WAIT_POLICY", "passive", /*overwrite=*/0);
  setenv("OPENBLAS_NUM_THREADS", "1", /*overwrite=*/0);
  execv(program.c_str(), argv);
  throw FaultError(fmt::format("{} cannot be started: {}", program, std::strerror(errno)));
}

int dispatch(int argc, char** argv) {
  const std::string_view word = argc > 1 ? argv[1] : "--help";
  if (word == "--help" || word == "-h" || word == "help") return print_help(), 0;
  if (word == "--version") return fmt::print("fodp {}\n", kVersion), 0;
  std::vector<std::string_view> known;
  for (const Command& command : kCommands) {
    if (command.name == word) return command.run ? command.run({argv + 2, argv + argc}) : run_with_torch(argv);
    known.push_back(command.name);
  }
  throw InputError(fmt::format("there is no command '{}': {}", word, suggestion(word, known)));
}

}  // namespace
}  // namespace fodp::app

int main(int argc, char** argv) {
  return fodp::app::run_guarded([&] { return fodp::app::dispatch(argc, argv); });
}
