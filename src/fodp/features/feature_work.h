// How features are computed and who is told of it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "fodp/base/parallel.h"
#include "fodp/data/own_data.h"

namespace fodp {

// Tells how far a long piece of work is, from any of its threads, one at a time.
using WorkDone = std::function<void(std::int64_t done, std::int64_t all)>;

// Takes the features of images [first, first + count), row after row. Called from several threads at once, for each image once.
using TakeFeatures = std::function<void(std::int64_t first, std::int64_t count, const float* features)>;

struct FeatureWork {
  ParallelFor parallel = one_by_one;
  std::function<void(const std::string& text)> note = {};
  std::function<void(std::string_view what, std::int64_t done, std::int64_t all)> progress = {};  // from several threads, one at a time
  ReadProgress read = {};                                                                         // of the images themselves

  void tell(const std::string& text) const {
    if (note) note(text);
  }
  WorkDone told(std::string what) const {
    return [this, what = std::move(what)](std::int64_t done, std::int64_t all) {
      if (progress) progress(what, done, all);
    };
  }
};

}  // namespace fodp
