// The page: a template with the style, the charting library, the data and the script put into it.
#include <fmt/core.h>

#include "fodp/base/atomic_file.h"
#include "fodp/base/check.h"
#include "fodp/base/clock.h"
#include "fodp/base/json_text.h"
#include "fodp/base/version.h"
#include "share.h"
#include "study/report.h"

namespace fodp::app {
namespace {

void fill(std::string& page, const std::string& marker, const std::string& text) {
  const std::size_t at = page.find(marker);
  check_fault(at != page.npos, "the template of the page has no place for {}", marker);
  page.replace(at, marker.size(), text);
}

// Inside a script element only "<" can end or begin anything.
std::string script_text(const nlohmann::ordered_json& value) {
  std::string text = value.dump(-1, ' ', /*ensure_ascii=*/true, nlohmann::ordered_json::error_handler_t::replace);
  for (std::size_t at = text.find('<'); at != text.npos; at = text.find('<', at)) text.replace(at, 1, "\\u003c");
  return text;
}

std::string made_by() { return fmt::format("fodp {}, commit {}, {}", kVersion, kCommit, utc_now()); }

}  // namespace

void write_page(const std::string& title, const std::vector<nlohmann::ordered_json>& sections, const std::filesystem::path& file) {
  const auto part = [](const char* name) { return read_text_file(shared_file(name), name); };
  nlohmann::ordered_json report = {
      {"title", title}, {"made", made_by()}, {"notes", nlohmann::ordered_json::array()}, {"sections", sections}};
  std::string page = part("report/page.html");
  fill(page, "/*CSS*/", part("report/page.css"));
  fill(page, "/*SCRIPT*/", part("report/page.js"));
  fill(page, "/*DATA*/", "const report = " + script_text(report) + ";");
  fill(page, "/*CHART*/", part("report/chart.js"));
  write_file_atomically(file, page, "page");
}

}  // namespace fodp::app
