// How well predictions are, in the usual measures.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace fodp {

struct ClassMetrics {
  double accuracy = 0;
  double log_loss = 0;                                // mean of -log of the true class's probability
  double calibration_error = 0;                       // expected calibration error of the most probable class, 15 bins of equal width
  std::optional<double> roc_auc;                      // of two classes, the second being the positive one; none if a class has no row
  std::vector<std::vector<std::int64_t>> confusion;   // [true class][predicted class]
  std::vector<std::optional<double>> class_accuracy;  // of the rows of each class; none if it has no row
};

// `probabilities` has `classes` numbers for each row, row after row.
ClassMetrics class_metrics(std::span<const double> probabilities, std::span<const std::int64_t> labels, std::int64_t classes);

struct NumberMetrics {
  double rmse = 0, mae = 0, r2 = 0;
};
NumberMetrics number_metrics(std::span<const double> predictions, std::span<const double> labels);

}  // namespace fodp
