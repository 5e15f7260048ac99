// A run that outlives its process: its ledger on disk, its state in a file.
#include <algorithm>
#include <cmath>

#include "fodp/accounting/merged_events.h"
#include "fodp/base/check.h"
#include "fodp/base/clock.h"
#include "fodp/base/state_file.h"
#include "fodp/base/version.h"
#include "fodp/training/private_run.h"

namespace fodp {
namespace {

constexpr char kRun[] = "run";               // the name of the run's identity in a saved state
constexpr std::string_view kMore = "more.";  // before the names of the caller's own values

// All but the last `count` events of a list.
Events without_last(Events events, std::int64_t count) {
  while (count > 0 && !events.empty()) {
    const std::int64_t taken = std::min(count, events.back().count);
    events.back().count -= taken;
    count -= taken;
    if (events.back().count == 0) events.pop_back();
  }
  return events;
}

}  // namespace

State PrivateSteps::state() const {
  const InUse in_use(*this);
  check_input(!run_->in_step && run_->moved_from.empty(), "the state of a run can be taken between steps only");
  State state;
  StateVisitor visit = StateVisitor::saving(state, plan().options().insecure_seed.has_value());
  run_->state(visit);
  return state;
}

void PrivateSteps::Run::load_state(const State& from) {
  check_privacy(ledger->count() == 0 && lots_drawn == 0,
                "a state is loaded before the first step only: this run has drawn rows already, and would draw the same noise again");
  const bool insecure = plan.options().insecure_seed.has_value();
  State before;
  StateVisitor saving = StateVisitor::saving(before, insecure);
  state(saving);
  const auto load = [&](const State& values) {
    StateVisitor visit = StateVisitor::loading(values, insecure);
    state(visit);
    visit.check_all_taken();
  };
  try {
    load(from);
  } catch (...) {
    load(before);  // nothing of another run stays, such as parameters whose cost this ledger does not know
    throw;
  }
}

void PrivateSteps::load_state(const State& state) {
  const InUse in_use(*this);
  check_privacy(
      !plan().is_private(),
      "the state of a private run is loaded from a file, with the ledger that lies beside it (save, load): a state alone does not "
      "know what was released after it was taken");
  run_->load_state(state);
}

LedgerHeader PrivateSteps::Run::ledger_header() const {
  return {.run = name.text(),
          .version = kVersion,
          .date = utc_now(),
          .data_fingerprint = data_fingerprint,
          .delta = plan.delta(),
          .accountant = plan.options().privacy.accountant,
          .insecure = plan.insecure(),
          .unit = plan.unit(),
          .rows = plan.train_examples(),
          .earlier = ledger->earlier(),
          .plan = plan.own_events()};
}

void PrivateSteps::keep_ledger(const std::filesystem::path& file, const std::string& data_fingerprint) {
  const InUse in_use(*this);
  Run& r = *run_;
  check_input(!r.ledger_file, "{}: this run keeps a ledger already", file.string());
  r.without_its_ledger = true;  // until all of this is done
  r.data_fingerprint = data_fingerprint;
  if (std::filesystem::exists(file)) {
    r.ledger_file.emplace(LedgerFile::open(file, r.ledger_header()));
    r.name = RunName::from_text(r.ledger_file->header().run);
    r.take_over_ledger();
  } else {
    r.ledger_file.emplace(file, r.ledger_header(), r.ledger->own_events());
  }
  r.ledger->set_journal([&r](const LedgerRecord& record) { r.ledger_file->charge(record.event); });
  r.without_its_ledger = false;
}

void PrivateSteps::Run::take_over_ledger() {
  ledger_file->repeat_from(ledger->own_events());
  if (plan.options().insecure_seed) return;
  const Events lost = without(ledger_file->charged(), ledger->own_events());
  Events rest = ledger->to_come();
  // The process that is gone may have used what is left of a charge: its rows are drawn anew, and charged anew.
  if (charge && !charge->used_up()) rest.push_back({charge->event(), 1});
  charge.reset();
  ledger->add_lost(lost);
  charges_lost = total_count(lost);
  ledger_file->all_used();
  rest = affordable(merged(rest));
  ledger->plan(rest);
  ledger_file->plan_rest(rest);
}

// What the budget allows of the charges to come: all, or all but those of the last steps. What a method asks for beside its sums is
// dropped in proportion to them, since it is spread over the steps.
Events PrivateSteps::Run::affordable(const Events& rest) const {
  if (!plan.budget() || sums_released >= plan.steps() * queries()) return rest;
  Events sums, more, tests;  // a look at private test rows is kept whole: most often it is the last thing that a run does
  for (const Composed& part : rest) {
    if (plan.tests_are_private() && part.event == plan.tests().event()) {
      tests.push_back(part);
      continue;
    }
    const Events others = parts.method->more_events();
    const bool other = std::ranges::any_of(others, [&](const Composed& one) { return one.event == part.event; });
    (other ? more : sums).push_back(part);
  }
  if (sums.empty()) std::swap(sums, more);
  const std::int64_t all = total_count(sums);
  const auto without_steps = [&](std::int64_t dropped) {
    Events kept = together(tests, without_last(sums, dropped));
    for (const Composed& part : more) {
      const double share = static_cast<double>(all - dropped) / static_cast<double>(all);
      kept.push_back({part.event, static_cast<std::int64_t>(std::ceil(share * static_cast<double>(part.count)))});
    }
    return kept;
  };
  const auto fits = [&](std::int64_t dropped) {
    const Events whole = together(ledger->events(), without_steps(dropped));
    return accountant->epsilon(whole, plan.budget()->delta).epsilon <= plan.budget()->epsilon;
  };
  if (all > 0 && fits(0)) return rest;
  std::int64_t fails = 0, holds = all;  // without any of them, nothing more is spent
  while (holds - fails > 1) {
    const std::int64_t middle = fails + (holds - fails) / 2;
    (fits(middle) ? holds : fails) = middle;
  }
  if (holds == all)
    throw BudgetError(fmt::format(
        "the budget of epsilon {} is spent: what an interrupted process may have released counts, too. The model that was saved last may "
        "be used as it is; to train on, start a new run from it with a larger `epsilon`",
        number_text(plan.budget()->epsilon)));
  return without_steps(holds);
}

void PrivateSteps::Run::close_ledger() noexcept {
  try {
    if (ledger_file) ledger_file->give_back();
  } catch (const std::exception&) {
    // What cannot be written stays charged.
  }
}

void PrivateSteps::save(const std::filesystem::path& file, const State& more) {
  const InUse in_use(*this);
  if (!run_->ledger_file) keep_ledger(file.string() + ".ledger");
  State all = state();
  all.emplace(kRun, name());
  for (const auto& [name, value] : more) all.emplace(std::string(kMore) + name, value);
  write_state(all, file);
}

State PrivateSteps::load(const std::filesystem::path& file, const std::filesystem::path& ledger_path, const std::string& data_fingerprint) {
  const InUse in_use(*this);
  Run& r = *run_;
  check_input(!r.ledger_file, "{}: a saved run is loaded before a ledger is kept", file.string());
  const std::filesystem::path ledger = ledger_path.empty() ? std::filesystem::path(file.string() + ".ledger") : ledger_path;
  check_privacy(std::filesystem::exists(ledger),
                "{}: the ledger of this run is missing ({}): without it, what was released after the save is not known", file.string(),
                ledger.string());
  State all = read_state(file), more;
  const LedgerContent content = read_ledger(ledger);
  check_privacy(all.contains(kRun) && all.at(kRun) == StateValue(content.header.run), "{}: the ledger {} is of another run", file.string(),
                ledger.string());
  all.erase(kRun);
  for (auto item = all.lower_bound(kMore); item != all.end() && item->first.starts_with(kMore); item = all.erase(item))
    more.emplace(item->first.substr(kMore.size()), item->second);
  r.load_state(all);
  keep_ledger(ledger, data_fingerprint);
  return more;
}

std::int64_t PrivateSteps::charges_lost() const { return run_->charges_lost; }

}  // namespace fodp
