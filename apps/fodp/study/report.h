// What people look at: files of tables and figures, and one page that has everything in it (docs/studies.md).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "study/results.h"

namespace fodp::app {

struct Written {
  std::vector<std::string> tables, figures;  // their names
};

// DIR/tables/*.csv and *.md, DIR/figures/*.svg, for every study of the directory.
Written write_tables_and_figures(const std::filesystem::path& directory, const std::vector<StudyResults>& all);

// The same as Markdown, for a document of one's own: verdicts, tables, and figures as links into `figures`.
std::string study_markdown(const StudyResults& results, const std::string& figures);

// A section of the page for a study, and for a run directory of `fodp train`, whose own privacy report it then is. InputError if the
// directory is neither finished nor whole.
nlohmann::ordered_json study_section(const StudyResults& results);
nlohmann::ordered_json run_section(const std::filesystem::path& directory);

// The page: one file that needs no other and no network.
void write_page(const std::string& title, const std::vector<nlohmann::ordered_json>& sections, const std::filesystem::path& file);

}  // namespace fodp::app
