#include "fodp/data/csv.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <vector>

#include <csv.h>

#include "fodp/base/check.h"
#include "fodp/data/file_bytes.h"

namespace fodp {
namespace {

constexpr std::size_t kMostRowBytes = std::size_t(1) << 24;
constexpr std::size_t kPiece = std::size_t(1) << 20;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// libcsv fed with pieces of lines. It is written in C, so its callbacks only collect, and keep what they would throw for later.
class LineParser {
 public:
  explicit LineParser(char separator) {
    csv_init(&parser_, CSV_STRICT | CSV_STRICT_FINI);
    csv_set_delim(&parser_, static_cast<unsigned char>(separator));
    csv_set_blk_size(&parser_, kPiece / 16);  // by how much the memory of a long field grows; 128 bytes by itself
  }
  ~LineParser() { csv_free(&parser_); }
  LineParser(const LineParser&) = delete;
  LineParser& operator=(const LineParser&) = delete;

  bool between_rows() const { return parser_.pstate == 0; }

  // False if the text is not a table.
  bool add(std::string_view text) {
    const bool good = csv_parse(&parser_, text.data(), text.size(), on_field, on_row, this) == text.size();
    return rethrow(), good;
  }
  bool finish() {
    const bool good = csv_fini(&parser_, on_field, on_row, this) == 0;
    return rethrow(), good;
  }

  // Gives the rows that have ended. False if the receiver wants no more.
  bool hand_out(std::int64_t line, const std::function<bool(const CsvRow&)>& row) {
    std::size_t field = 0, begin = 0;
    bool more = true;
    for (const std::size_t end : row_ends_) {
      fields_.clear();
      for (; field < end; ++field) {
        fields_.push_back(std::string_view(text_).substr(begin, field_ends_[field] - begin));
        begin = field_ends_[field];
      }
      more = more && row({fields_, line});
    }
    if (row_ends_.empty()) return more;
    text_.erase(0, begin);
    field_ends_.erase(field_ends_.begin(), field_ends_.begin() + static_cast<std::ptrdiff_t>(field));
    for (std::size_t& end : field_ends_) end -= begin;
    row_ends_.clear();
    return more;
  }

 private:
  static void on_field(void* text, std::size_t size, void* self) { static_cast<LineParser*>(self)->collect(text, size); }
  static void on_row(int, void* self) { static_cast<LineParser*>(self)->end_row(); }

  void collect(const void* text, std::size_t size) noexcept {
    try {
      if (size > 0) text_.append(static_cast<const char*>(text), size);
      field_ends_.push_back(text_.size());
    } catch (...) {
      thrown_ = std::current_exception();
    }
  }
  void end_row() noexcept {
    try {
      row_ends_.push_back(field_ends_.size());
    } catch (...) {
      thrown_ = std::current_exception();
    }
  }
  void rethrow() {
    if (thrown_) std::rethrow_exception(thrown_);
  }

  csv_parser parser_;
  std::string text_;  // of the fields that were not handed out, one after the other
  std::vector<std::size_t> field_ends_, row_ends_;
  std::vector<std::string_view> fields_;
  std::exception_ptr thrown_;
};

class CsvFile {
 public:
  CsvFile(const std::filesystem::path& file, const CsvFormat& format, Sha256* contents)
      : bytes_(file, contents), format_(format), parser_(format.separator) {}

  void read(const std::function<bool(const CsvRow&)>& row) {
    if (take(kByteOrderMark.size()).starts_with(kByteOrderMark)) begin_ += kByteOrderMark.size();
    while (read_line(row)) ++line_;
  }

 private:
  // At least so many bytes from where we are, or all that are left, without passing over them.
  std::string_view take(std::size_t count) {
    while (buffer_.size() - begin_ < count && !ended_) {
      buffer_.erase(0, begin_);
      begin_ = 0;
      const std::size_t before = buffer_.size();
      buffer_.resize(before + kPiece);
      const std::size_t got = bytes_.read({reinterpret_cast<std::uint8_t*>(buffer_.data()) + before, kPiece});
      buffer_.resize(before + got);
      ended_ = got < kPiece;
    }
    return std::string_view(buffer_).substr(begin_);
  }

  // The next piece of the line, with the line break if it has one, and passes over it. Empty at the end of the file.
  std::string_view next_piece() {
    std::string_view rest = take(1);
    std::size_t end = static_cast<std::size_t>(std::ranges::find_if(rest, is_line_break) - rest.begin());
    if (end < rest.size() && rest[end] == '\r') {
      rest = take(end + 2);
      if (rest.substr(end + 1).starts_with('\n')) ++end;
    }
    rest = rest.substr(0, end + 1);
    begin_ += rest.size();
    return rest;
  }

  static bool is_line_break(char c) { return c == '\n' || c == '\r'; }

  // False at the end of the file, and if the receiver wants no more.
  bool read_line(const std::function<bool(const CsvRow&)>& row) {
    const std::size_t mark = format_.comment.size();
    const bool comment = mark > 0 && parser_.between_rows() && take(mark).starts_with(format_.comment);
    if (parser_.between_rows()) first_line_ = line_, row_bytes_ = 0;
    for (;;) {
      const std::string_view piece = next_piece();
      if (piece.empty()) return finish(row), false;
      if (!comment && !add(piece, row)) return false;
      if (is_line_break(piece.back())) return true;
    }
  }

  bool add(std::string_view piece, const std::function<bool(const CsvRow&)>& row) {
    check_input(piece.find('\0') == piece.npos,
                "{}: line {}: a byte 0, which no text has: the file must be text in UTF-8 (UTF-16 is not read)", bytes_.name(), line_);
    row_bytes_ += piece.size();
    check_input(row_bytes_ <= kMostRowBytes,
                "{}: line {}: a row of more than {} MiB begins here: is the file a table, and does every quote close?", bytes_.name(),
                first_line_, kMostRowBytes >> 20);
    check_input(parser_.add(piece),
                "{}: line {}: a quote inside a field: a field with quotes stands in quotes, and those in it are doubled", bytes_.name(),
                line_);
    return parser_.hand_out(first_line_, row);
  }

  void finish(const std::function<bool(const CsvRow&)>& row) {
    check_input(parser_.finish(), "{}: line {}: the quote that opens in the row that begins here does not close", bytes_.name(),
                first_line_);
    parser_.hand_out(first_line_, row);
  }

  FileBytes bytes_;
  const CsvFormat& format_;
  LineParser parser_;
  std::string buffer_;
  std::size_t begin_ = 0, row_bytes_ = 0;
  bool ended_ = false;
  std::int64_t line_ = 1, first_line_ = 1;
};

}  // namespace

void read_csv(const std::filesystem::path& file, const CsvFormat& format, const std::function<bool(const CsvRow&)>& row, Sha256* contents) {
  CsvFile(file, format, contents).read(row);
}

std::string csv_field(std::string_view text, char separator) {
  const bool plain = text.find_first_of("\"\r\n") == text.npos && text.find(separator) == text.npos &&
                     (text.empty() || (text.front() != ' ' && text.back() != ' '));
  if (plain) return std::string(text);
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

}  // namespace fodp
