#include "command.h"

#include <cstdio>
#include <new>

#include <fmt/core.h>

#include "fodp/base/check.h"

namespace fodp::app {

int run_guarded(const std::function<int()>& body) {
  // LibTorch's messages end in a list of addresses.
  const auto complain = [](const char* kind, const std::string& text) {
    note(fmt::format("fodp: {}{}\n", kind, text.substr(0, text.find("\nException raised from"))));
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
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
}

void print_json(const nlohmann::ordered_json& value) { fmt::print("{}\n", value.dump(2)); }

}  // namespace fodp::app
