// Replays steps of a run on neighbouring data with the same randomness, and checks what privacy rests on: the first steps, and some after a
// hundred, or near the end of a shorter run, when memories are full. Nothing here is left to chance but the last check.
//
//   replay.sensitivity   With a record taken away, or replaced by one that is made to be hard to bound, each sum moves by at most its clip
//                        norm; a record that is not in a lot moves it not at all.
//   replay.control_flow  The verbs of the method, its public numbers and the state of the run after it do not depend on that record, once
//   the
//                        releases are the same.
//   replay.memory        A run whose sums and noise are others, but whose noised sums are the same, releases the same: the mechanism, its
//                        memory included, knows the rows only through noised sums.
//   replay.threads       The sums and the noise do not depend on the number of threads.
//   replay.resume        A run that goes on from a checkpoint has noise that was not used before, and another each time.
#pragma once

#include <vector>

#include "fodp/audit/check.h"
#include "fodp/audit/watched_run.h"

namespace fodp {

std::vector<AuditCheck> replay_checks(const AuditSubject& subject, std::uint64_t seed);

}  // namespace fodp
