// Text tables: rows of fields with a separator between them, one row a line, fields in quotes where they hold a separator or a line break
// (RFC 4180). The parser is libcsv's.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "fodp/base/sha256.h"

namespace fodp {

struct CsvFormat {
  char separator = ',';
  std::string comment = {};  // lines that begin so are passed over; empty if there are none
};

struct CsvRow {
  std::span<const std::string_view> fields;  // without quotes, and without spaces around a field that had none
  std::int64_t line = 0;                     // of the file, from 1, at which the row begins
};

// Calls `row` for each row of the file in order; false ends the reading. A byte order mark and empty lines are passed over, lines may end
// in CRLF or in CR alone, and a file whose name ends in .gz is unpacked on the way. The digest, if there is one, gets the unpacked contents
// of what was read.
//
// InputError, with file and line, for quotes that do not close or stand inside a field, for a byte 0 (as in UTF-16), and for a row of more
// than 16 MiB; no message repeats what the file holds. What `row` throws passes through.
void read_csv(const std::filesystem::path& file, const CsvFormat& format, const std::function<bool(const CsvRow&)>& row,
              Sha256* contents = nullptr);

// A field as it stands in a line of such a file: in quotes if it needs them.
std::string csv_field(std::string_view text, char separator = ',');

}  // namespace fodp
