#include "study/run_pool.h"

#include <signal.h>
#include <sys/wait.h>

#include <thread>

#include "study/child_process.h"

namespace fodp::app {

void RunPool::start(std::size_t id, const std::vector<std::string>& words, const std::filesystem::path& messages) {
  children_[start_process(program_, words, messages)] = id;
}

std::optional<RunPool::Ended> RunPool::wait(std::chrono::milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  do {
    for (const auto& [child, id] : children_) {
      int status = 0;
      if (::waitpid(child, &status, WNOHANG) != child) continue;
      const Ended ended{id, shell_status(status)};
      children_.erase(child);
      return ended;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  } while (std::chrono::steady_clock::now() < end);
  return std::nullopt;
}

void RunPool::kill_all() {
  for (const auto& item : children_) ::kill(item.first, SIGKILL);
  for (const auto& item : children_) ::waitpid(item.first, nullptr, 0);
  children_.clear();
}

}  // namespace fodp::app
