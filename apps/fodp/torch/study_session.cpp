#include "study_session.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <thread>

#include "command.h"
#include "fodp/base/json_text.h"
#include "fodp/base/sha256.h"
#include "fodp/training/run_directory.h"
#include "interrupt.h"
#include "share.h"
#include "study/gnuplot.h"
#include "study/run_pool.h"
#include "study/statistics.h"
#include "study/study_file.h"
#include "study_progress.h"

namespace fodp::app {
namespace {

std::string machine_text() {
  std::ifstream cpu("/proc/cpuinfo");
  std::string model = "unknown processor";
  for (std::string line; std::getline(cpu, line);)
    if (line.starts_with("model name")) {
      model = line.substr(line.find(':') + 2);
      break;
    }
  return fmt::format("{} cores, {}", std::thread::hardware_concurrency(), model);
}

// The last line of what a failed run said.
std::string last_message(const std::filesystem::path& file, int status) {
  std::ifstream stream(file);
  std::string last;
  for (std::string line; std::getline(stream, line);)
    if (!line.empty()) last = line;
  if (status > 128) return fmt::format("it was ended by signal {}{}", status - 128, last.empty() ? "" : "; its last message: " + last);
  return last.empty() ? "it ended without a message" : last;
}

Record read_json_file(const std::filesystem::path& file) {
  Record json = Record::parse(read_text_file(file, file.string()), nullptr, false);
  check_fault(json.is_object(), "{}: is not JSON", file.string());
  return json;
}

// Evaluations without their times, and with what --insecure-diagnostics adds as columns of their own.
Record read_curve(const std::filesystem::path& file) {
  Record curve = Record::array();
  std::istringstream lines(read_text_file(file, file.string()));
  for (std::string line; std::getline(lines, line);) {
    Record point = Record::parse(line, nullptr, false);
    check_fault(point.is_object(), "{}: a line is not JSON", file.string());
    for (const char* name : {"seconds", "insecure", "averaging"}) point.erase(name);
    if (const auto views = point.find("insecure_diagnostics"); views != point.end()) {
      const Record inner = *views;
      point.erase("insecure_diagnostics");
      for (const auto& [name, value] : inner.items()) point[name] = value;
    }
    curve.push_back(std::move(point));
  }
  return curve;
}

Record named_run(const StudyRun& run) {
  Record out(run.place);
  if (run.trying) out["tried"] = *run.trying;
  out["seed"] = run.seed;
  return out;
}

std::string choice_key(const std::vector<PlannedRun>& runs) {
  std::string text;
  for (const PlannedRun& run : runs) text += run.choice;
  return sha256_text(text).substr(0, 32);
}

const Choice* find_choice(const std::vector<Choice>& choices, const std::string& key) {
  const auto found = std::ranges::find(choices, key, &Choice::key);
  return found == choices.end() ? nullptr : &*found;
}

std::vector<Choice> recorded_choices(const std::filesystem::path& file, const char* list) {
  if (!std::filesystem::exists(file)) return {};
  const Record json = read_json_file(file);
  return json.contains(list) ? choices_from_json(json[list], file.string()) : std::vector<Choice>();
}

}  // namespace

StudySession::StudySession(const std::vector<std::filesystem::path>& files, const StudyOptions& options, bool quiet)
    : options_(options), quiet_(quiet), directory_(options.out.value()), planner_(options.data_dir) {
  bool figures = false;
  for (const std::filesystem::path& file : files) {
    Part part{.study = read_study(file, options.quick), .full = read_study(file)};
    StudyPlanner::check_options(part.study);
    const Study& full = part.full;
    check_input(!full.base.empty() || !full.axes.empty() || !full.tables.empty() || !full.figures.empty() || !full.claims.empty(),
                "{}: has neither options nor axes, tables, figures or claims: there is nothing to train or to draw", file.string());
    figures = figures || !part.study.figures.empty();
    parts_.push_back(std::move(part));
  }
  if (figures && !options.dry_run) check_gnuplot();
  std::error_code ignored;
  check_input(!std::filesystem::exists(directory_, ignored) || std::filesystem::is_directory(directory_, ignored),
              "`out` {}: there is a file of that name; give a directory", directory_.string());
  if (!options.dry_run) {
    check_can_make_run(directory_, {});
    make_run_directory(directory_);
    check_input(::access(directory_.c_str(), W_OK | X_OK) == 0, "`out` {}: cannot be written", directory_.string());
    lock_ = ::open((directory_ / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    check_input(lock_ >= 0 && ::flock(lock_, LOCK_EX | LOCK_NB) == 0,
                "`out` {}: another study is being run in it; wait for it, or give another directory", directory_.string());
    std::filesystem::remove_all(directory_ / "running");  // of a study that was killed
  }
  check_directory();
  check_names();
  records_.emplace(directory_ / "records.jsonl", options.dry_run ? RecordFile::Torn::leave : RecordFile::Torn::cut);
  if (records_->torn() && !options.dry_run)
    note(fmt::format("fodp: the last line of {}/records.jsonl was torn and has been taken out; its run is done again\n",
                     directory_.string()));
  for (Part& part : parts_) prepare(part);
}

StudySession::~StudySession() {
  if (lock_ >= 0) ::close(lock_);
}

// What a directory holds already must not be mistaken for this study's, nor be replaced by it.
void StudySession::check_directory() const {
  check_input(!std::filesystem::exists(directory_ / "summary.json"), "`out` {}: holds a run of fodp train; give another directory",
              directory_.string());
  for (const Part& part : parts_) {
    const std::filesystem::path file = directory_ / "studies" / (part.study.name + ".json");
    if (!std::filesystem::exists(file)) continue;
    const bool quick = read_json_file(file).value("quick", false);
    check_input(quick == options_.quick,
                "`out` {}: holds the study '{}' {} --quick, whose tables would be replaced; give another directory", directory_.string(),
                part.study.name, quick ? "with" : "without");
  }
}

void StudySession::check_names() const {
  std::map<std::string, std::string> used;  // file: study
  const auto add = [&](const Study& study) {
    std::vector<std::string> files;
    for (const TableSpec& table : study.tables) files.push_back("tables/" + table.name);
    for (const FigureSpec& figure : study.figures) files.push_back("figures/" + figure.name);
    for (const std::string& file : files) {
      const auto [other, is_new] = used.emplace(file, study.name);
      check_input(is_new, "`out` {}: the studies '{}' and '{}' both write {}: give another directory, or another name", directory_.string(),
                  other->second, study.name, file);
    }
  };
  for (const Part& part : parts_) add(part.study);
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(directory_ / "studies", ignored))
    if (entry.path().extension() == ".toml" &&
        std::ranges::none_of(parts_, [&](const Part& part) { return part.study.name == entry.path().stem().string(); }))
      add(read_study(entry.path()));
}

// Choices for exactly these runs that this directory or the study's own list has; what is left open is tuned.
void StudySession::prepare(Part& part) {
  const Study& full = part.full;
  if (full.tuning) {
    std::vector<Choice> known = recorded_choices(directory_ / "studies" / (full.name + ".json"), "tuned");
    if (full.tuning->recorded && !std::filesystem::exists(*full.tuning->recorded))
      note(fmt::format("fodp: {}: tune.recorded: there is no file {} yet, so that --{} is chosen anew\n", full.file.string(),
                       full.tuning->recorded->string(), full.tuning->option));
    if (full.tuning->recorded && !options_.tune)
      for (Choice& choice : recorded_choices(*full.tuning->recorded, "tuned")) known.push_back(std::move(choice));
    for (const Place& place : tuning_places(full)) {
      std::vector<PlannedRun> runs;
      for (const StudyRun& run : tuning_runs(full, place, options_.secure)) runs.push_back(planner_.plan(full, run, options_.dry_run));
      if (const Choice* choice = find_choice(known, choice_key(runs))) {
        part.choices.push_back(*choice);
        part.choices.back().place = place;
        continue;
      }
      if (options_.quick) continue;
      part.open.push_back(place);
      for (PlannedRun& run : runs) part.tuning.push_back(std::move(run));
    }
    if (options_.quick && part.choices.size() < tuning_places(full).size())
      note(fmt::format("fodp: {}: --{} is not tuned with --quick: runs without a recorded choice take their default\n", full.name,
                       full.tuning->option));
  }
  plan_runs(part, part.open.empty());
}

// Before tuning is done the runs are planned with the first value of the grid, so that all that can be wrong is found now.
void StudySession::plan_runs(Part& part, bool final) {
  TunedValues tuned;
  for (const Choice& choice : part.choices) tuned[choice.place] = choice.value;
  if (!final)
    for (const Place& place : part.open) tuned[place] = part.study.tuning->grid.front();
  part.runs.clear();
  for (const StudyRun& run : runs_of(part.study, options_.secure, tuned))
    part.runs.push_back(planner_.plan(part.study, run, options_.dry_run));
  StudyPlanner::check_read(part.study, part.runs);
  StudyPlanner::check_differ(part.study, part.runs);
}

// Records from before test sets were recorded have no hash of theirs.
const Record* StudySession::record_of(const PlannedRun& run, std::string_view study) const {
  const Record* record = records_->find(run.key, study);
  if (!record || (*record)["status"] != "done") return nullptr;
  return record->value("test_fingerprint", run.test_data) == run.test_data || run.test_data.empty() ? record : nullptr;
}

bool StudySession::recorded(const Part& part, const PlannedRun& run) {
  if (record_of(run, part.study.name)) return true;
  // The same run of another study in this directory need not be done twice.
  const Record* other = record_of(run);
  if (!other || options_.dry_run) return false;
  Record copy = *other;
  copy["taken_from"] = (*other)["study"];
  copy["study"] = part.study.name;
  copy["run"] = named_run(run.run);
  copy.erase("tuning");
  if (run.run.trying) copy["tuning"] = true;
  records_->add(std::move(copy));
  return true;
}

std::int64_t StudySession::jobs_at_once(const Part& part) const {
  if (options_.jobs) return *options_.jobs;
  const std::int64_t most = std::max<std::int64_t>(1, std::thread::hardware_concurrency());
  return std::min(most, part.study.jobs.value_or(most));
}

double StudySession::expected_seconds(const Part& part, const PlannedRun& run) const {
  double sum = 0, count = 0;
  for (const Record& record : records_->records())
    if (record["study"] == part.study.name && record["status"] == "done" && record.contains("seconds") &&
        record.value("method", "") == run.config.value("method", "")) {
      sum += record["seconds"].get<double>() + 1;  // starting takes a second
      ++count;
    }
  if (count > 0) return sum / count;
  return part.study.seconds_per_run && !options_.quick ? *part.study.seconds_per_run : run.work;
}

StudySession::Count StudySession::count() const {
  Count count{.done = done_, .failed = failed_};
  std::set<std::string> keys;  // a run that several studies have is done once
  for (const Part& part : parts_)
    for (const auto* list : {&part.tuning, &part.runs})
      for (const PlannedRun& run : *list) {
        ++count.runs;
        if (record_of(run))
          ++count.recorded;
        else if (keys.insert(run.key).second)
          count.seconds += expected_seconds(part, run) / static_cast<double>(jobs_at_once(part));
      }
  return count;
}

std::filesystem::path StudySession::folder_of(const PlannedRun& run) const { return directory_ / "running" / run.key; }

void StudySession::finish(const Job& job, int status) {
  const std::filesystem::path folder = folder_of(*job.run), messages = folder.string() + ".log";
  Record record;
  try {
    check_fault(status == 0, "{}", last_message(messages, status));
    record = read_json_file(folder / "summary.json");
    record["run_id"] = record.value("run", Record());
    record["config"] = read_json_file(folder / "config.json");
    for (const char* name : {"out", "data_dir"}) record["config"].erase(name);
    record["curve"] = read_curve(folder / "metrics.jsonl");
    record["status"] = "done";
    ++done_;
  } catch (const std::exception& error) {
    record = {{"config", job.run->config}, {"status", "failed"}, {"error", error.what()}, {"exit_status", status}};
    ++failed_;
    note(fmt::format("\nfodp: a run failed: {} {}: {}\n", job.part->study.name, named_run(job.run->run).dump(), error.what()));
  }
  record["study"] = job.part->study.name;
  record["run"] = named_run(job.run->run);
  record["seed"] = job.run->run.seed;
  if (job.run->run.trying) record["tuning"] = true;
  record["machine"] = machine_text();
  record["test_fingerprint"] = job.run->test_data;
  record["key"] = job.run->key;
  records_->add(std::move(record));
  std::filesystem::remove_all(folder);
  std::filesystem::remove(messages);
}

bool StudySession::train_missing(std::vector<PlannedRun> Part::*list) {
  std::map<std::int64_t, std::vector<Job>, std::greater<>> by_number;  // of runs at a time: studies that measure times run by themselves
  std::vector<Job> same;
  std::set<std::string> keys;
  for (const Part& part : parts_)
    for (const PlannedRun& run : part.*list)
      if (!recorded(part, run)) (keys.insert(run.key).second ? by_number[jobs_at_once(part)] : same).push_back({&part, &run});
  for (const auto& [at_once, jobs] : by_number)
    if (!train(jobs, at_once)) return false;
  for (const Job& job : same) recorded(*job.part, *job.run);
  return true;
}

bool StudySession::train(const std::vector<Job>& jobs, std::int64_t at_once) {
  std::filesystem::create_directories(directory_ / "running");
  const Interrupt interrupt("stopping; runs that have not ended are done again next time\n");
  RunPool pool(own_folder() / "fodp-torch", static_cast<std::size_t>(at_once));
  double left = 0;
  for (const Job& job : jobs) left += expected_seconds(*job.part, *job.run);
  StudyProgress progress(jobs.size(), left / static_cast<double>(at_once), quiet_);
  std::size_t next = 0;
  while ((next < jobs.size() || pool.running() > 0) && !interrupt.came()) {
    while (next < jobs.size() && !pool.full()) {
      const PlannedRun& run = *jobs[next].run;
      pool.start(next, planner_.words(run, folder_of(run).string()), folder_of(run).string() + ".log");
      ++next;
    }
    const auto ended = pool.wait(std::chrono::milliseconds(500));
    if (ended) {
      finish(jobs[ended->id], ended->status);
      progress.ended(records_->records().back());
    }
    progress.show(pool.running());
  }
  pool.kill_all();
  std::filesystem::remove_all(directory_ / "running");
  return !interrupt.came();
}

void StudySession::choose(Part& part) {
  for (const Place& place : part.open) {
    std::vector<PlannedRun> runs;
    for (const StudyRun& run : tuning_runs(part.full, place, options_.secure)) runs.push_back(planner_.plan(part.full, run, false));
    Choice choice{.place = place, .value = "", .scores = {}, .key = choice_key(runs)};
    std::map<std::string, std::vector<double>> scores;
    for (const PlannedRun& run : runs) {
      const Record* record = records_->find(run.key, part.study.name);
      // A run that failed, or diverged to something that is no number, is no choice.
      const bool good = record && (*record)["status"] == "done" && (*record)["test_accuracy"].is_number();
      scores[*run.run.trying].push_back(good ? (*record)["test_accuracy"].get<double>() : -INFINITY);
    }
    for (std::size_t i = 0; i < runs.size() / part.full.tuning->seeds.size(); ++i) {
      const std::string& value = *runs[i].run.trying;
      choice.scores.emplace_back(value, estimate(scores[value]).mean);
    }
    const auto best = std::ranges::max_element(choice.scores, {}, &std::pair<std::string, double>::second);
    check_input(std::isfinite(best->second), "{}: every value of --{} failed; see {}/records.jsonl", part.study.name,
                part.full.tuning->option, directory_.string());
    choice.value = best->first;
    part.choices.push_back(std::move(choice));
  }
  part.open.clear();
}

bool StudySession::run() {
  if (!train_missing(&Part::tuning)) return false;
  for (Part& part : parts_) {
    choose(part);
    plan_runs(part, true);
  }
  for (const StudyResults& results : this->results()) write_study(directory_, results);
  return train_missing(&Part::runs);
}

std::vector<StudyResults> StudySession::results() const {
  std::vector<StudyResults> all;
  for (const Part& part : parts_) {
    StudyResults results{.study = part.study, .quick = options_.quick, .secure = options_.secure, .choices = part.choices};
    for (const PlannedRun& run : part.runs)
      results.runs.push_back(
          {.place = run.run.place, .seed = run.run.seed, .key = run.key, .record = records_->find(run.key, part.study.name)});
    results.count_other_records(*records_);
    all.push_back(std::move(results));
  }
  return all;
}

std::string StudySession::plan_text() const {
  std::string text;
  for (const Part& part : parts_) {
    text += fmt::format("{}: {}\n", part.study.name, part.study.title);
    for (const auto* list : {&part.tuning, &part.runs})
      for (const PlannedRun& run : *list) {
        text += fmt::format("  {}  {}\n", record_of(run) ? "recorded" : "to do   ", named_run(run.run).dump());
      }
  }
  const Count total = count();
  std::int64_t most = 1;
  for (const Part& part : parts_) most = std::max(most, jobs_at_once(part));
  return text + fmt::format("{} runs, {} of them recorded; about {} for the rest, {} at a time\n", total.runs, total.recorded,
                            duration_text(total.seconds), most);
}

}  // namespace fodp::app
