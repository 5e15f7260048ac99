// A text file that only grows, for records that must survive a crash. Each line ends in a checksum of itself and of all lines before it:
//
//   <text> <16 hexadecimal digits>
//
// where the digits are the first of the SHA-256 of the line before's digits (none for the first line) followed by the text. A line is on
// the disk before append() returns. A last line that was not written to its end, as after a crash, is told apart from damage: the file
// is then torn, and all lines before it hold. Any other line that does not fit its checksum is damage, which is refused.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace fodp {

struct ChainedText {
  std::vector<std::string> lines;  // without their checksums
  bool torn = false;               // something that is not a whole line follows them
};

// InputError if the file cannot be read, PrivacyError, which names the line, if it is damaged. Reads a file that another process writes.
ChainedText read_chained_lines(const std::filesystem::path& file);

class ChainedLines {
 public:
  // A new file, readable by this user only. InputError if there is one of that name, or a link, or if it cannot be made.
  static ChainedLines create(const std::filesystem::path& file);
  // An existing file, to go on with; `text` gets its lines. What follows a torn file's last whole line is cut off at the first append.
  // InputError if another process has it open, or as read_chained_lines.
  static ChainedLines open(const std::filesystem::path& file, ChainedText& text);

  ChainedLines(ChainedLines&& other) noexcept;
  ChainedLines& operator=(ChainedLines&&) = delete;
  ~ChainedLines();

  // Returns when the line is on the disk. FaultError if it cannot be written; the file is then as it was, or torn. `text` has no line end.
  void append(std::string_view text);

 private:
  ChainedLines(std::filesystem::path file, int descriptor);
  void lock() const;

  std::filesystem::path file_;
  int descriptor_;
  std::string digits_;        // the checksum of the last line
  std::uint64_t length_ = 0;  // of all whole lines
};

}  // namespace fodp
