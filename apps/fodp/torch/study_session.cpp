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
std::string last_message(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string last;
  for (std::string line; std::getline(stream, line);)
    if (!line.empty()) last = line;
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
  records_.emplace(directory_ / "records.jsonl");
  if (records_->mended())
    note(fmt::format("fodp: the last line of {}/records.jsonl was torn and has been taken out; its run is done again\n",
                     directory_.string()));
  for (Part& part : parts_) prepare(part);
}

StudySession::~StudySession() {
  if (lock_ >= 0) ::close(lock_);
}

// Choices for exactly these runs that this directory or the study's own list has; what is left open is tuned.
void StudySession::prepare(Part& part) {
  const Study& full = part.full;
  if (full.tuning) {
    std::vector<Choice> known = recorded_choices(directory_ / "studies" / (full.name + ".json"), "tuned");
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
}

bool StudySession::recorded(const Part& part, const PlannedRun& run) {
  const Record* record = records_->find(run.key, part.study.name);
  if (record && (*record)["status"] == "done") return true;
  // The same run of another study in this directory need not be done twice.
  const Record* other = records_->find(run.key);
  if (!other || (*other)["status"] != "done" || options_.dry_run) return false;
  Record copy = *other;
  copy["taken_from"] = (*other)["study"];
  copy["study"] = part.study.name;
  copy["run"] = named_run(run.run);
  copy.erase("tuning");
  if (run.run.trying) copy["tuning"] = true;
  records_->add(std::move(copy));
  return true;
}

std::int64_t StudySession::jobs_at_once() const {
  std::int64_t most = options_.jobs.value_or(std::max<std::int64_t>(1, std::thread::hardware_concurrency()));
  if (!options_.jobs)
    for (const Part& part : parts_) most = std::min(most, part.study.jobs.value_or(most));
  return most;
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
  double seconds = 0;
  for (const Part& part : parts_)
    for (const auto* list : {&part.tuning, &part.runs})
      for (const PlannedRun& run : *list) {
        ++count.runs;
        const Record* record = records_->find(run.key);
        if (record && (*record)["status"] == "done")
          ++count.recorded;
        else
          seconds += expected_seconds(part, run);
      }
  count.seconds = seconds / static_cast<double>(jobs_at_once());
  return count;
}

std::filesystem::path StudySession::folder_of(const PlannedRun& run) const { return directory_ / "running" / run.key; }

void StudySession::finish(const Job& job, int status) {
  const std::filesystem::path folder = folder_of(*job.run), messages = folder.string() + ".log";
  Record record;
  try {
    check_fault(status == 0, "{}", last_message(messages));
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
  record["key"] = job.run->key;
  records_->add(std::move(record));
  std::filesystem::remove_all(folder);
  std::filesystem::remove(messages);
}

bool StudySession::train(const std::vector<Job>& jobs) {
  std::filesystem::create_directories(directory_ / "running");
  const Interrupt interrupt("stopping; runs that have not ended are done again next time\n");
  RunPool pool(own_folder() / "fodp-torch", static_cast<std::size_t>(jobs_at_once()));
  double left = 0;
  for (const Job& job : jobs) left += expected_seconds(*job.part, *job.run);
  StudyProgress progress(jobs.size(), left / static_cast<double>(jobs_at_once()), quiet_);
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
  std::vector<Job> jobs;
  for (Part& part : parts_)
    for (const PlannedRun& run : part.tuning)
      if (!recorded(part, run)) jobs.push_back({&part, &run});
  if (!jobs.empty() && !train(jobs)) return false;
  jobs.clear();
  for (Part& part : parts_) {
    choose(part);
    plan_runs(part, true);
  }
  for (const StudyResults& results : this->results()) write_study(directory_, results);
  for (Part& part : parts_)
    for (const PlannedRun& run : part.runs)
      if (!recorded(part, run)) jobs.push_back({&part, &run});
  return jobs.empty() || train(jobs);
}

std::vector<StudyResults> StudySession::results() const {
  std::vector<StudyResults> all;
  for (const Part& part : parts_) {
    StudyResults results{.study = part.study, .quick = options_.quick, .secure = options_.secure, .choices = part.choices};
    for (const PlannedRun& run : part.runs)
      results.runs.push_back(
          {.place = run.run.place, .seed = run.run.seed, .key = run.key, .record = records_->find(run.key, part.study.name)});
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
        const Record* record = records_->find(run.key);
        text += fmt::format("  {}  {}\n", record && (*record)["status"] == "done" ? "recorded" : "to do   ", named_run(run.run).dump());
      }
  }
  const Count total = count();
  return text + fmt::format("{} runs, {} of them recorded; about {} for the rest, {} at a time\n", total.runs, total.recorded,
                            duration_text(total.seconds), jobs_at_once());
}

}  // namespace fodp::app
