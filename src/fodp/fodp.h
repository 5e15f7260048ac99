// What fodp offers to users: private training of their own models on their own rows, or of named models on named data.
#pragma once

#include "fodp/audit/audit.h"             // IWYU pragma: export
#include "fodp/core.h"                    // IWYU pragma: export
#include "fodp/files/state_dict.h"        // IWYU pragma: export
#include "fodp/gradients/attention.h"     // IWYU pragma: export
#include "fodp/gradients/conv.h"          // IWYU pragma: export
#include "fodp/gradients/embedding.h"     // IWYU pragma: export
#include "fodp/gradients/group_norm.h"    // IWYU pragma: export
#include "fodp/gradients/layer_norm.h"    // IWYU pragma: export
#include "fodp/gradients/linear.h"        // IWYU pragma: export
#include "fodp/gradients/mixing.h"        // IWYU pragma: export
#include "fodp/gradients/rms_norm.h"      // IWYU pragma: export
#include "fodp/training/model_file.h"     // IWYU pragma: export
#include "fodp/training/private_steps.h"  // IWYU pragma: export
#include "fodp/training/run_directory.h"  // IWYU pragma: export
#include "fodp/training/statement.h"      // IWYU pragma: export
#include "fodp/training/trainer.h"        // IWYU pragma: export
