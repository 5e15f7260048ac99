// Checks a private training by attack: the run is watched, replayed on neighbouring data, its noise and its lots are measured, and canaries
// are looked for in what it releases. The verdict is a lower bound on epsilon beside the epsilon that is claimed.
//
//   fodp::AuditReport report = fodp::audit(*model, losses, rows, options);
//   for (const fodp::AuditCheck& check : report.checks) std::cout << check.name << ": " << check.what << "\n";
//   if (!report.passes()) return 3;
//
// It finds faults in what it runs: the model, the loss, the function that fetches rows, the stages, the sampler, the mechanism. A bound
// below the claim is no proof of the claim; that rests on the accounting (docs/accounting.md). What a report tells is computed from the
// training rows without privacy: an audit is for data that may be looked at, or for whoever may look at the data.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "fodp/audit/canaries.h"
#include "fodp/audit/check.h"
#include "fodp/audit/watched_run.h"

namespace fodp {

struct AuditOptions {
  std::int64_t canaries = 20000;
  double confidence = .95;

  static auto fields() {
    return std::tuple{
        field("canaries", &AuditOptions::canaries,
              "records made to be found, over all runs; a run has at most one for each training example and each parameter, and up to 10 "
              "runs are made",
              between(2, 1e6)),
        field("confidence", &AuditOptions::confidence, "of the lower bound on epsilon", strictly_between(.5, 1)),
    };
  }
};

struct AuditReport {
  double claimed_epsilon = 0, delta = 0;
  double confidence = 0;
  CanaryResult canaries;
  std::vector<AuditCheck> checks;

  double epsilon_lower() const { return canaries.epsilon_lower; }
  bool passes() const;  // no check failed
};

// Called with a few words when a part of an audit begins.
using AuditProgress = std::function<void(const std::string& part)>;

// Audits what PrivateSteps would do with the same arguments, over all steps of the plan. With `options.insecure_seed` the audit repeats
// itself. The model has its parameters back afterwards. InputError for a run without noise, which has nothing to audit.
AuditReport audit(torch::nn::Module& model, RowLosses losses, TrainingRows rows, const PrivateOptions& options,
                  const AuditOptions& asked = {}, const AuditProgress& progress = {});
AuditReport audit(const AuditSubject& subject, const AuditOptions& asked, const AuditProgress& progress = {});

}  // namespace fodp
