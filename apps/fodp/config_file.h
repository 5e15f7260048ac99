// Options from a file: TOML, or JSON such as the config.json that a run leaves behind.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace fodp::app {

struct ConfigFile {
  struct Entry {
    std::string key;      // as on the command line, without the dashes
    std::string text;     // as it would stand on the command line
    std::string where;    // file, line where known, and key: for messages
    bool filled = false;  // in a run's record: nobody gave it, it followed from the rest
  };
  std::vector<Entry> entries;
  bool is_record = false;  // a run wrote it: every option stands in it, whether anybody chose it or not
};

// JSON begins with a brace. There null means that the option is not given, and the key "derived" lists the options whose values followed
// from others: they are left out. Only a run's record has that key, and "filled", the options that were left open; and of such a record
// --out, --save and --export are left out, too. The text of a list is its items with commas
// between them, or one a line for the options in `by_line`. InputError names the file and what is wrong in it.
ConfigFile read_config_file(const std::string& file, const std::set<std::string, std::less<>>& by_line = {});

}  // namespace fodp::app
