#include "study/results.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "fodp/base/atomic_file.h"
#include "fodp/base/check.h"
#include "fodp/base/json_text.h"
#include "study/study_file.h"

namespace fodp::app {
namespace {

using Json = nlohmann::ordered_json;

StudyResults read_one(const std::filesystem::path& file, const RecordFile& records) {
  const std::string where = file.string();
  const nlohmann::json json = parse_json(read_text_file(file, where), where);
  StudyResults out;
  try {
    out.quick = json.at("quick");
    out.secure = json.at("secure");
    out.study = read_study(std::filesystem::path(file).replace_extension(".toml"), out.quick);
    for (const nlohmann::json& run : json.at("runs"))
      out.runs.push_back({.place = run.at("run").get<Place>(), .seed = run.at("seed"), .key = run.at("key")});
    out.choices = choices_from_json(json.at("tuned"), where);
  } catch (const nlohmann::json::exception&) {
    throw InputError(fmt::format("{}: is damaged; run the study again, and runs that are recorded are not repeated", where));
  }
  for (RunResult& run : out.runs) run.record = records.find(run.key, out.study.name);
  out.count_other_records(records);
  return out;
}

}  // namespace

void StudyResults::count_other_records(const RecordFile& records) {
  std::set<std::string> keys;
  for (const RunResult& run : runs) keys.insert(run.key);
  other_records = std::ranges::count_if(records.records(), [&](const Record& record) {
    return record["study"] == study.name && !record.contains("tuning") && !keys.contains(record["key"].get<std::string>());
  });
}

std::vector<const RunResult*> StudyResults::at(const Place& part) const {
  std::vector<const RunResult*> found;
  for (const RunResult& run : runs)
    if (run.done() && std::ranges::all_of(part, [&](const auto& item) {
          const auto label = run.place.find(item.first);
          return label != run.place.end() && label->second == item.second;
        }))
      found.push_back(&run);
  std::ranges::stable_sort(found, {}, [](const RunResult* run) { return run->seed; });
  return found;
}

Json choices_json(const std::vector<Choice>& choices) {
  Json list = Json::array();
  for (const Choice& choice : choices) {
    Json scores = Json::array();
    for (const auto& [value, score] : choice.scores) scores.push_back(Json::array({value, std::isfinite(score) ? Json(score) : Json()}));
    list.push_back({{"key", choice.key}, {"place", choice.place}, {"value", choice.value}, {"scores", scores}});
  }
  return list;
}

std::vector<Choice> choices_from_json(const Json& json, const std::string& where) {
  std::vector<Choice> choices;
  try {
    for (const Json& item : json) {
      Choice choice{.place = item.at("place").get<Place>(), .value = item.at("value"), .scores = {}, .key = item.at("key")};
      for (const Json& score : item.at("scores"))
        choice.scores.emplace_back(score.at(0), score.at(1).is_null() ? -INFINITY : score.at(1).get<double>());
      check_input(!choice.scores.empty(), "{}: a choice without scores", where);
      choices.push_back(std::move(choice));
    }
  } catch (const Json::exception&) {
    throw InputError(fmt::format("{}: is not a list of tuned values", where));
  }
  return choices;
}

bool is_study_directory(const std::filesystem::path& directory) { return std::filesystem::is_directory(directory / "studies"); }

std::vector<StudyResults> read_results(const std::filesystem::path& directory, const RecordFile& records) {
  std::vector<std::filesystem::path> files;
  check_input(is_study_directory(directory), "{}: not the directory of a study: it has no folder 'studies'", directory.string());
  for (const auto& entry : std::filesystem::directory_iterator(directory / "studies"))
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  std::ranges::sort(files);
  std::vector<StudyResults> all;
  for (const std::filesystem::path& file : files) all.push_back(read_one(file, records));
  check_input(!all.empty(), "{}: holds no study", directory.string());
  return all;
}

void write_study(const std::filesystem::path& directory, const StudyResults& results) {
  Json json = {{"quick", results.quick}, {"secure", results.secure}, {"tuned", choices_json(results.choices)}};
  json["runs"] = Json::array();
  for (const RunResult& run : results.runs) json["runs"].push_back({{"key", run.key}, {"run", run.place}, {"seed", run.seed}});
  const std::filesystem::path folder = directory / "studies";
  std::filesystem::create_directories(folder);
  const std::string text = read_text_file(results.study.file, results.study.file.string());
  write_file_atomically(folder / (results.study.name + ".toml"), text, "study");
  write_file_atomically(folder / (results.study.name + ".json"), json.dump(1) + "\n", "study");
}

}  // namespace fodp::app
