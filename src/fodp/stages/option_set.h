// The options of stages, each struct declared in the file of the stage that reads it. Nothing else names these structs: the command line,
// config files and help go over the fields without knowing their type, and a stage takes its own by type.
//
//   OptionSet options;
//   options.of<FractionalOptions>().beta = .9;
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fodp/base/fields.h"

namespace fodp {

// A field of an options struct, without the struct's type.
struct OptionField {
  std::string_view name;
  std::string help, standard;  // `standard` is the default as help shows it
  bool is_switch, is_text;
  std::vector<std::string> values;  // all words that it may be, where these are fixed
  std::function<void(void* options, std::string_view text, std::string_view where)> set;
  std::function<FieldValue(const void* options)> value;
};

// An options struct, without its type. There is one of these for each struct.
struct OptionPart {
  std::vector<OptionField> fields;
  std::shared_ptr<const void> defaults;
  std::function<std::shared_ptr<void>(const void* options)> copy;
  std::function<void(const void* options)> validate;

  bool has(std::string_view field) const;
};

// The words of an enum's field, for completion; none for other fields.
template <class Value>
std::vector<std::string> fixed_words(const Value*) {
  std::vector<std::string> words;
  if constexpr (std::is_enum_v<Value>)
    for (const auto& item : EnumNames<Value>::values) words.emplace_back(item.first);
  return words;
}
template <class Value>
std::vector<std::string> fixed_words(const std::optional<Value>*) {
  return fixed_words(static_cast<const Value*>(nullptr));
}

template <class Options>
const OptionPart& option_part() {
  static const OptionPart part = [] {
    OptionPart made{.defaults = std::make_shared<Options>(),
                    .copy = [](const void* from) { return std::make_shared<Options>(*static_cast<const Options*>(from)); },
                    .validate = [](const void* options) { validate_fields(*static_cast<const Options*>(options)); }};
    const Options defaults;
    for_each_field(defaults, [&](const auto& field, const auto& value) {
      using Value = std::remove_cvref_t<decltype(value)>;
      made.fields.push_back(
          {.name = field.name,
           .help = field.help,
           .standard = field.default_text.empty() ? FieldText<Value>::print(value) : field.default_text,
           .is_switch = std::same_as<Value, bool>,
           .is_text = std::same_as<Value, std::string> || std::same_as<Value, std::optional<std::string>>,
           .values = fixed_words(static_cast<const Value*>(nullptr)),
           .set = [member = field.member, range = field.range](
                      void* options, std::string_view text,
                      std::string_view where) { static_cast<Options*>(options)->*member = FieldText<Value>::parse(text, where, range); },
           .value = [member = field.member](
                        const void* options) { return FieldText<Value>::value(static_cast<const Options*>(options)->*member); }});
    });
    return made;
  }();
  return part;
}

// Options structs of any types, one of each. A struct that was never touched has its defaults.
class OptionSet {
 public:
  OptionSet() = default;
  OptionSet(const OptionSet& other);
  OptionSet& operator=(const OptionSet& other);
  OptionSet(OptionSet&&) noexcept = default;
  OptionSet& operator=(OptionSet&&) noexcept = default;

  template <class Options>
  Options& of() {
    return *static_cast<Options*>(edit(option_part<Options>()));
  }
  template <class Options>
  const Options& of() const {
    return *static_cast<const Options*>(look(option_part<Options>()));
  }

  void* edit(const OptionPart& part);
  const void* look(const OptionPart& part) const;

 private:
  std::map<const OptionPart*, std::shared_ptr<void>> parts_;
};

}  // namespace fodp
