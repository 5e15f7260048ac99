#include "command.h"

#include <unistd.h>

#include <cstdio>
#include <new>

#include <fmt/core.h>

#include "fodp/base/check.h"
#include "text.h"

namespace fodp::app {

std::string with_dashes(std::string text) {
  for (std::size_t open = text.find('`'); open != std::string::npos; open = text.find('`', open)) {
    const std::size_t close = text.find('`', open + 1);
    if (close == std::string::npos) break;
    text.erase(close, 1).replace(open, 1, "--");
  }
  return text;
}

int run_guarded(const std::function<int()>& body) {
  // LibTorch's messages end in a list of addresses.
  const auto complain = [](const char* kind, const std::string& text) {
    note(fmt::format("fodp: {}{}\n", kind, with_dashes(text.substr(0, text.find("\nException raised from")))));
  };
  try {
    const int status = body();
    if (std::fflush(stdout) != 0) throw FaultError("standard output cannot be written");
    return status;
  } catch (const InputError& error) {
    complain("", error.what());
    return 2;
  } catch (const PrivacyError& error) {
    complain("refused: ", error.what());
    return 3;
  } catch (const std::bad_alloc&) {
    complain("fault: ", "out of memory; a smaller --physical-batch, --window or model needs less");
    return 1;
  } catch (const std::exception& error) {
    complain("fault: ", error.what());
    return 1;
  }
}

void note(const std::string& text) {
  const bool fit = isatty(STDERR_FILENO) && !text.starts_with('\r');  // a line that renews itself has been fitted
  std::fputs((fit ? wrapped(text, text_width(STDERR_FILENO)) : text).c_str(), stderr);
  std::fflush(stderr);
}

void print_json(const nlohmann::ordered_json& value) { fmt::print("{}\n", value.dump(2)); }

}  // namespace fodp::app
