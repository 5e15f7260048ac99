// The records of a study. Lines get the checksums that they need, so that the reader looks at what they say; bytes that begin with '#' are
// read as they are, without the '#'.
#include "study/records.h"

#include <fstream>

#include "fodp/base/check.h"
#include "fodp/base/sha256.h"
#include "target.h"

namespace {

std::string with_checksums(std::string_view lines) {
  std::string whole;
  while (!lines.empty()) {
    std::string line(lines.substr(0, lines.find('\n')));
    lines.remove_prefix(std::min(lines.size(), line.size() + 1));
    if (line.ends_with('}')) line.pop_back();
    whole += line + ",\"check\":\"" + fodp::sha256_text(line).substr(0, 16) + "\"}\n";
  }
  return whole;
}

}  // namespace

FODP_FUZZ_TARGET(records) {
  const bool plain = !bytes.empty() && bytes.front() == '#';
  const std::string whole = plain ? std::string(text(bytes).substr(1)) : with_checksums(text(bytes));
  const std::filesystem::path file = file_with("records", {reinterpret_cast<const std::uint8_t*>(whole.data()), whole.size()});
  const app::RecordFile records(file, app::RecordFile::Torn::cut);
  for (const app::Record& record : records.records()) {
    const auto again = app::read_record(app::record_line(app::compact_record(record, {"epoch", "test_accuracy"}, 5)));
    require(again.has_value(), "a compact record can be read");
  }
  require(app::RecordFile(file).records().size() == records.records().size(), "a file that was mended is whole");
}
