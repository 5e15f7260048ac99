#include "command.h"

#include <cmath>
#include <cstdio>
#include <new>

#include <fmt/core.h>

#include "fodp/base/check.h"

namespace fodp::app {

int run_guarded(const std::function<int()>& body) {
  const auto complain = [](const char* kind, const char* text) { fmt::print(stderr, "fodp: {}{}\n", kind, text); };
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
    complain("fault: ", "out of memory; a smaller --physical-batch or model needs less");
    return 1;
  } catch (const std::exception& error) {
    complain("fault: ", error.what());
    return 1;
  }
}

void print_json(const nlohmann::ordered_json& value) { fmt::print("{}\n", value.dump(2)); }

std::string readable(double value) { return std::isinf(value) ? "infinite" : fmt::format("{:.6g}", value); }

}  // namespace fodp::app
