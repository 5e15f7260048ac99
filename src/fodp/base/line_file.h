// A file that grows by whole lines while a run goes on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace fodp {

class LineFile {
 public:
  // Makes the file, which must not be there yet: neither a file of that name nor a link is followed or overwritten. Throws an InputError
  // that names `what` ("run file") if it cannot.
  LineFile(const std::filesystem::path& file, std::string_view what);
  // The same, but the file begins with these lines, or replaces one of that name by them, whole or not at all.
  LineFile(const std::filesystem::path& file, std::string_view what, std::string_view lines);
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;
  ~LineFile();

  // Adds the text and a newline. FaultError for a full or failing disk; the lines before it stay, and no part of this one.
  void add(std::string_view text);

 private:
  std::string name_;
  int descriptor_ = -1;
  std::int64_t size_ = 0;
};

}  // namespace fodp
