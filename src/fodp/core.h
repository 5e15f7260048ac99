// What fodp::core offers to users, without LibTorch: what a run costs, and the mechanisms that need no tensor.
#pragma once

#include "fodp/accounting/accountant.h"  // IWYU pragma: export
#include "fodp/accounting/calibrate.h"   // IWYU pragma: export
#include "fodp/accounting/event.h"       // IWYU pragma: export
#include "fodp/accounting/ledger.h"      // IWYU pragma: export
#include "fodp/accounting/run_file.h"    // IWYU pragma: export
#include "fodp/accounting/spending.h"    // IWYU pragma: export
#include "fodp/base/schedule.h"          // IWYU pragma: export
#include "fodp/base/state.h"             // IWYU pragma: export
#include "fodp/base/version.h"           // IWYU pragma: export
#include "fodp/mechanism/banded.h"       // IWYU pragma: export
#include "fodp/mechanism/fractional.h"   // IWYU pragma: export
#include "fodp/mechanism/gaussian.h"     // IWYU pragma: export
#include "fodp/noise/lattice.h"          // IWYU pragma: export
