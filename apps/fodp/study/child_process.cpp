#include "study/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>

#include "fodp/base/check.h"

namespace fodp::app {
namespace {

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

// A file without a name, which is gone when it is closed.
int nameless_file(const std::string& content) {
  std::FILE* file = std::tmpfile();
  check_fault(file != nullptr, "no temporary file: {}", std::strerror(errno));
  const int descriptor = ::dup(::fileno(file));
  std::fclose(file);
  check_fault(descriptor >= 0 && ::write(descriptor, content.data(), content.size()) == static_cast<ssize_t>(content.size()) &&
                  ::lseek(descriptor, 0, SEEK_SET) == 0,
              "a temporary file cannot be written: {}", std::strerror(errno));
  return descriptor;
}

std::string content_of(int descriptor) {
  std::string text;
  ::lseek(descriptor, 0, SEEK_SET);
  char buffer[65536];
  for (ssize_t count = 0; (count = ::read(descriptor, buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<std::size_t>(count));
  ::close(descriptor);
  return text;
}

}  // namespace

std::optional<std::filesystem::path> find_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "/usr/local/bin:/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::filesystem::path file = std::filesystem::path(folder) / name;
    if (::access(file.c_str(), X_OK) == 0 && !std::filesystem::is_directory(file)) return file;
  }
  return std::nullopt;
}

int shell_status(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

ProcessResult run_process(const std::vector<std::string>& given, const std::string& input) {
  const auto program = find_program(given.front());
  check_fault(program.has_value(), "{} is not on this machine", given.front());
  std::vector<std::string> words = given;
  std::vector<char*> pointers = pointers_to(words);
  const int in = nameless_file(input), out = nameless_file(""), err = nameless_file("");
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(in, STDIN_FILENO);
    ::dup2(out, STDOUT_FILENO);
    ::dup2(err, STDERR_FILENO);
    ::execv(program->c_str(), pointers.data());
    ::_exit(127);
  }
  check_fault(child > 0, "{} cannot be started: {}", given.front(), std::strerror(errno));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  ::close(in);
  ProcessResult result{.status = shell_status(status), .output = content_of(out), .errors = content_of(err)};
  return result;
}

pid_t start_process(const std::filesystem::path& program, const std::vector<std::string>& given, const std::filesystem::path& messages) {
  std::vector<std::string> words = given;
  std::vector<char*> pointers = pointers_to(words);
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  const int log = ::open(messages.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  check_fault(nothing >= 0 && log >= 0, "{}: cannot be written: {}", messages.string(), std::strerror(errno));
  const pid_t parent = ::getpid(), child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127);  // it ended before the line above
    ::setpgid(0, 0);
    ::signal(SIGINT, SIG_DFL);
    ::signal(SIGTERM, SIG_DFL);
    ::dup2(nothing, STDIN_FILENO);
    ::dup2(nothing, STDOUT_FILENO);
    ::dup2(log, STDERR_FILENO);
    ::execv(program.c_str(), pointers.data());
    ::_exit(127);
  }
  ::close(nothing);
  ::close(log);
  check_fault(child > 0, "{} cannot be started: {}", program.string(), std::strerror(errno));
  return child;
}

}  // namespace fodp::app
