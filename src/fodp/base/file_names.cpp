#include "fodp/base/file_names.h"

#include <algorithm>

namespace fodp {

FileNames FieldText<FileNames>::parse(std::string_view text, std::string_view where, const Range&) {
  FileNames files;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    files.names.emplace_back(text.substr(0, end));
    check_input(!files.names.back().empty(), "{}: the name of a file is empty", where);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return files;
}

std::string FieldText<FileNames>::print(const FileNames& files) {
  std::string text;
  for (const std::string& name : files.names) text += (text.empty() ? "" : "\n") + name;
  return text;
}

}  // namespace fodp
