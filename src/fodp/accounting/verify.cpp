#include "fodp/accounting/verify.h"

#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>

#include <nlohmann/json.hpp>

#include "fodp/accounting/group_privacy.h"
#include "fodp/accounting/ledger_file.h"
#include "fodp/accounting/merged_events.h"
#include "fodp/accounting/run_file.h"
#include "fodp/base/check.h"
#include "fodp/base/sha256.h"
#include "fodp/base/state_file.h"
#include "fodp/base/version.h"

namespace fodp {
namespace {

using Path = std::filesystem::path;

double number_or_inf(const nlohmann::json& value) { return value == "inf" ? std::numeric_limits<double>::infinity() : value.get<double>(); }

class Check {
 public:
  explicit Check(const Path& directory) : directory_(directory) {}

  Verification run() {
    guarded("ledger", [&] { read_the_ledger(); });
    if (exists("summary.json")) guarded("summary.json", [&] { compare_summary(); });
    // A run that was killed at its very end has a statement and no summary.
    if (!exists("summary.json") && exists("statement.txt") && ledger_) compare_statement("the ledger's", *found_.epsilon, *found_.delta);
    if (exists("checkpoint")) guarded("checkpoint", [&] { compare_checkpoint(); });
    return std::move(found_);
  }

 private:
  bool exists(const char* name) const { return std::filesystem::exists(directory_ / name); }

  template <class... Args>
  void expect(bool holds, fmt::format_string<Args...> problem, Args&&... args) {
    if (!holds) found_.problems.push_back(fmt::format(problem, std::forward<Args>(args)...));
  }

  template <class F>
  void guarded(const char* file, F&& check) {
    try {
      check();
    } catch (const FaultError&) {
      throw;
    } catch (const nlohmann::json::exception&) {
      found_.problems.push_back(fmt::format("{}: a field is missing or of another kind, or the file is not JSON", file));
    } catch (const std::exception& error) {
      found_.problems.emplace_back(error.what());
    }
  }

  void read_the_ledger() {
    expect(exists("ledger"), "there is no ledger: what was spent cannot be checked");
    if (!exists("ledger")) return;
    ledger_ = read_ledger(directory_ / "ledger");
    const Events events = ledger_->guaranteed();
    found_.events = total_count(events);
    found_.delta = ledger_->header.delta;
    found_.epsilon = make_accountant(ledger_->header.accountant)->epsilon(events, *found_.delta).epsilon;
  }

  void compare_summary() {
    std::ifstream stream(directory_ / "summary.json");
    const nlohmann::json summary = nlohmann::json::parse(stream);
    const double claimed = number_or_inf(summary.at("epsilon"));
    found_.claimed_epsilon = claimed;
    if (ledger_) {
      const LedgerHeader& header = ledger_->header;
      const double spent = *found_.epsilon;
      expect(claimed == spent || std::abs(claimed - spent) <= 1e-9 * std::max(1.0, spent),
             "the summary claims epsilon {}; the events of the ledger add up to {}", claimed, spent);
      expect(summary.at("delta").get<double>() == header.delta, "the summary's delta is {}, the ledger's {}", summary["delta"].dump(),
             header.delta);
      expect(summary.at("run").get<std::string>() == header.run, "the summary and the ledger are of different runs");
      expect(summary.at("private").get<bool>() == header.insecure.empty() && summary.at("insecure") == header.insecure,
             "the summary says private {} and insecure {}, the ledger says otherwise", summary["private"].dump(),
             summary["insecure"].dump());
      expect(summary.at("unit") == header.unit, "the summary's unit is {}, the ledger's {}", summary["unit"].dump(), header.unit);
      for (const char* name : {"train_examples", "units"})
        expect(summary.at(name) == header.rows, "the summary's {} is {}, the ledger's rows are {}", name, summary[name].dump(),
               header.rows);
      const nlohmann::json& fingerprint = summary.at("data_fingerprint");
      expect((fingerprint.is_null() ? "" : fingerprint.get<std::string>()) == header.data_fingerprint,
             "the summary and the ledger are of runs on different data");
    }
    compare_other_claims(summary, claimed);
    expect(summary.at("version") == kVersion, "the summary is of version {}: this program knows {}", summary["version"].dump(), kVersion);
    expect(summary.at("adjacency") == "add/remove", "the summary's adjacency is {}: this program knows 'add/remove'",
           summary["adjacency"].dump());
    compare_files(summary.at("files"));
    compare_model(summary.at("model_sha256"));
    if (exists("model.pt")) guarded("model.json", [&] { compare_model_json(summary); });
    compare_statement("the summary's", claimed, summary.at("delta").get<double>());
    if (std::isfinite(claimed)) compare_events(claimed);
  }

  double epsilon_of(const Events& events) const {
    return make_accountant(ledger_->header.accountant)->epsilon(events, ledger_->header.delta).epsilon;
  }

  // Whether a number is at least another, up to rounding.
  static bool at_least(double claimed, double computed) { return claimed >= computed * (1 - 1e-9) - 1e-12; }

  // What the summary says of the whole plan, of a stop that was fixed, and of people with several rows. A run may claim more than this,
  // not less; the bound for several rows is the best one that the events allow.
  void compare_other_claims(const nlohmann::json& summary, double claimed) {
    if (!ledger_) return;
    const LedgerHeader& header = ledger_->header;
    const double planned = number_or_inf(summary.at("planned_epsilon")), of_plan = epsilon_of(together(header.earlier, header.plan));
    // A run that went on after an interruption may have left out steps, and guarantee a little less than its plan.
    expect(at_least(planned, of_plan) && planned <= std::max(claimed, of_plan) * (1 + 1e-9),
           "the summary's planned epsilon is {}; the plan in the ledger costs {}, and {} is guaranteed", planned, of_plan, claimed);
    const double fixed = number_or_inf(summary.at("epsilon_if_stop_was_fixed"));
    const double of_charges = std::min(claimed, epsilon_of(together(header.earlier, ledger_->charged)));
    expect(at_least(fixed, of_charges), "the summary claims epsilon {} for a stop that was fixed; what was charged costs {}", fixed,
           of_charges);
    if (header.unit != "row") return;  // a unit is all that somebody has
    const nlohmann::json& groups = summary.at("group_epsilon");
    for (const std::int64_t rows : {2, 5}) {
      const double of_group = number_or_inf(groups.at(std::to_string(rows)));
      const double computed = group_epsilon(ledger_->guaranteed(), header.delta, rows);
      expect(at_least(of_group, computed), "the summary claims epsilon {} for a person with {} rows; the events of the ledger give {}",
             of_group, rows, computed);
    }
  }

  void compare_files(const nlohmann::json& hashes) {
    for (const char* name : {"config.json", "metrics.jsonl", "model.json", "statement.txt"}) {
      const std::string recorded = hashes.at(name);
      expect(exists(name) && sha256_file(directory_ / name) == recorded,
             "{} is not the file that was recorded: its SHA-256 differs from the summary's, or it is missing", name);
    }
  }

  // Whoever starts from model.pt is told by model.json what it cost.
  void compare_model_json(const nlohmann::json& summary) {
    expect(exists("model.json"), "model.json is missing: whoever starts from model.pt would not be told what it cost");
    if (!exists("model.json")) return;
    std::ifstream stream(directory_ / "model.json");
    const nlohmann::json model = nlohmann::json::parse(stream);
    for (const auto& [here, there] : {std::pair{"events", "event"},
                                      {"private", "private"},
                                      {"run", "run"},
                                      {"insecure", "insecure"},
                                      {"earlier", "earlier"},
                                      {"own_events", "own_events"}})
      expect(model.value(here, nlohmann::json()) == summary.value(there, nlohmann::json()),
             "model.json: '{}' is not what the summary has under '{}'", here, there);
  }

  void compare_events(double claimed) {
    const RunFile file = read_run_file((directory_ / "summary.json").string(), "events");
    check_input(file.delta && file.accountant, "summary.json: does not say how it was accounted");
    const double spent = make_accountant(*file.accountant)->epsilon(file.events, *file.delta).epsilon;
    expect(std::abs(claimed - spent) <= 1e-9 * std::max(1.0, spent), "the summary claims epsilon {}; its own events add up to {}", claimed,
           spent);
  }

  void compare_model(const nlohmann::json& recorded) {
    if (!exists("model.pt")) return expect(recorded.is_null(), "model.pt is missing; the summary has its hash");
    found_.model_matches = recorded.is_string() && sha256_file(directory_ / "model.pt") == recorded.get<std::string>();
    expect(*found_.model_matches, "model.pt is not the file that was recorded: its SHA-256 differs from the summary's");
  }

  void compare_statement(const char* whose, double epsilon, double delta) {
    std::ifstream stream(directory_ / "statement.txt");
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    constexpr std::string_view kClaim = ")-differential privacy";
    const std::size_t first = text.find(kClaim);
    expect(first == std::string::npos || text.find(kClaim, first + 1) == std::string::npos, "statement.txt states more than one guarantee");
    expect(text.find(fmt::format("({}, {}{}", upper_text(epsilon), number_text(delta), kClaim)) != std::string::npos,
           "statement.txt does not state {} epsilon {} and delta {}", whose, upper_text(epsilon), number_text(delta));
  }

  void compare_checkpoint() {
    const State state = read_state(directory_ / "checkpoint");
    const auto run = state.find("run");
    expect(!ledger_ || (run != state.end() && run->second == StateValue(ledger_->header.run)),
           "the checkpoint and the ledger are of different runs");
    double charges = 0;  // of the run and of what was spent before it, as its state lists them (accounting/ledger_state.cpp)
    for (const auto& [name, value] : state)
      if (const auto* row = std::get_if<std::vector<double>>(&value); row && name.starts_with("ledger.charged.") && row->size() == 5)
        charges += row->back();
    expect(!ledger_ || charges <= static_cast<double>(total_count(ledger_->charged) + total_count(ledger_->header.earlier)),
           "the ledger lacks charges that the checkpoint has: it was cut");
  }

  Path directory_;
  Verification found_;
  std::optional<LedgerContent> ledger_;
};

}  // namespace

Verification verify_run(const std::filesystem::path& directory) {
  std::error_code ignored;
  check_input(std::filesystem::is_directory(directory, ignored), "{}: not the directory of a run", directory.string());
  bool is_run = false;
  for (const char* name : {"ledger", "config.json", "summary.json"}) is_run |= std::filesystem::exists(directory / name, ignored);
  check_input(is_run, "{}: not the directory of a run: it has no ledger, config.json or summary.json", directory.string());
  return Check(directory).run();
}

}  // namespace fodp
