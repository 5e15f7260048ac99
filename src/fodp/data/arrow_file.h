// Tables in Parquet and Arrow files. They are read by Arrow's C++ library, which is optional: docs/tables.md says how to build with it.
//
// A value becomes the text that a CSV file would have for it, so that the schema (schema.h) means the same for both. Rows are read a batch
// at a time; the file is never in memory as a whole.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "fodp/base/sha256.h"
#include "fodp/data/csv.h"

namespace fodp {

enum class TableFormat { text, parquet, arrow };

// By the first bytes of the file, whatever its name is. InputError for a file that cannot be read.
TableFormat table_format(const std::filesystem::path& file);

// What is wanted of a column.
struct ArrowColumn {
  bool wanted = true;            // else its texts are empty, whatever its type is
  std::string date_format = {};  // of its dates and times, as strftime takes it; if empty, %Y-%m-%d or %Y-%m-%dT%H:%M:%S
};

struct ArrowTexts {
  std::string missing = {};  // stands for a value that is null
  std::function<ArrowColumn(std::string_view name)> column;
  bool leave_out_unreadable = false;  // a column of a type that has no text is empty; else it is an InputError
};

// Calls `row` with the names of the columns, as row 0, and then with each row in order, from 1; false ends the reading. Texts have no
// spaces around them. Dates and times are in UTC, truth values "true" and "false", categories (dictionaries) their texts. The digest, if
// there is one, gets the bytes of the file.
//
// InputError for a file that is damaged, for a wanted column of a type that has no text (lists, structures, bytes), and in a build without
// Arrow; no message repeats what the file holds. What `row` throws passes through.
void read_arrow(const std::filesystem::path& file, const ArrowTexts& texts, const std::function<bool(const CsvRow&)>& row,
                Sha256* contents = nullptr);

// Whether this build can.
bool reads_arrow();

}  // namespace fodp
