// Other programs, started by this one.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace fodp::app {

// Where a program of this name stands on PATH.
std::optional<std::filesystem::path> find_program(const std::string& name);

struct ProcessResult {
  int status = 0;  // as a shell gives it: 128 + the signal's number for a program that a signal ended
  std::string output, errors;
};

// Runs a program to its end, with `input` on its standard input. FaultError if it cannot be started.
ProcessResult run_process(const std::vector<std::string>& words, const std::string& input = "");

// Starts a program in a process group of its own, so that Ctrl-C does not reach it; it is killed when this process ends, however that
// happens. Its standard input and output are /dev/null, its messages go to `messages`. FaultError if it cannot be started.
pid_t start_process(const std::filesystem::path& program, const std::vector<std::string>& words, const std::filesystem::path& messages);

// The exit status of wait(2) as a shell gives it.
int shell_status(int status);

}  // namespace fodp::app
