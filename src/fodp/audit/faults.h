// The auditor's own test: audits of a small run with faults planted into it, each of which must be found, of a sound run, which must pass,
// and of scores that say nothing, which must give a bound of 0.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fodp/audit/audit.h"

namespace fodp {

struct PlantedFault {
  std::string name;
  std::string summary;
  std::unique_ptr<Fault> (*make)();
};

// The faults that are planted, by name.
const std::vector<PlantedFault>& planted_faults();

struct SelfTest {
  struct Found {
    std::string name;
    bool caught = false;
    std::vector<std::string> by;  // the checks that failed
  };
  std::vector<Found> faults;
  bool clean = false;       // the sound run passed every check
  double null_epsilon = 0;  // the bound from scores that say nothing
  double clean_epsilon_lower = 0, claimed_epsilon = 0;

  bool passes() const;
};

// The same each time: all randomness is from fixed seeds, and the data are made up.
SelfTest audit_self_test(const AuditProgress& progress = {});

}  // namespace fodp
