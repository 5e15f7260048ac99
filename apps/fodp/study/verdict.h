// Whether a claim of a paper holds in our records.
#pragma once

#include <string>
#include <vector>

#include "study/results.h"
#include "study/statistics.h"

namespace fodp::app {

// `fails`: the interval of the difference over shared seeds ends below the difference that was reported; or both are the same on every
// seed; or the difference has the opposite sign, and p, Holm-corrected over the study's claims, is below .05.
// `holds`: none of these, and it has the claimed sign at the same level.
// `open`: the runs there are cannot tell.
// What follows from the options alone, such as epsilon, is compared as it is: it holds if it differs by more than a thousandth.
enum class Outcome { holds, fails, open };

struct Verdict {
  Claim claim;
  Outcome outcome = Outcome::open;
  Comparison difference;  // of the claimed better from the claimed worse, in the claimed direction
  std::optional<double> p_holm;
  double size = 0;  // of the claimed worse, on some seed
};

std::vector<Verdict> verdicts_of(const StudyResults& results);

std::string outcome_text(Outcome outcome);            // "holds", "does not hold", "cannot be told"
std::string verdict_numbers(const Verdict& verdict);  // "difference -.0112 [-.0150, -.0074], 5 seeds, p .0030 (Holm .0060); claimed +.0413"

}  // namespace fodp::app
