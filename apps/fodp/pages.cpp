#include "pages.h"

#include <cstdio>
#include <memory>
#include <sstream>

#include <fmt/core.h>

#include "command.h"
#include "completion.h"
#include "fodp/base/atomic_file.h"
#include "fodp/base/check.h"

namespace fodp::app {
namespace {

// What this program prints when it is started with this word.
std::string own_output(std::string_view word) {
  std::string path;
  for (char c : std::filesystem::read_symlink("/proc/self/exe").string()) path += c == '\'' ? "'\\''" : std::string(1, c);
  const auto close = [](FILE* stream) { pclose(stream); };
  std::unique_ptr<FILE, decltype(close)> stream(popen(fmt::format("'{}' {}", path, word).c_str(), "r"), close);
  check_fault(stream != nullptr, "{} cannot be started", path);
  std::string out;
  char buffer[4096];
  for (std::size_t read; (read = std::fread(buffer, 1, sizeof buffer, stream.get())) > 0;) out.append(buffer, read);
  check_fault(pclose(stream.release()) == 0, "{} {} failed", path, word);
  return out;
}

}  // namespace

std::vector<CommandText> described_commands() {
  std::vector<CommandText> described;
  std::istringstream lines(own_output(kDescribe));
  for (std::string line; std::getline(lines, line);) described.push_back(command_text(nlohmann::json::parse(line)));
  std::vector<CommandText> ordered;
  for (const Command& command : commands())
    for (const CommandText& text : described)
      if (text.name == command.name) ordered.push_back(text), ordered.back().summary = command.summary;
  return ordered;
}

void write_pages(const std::filesystem::path& folder) {
  const auto write = [&](const std::string& name, const std::string& text) {
    const std::filesystem::path file = folder / name;
    std::filesystem::create_directories(file.parent_path());
    write_file_atomically(file, text, "page");
  };
  const std::vector<CommandText> commands = described_commands();
  write("man1/fodp.1", man_page(commands));
  for (const CommandText& command : commands) write("man1/fodp-" + command.name + ".1", man_page(command));
  write("share/bash-completion/completions/fodp", completion_script("bash", commands));
  write("share/zsh/site-functions/_fodp", completion_script("zsh", commands));
  write("share/fish/vendor_completions.d/fodp.fish", completion_script("fish", commands));
}

}  // namespace fodp::app
