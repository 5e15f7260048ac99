#include "fodp/data/sampling.h"

#include <algorithm>
#include <cmath>

#include "fodp/base/check.h"
#include "fodp/base/unique_id.h"

namespace fodp {
namespace {

// How full a block is on average: the rest is room for the spread of a Poisson lot, so that few blocks are halved.
constexpr double kFill = .85;

// Slots per block of the stream: whoever is sampled does not depend on how the rows are blocked.
constexpr std::int64_t kStreamSlots = 8192;

std::int64_t group_of(std::int64_t slot, const LotTerms& terms) {
  return terms.groups.empty() ? slot % terms.cycle : terms.groups[static_cast<std::size_t>(slot)];
}

}  // namespace

void Lot::take_sum() const {
  check_privacy(sums_left_ > 0, "this lot was drawn for {} sum{}, which {} made: draw another", draw_.queries(),
                draw_.queries() == 1 ? "" : "s", draw_.queries() == 1 ? "is" : "are");
  --sums_left_;
}

PoissonSampler::PoissonSampler(std::int64_t records, std::int64_t block_rows, RandomStream stream)
    : records_(records), block_rows_(block_rows), stream_(std::move(stream)), id_(unique_id()) {
  check_input(records >= 1, "there are {} records: at least 1 is needed", records);
  check_input(block_rows >= 1, "a block has at most {} rows: must be at least 1", block_rows);
  check_privacy(stream_.purpose() == Purpose::sampling, "rows are drawn from a stream for sampling, not one for another purpose");
  check_privacy(stream_.claim(id_),
                "this stream belongs to another sampler: both would draw the same rows, which are charged as if they were independent; "
                "make a RunKey for each sampler");
}

Lot PoissonSampler::draw(std::uint64_t number, const LotTerms& terms) {
  const double rate = terms.sample_rate, charged = terms.charged_rate.value_or(rate);
  check_input(rate > 0 && rate <= 1, "sample rate is {}: must be in (0, 1]", rate);
  check_input(terms.groups.empty() || static_cast<std::int64_t>(terms.groups.size()) == records_,
              "there are groups of {} records: there are {} records", terms.groups.size(), records_);
  check_privacy(charged >= rate, "a lot drawn at rate {} cannot be charged at rate {}", rate, charged);
  check_privacy(!last_ || number > *last_,
                "lot {} is asked for after lot {}: the numbers must ascend, since a lot that is drawn again has the same rows, and is "
                "charged as if they were drawn independently",
                number, last_.value_or(number));
  last_ = number;
  const std::uint64_t ticket = terms.cycle > 1 ? terms.turn / static_cast<std::uint64_t>(terms.cycle) : number;
  Lot lot(number, Draw({charged, ticket, terms.queries, terms.cycle, terms.turn}, id_));

  const bool whole = rate == 1 && terms.cycle == 1;
  const double expected = static_cast<double>(records_) * rate / static_cast<double>(terms.cycle);
  const std::int64_t ranges = whole ? (records_ + block_rows_ - 1) / block_rows_
                                    : std::clamp<std::int64_t>(std::ceil(expected / (kFill * block_rows_)), 1, records_);
  const std::vector<std::int64_t> sampled = sampled_rows(number, terms);
  auto first = sampled.begin();
  for (std::int64_t range = 0; range < ranges; ++range) {
    const std::int64_t begin = whole ? range * block_rows_ : range * records_ / ranges;
    const std::int64_t end = whole ? std::min(begin + block_rows_, records_) : (range + 1) * records_ / ranges;
    const auto last = std::lower_bound(first, sampled.end(), end);
    split(begin, end, {first, last}, lot);
    first = last;
  }
  return lot;
}

std::vector<std::int64_t> PoissonSampler::sampled_rows(std::uint64_t number, const LotTerms& terms) const {
  const bool all = terms.sample_rate == 1;
  const std::uint64_t threshold = all ? 0 : static_cast<std::uint64_t>(std::floor(std::ldexp(terms.sample_rate, 64)));  // below 2^64
  const auto group = static_cast<std::int64_t>(terms.turn % static_cast<std::uint64_t>(terms.cycle));
  std::vector<std::int64_t> rows;
  std::vector<std::uint64_t> words;
  for (std::int64_t begin = 0; begin < records_; begin += kStreamSlots) {
    const std::int64_t end = std::min(begin + kStreamSlots, records_);
    if (!all) {
      words.resize(end - begin);
      stream_.fill(number, static_cast<std::uint32_t>(begin / kStreamSlots), words);
    }
    for (std::int64_t slot = begin; slot < end; ++slot)
      if (group_of(slot, terms) == group && (all || words[slot - begin] < threshold)) rows.push_back(slot);
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
