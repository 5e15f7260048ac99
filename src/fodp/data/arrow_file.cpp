#include "fodp/data/arrow_file.h"

#include <array>

#include "fodp/base/check.h"
#include "fodp/data/arrow_batches.h"
#include "fodp/data/file_bytes.h"

namespace fodp {
namespace {

bool begins_with(const std::array<std::uint8_t, 8>& bytes, std::string_view mark) {
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), mark.size()) == mark;
}

void add_bytes(const std::filesystem::path& file, Sha256* contents) {
  if (!contents) return;
  FileBytes bytes(file, contents);
  std::vector<std::uint8_t> piece(std::size_t(1) << 20);
  while (bytes.read(piece) == piece.size()) continue;
}

}  // namespace

TableFormat table_format(const std::filesystem::path& file) {
  FileBytes bytes(file);
  std::array<std::uint8_t, 8> first{};
  bytes.read(first);
  const std::string_view white = "\n\r\t";
  // A text table whose first column is called PAR1 goes on with a separator or the end of the line.
  const bool parquet = begins_with(first, "PAR1") && first[4] < 32 && white.find(static_cast<char>(first[4])) == white.npos;
  const bool arrow = begins_with(first, std::string_view("ARROW1\0\0", 8)), stream = begins_with(first, "\xFF\xFF\xFF\xFF");
  if (!parquet && !arrow && !stream) return TableFormat::text;
  check_input(!bytes.packed(), "{}: a {} file inside of a gzip file: unpack it before", bytes.name(), parquet ? "Parquet" : "Arrow");
  check_input(!stream, "{}: Arrow's format for streams, which is not read: write an Arrow file (also called Feather 2) or Parquet",
              bytes.name());
  return parquet ? TableFormat::parquet : TableFormat::arrow;
}

#ifdef FODP_ARROW

bool reads_arrow() { return true; }

void read_arrow(const std::filesystem::path& file, const ArrowTexts& texts, const std::function<bool(const CsvRow&)>& row,
                Sha256* contents) {
  const TableFormat format = table_format(file);
  check_input(format != TableFormat::text, "{}: is neither a Parquet nor an Arrow file", file.string());
  add_bytes(file, contents);
  read_arrow_batches(file.string(), format, texts, row);
}

#else

bool reads_arrow() { return false; }

void read_arrow(const std::filesystem::path& file, const ArrowTexts&, const std::function<bool(const CsvRow&)>&, Sha256* contents) {
  add_bytes(file, contents);
  throw InputError(fmt::format(
      "{}: a {} file, and this build has no Arrow, which reads them: docs/tables.md says how to build with it; or write the table as CSV",
      file.string(), table_format(file) == TableFormat::parquet ? "Parquet" : "Arrow"));
}

#endif

}  // namespace fodp
