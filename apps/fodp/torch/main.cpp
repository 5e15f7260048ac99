// The commands that need LibTorch; main.cpp starts it.
#include "command.h"
#include "command_text.h"
#include "fodp/base/check.h"

namespace {

constexpr fodp::app::Command kCommands[] = {
    {"train", "", fodp::app::train},
    {"methods", "", fodp::app::methods},
    {"data", "", fodp::app::data},
};

}  // namespace

int main(int argc, char** argv) {
  return fodp::app::run_guarded([&] {
    if (argc == 2 && argv[1] == fodp::app::kDescribe) {
      for (const fodp::app::Command& command : kCommands) command.run({argv[1]});
      return 0;
    }
    for (const fodp::app::Command& command : kCommands)
      if (argc > 1 && command.name == argv[1]) return command.run({argv + 2, argv + argc});
    throw fodp::InputError("fodp-torch is a part of fodp: start that");
  });
}
