// A small data set in memory: noisy prototypes of a format's classes, the same on every call.
#pragma once

#include <random>

#include "fodp/data/dataset.h"

namespace fodp::testing {

inline Examples small_examples(std::int64_t count, std::uint64_t seed, std::string_view name = "mnist") {
  const DataFormat& format = find_data_source(name).format;
  std::mt19937 prototypes(1), engine(static_cast<std::uint32_t>(seed));
  std::vector<std::uint8_t> pixels, labels, means(format.classes * format.features());
  for (std::uint8_t& mean : means) mean = static_cast<std::uint8_t>(prototypes() % 200);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint8_t label = static_cast<std::uint8_t>(engine() % format.classes);
    labels.push_back(label);
    for (std::int64_t k = 0; k < format.features(); ++k)
      pixels.push_back(static_cast<std::uint8_t>(means[label * format.features() + k] + engine() % 56));
  }
  return Examples(format, std::move(pixels), std::move(labels));
}

inline Dataset small_data(std::int64_t train = 60, std::int64_t test = 40, std::string_view name = "mnist") {
  return {&find_data_source(name).format, small_examples(train, 2, name), small_examples(test, 3, name)};
}

}  // namespace fodp::testing
