// What the parts of a run are made from: public constants, fixed before the first row is read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fodp/base/schedule.h"
#include "fodp/stages/option_set.h"

namespace fodp {

// A layer's own parameters, weight and bias together: coordinates [begin, end) of the vector of all parameters.
struct LayerGroup {
  std::string name;
  std::int64_t begin, end;
  // Its first parameter with two axes or more, seen as a matrix (first axis, rest); 0 rows if there is none.
  std::int64_t matrix_offset = 0, rows = 0, columns = 0;
};

// The names of what was chosen for each stage, and what a stage must know of the others to tell whether they go together.
struct Chosen {
  std::string_view method, release, filter, update, clipping, averaging;
  std::int64_t sums_per_step = 1;     // gradient sums that the method makes of one lot
  bool own_sampling = false;          // the method draws lots at rates of its own
  bool clips_layers = false;          // layers are clipped one by one
  bool norm_moves = false;            // the clip norm follows releases
  bool counts_rows = false;           // a noisy count of unclipped rows comes with each sum
  bool noise_is_known = true;         // the variance of the noise in a release is known
  bool filters = false;               // a filter stands between release and update
  bool needs_noise_variance = false;  // the update rule asks for that variance
};

// What the noise of a run is chosen by, all of it public: a budget, or the noise itself where epsilon is 0.
struct NoiseTarget {
  double epsilon = 0, delta = 0;
  Schedule noise_multiplier = 0;
};

struct RunContext {
  OptionSet options;  // of the stages; what was left open is filled in
  Chosen chosen;
  std::int64_t train_examples = 1, steps = 1, steps_per_epoch = 1;
  Schedule sample_rate = 1, noise_multiplier = 0;
  double largest_effective_noise = 0;  // the largest noise multiplier that any step is charged for; 0 until the noise is known
  double end_noise = 1;                // the noise left in the sum of all releases, over that of independent noise
  double clip_norm = 1;
  double sensitivity = 1;  // of a gradient sum, over the clip norm: sqrt(G) where each of G layers is clipped to it
  double slack = 0;        // what finite precision adds to the sensitivity, relative
  std::int64_t parameters = 1;
  std::vector<LayerGroup> layers;
  std::vector<std::int64_t> row_shape;  // of the (first) input of one row; empty where it is not known
  NoiseTarget target;

  double expected_lot() const { return static_cast<double>(train_examples) * sample_rate.first(); }  // of the first step
  double noise_norm() const;  // sigma*C*sqrt(d): the expected norm of a release's noise in the first step
};

}  // namespace fodp
