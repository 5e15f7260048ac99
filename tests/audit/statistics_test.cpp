#include <algorithm>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "fodp/audit/noise_statistics.h"
#include "fodp/audit/sampler_statistics.h"
#include "fodp/noise/lattice.h"

namespace fodp {
namespace {

bool holds(const std::vector<AuditCheck>& checks, std::string_view name) {
  for (const AuditCheck& check : checks)
    if (check.name == name) return check.holds.value();
  ADD_FAILURE() << "no check " << name;
  return false;
}

bool all_hold(const std::vector<AuditCheck>& checks) {
  return std::ranges::all_of(checks, [](const AuditCheck& check) { return check.holds == true; });
}

std::vector<double> normals(std::mt19937_64& engine, std::size_t count) {
  std::normal_distribution<double> normal;
  std::vector<double> values(count);
  for (double& value : values) value = normal(engine);
  return values;
}

TEST(NoiseStatistics, StandardNormalsPass) {
  std::mt19937_64 engine(1);
  NoiseStatistics noise;
  for (int i = 0; i < 20; ++i) noise.add(normals(engine, 20000));
  EXPECT_TRUE(all_hold(noise.checks(.95)));
  const auto [low, high] = noise.scale_interval(.95);
  EXPECT_LT(low, 1.003);
  EXPECT_GT(high, .997);
}

// One percent off with 400,000 values is nine standard errors.
TEST(NoiseStatistics, AScaleThatIsOffIsFoundOnBothSides) {
  for (const double factor : {.98, 1.02, .5}) {
    std::mt19937_64 engine(2);
    NoiseStatistics noise;
    for (int i = 0; i < 20; ++i) {
      std::vector<double> values = normals(engine, 20000);
      for (double& value : values) value *= factor;
      noise.add(values);
    }
    EXPECT_FALSE(holds(noise.checks(.95), "noise.scale")) << factor;
  }
}

TEST(NoiseStatistics, NoiseOfAnotherShapeIsFound) {
  std::mt19937_64 engine(3);
  std::uniform_real_distribution<double> uniform(-std::sqrt(3.0), std::sqrt(3.0));  // mean 0, variance 1
  std::vector<double> values(100000);
  for (double& value : values) value = uniform(engine);
  NoiseStatistics noise;
  noise.add(values);
  EXPECT_FALSE(holds(noise.checks(.95), "noise.normality"));
}

TEST(NoiseStatistics, RepeatedAndCorrelatedNoiseIsFound) {
  std::mt19937_64 engine(4);
  const std::vector<double> first = normals(engine, 2 * kNoiseBlock);
  NoiseStatistics again;
  for (int i = 0; i < 3; ++i) again.add(first);
  EXPECT_FALSE(holds(again.checks(.95), "noise.steps"));

  NoiseStatistics far_apart;  // as far as no correlation is looked at
  far_apart.add(first);
  for (int i = 0; i < 20; ++i) far_apart.add(normals(engine, kNoiseBlock));
  far_apart.add(first);
  EXPECT_FALSE(holds(far_apart.checks(.95), "noise.steps"));

  NoiseStatistics mixed;  // a fifth of the noise comes again
  std::vector<double> last = first;
  for (int i = 0; i < 10; ++i) {
    std::vector<double> now = normals(engine, last.size());
    for (std::size_t k = 0; k < now.size(); ++k) now[k] = std::sqrt(1 - .04) * now[k] + .2 * last[k];
    mixed.add(now);
    last = now;
  }
  EXPECT_FALSE(holds(mixed.checks(.95), "noise.steps"));

  NoiseStatistics blocks;  // one block of noise for two
  std::vector<double> doubled(first.begin(), first.begin() + kNoiseBlock);
  doubled.insert(doubled.end(), first.begin(), first.begin() + kNoiseBlock);
  blocks.add(doubled);
  EXPECT_FALSE(holds(blocks.checks(.95), "noise.coordinates"));
  EXPECT_FALSE(holds(blocks.checks(.95), "noise.steps"));
}

TEST(NoiseStatistics, OneCoordinateOrOneReleaseWithoutNoiseIsFound) {
  std::mt19937_64 engine(7);
  NoiseStatistics coordinate, release;
  for (int i = 0; i < 60; ++i) {
    std::vector<double> values = normals(engine, 5000);
    values[17] = 0;
    coordinate.add(values);
    values = normals(engine, 5000);
    if (i == 30) std::ranges::transform(values, values.begin(), [](double value) { return value / 2; });
    release.add(values);
  }
  EXPECT_FALSE(holds(coordinate.checks(.95), "noise.scale"));
  EXPECT_FALSE(holds(release.checks(.95), "noise.scale"));
}

TEST(NoiseStatistics, NoiseThatBeginsAnewWithinAReleaseIsFound) {
  std::mt19937_64 engine(8);
  NoiseStatistics noise;
  std::vector<double> values = normals(engine, 5000);
  std::copy_n(values.begin(), 1000, values.begin() + 3123);
  noise.add(values);
  EXPECT_FALSE(holds(noise.checks(.95), "noise.steps"));
}

TEST(NoiseStatistics, FewValuesRaiseNoAlarm) {
  std::mt19937_64 engine(9);
  for (int trial = 0; trial < 2000; ++trial) {
    NoiseStatistics noise;
    for (int i = 0; i < 1 + trial % 3; ++i) noise.add(normals(engine, 1 + trial % 5));
    for (const AuditCheck& check : noise.checks(.95)) ASSERT_NE(check.holds, std::optional(false)) << check.what;
  }
}

std::vector<std::int64_t> poisson_lot(std::mt19937_64& engine, std::int64_t records, double rate, std::int64_t cycle = 1,
                                      std::int64_t group = 0) {
  std::bernoulli_distribution coin(rate);
  std::vector<std::int64_t> rows;
  for (std::int64_t i = group; i < records; i += cycle)
    if (coin(engine)) rows.push_back(i);
  return rows;
}

TEST(SamplerStatistics, PoissonLotsPass) {
  std::mt19937_64 engine(1);
  for (const double rate : {.002, .05, .5}) {
    SamplerStatistics lots(3000);
    for (int t = 0; t < 300; ++t) lots.add({rate}, poisson_lot(engine, 3000, rate));
    for (const AuditCheck& check : lots.checks()) EXPECT_TRUE(*check.holds) << rate << " " << check.what;
  }
  SamplerStatistics cyclic(3001);
  for (int t = 0; t < 300; ++t) cyclic.add({.2, 4, t % 4}, poisson_lot(engine, 3001, .2, 4, t % 4));
  EXPECT_TRUE(all_hold(cyclic.checks()));
  SamplerStatistics whole(100);
  std::vector<std::int64_t> all(100);
  std::iota(all.begin(), all.end(), 0);
  for (int t = 0; t < 10; ++t) whole.add({1.0}, all);
  EXPECT_TRUE(all_hold(whole.checks()));
}

// Few lots and rare records, where sums are far from normal: with 300 audits of each kind, not one alarm of a rate of 1e-8 is to be
// expected.
TEST(SamplerStatistics, SmallSoundRunsRaiseNoAlarm) {
  std::mt19937_64 engine(5);
  struct Run {
    std::int64_t records;
    double rate;
    int lots;
  };
  for (const Run& run : {Run{2000, .01, 1}, {100, .01, 3}, {2000, .0005, 20}, {3, .0171, 1}, {1, .5, 3}, {20, .5, 4}}) {
    for (int trial = 0; trial < 300; ++trial) {
      SamplerStatistics lots(run.records);
      for (int t = 0; t < run.lots; ++t) lots.add({run.rate}, poisson_lot(engine, run.records, run.rate));
      for (const AuditCheck& check : lots.checks()) ASSERT_TRUE(*check.holds) << run.records << " " << run.rate << " " << check.what;
    }
  }
}

TEST(SamplerStatistics, OneRecordThatComesTooOftenIsFound) {
  std::mt19937_64 engine(6);
  SamplerStatistics lots(20000);
  for (int t = 0; t < 300; ++t) {
    std::vector<std::int64_t> rows = poisson_lot(engine, 20000, .02);
    if (t % 8 == 0 && !std::ranges::binary_search(rows, 777)) rows.insert(std::ranges::lower_bound(rows, 777), 777);
    lots.add({.02}, rows);
  }
  EXPECT_FALSE(holds(lots.checks(), "sampler.rate"));
}

TEST(SamplerStatistics, ShufflingIsFoundByItsLotSizesAndItsOrder) {
  std::mt19937_64 engine(2);
  SamplerStatistics lots(3000);
  std::vector<std::int64_t> order(3000);
  std::iota(order.begin(), order.end(), 0);
  for (int t = 0; t < 200; ++t) {
    if (t % 20 == 0) std::ranges::shuffle(order, engine);
    std::vector<std::int64_t> rows(order.begin() + t % 20 * 150, order.begin() + (t % 20 + 1) * 150);
    std::ranges::sort(rows);
    lots.add({.05}, rows);
  }
  const std::vector<AuditCheck> checks = lots.checks();
  EXPECT_FALSE(holds(checks, "sampler.lot_size"));
  EXPECT_FALSE(holds(checks, "sampler.rate"));          // every record comes as often as every other
  EXPECT_FALSE(holds(checks, "sampler.independence"));  // and never twice in a row
}

TEST(SamplerStatistics, AnotherRateAndRecordsThatComeTogetherAreFound) {
  std::mt19937_64 engine(3);
  SamplerStatistics more(3000), pairs(3000), strangers(3000);
  for (int t = 0; t < 300; ++t) {
    more.add({.05}, poisson_lot(engine, 3000, .053));
    std::vector<std::int64_t> rows;
    for (const std::int64_t i : poisson_lot(engine, 1500, .05)) rows.insert(rows.end(), {2 * i, 2 * i + 1});
    pairs.add({.05}, rows);
    strangers.add({.2, 4, t % 4}, poisson_lot(engine, 3000, .05));
  }
  EXPECT_FALSE(holds(more.checks(), "sampler.rate"));
  EXPECT_FALSE(holds(pairs.checks(), "sampler.independence"));
  EXPECT_FALSE(holds(strangers.checks(), "sampler.rate"));
}

}  // namespace
}  // namespace fodp
