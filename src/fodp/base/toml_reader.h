// Typed access to a TOML table whose every key is known, with messages that name file, line and key.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <toml++/toml.h>

namespace fodp {

class TomlReader {
 public:
  // `file` and `path` ("tables") are for messages.
  TomlReader(const toml::table& table, std::string file, std::string path = "");

  // The value of a key, or nothing if it is not there. InputError if it is of another type.
  std::optional<std::string> text(std::string_view key);
  std::optional<double> number(std::string_view key);
  std::optional<std::int64_t> whole(std::string_view key);
  std::optional<bool> truth(std::string_view key);
  // Text, numbers and truths alike, as they would stand on the command line; a single value is a list of one.
  std::optional<std::vector<std::string>> list(std::string_view key);
  std::vector<double> numbers(std::string_view key);
  const toml::table* table(std::string_view key);
  const toml::array* array(std::string_view key);
  // A reader for each table of an array of tables ([[tables]]).
  void each(std::string_view key, const std::function<void(TomlReader&)>& read);

  std::string required(std::string_view key);

  // InputError for the first key that nobody has asked for.
  void finish() const;

  const toml::table& all() const { return table_; }
  const std::string& file() const { return file_; }
  // "studies/own.toml: line 7: tables.rows"
  std::string where(std::string_view key) const;

 private:
  const toml::node* find(std::string_view key);

  const toml::table& table_;
  std::string file_, path_;
  std::set<std::string, std::less<>> known_;
};

}  // namespace fodp
