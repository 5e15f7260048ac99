// A method, filter, update rule, mechanism or other entry of a stage is known by its own file, its table and tests, and by nothing else:
// adding one touches no other file. Methods may name the stages that they are made of.
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace {

using std::filesystem::path;

// Without comments: these may give an example.
std::string text_of(const path& file) {
  std::ifstream stream(file);
  std::string text;
  for (std::string line; std::getline(stream, line);) {
    const std::size_t first = line.find_first_not_of(' ');
    if (first == std::string::npos || line.compare(first, 2, "//") != 0) text += line.substr(0, line.find("  // ")) + "\n";
  }
  return text;
}

struct Entry {
  std::string identifier;  // kLowPassFilter
  std::string name;        // low-pass
  path file;
};

// Every `extern const SomethingEntry kName = {.name = "name"` of the sources.
std::vector<Entry> entries_in(const std::map<path, std::string>& sources) {
  static const std::regex definition(R"(extern const (\w+Entry|Objective) (k\w+) = \{\s*\.name = \"([^\"]+)\")");
  std::vector<Entry> entries;
  for (const auto& [file, text] : sources)
    for (std::size_t at = text.find("extern const "); at != std::string::npos; at = text.find("extern const ", at + 1)) {
      std::smatch found;
      const std::string start = text.substr(at, 200);
      if (std::regex_search(start, found, definition, std::regex_constants::match_continuous))
        entries.push_back({found[2], found[3], file});
    }
  return entries;
}

std::map<path, std::string> sources() {
  std::map<path, std::string> all;
  for (const char* room : {"src/fodp", "apps/fodp"})
    for (const auto& file : std::filesystem::recursive_directory_iterator(path(FODP_SOURCE_DIR) / room))
      if (file.path().extension() == ".h" || file.path().extension() == ".cpp") all[file.path()] = text_of(file.path());
  return all;
}

// Words that are names of entries and of other things as well: of options and their values, of kinds of events.
bool is_ambiguous(const std::string& name) {
  return name == "none" || name == "momentum" || name == "memory" || name == "gaussian" || name == "ema";
}

bool has_word(const std::string& text, const std::string& word) {
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const char after = at + word.size() < text.size() ? text[at + word.size()] : ' ';
    if (!std::isalnum(static_cast<unsigned char>(after)) && after != '_') return true;
  }
  return false;
}

std::set<std::string> strangers(const std::map<path, std::string>& all, const Entry& entry) {
  std::set<std::string> found;
  for (const auto& [file, text] : all) {
    if (file == entry.file || file.filename() == "bench.cpp") continue;  // a benchmark compares two methods by name, as a test would
    const bool table = text.find("M(Entry, " + entry.identifier + ")") != std::string::npos;
    if (!table && has_word(text, entry.identifier)) found.insert(file.filename().string() + " names " + entry.identifier);
    const bool method = file.parent_path().filename() == "methods";  // made of stages by name
    if (!method && !is_ambiguous(entry.name) && text.find("\"" + entry.name + "\"") != std::string::npos)
      found.insert(file.filename().string() + " names \"" + entry.name + "\"");
  }
  return found;
}

TEST(Entries, AreNamedByTheirFileTheirTableAndTestsOnly) {
  const auto all = sources();
  const std::vector<Entry> entries = entries_in(all);
  EXPECT_GE(entries.size(), 35u) << "17 methods, 4 releases, 4 filters, 5 updates, 3 clippings, 3 averages";
  for (const Entry& entry : entries) EXPECT_EQ(strangers(all, entry), std::set<std::string>()) << entry.name;
}

TEST(Entries, AStrangerIsFound) {
  const std::map<path, std::string> all = {
      {"update/kalman.cpp", "extern const FilterEntry kKalmanFilter = {\n    .name = \"kalman\","},
      {"update/filter.cpp", "#define FODP_FILTERS(M, Entry) \\\n  M(Entry, kKalmanFilter)"},
      {"methods/disk.cpp", ".filter = \"kalman\""},
      {"training/plan.cpp", "if (filter == \"kalman\") return kKalmanFilter;"},
  };
  const std::vector<Entry> entries = entries_in(all);
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(strangers(all, entries[0]), (std::set<std::string>{"plan.cpp names \"kalman\"", "plan.cpp names kKalmanFilter"}));
}

// The library names an option as `name`, since its users may not have typed it; the program turns that into --name.
TEST(Messages, OfTheLibraryHaveNoDashes) {
  static const std::regex flag(R"("[^"\n]*--[a-z][^"\n]*")");
  for (const auto& [file, text] : sources()) {
    if (file.string().find("/src/fodp/") == std::string::npos) continue;
    std::smatch found;
    EXPECT_FALSE(std::regex_search(text, found, flag)) << file << ": " << found.str();
  }
}

}  // namespace
