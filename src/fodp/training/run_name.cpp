#include "fodp/training/run_name.h"

#include <sys/random.h>

#include <cerrno>
#include <cstring>

#include "fodp/base/check.h"
#include "fodp/base/fields_json.h"
#include "fodp/base/sha256.h"

namespace fodp {

RunName RunName::of_new_run(const Plan& plan) {
  const TrainOptions& options = plan.options();
  RunName name;
  if (options.insecure_seed) {
    const std::string text = fmt::format("fodp run name 1: {} {} {} {} {}", plan.fingerprint(), *options.insecure_seed, options.data_name,
                                         json_of(options.run.init_seed).dump(), options.run.init.value_or(""));
    const Sha256::Digest digest = Sha256().add(text).digest();
    std::memcpy(&name.high, digest.data(), sizeof name.high);
    std::memcpy(&name.low, digest.data() + sizeof name.high, sizeof name.low);
    return name;
  }
  check_fault(getentropy(&name.high, sizeof name.high) == 0 && getentropy(&name.low, sizeof name.low) == 0,
              "the operating system gave no randomness: {}", std::strerror(errno));
  return name;
}

RunName RunName::from_text(const std::string& text) {
  check_input(text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string::npos,
              "'{}' is not the identity of a run: must be 32 hexadecimal digits", text);
  return {std::stoull(text.substr(0, 16), nullptr, 16), std::stoull(text.substr(16), nullptr, 16)};
}

std::string RunName::text() const { return fmt::format("{:016x}{:016x}", high, low); }

}  // namespace fodp
