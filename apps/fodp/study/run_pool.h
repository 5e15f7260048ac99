// Trainings in processes of their own, a few at a time: one that fails or crashes takes no other with it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace fodp::app {

class RunPool {
 public:
  RunPool(std::filesystem::path program, std::size_t most) : program_(std::move(program)), most_(most) {}
  ~RunPool() { kill_all(); }
  RunPool(const RunPool&) = delete;
  RunPool& operator=(const RunPool&) = delete;

  bool full() const { return children_.size() >= most_; }
  std::size_t running() const { return children_.size(); }

  // `id` is the caller's. See start_process in child_process.h.
  void start(std::size_t id, const std::vector<std::string>& words, const std::filesystem::path& messages);

  struct Ended {
    std::size_t id;
    int status;  // as a shell gives it
  };
  // One that has ended; nothing if none does within this time.
  std::optional<Ended> wait(std::chrono::milliseconds time);

  // Ends them all at once, and waits until they are gone.
  void kill_all();

 private:
  std::filesystem::path program_;
  std::size_t most_;
  std::map<pid_t, std::size_t> children_;
};

}  // namespace fodp::app
