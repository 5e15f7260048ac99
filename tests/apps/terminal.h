// The program on a terminal of its own, as somebody at a keyboard has it.
#pragma once

#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>

namespace fodp {

class Terminal {
 public:
  // Starts `fodp words`, separated by blanks, in `folder`.
  Terminal(const std::filesystem::path& folder, const std::string& words, unsigned short columns = 100) {
    winsize size{.ws_row = 40, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    child_ = forkpty(&keyboard_, nullptr, nullptr, &size);
    if (child_ != 0) return;
    unsetenv("COLUMNS");
    const std::string command = "cd '" + folder.string() + "' && exec '" FODP_BINARY_DIR "/fodp' " + words;
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(127);
  }
  ~Terminal() {
    if (child_ > 0 && !ended_) finish();
    close(keyboard_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // Reads until `text` was shown; false if the program ends before, or five minutes pass (a busy machine is slow).
  bool wait_for(const std::string& text) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(5);
    while (shown_.find(text) == std::string::npos) {
      if (std::chrono::steady_clock::now() > end || !read_some()) return false;
    }
    return true;
  }

  void type(const std::string& keys) { typed_ = write(keyboard_, keys.data(), keys.size()); }
  void send(int signal) { kill(child_, signal); }

  // Reads to the end. The exit status, or minus the signal that ended it.
  int finish() {
    while (read_some()) {
    }
    kill(child_, SIGKILL);  // only where five minutes passed without a sign
    int status = 0;
    waitpid(child_, &status, 0);
    ended_ = true;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  const std::string& shown() const { return shown_; }

 private:
  bool read_some() {
    pollfd wait{.fd = keyboard_, .events = POLLIN, .revents = 0};
    if (poll(&wait, 1, 300000) != 1) return false;
    char buffer[4096];
    const ssize_t got = read(keyboard_, buffer, sizeof buffer);
    if (got <= 0) return false;
    shown_.append(buffer, static_cast<std::size_t>(got));
    return true;
  }

  int keyboard_ = -1;
  pid_t child_ = 0;
  bool ended_ = false;
  ssize_t typed_ = 0;
  std::string shown_;
};

// The longest line, without the example, which is to be copied, and without a terminal's carriage returns.
inline std::size_t longest_line(const std::string& text) {
  std::size_t longest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (!line.starts_with("  fodp ")) longest = std::max(longest, line.size());
  }
  return longest;
}

}  // namespace fodp
