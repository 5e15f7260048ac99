// The commands that need LibTorch; ../main.cpp starts it.
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "command.h"
#include "command_text.h"
#include "fodp/base/check.h"

namespace {

#define FODP_PLAIN(name, summary)
#define FODP_WITH_TORCH(name, summary) {fodp::app::command_name(#name), summary, fodp::app::name},
constexpr fodp::app::Command kCommands[] = {FODP_COMMANDS(FODP_PLAIN, FODP_WITH_TORCH)};

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may grow no further is then an error of writing, which is told
  const int status = fodp::app::run_guarded([&] {
    if (argc == 2 && argv[1] == fodp::app::kDescribe) {
      for (const fodp::app::Command& command : kCommands) command.run({argv[1]});
      return 0;
    }
    for (const fodp::app::Command& command : kCommands)
      if (argc > 1 && command.name == argv[1]) return command.run({argv + 2, argv + argc});
    throw fodp::InputError("fodp-torch is a part of fodp: start that");
  });
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  // Without its destructors LibTorch ends a tenth of a second sooner. Every file that matters is written and closed by now.
  std::fflush(nullptr);
  std::_Exit(status);
#endif
  return status;
}
