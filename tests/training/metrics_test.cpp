// Measures of predictions, against numbers worked out by hand.
#include "fodp/training/metrics.h"

#include <cmath>

#include <gtest/gtest.h>

namespace fodp {
namespace {

TEST(Metrics, OfTwoClasses) {
  const std::vector<double> probabilities = {.9, .1, .6, .4, .4, .6, .2, .8};
  const ClassMetrics metrics = class_metrics(probabilities, std::vector<std::int64_t>{0, 1, 0, 1}, 2);
  EXPECT_EQ(metrics.accuracy, .5);
  EXPECT_NEAR(metrics.log_loss, -(std::log(.9) + std::log(.4) + std::log(.4) + std::log(.8)) / 4, 1e-12);
  EXPECT_EQ(metrics.confusion, (std::vector<std::vector<std::int64_t>>{{1, 1}, {1, 1}}));
  EXPECT_EQ(*metrics.roc_auc, .75);  // of four pairs, .4 below .6 is the only wrong one
  EXPECT_EQ(*metrics.class_accuracy[1], .5);
  // Confidences .9, .6, .6, .8 in bins of width 1/15: |.9 - 1|, |1.2 - 0|, |.8 - 1|, each over 4 rows.
  EXPECT_NEAR(metrics.calibration_error, (.1 + 1.2 + .2) / 4, 1e-12);
}

TEST(Metrics, TiesAreHalfAPair) {
  EXPECT_EQ(*class_metrics(std::vector<double>{.5, .5, .5, .5, .5, .5}, std::vector<std::int64_t>{0, 1, 1}, 2).roc_auc, .5);
}

TEST(Metrics, AClassWithoutRowsHasNone) {
  const ClassMetrics metrics = class_metrics(std::vector<double>{.9, .1}, std::vector<std::int64_t>{0}, 2);
  EXPECT_FALSE(metrics.roc_auc);
  EXPECT_FALSE(metrics.class_accuracy[1]);
}

TEST(Metrics, OfNumbers) {
  const NumberMetrics metrics = number_metrics(std::vector<double>{1, 2, 5}, std::vector<double>{1, 3, 3});
  EXPECT_NEAR(metrics.rmse, std::sqrt(5.0 / 3), 1e-12);
  EXPECT_NEAR(metrics.mae, 1, 1e-12);
  EXPECT_NEAR(metrics.r2, 1 - 5 / (8.0 / 3), 1e-12);
  EXPECT_EQ(number_metrics(std::vector<double>{1}, std::vector<double>{1}).r2, 0);
}

}  // namespace
}  // namespace fodp
