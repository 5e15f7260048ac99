// Whether a claim of a paper holds in our records.
#pragma once

#include <string>
#include <vector>

#include "study/results.h"
#include "study/statistics.h"

namespace fodp::app {

// `holds`: the difference over shared seeds has the claimed sign, and p, Holm-corrected over the study's claims, is below .05.
// `fails`: it has the opposite sign at the same level, or its interval has neither the claimed difference nor anything beyond it.
// `open`: the runs there are cannot tell.
enum class Outcome { holds, fails, open };

struct Verdict {
  Claim claim;
  Outcome outcome = Outcome::open;
  Comparison difference;  // of the claimed better from the claimed worse, in the claimed direction
  std::optional<double> p_holm;
};

std::vector<Verdict> verdicts_of(const StudyResults& results);

std::string outcome_text(Outcome outcome);            // "holds", "does not hold", "cannot be told"
std::string verdict_numbers(const Verdict& verdict);  // "difference -.0112 [-.0150, -.0074], 5 seeds, p .0030 (Holm .0060); claimed +.0413"

}  // namespace fodp::app
