// DIR/records.jsonl: what a study has measured, one JSON object a line. Tables and figures are made from it and from nothing else.
//
// The last field of every line is a checksum of the text before it, so that a line that was cut or altered is noticed.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace fodp::app {

using Record = nlohmann::ordered_json;

class RecordFile {
 public:
  // Reads the file, if there is one. A last line that was not written to its end is left out, and `torn` is true; with Torn::cut, for
  // whoever holds the directory's lock, it is also taken out of the file. InputError, naming the line, for any other line that is damaged.
  enum class Torn { leave, cut };
  explicit RecordFile(std::filesystem::path file, Torn torn = Torn::leave);

  const std::vector<Record>& records() const { return records_; }
  bool torn() const { return torn_; }

  // The last record of this study under this key that is done, else the last one; one of any study if `study` is empty. Null if there is
  // none.
  const Record* find(std::string_view key, std::string_view study = {}) const;

  // Appends, and sees to it that the line has reached the disk. FaultError if it cannot; the lines before it stay.
  void add(Record record);

 private:
  std::filesystem::path file_;
  std::vector<Record> records_;
  bool torn_ = false;
};

// A line of the file, with its checksum and without a newline, and back. `read_record` gives nothing for a damaged line.
std::string record_line(const Record& record);
std::optional<Record> read_record(std::string_view line);

// A record in little room, for keeping with a project: of the curve these columns, at most `points` of it, with as many digits as pictures
// need; of the options only those that the study sets.
Record compact_record(const Record& record, const std::set<std::string>& columns, std::size_t points);

}  // namespace fodp::app
