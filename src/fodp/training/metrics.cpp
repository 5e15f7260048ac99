#include "fodp/training/metrics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "fodp/base/check.h"

namespace fodp {
namespace {

constexpr std::size_t kBins = 15;

// The share of pairs of a positive and a negative row in which the positive one has the higher score; a tie is half a pair.
std::optional<double> roc_auc(const std::vector<double>& scores, std::span<const std::int64_t> labels) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](std::size_t i) { return scores[i]; });
  double positives = 0, rank_sum = 0;
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    while (last < order.size() && scores[order[last]] == scores[order[first]]) ++last;
    const double rank = .5 * static_cast<double>(first + 1 + last);  // of all that are tied
    for (; first < last; ++first)
      if (labels[order[first]] == 1) ++positives, rank_sum += rank;
  }
  const double negatives = static_cast<double>(order.size()) - positives;
  if (positives == 0 || negatives == 0) return std::nullopt;
  return (rank_sum - positives * (positives + 1) / 2) / (positives * negatives);
}

}  // namespace

ClassMetrics class_metrics(std::span<const double> probabilities, std::span<const std::int64_t> labels, std::int64_t classes) {
  const std::size_t rows = labels.size(), width = static_cast<std::size_t>(classes);
  check_input(rows > 0 && probabilities.size() == rows * width, "{} probabilities of {} rows and {} classes", probabilities.size(), rows,
              classes);
  ClassMetrics out;
  out.confusion.assign(width, std::vector<std::int64_t>(width, 0));
  std::vector<double> confidence(kBins, 0), right(kBins, 0), scores;
  for (std::size_t row = 0; row < rows; ++row) {
    const auto own = probabilities.subspan(row * width, width);
    const auto best = static_cast<std::size_t>(std::ranges::max_element(own) - own.begin());
    const auto label = static_cast<std::size_t>(labels[row]);
    ++out.confusion[label][best];
    out.log_loss -= std::log(std::max(own[label], 1e-300)) / static_cast<double>(rows);
    const std::size_t bin = std::min(kBins - 1, static_cast<std::size_t>(own[best] * kBins));
    confidence[bin] += own[best];
    right[bin] += best == label ? 1 : 0;
    if (classes == 2) scores.push_back(own[1]);
  }
  for (std::size_t bin = 0; bin < kBins; ++bin) out.calibration_error += std::abs(confidence[bin] - right[bin]) / static_cast<double>(rows);
  std::int64_t correct = 0;
  for (std::size_t label = 0; label < width; ++label) {
    const auto& line = out.confusion[label];
    const std::int64_t of_class = std::accumulate(line.begin(), line.end(), std::int64_t{0});
    correct += line[label];
    out.class_accuracy.push_back(of_class == 0 ? std::nullopt
                                               : std::optional(static_cast<double>(line[label]) / static_cast<double>(of_class)));
  }
  out.accuracy = static_cast<double>(correct) / static_cast<double>(rows);
  if (classes == 2) out.roc_auc = roc_auc(scores, labels);
  return out;
}

NumberMetrics number_metrics(std::span<const double> predictions, std::span<const double> labels) {
  check_input(!labels.empty() && predictions.size() == labels.size(), "{} predictions of {} rows", predictions.size(), labels.size());
  const double rows = static_cast<double>(labels.size());
  const double mean = std::accumulate(labels.begin(), labels.end(), 0.0) / rows;
  double squared = 0, absolute = 0, variance = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const double error = predictions[i] - labels[i];
    squared += error * error;
    absolute += std::abs(error);
    variance += (labels[i] - mean) * (labels[i] - mean);
  }
  return {.rmse = std::sqrt(squared / rows), .mae = absolute / rows, .r2 = variance > 0 ? 1 - squared / variance : 0};
}

}  // namespace fodp
