#include "fodp/data/sampling.h"

#include <algorithm>
#include <cmath>

#include "fodp/base/check.h"

namespace fodp {
namespace {

// How full a block is on average: the rest is room for the spread of a Poisson lot, so that few blocks are halved.
constexpr double kFill = .85;

// Slots per block of the stream: whoever is sampled does not depend on how the rows are blocked.
constexpr std::int64_t kStreamSlots = 8192;

}  // namespace

PoissonSampler::PoissonSampler(std::int64_t records, double sample_rate, std::int64_t block_rows, RandomStream stream)
    : records_(records), block_rows_(block_rows), sample_rate_(sample_rate), threshold_(0), stream_(std::move(stream)) {
  check_input(records >= 1, "there are {} records: at least 1 is needed", records);
  check_input(sample_rate > 0 && sample_rate <= 1, "sample rate is {}: must be in (0, 1]", sample_rate);
  check_input(block_rows >= 1, "a block has at most {} rows: must be at least 1", block_rows);
  const double expected = static_cast<double>(records) * sample_rate;
  if (sample_rate == 1) {
    ranges_ = (records + block_rows - 1) / block_rows;
  } else {
    threshold_ = static_cast<std::uint64_t>(std::floor(std::ldexp(sample_rate, 64)));  // q < 1, so below 2^64
    ranges_ = std::clamp<std::int64_t>(std::ceil(expected / (kFill * block_rows)), 1, records);
  }
}

Lot PoissonSampler::draw(std::uint64_t number) const {
  const std::vector<std::int64_t> sampled = sampled_rows(number);
  Lot lot(sample_rate_);
  auto first = sampled.begin();
  for (std::int64_t range = 0; range < ranges_; ++range) {
    const std::int64_t begin = sample_rate_ == 1 ? range * block_rows_ : range * records_ / ranges_;
    const std::int64_t end = sample_rate_ == 1 ? std::min(begin + block_rows_, records_) : (range + 1) * records_ / ranges_;
    const auto last = std::lower_bound(first, sampled.end(), end);
    split(begin, end, {first, last}, lot);
    first = last;
  }
  return lot;
}

std::vector<std::int64_t> PoissonSampler::sampled_rows(std::uint64_t number) const {
  std::vector<std::int64_t> rows;
  std::vector<std::uint64_t> words;
  for (std::int64_t begin = 0; begin < records_; begin += kStreamSlots) {
    const std::int64_t end = std::min(begin + kStreamSlots, records_);
    if (sample_rate_ < 1) {
      words.resize(end - begin);
      stream_.fill(number, static_cast<std::uint32_t>(begin / kStreamSlots), words);
    }
    for (std::int64_t slot = begin; slot < end; ++slot)
      if (sample_rate_ == 1 || words[slot - begin] < threshold_) rows.push_back(slot);
  }
  return rows;
}

void PoissonSampler::split(std::int64_t begin, std::int64_t end, std::vector<std::int64_t> rows, Lot& lot) const {
  if (rows.empty()) return;
  if (static_cast<std::int64_t>(rows.size()) <= block_rows_) {
    lot.blocks_.push_back(std::move(rows));
    return;
  }
  const std::int64_t middle = begin + (end - begin) / 2;
  const auto cut = std::lower_bound(rows.begin(), rows.end(), middle);
  split(begin, middle, {rows.begin(), cut}, lot);
  split(middle, end, {cut, rows.end()}, lot);
}

}  // namespace fodp
