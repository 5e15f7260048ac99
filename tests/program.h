// The program as people and scripts use it: words in; exit status, standard output and standard error out.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace fodp {

struct Outcome {
  int status;
  std::string out, err;
};

inline std::string content(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

class Commands : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("fodp-commands-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // Words separated by blanks.
  Outcome fodp(const std::string& words) {
    const std::string command = "cd '" + folder_.string() + "' && '" FODP_BINARY_DIR "/fodp' " + words + " >out.txt 2>err.txt </dev/null";
    const int status = std::system(command.c_str());
    return {WEXITSTATUS(status), content(folder_ / "out.txt"), content(folder_ / "err.txt")};
  }

  nlohmann::json json(const std::string& words) {
    const Outcome outcome = fodp(words + " --json");
    EXPECT_EQ(outcome.status, 0) << words << "\n" << outcome.err;
    return nlohmann::json::parse(outcome.out);
  }

  void write(const std::string& name, const std::string& text) { std::ofstream(folder_ / name) << text; }

  std::filesystem::path folder_;
};

}  // namespace fodp
