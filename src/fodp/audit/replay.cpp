#include "fodp/audit/replay.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fmt/core.h>
#include <unistd.h>

#include "fodp/base/check.h"
#include "fodp/noise/lattice.h"

namespace fodp {
namespace {

constexpr std::size_t kRecords = 6;   // taken away and replaced
constexpr std::int64_t kLater = 100;  // steps before the second place, where a run has so many

// What a run of a few steps did.
struct Trace {
  std::vector<SeenSum> sums;
  std::vector<std::string> flow;
  State state;  // at the end, without its identity
  std::vector<float> parameters;
};

// Notes every sum, and gives the mechanism others in its place as far as there are any.
class Notes : public Watcher {
 public:
  explicit Notes(std::vector<ClippedRows> instead = {}) : instead_(std::move(instead)) {}

  void pass_on(const SeenSum&, ClippedRows& passed_on) override {
    if (sums.size() >= instead_.size()) return;
    passed_on.lattice = instead_[sums.size()].lattice;
    passed_on.scalar_lattice = instead_[sums.size()].scalar_lattice;
  }
  void released(const SeenSum& seen) override { sums.push_back(seen); }

  std::vector<SeenSum> sums;

 private:
  std::vector<ClippedRows> instead_;
};

bool same_bits(const SeenSum& a, const SeenSum& b) {
  return a.sum.lattice == b.sum.lattice && a.sum.scalar_lattice == b.sum.scalar_lattice && a.noised == b.noised &&
         a.noised_numbers == b.noised_numbers && a.released == b.released;
}

// Where the steps that are replayed begin.
struct Start {
  std::int64_t step = 0;
  State state = {};  // after so many steps; none for the beginning
};

class Replay {
 public:
  Replay(const AuditSubject& subject, std::uint64_t seed, Start start = {}) : subject_(subject), seed_(seed), start_(std::move(start)) {
    first_ = trace(rows(), seed_);
  }

  // A second place to begin at, when memories are full and whatever happens after some steps has happened; none in a short run.
  std::optional<Start> later() const {
    PrivateOptions options = replayed(seed_, 1);
    Notes notes;
    WatchedRun run(subject_, std::move(options), rows(), notes);
    Start start{.step = std::min(kLater, run.plan().steps() - steps(run.plan()))};
    if (start.step <= 0) return {};
    for (std::int64_t step = 0; step < start.step; ++step) run.step(), notes.sums.clear();
    start.state = run.state();
    return start;
  }

  std::int64_t last_step() const { return last_step_; }

  std::vector<AuditCheck> checks() {
    const Trace again = trace(rows(), seed_);
    const bool repeats = std::ranges::equal(first_.sums, again.sums, same_bits);
    std::vector<AuditCheck> out;
    if (repeats) {
      neighbours();
      out = {sensitivity_, flow_, memory(), threads()};
    } else {
      for (const char* name : {"replay.sensitivity", "replay.control_flow", "replay.memory", "replay.threads"})
        out.push_back(
            {name, {}, "could not be checked: the model or the function that fetches rows is random, so that no step can be repeated"});
    }
    return out;
  }

  AuditCheck resume() const;

 private:
  PrivateOptions replayed(std::uint64_t seed, std::int64_t threads) const {
    PrivateOptions options = subject_.options;
    options.insecure_seed = static_cast<std::int64_t>(seed);
    options.speed.threads = threads;
    return options;
  }

  std::shared_ptr<WatchedRows> rows() const {
    return std::make_shared<WatchedRows>(subject_.fault ? subject_.fault->rows(subject_.rows.gather) : subject_.rows.gather,
                                         subject_.rows.gather_drawn);
  }

  std::int64_t steps(const Plan& plan) const { return std::min(plan.steps(), std::max<std::int64_t>(3, plan.cycle() + 1)); }

  Trace trace(std::shared_ptr<WatchedRows> rows, std::uint64_t seed, std::vector<ClippedRows> instead = {}, std::int64_t threads = 1) {
    Notes notes(std::move(instead));
    WatchedRun run(subject_, replayed(seed, threads), std::move(rows), notes);
    if (start_.step > 0) run.go_on(start_.state, start_.step);
    const std::int64_t count = steps(run.plan());
    last_step_ = start_.step + count;
    for (std::int64_t step = 0; step < count; ++step) run.step();
    Trace trace{std::move(notes.sums), run.flow(), run.state(), {run.parameters().begin(), run.parameters().end()}};
    std::erase_if(trace.state, [](const auto& item) { return item.first.starts_with("name."); });
    return trace;
  }

  std::vector<ClippedRows> sums_of_first() const {
    std::vector<ClippedRows> sums;
    for (const SeenSum& seen : first_.sums) sums.push_back(seen.sum);
    return sums;
  }

  // Records of the lots, spread over them.
  std::vector<std::int64_t> records() const {
    std::set<std::int64_t> chosen;
    for (std::size_t part = 0; part < kRecords && !first_.sums.empty(); ++part) {
      const SeenSum& seen = first_.sums[part % first_.sums.size()];
      if (!seen.rows.empty()) chosen.insert(seen.rows[seen.rows.size() * part / kRecords]);
    }
    return {chosen.begin(), chosen.end()};
  }

  void neighbours() {
    const std::vector<std::int64_t> chosen = records();
    const std::int64_t count = subject_.rows.count;
    largest_ = 0;
    for (const std::int64_t row : chosen) {
      auto without = rows(), other = rows();
      without->remove(row);
      other->replace(row, (row + count / 3 + 1) % count, (row + count / 2 + 1) % count);
      const Trace empty = trace(without, seed_, sums_of_first()), hostile = trace(other, seed_, sums_of_first());
      compare(row, first_, empty);
      compare(row, hostile, empty);
    }
    sensitivity_ = {"replay.sensitivity", chosen.empty() ? std::nullopt : std::optional(largest_ <= 1 && strangers_ == 0),
                    chosen.empty()
                        ? "could not be checked: all lots were empty"
                        : fmt::format("{} records taken away or replaced moved a sum by {:.4f} of what is charged for at most; {} sums "
                                      "moved by a record that was not in their lot",
                                      chosen.size(), largest_, strangers_)};
    flow_ = {"replay.control_flow", chosen.empty() ? std::nullopt : std::optional(differing_.empty()),
             chosen.empty() ? "could not be checked: all lots were empty"
             : differing_.empty()
                 ? fmt::format("verbs, public numbers and state are the same with and without each of {} records", chosen.size())
                 : "depends on a record: " + differing_};
  }

  void compare(std::int64_t row, const Trace& with, const Trace& without) {
    if (with.flow != without.flow) differing_ = "the steps that are taken or their public numbers";
    if (with.state != without.state) differing_ = "the state of the run, beyond what was released";
    for (std::size_t i = 0; i < std::min(with.sums.size(), without.sums.size()); ++i) {
      const double moved = distance(with.sums[i].sum, without.sums[i].sum);
      if (std::ranges::binary_search(first_.sums[i].rows, row))
        largest_ = std::max(largest_, moved);
      else
        strangers_ += moved > 0;
    }
  }

  // How far two sums are apart, over what one record may move them, slack of finite precision included.
  static double distance(const ClippedRows& a, const ClippedRows& b) {
    double most = 0;
    for (const ClipGroup& group : a.groups) {
      double squared = 0;
      for (std::int64_t k = group.begin; k < group.end; ++k) {
        const double moved = static_cast<double>(a.lattice[k] - b.lattice[k]) * a.grid;
        squared += moved * moved;
      }
      most = std::max(most, std::sqrt(squared) / (group.clip_norm * (1 + a.slack)));
    }
    for (std::size_t k = 0; k < a.scalars.size(); ++k) {
      const double moved = static_cast<double>(a.scalar_lattice[k] - b.scalar_lattice[k]) * scalar_grid(a.scalars[k].sensitivity);
      most = std::max(most, std::abs(moved) / a.scalars[k].sensitivity);
    }
    return most;
  }

  // The noised sum of `a` on the lattice less the noise of `b`: what `b` must be given to have the same noised sum.
  static ClippedRows exchanged(const SeenSum& a, const SeenSum& b, const ClippedRows& given) {
    ClippedRows fed = given;
    for (std::size_t k = 0; k < fed.lattice.size(); ++k) fed.lattice[k] += std::llround((a.noised[k] - b.noised[k]) / a.sum.grid);
    for (std::size_t k = 0; k < fed.scalar_lattice.size(); ++k)
      fed.scalar_lattice[k] += std::llround((a.noised_numbers[k] - b.noised_numbers[k]) / scalar_grid(a.sum.scalars[k].sensitivity));
    return fed;
  }

  // The run with other noise is given its sums one by one, since the scale of later noise may depend on earlier releases.
  AuditCheck memory() {
    const Trace alone = trace(rows(), seed_ + 1);
    std::vector<ClippedRows> fed = sums_of_first();
    Trace other;
    for (std::size_t i = 0; i < fed.size(); ++i) {
      other = trace(rows(), seed_ + 1, fed);
      if (other.sums.size() != first_.sums.size()) break;
      fed[i] = exchanged(first_.sums[i], other.sums[i], fed[i]);
    }
    other = trace(rows(), seed_ + 1, fed);
    bool same = other.parameters == first_.parameters && other.flow == first_.flow;
    for (std::size_t i = 0; same && i < fed.size(); ++i) same = other.sums[i].released == first_.sums[i].released;
    if (!same) return {"replay.memory", false, "releases, parameters or the steps that are taken depend on un-noised sums"};
    for (std::size_t i = 0; i < fed.size() && i < alone.sums.size(); ++i)
      if (!same_noise(alone.sums[i], alone.sums[i].sum, other.sums[i], fed[i]))
        return {"replay.memory", false, "what is added to a sum depends on the sums before it"};
    return {"replay.memory", true, fmt::format("{} releases are functions of their noised sums and of earlier ones alone", fed.size())};
  }

  // Whether two releases of one number and key, of these sums, have the same noise over its standard deviation, up to rounding to the
  // lattice.
  static bool same_noise(const SeenSum& a, const ClippedRows& sum_of_a, const SeenSum& b, const ClippedRows& sum_of_b) {
    const double rounding = a.sum.grid / a.noise_scale + b.sum.grid / b.noise_scale;
    for (std::size_t k = 0; k < std::min(a.noised.size(), b.noised.size()); ++k) {
      const double of_a = (a.noised[k] - static_cast<double>(sum_of_a.lattice[k]) * a.sum.grid) / a.noise_scale;
      const double of_b = (b.noised[k] - static_cast<double>(sum_of_b.lattice[k]) * b.sum.grid) / b.noise_scale;
      if (std::abs(of_a - of_b) > rounding) return false;
    }
    return true;
  }

  AuditCheck threads() {
    const bool same = std::ranges::equal(first_.sums, trace(rows(), seed_, {}, 2).sums, same_bits);
    return {"replay.threads", same, same ? "one thread and two give the same bits" : "one thread and two give other sums or other noise"};
  }

  static std::vector<double> noise_of(const SeenSum& seen) {
    std::vector<double> noise = seen.noised;
    for (std::size_t k = 0; k < noise.size(); ++k) noise[k] -= static_cast<double>(seen.sum.lattice[k]) * seen.sum.grid;
    return noise;
  }

  // In standard errors.
  static double correlation(std::span<const double> a, std::span<const double> b) {
    double product = 0, of_a = 0, of_b = 0;
    for (std::size_t k = 0; k < std::min(a.size(), b.size()); ++k) product += a[k] * b[k], of_a += a[k] * a[k], of_b += b[k] * b[k];
    return product / std::sqrt(of_a * of_b) * std::sqrt(static_cast<double>(a.size()));
  }

  std::vector<double> noise_after(const std::filesystem::path& file, bool resumed) const;

  const AuditSubject& subject_;
  std::uint64_t seed_;
  Start start_;
  std::int64_t last_step_ = 0;
  Trace first_;
  double largest_ = 0;
  std::int64_t strangers_ = 0;
  std::string differing_;
  AuditCheck sensitivity_, flow_;
};

// With secret randomness, as a real run has it.
std::vector<double> Replay::noise_after(const std::filesystem::path& file, bool resumed) const {
  PrivateOptions options = subject_.options;
  options.insecure_seed.reset();
  Notes notes;
  WatchedRun run(subject_, std::move(options), rows(), notes);
  if (resumed) run.load(file);
  run.step();
  if (!resumed) run.save(file);
  const auto vector = std::ranges::find_if(notes.sums, [](const SeenSum& seen) { return !seen.noised.empty(); });
  return vector == notes.sums.end() ? std::vector<double>() : noise_of(*vector);
}

// A folder of its own under the system's, for as long as this lives.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::error_code error;
    path_ = std::filesystem::temp_directory_path(error) / "fodp-audit-XXXXXX";
    std::string name = path_.string();
    check_input(
        !error && ::mkdtemp(name.data()) != nullptr,
        "an audit needs a folder for temporary files, and cannot make one: set the environment variable TMPDIR to one that can be written");
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

AuditCheck Replay::resume() const {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "run";
  const std::vector<double> before = noise_after(file, false), once = noise_after(file, true), twice = noise_after(file, true);
  if (before.empty() || once.empty() || twice.empty()) return {"replay.resume", {}, "not checked: a step releases no sum"};
  const double most =
      std::max({std::abs(correlation(before, once)), std::abs(correlation(before, twice)), std::abs(correlation(once, twice))});
  const bool fresh = before != once && before != twice && once != twice;
  return {"replay.resume", fresh && two_sided_chance(most) >= kFalseAlarm,
          fmt::format("noise before a checkpoint and after two resumptions from it is {}, correlated by at most {:.2f} standard errors",
                      fresh ? "not the same" : "THE SAME", most)};
}

// What two replays of the same run found.
AuditCheck both(const AuditCheck& early, const AuditCheck& late) {
  const std::optional<bool> holds = early.holds && late.holds ? std::optional(*early.holds && *late.holds) : std::nullopt;
  const bool failed = early.holds == false || late.holds == false;
  return {early.name, failed ? std::optional(false) : holds, early.what + "; " + late.what};
}

void name_steps(std::vector<AuditCheck>& checks, std::int64_t first, std::int64_t last) {
  for (AuditCheck& check : checks) check.what = fmt::format("steps {} to {}: {}", first, last, check.what);
}

}  // namespace

std::vector<AuditCheck> replay_checks(const AuditSubject& subject, std::uint64_t seed) {
  Replay early(subject, seed);
  std::vector<AuditCheck> checks = early.checks();
  name_steps(checks, 1, early.last_step());
  if (std::optional<Start> start = early.later()) {
    const std::int64_t first = start->step + 1;
    Replay late(subject, seed, std::move(*start));
    std::vector<AuditCheck> more = late.checks();
    name_steps(more, first, late.last_step());
    for (std::size_t i = 0; i < checks.size(); ++i) checks[i] = both(checks[i], more[i]);
  }
  checks.push_back(early.resume());
  return checks;
}

}  // namespace fodp
