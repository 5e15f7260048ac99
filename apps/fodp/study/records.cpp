#include "study/records.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>

#include "fodp/base/check.h"
#include "fodp/base/json_text.h"
#include "fodp/base/sha256.h"

namespace fodp::app {
namespace {

constexpr std::string_view kCheck = ",\"check\":\"";
constexpr std::size_t kDigits = 16;
constexpr std::size_t kTail = kCheck.size() + kDigits + 2;  // and "}

std::string checksum(std::string_view text) { return sha256_text(text).substr(0, kDigits); }

// A compact record's curve is an object of columns; all else reads it as a list of points.
void unfold_curve(Record& record) {
  const auto curve = record.find("curve");
  if (curve == record.end() || !curve->is_object()) return;
  Record points = Record::array();
  for (const auto& [name, column] : curve->items()) {
    if (!column.is_array()) return;  // and then the record has no curve
    for (std::size_t i = 0; i < column.size(); ++i) {
      if (points.size() <= i) points.push_back(Record::object());
      points[i][name] = column[i];
    }
  }
  *curve = std::move(points);
}

void check_fields(const Record& record, const std::string& where) {
  for (const char* name : {"study", "key", "status"})
    check_input(record.contains(name) && record[name].is_string(), "{}: the record has no {}", where, name);
  check_input(record.contains("run") && record["run"].is_object(), "{}: the record has no run", where);
  if (record["status"] != "done") return;
  check_input(record.contains("curve") && record["curve"].is_array() &&
                  std::ranges::all_of(record["curve"], [](const Record& point) { return point.is_object(); }),
              "{}: the record has no curve", where);
}

// Numbers in pictures need no more than five digits.
Record rounded(const Record& value) {
  if (!value.is_number_float()) return value;
  std::ostringstream text;
  text.precision(5);
  text << value.get<double>();
  return Record::parse(text.str());
}

}  // namespace

std::string record_line(const Record& record) {
  std::string text = record.dump();
  text.pop_back();  // the closing brace
  return text + std::string(kCheck) + checksum(text) + "\"}";
}

std::optional<Record> read_record(std::string_view line) {
  if (line.size() < kTail || line.substr(line.size() - kTail, kCheck.size()) != kCheck || !line.ends_with("\"}")) return std::nullopt;
  const std::string_view text = line.substr(0, line.size() - kTail);
  if (line.substr(text.size() + kCheck.size(), kDigits) != checksum(text)) return std::nullopt;
  try {
    parse_json(line, "");  // which bounds how deep it goes
  } catch (const InputError&) {
    return std::nullopt;
  }
  Record record = Record::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!record.is_object()) return std::nullopt;
  record.erase("check");
  unfold_curve(record);
  return record;
}

RecordFile::RecordFile(std::filesystem::path file, Torn torn) : file_(std::move(file)) {
  std::ifstream stream(file_, std::ios::binary);
  if (!stream) {
    check_input(!std::filesystem::exists(file_), "{}: cannot be read: {}", file_.string(), std::strerror(errno));
    return;
  }
  std::int64_t number = 0, whole = 0;
  bool newline_missing = false;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    const bool ended = !stream.eof();
    std::optional<Record> record = read_record(line);
    const std::string where = fmt::format("{}: line {}", file_.string(), number);
    if (!record && !ended) {  // the program was killed while it wrote this line
      torn_ = true;
      break;
    }
    check_input(record.has_value(), "{}: the record is damaged; delete this line and the run will be done again", where);
    check_fields(*record, where);
    records_.push_back(std::move(*record));
    whole += static_cast<std::int64_t>(line.size()) + 1;
    newline_missing = !ended;
  }
  if (torn == Torn::leave) return;
  if (newline_missing) std::ofstream(file_, std::ios::app | std::ios::binary) << '\n';
  if (!torn_) return;
  std::error_code error;
  std::filesystem::resize_file(file_, static_cast<std::uintmax_t>(whole), error);
  check_input(!error, "{}: its last line is torn and cannot be cut off: {}", file_.string(), error.message());
}

const Record* RecordFile::find(std::string_view key, std::string_view study) const {
  const Record* last = nullptr;
  for (auto record = records_.rbegin(); record != records_.rend(); ++record)
    if ((*record)["key"] == key && (study.empty() || (*record)["study"] == study)) {
      if ((*record)["status"] == "done") return &*record;
      if (!last) last = &*record;
    }
  return last;
}

void RecordFile::add(Record record) {
  const std::string line = record_line(record) + "\n";
  const int descriptor = ::open(file_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  check_fault(descriptor >= 0, "{}: cannot be written: {}", file_.string(), std::strerror(errno));
  const off_t before = ::lseek(descriptor, 0, SEEK_END);
  const auto written = ::write(descriptor, line.data(), line.size());
  const bool whole = written == static_cast<ssize_t>(line.size()) && ::fsync(descriptor) == 0;
  const int problem = errno;
  if (!whole && ::ftruncate(descriptor, before) != 0) torn_ = true;  // the torn line is cut off when the file is read again
  ::close(descriptor);
  check_fault(whole, "{}: writing failed: {}", file_.string(), std::strerror(problem));
  records_.push_back(std::move(record));
}

Record compact_record(const Record& record, const std::set<std::string>& columns, std::size_t points) {
  static const std::set<std::string> kept = {"study",     "run",           "seed",
                                             "tuning",    "status",        "key",
                                             "method",    "data",          "test_accuracy",
                                             "test_loss", "epsilon",       "best_test_accuracy",
                                             "seconds",   "test_examples", "data_fingerprint",
                                             "versions",  "machine",       "insecure",
                                             "lr",        "steps",         "noise_multiplier",
                                             "delta",     "error"};
  Record out;
  for (const auto& [name, value] : record.items())
    if (kept.contains(name)) out[name] = rounded(value);
  if (!record.contains("curve")) return out;
  const Record& curve = record["curve"];
  const std::size_t stride = std::max<std::size_t>(1, (curve.size() + points - 1) / std::max<std::size_t>(1, points));
  Record shown = Record::object();
  for (std::size_t i = 0; i < curve.size(); ++i)
    if (i + 1 == curve.size() || (i + 1) % stride == 0)
      for (const auto& [name, value] : curve[i].items())
        if (columns.contains(name)) shown[name].push_back(rounded(value));
  out["curve"] = shown;
  return out;
}

}  // namespace fodp::app
