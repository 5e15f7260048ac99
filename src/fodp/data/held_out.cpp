#include "fodp/data/held_out.h"

#include <numeric>

#include "fodp/base/check.h"

namespace fodp {
namespace {

std::uint64_t first_word(Sha256& hash) {
  std::uint64_t word = 0;
  const Sha256::Digest digest = hash.digest();
  for (std::size_t i = 0; i < sizeof word; ++i) word = word << 8 | digest[i];
  return word;
}

}  // namespace

Sha256 HoldOut::start() const {
  Sha256 hash;
  hash.add(fmt::format("fodp held-out rows {}", seed_));
  return hash;
}

bool HoldOut::unit_is_held_out(Sha256& hash) const { return is_below_fraction(first_word(hash)); }

bool HoldOut::row_is_held_out(Sha256& hash) {
  std::uint64_t word = first_word(hash);
  if (const std::uint32_t before = equal_[word]++; before > 0) {
    Sha256 again;
    again.add(fmt::format("fodp held-out row {} of {} {}", before, word, seed_));
    word = first_word(again);
  }
  return is_below_fraction(word);
}

std::optional<HoldOut> hold_out_of(const DataOptions& options) {
  if (!options.test_fraction) return std::nullopt;
  return HoldOut(*options.test_fraction, static_cast<std::uint64_t>(options.test_seed.value_or(0)));
}

std::vector<std::int64_t> first_rows(std::vector<std::int64_t> rows, const std::optional<std::int64_t>& size, std::string_view option) {
  if (!size) return rows;
  check_input(*size <= static_cast<std::int64_t>(rows.size()), "{} is {}: there are {} rows", option, *size, rows.size());
  rows.resize(static_cast<std::size_t>(*size));
  return rows;
}

std::vector<std::int64_t> first_rows(std::int64_t rows, const std::optional<std::int64_t>& size, std::string_view option) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(rows));
  std::iota(all.begin(), all.end(), 0);
  return first_rows(std::move(all), size, option);
}

RowsInTwo in_two(std::int64_t rows, const std::vector<bool>& held_out, const DataOptions& options) {
  RowsInTwo two;
  for (std::int64_t row = 0; row < rows; ++row)
    (!held_out.empty() && held_out[static_cast<std::size_t>(row)] ? two.test : two.train).push_back(row);
  const std::string fraction = number_text(options.test_fraction.value_or(0));
  check_input(!two.train.empty(), "`test-fraction` {}: no row is left to train on", fraction);
  check_input(!options.test_fraction || !two.test.empty(), "`test-fraction` {}: no row was held out: there are too few for it", fraction);
  two.train = first_rows(std::move(two.train), options.train_size, "`train-size`");
  if (options.test_fraction) two.test = first_rows(std::move(two.test), options.test_size, "`test-size`");
  return two;
}

}  // namespace fodp
