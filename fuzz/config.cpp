// A config file in TOML or JSON, and its values read as options of each type.
#include "config_file.h"

#include "fodp/accounting/accountant.h"
#include "fodp/base/schedule.h"
#include "target.h"

namespace {

template <class T>
void read_as(const std::string& text) {
  try {
    fodp::FieldText<T>::print(fodp::FieldText<T>::parse(text, "WHERE", {}));
  } catch (const fodp::InputError&) {  // most texts are of another type
  }
}

}  // namespace

FODP_FUZZ_TARGET(config) {
  const app::ConfigFile config = app::read_config_file(file_with("config", bytes).string());
  for (const auto& entry : config.entries) {
    read_as<double>(entry.text);
    read_as<std::int64_t>(entry.text);
    read_as<bool>(entry.text);
    read_as<std::vector<std::int64_t>>(entry.text);
    read_as<Schedule>(entry.text);
    read_as<AccountantKind>(entry.text);
  }
}
