// Names of files as the value of an option; in text one a line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fodp/base/fields.h"

namespace fodp {

struct FileNames {
  std::vector<std::string> names;
};

template <>
struct FieldText<FileNames> {
  static FileNames parse(std::string_view text, std::string_view where, const Range& range);
  static std::string print(const FileNames& files);
  static FieldValue value(const FileNames& files) { return files.names.empty() ? FieldValue() : FieldValue(print(files)); }
};

}  // namespace fodp
