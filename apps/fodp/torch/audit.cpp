// fodp audit: attacks a training and says what it found, or tests itself on planted faults.
#include "fodp/audit/audit.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include "command.h"
#include "feature_progress.h"
#include "fodp/audit/faults.h"
#include "fodp/base/atomic_file.h"
#include "fodp/base/fields_json.h"
#include "fodp/base/version.h"
#include "fodp/training/run_directory.h"
#include "fodp/training/trainer.h"
#include "text.h"
#include "train_flags.h"

namespace fodp::app {
namespace {

// Options of a training that an audit has no use for.
constexpr const char* kRefused[] = {"resume", "dry-run", "save", "export", "checkpoint-every", "eval-every", "test-size", "spent"};

struct AuditFlags : TrainFlags {
  AuditFlags()
      : TrainFlags(
            "audit",
            "Attacks a training with the options of `fodp train` and reports a lower bound on its epsilon beside the epsilon that it "
            "claims. It replays steps with and without single records, measures the noise and the lots, and looks for canaries, "
            "records made to be found, in what is released. Exit status 3 where a check fails. The report is computed from the "
            "training rows without privacy: do not publish it for private data.",
            "fodp audit --method fo-dp-sgd --data fashion-mnist --epsilon 3 --out audits/demo") {
    flags.add("Audit", asked);
    flags.add("Audit", self);
    for (const char* name : kRefused) flags.describe(name, std::nullopt);
    flags.describe("out", "write the report to this directory: audit.txt to read, audit.json for programs");
  }

  struct Self {
    bool self_test = false;
    static auto fields() {
      return std::tuple{
          field("self-test", &Self::self_test,
                "audit a small run with faults planted into it, all of which must be found, and a sound one, which must pass; "
                "takes no option of a training")};
    }
  };

  AuditOptions asked;
  Self self;
};

constexpr const char* kFiles[] = {"audit.json", "audit.txt"};

AuditProgress progress(const Flags& flags) {
  return [quiet = flags.quiet()](const std::string& part) {
    if (!quiet) note("fodp: " + part + "\n");
  };
}

nlohmann::ordered_json report_json(const AuditReport& report, const Plan& plan, const RunIdentity& identity) {
  nlohmann::ordered_json out;
  out["verdict"] = report.passes() ? "pass" : "violation";
  out["claimed_epsilon"] = json_number(report.claimed_epsilon);
  out["epsilon_lower"] = json_number(report.epsilon_lower());
  out["confidence"] = report.confidence;
  out["delta"] = report.delta;
  out["bounds"] = {{"gaussian", json_number(report.canaries.gaussian)},
                   {"counted", json_number(report.canaries.counted)},
                   {"one_run", json_number(report.canaries.one_run)},
                   {"of_a_sound_run", json_number(report.canaries.of_sound_run)}};
  out["canaries"] = report.canaries.canaries;
  out["private"] = false;
  out["checks"] = nlohmann::ordered_json::array();
  for (const AuditCheck& check : report.checks)
    out["checks"].push_back({{"name", check.name},
                             {"holds", check.holds ? nlohmann::ordered_json(*check.holds) : nlohmann::ordered_json()},
                             {"what", check.what}});
  out["run"] = summary_json(plan, nullptr, *objective_table().front(), identity);  // what was audited
  return out;
}

std::string report_text(const AuditReport& report, const Plan& plan, const RunIdentity& identity) {
  std::string text = fmt::format("{}\n\n  claimed      epsilon {} at delta {}\n  lower bound  epsilon {:.4f}, with confidence {}\n\n",
                                 report.passes() ? "PASS: no check failed" : "VIOLATION: what is claimed does not hold",
                                 upper_text(report.claimed_epsilon), number_text(report.delta), report.epsilon_lower(), report.confidence);
  for (const AuditCheck& check : report.checks)
    text += fmt::format("  {:<5}  {:<22} {}\n", !check.holds ? "-" : *check.holds ? "holds" : "FAILS", check.name, check.what);
  for (const std::string& reason : plan.insecure()) text += "\n  NOT PRIVATE: " + reason;
  for (const std::string& warning : plan.privacy_warnings()) text += "\n  warning: " + warning;
  return text + fmt::format(
                    "\nAudited: {} on {} ({} examples), {} steps, noise multiplier {}; {}, fodp {}. This report is computed from the "
                    "training rows "
                    "without privacy.\n",
                    plan.method().name, plan.options().data_name, plan.train_examples(), plan.steps(), plan.noise_multiplier().text(),
                    identity.date, kVersion);
}

int self_test(const Flags& flags) {
  for (const std::string& name : flags.given())
    check_input(name == "self-test" || name == "json" || name == "quiet", "--{} and --self-test: the self-test has a run of its own", name);
  const SelfTest result = audit_self_test(progress(flags));
  if (flags.json()) {
    nlohmann::ordered_json out;
    out["faults"] = nlohmann::ordered_json::array();
    for (const SelfTest::Found& fault : result.faults)
      out["faults"].push_back({{"name", fault.name}, {"caught", fault.caught}, {"by", fault.by}});
    out["clean"] = result.clean;
    out["null_epsilon"] = json_number(result.null_epsilon);
    out["clean_epsilon_lower"] = json_number(result.clean_epsilon_lower);
    out["clean_claimed_epsilon"] = json_number(result.claimed_epsilon);
    print_json(out);
  } else {
    std::string text = fmt::format("  {:<6}  a sound run: epsilon at least {:.4f} of {} claimed\n", result.clean ? "passes" : "FAILS",
                                   result.clean_epsilon_lower, upper_text(result.claimed_epsilon));
    text += fmt::format("  {:<6}  scores that say nothing: epsilon at least {:.4f}\n", result.null_epsilon == 0 ? "passes" : "FAILS",
                        result.null_epsilon);
    for (std::size_t i = 0; i < result.faults.size(); ++i) {
      const SelfTest::Found& fault = result.faults[i];
      text += fmt::format("  {:<6}  {}: {} ({})\n", fault.caught ? "caught" : "MISSED", fault.name, planted_faults()[i].summary,
                          fmt::join(fault.by, ", "));
    }
    print_text(text);
  }
  return result.passes() ? 0 : 3;
}

void check_options(const AuditFlags& line) {
  for (const char* name : kRefused)
    check_input(!line.flags.given(name), "--{}: an audit looks at one training from its start, and has no use for it", name);
  check_input(line.options.run.spent.names.empty(), "--spent: an audit looks at one run; leave it out");  // of a config.json
}

}  // namespace

int audit(const Words& words) {
  AuditFlags line;
  line.show_options_of(words);
  if (!line.flags.parse(words)) return 0;
  if (line.self.self_test) return self_test(line.flags);
  check_options(line);
  line.fill_feature_defaults();
  const std::optional<std::string>& out = line.options.run.out;
  if (out) check_can_make_run(*out, kFiles);
  // All that can be wrong with the options, before any row is read.
  if (const std::optional<DataSizes> sizes = sizes_before_reading(line.options.data)) make_plan(line.options, *sizes);

  const RunData data = load_with_features(line.options.data, feature_work(line.flags.quiet(), line.options.speed.threads));
  const Plan plan = make_plan(line.options, data.sizes());
  Model model = initial_model(line.options, data.about);
  const Objective& objective = objective_for(data.about.target);
  const at::Tensor class_weights = line.options.run.class_weights.tensor();
  // The noise that the run would have, which may be more than a run by itself needs: it is calibrated with what earlier runs cost.
  PrivateOptions options = line.options;
  options.privacy.epsilon.reset();
  options.privacy.noise_multiplier = plan.noise_multiplier();
  options.privacy.delta = plan.delta();
  options.update.lr = plan.options().update.lr;
  const AuditReport report = fodp::audit(
      *model.module,
      [&](const Tensors& inputs, const at::Tensor& targets) {
        return unit_losses(objective, model.forward(inputs), targets, class_weights);
      },
      training_rows(*data.train), options, line.asked, progress(line.flags));
  const RunIdentity identity = identity_now(data.fingerprint);
  const nlohmann::ordered_json json = report_json(report, plan, identity);
  const std::string text = report_text(report, plan, identity);
  if (out) {
    make_run_directory(*out);
    write_file_atomically(std::filesystem::path(*out) / "audit.json", json.dump(2) + "\n", "audit report");
    write_file_atomically(std::filesystem::path(*out) / "audit.txt", text, "audit report");
    for (const char* name : kFiles)
      std::filesystem::permissions(std::filesystem::path(*out) / name,
                                   std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  }
  line.flags.json() ? print_json(json) : print_text(text);
  return report.passes() ? 0 : 3;
}

}  // namespace fodp::app
