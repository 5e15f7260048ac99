// What an answer of the accountants costs, against a plain implementation of the same method in the same run: privacy loss rounded up to a
// grid of 1e-4, composed by repeated squaring with transforms, as the public Python libraries do it (here in C++, so that only the method
// differs).
#include <cmath>
#include <vector>

#include <benchmark/benchmark.h>

#include "fodp/accounting/convolve.h"
#include "fodp/accounting/loss_grid.h"
#include "fodp/accounting/pld.h"
#include "fodp/accounting/rdp.h"

namespace fodp {
namespace {

constexpr double kBetas[] = {1, .95, .9, .8, .65};
constexpr std::int64_t kSteps = 6250;
constexpr double kRate = .04, kDelta = 1e-5;

Events events(double beta) { return {{Event::poisson_gaussian(kRate, 1.1 / beta), kSteps}}; }

void BM_Pld(benchmark::State& state) {
  const Events run = events(kBetas[state.range(0)]);
  for (auto _ : state) benchmark::DoNotOptimize(PldAccountant().epsilon(run, kDelta));
  state.counters["epsilon"] = PldAccountant().epsilon(run, kDelta).epsilon;
}
BENCHMARK(BM_Pld)->DenseRange(0, 4)->Unit(benchmark::kMillisecond);

// The epsilon of every prefix, as a training asks for it.
void BM_PldOfPrefixes(benchmark::State& state) {
  for (auto _ : state) {
    const PldAccountant accountant;
    for (std::int64_t steps = 250; steps <= kSteps; steps += 250)
      benchmark::DoNotOptimize(accountant.epsilon({{Event::poisson_gaussian(kRate, 1.1), steps}}, kDelta));
  }
  state.SetItemsProcessed(state.iterations() * kSteps / 250);
}
BENCHMARK(BM_PldOfPrefixes)->Unit(benchmark::kMillisecond);

void BM_Rdp(benchmark::State& state) {
  const Events run = events(kBetas[state.range(0)]);
  for (auto _ : state) benchmark::DoNotOptimize(RdpAccountant().epsilon(run, kDelta));
}
BENCHMARK(BM_Rdp)->DenseRange(0, 4)->Unit(benchmark::kMillisecond);

// Remove direction only, no lower bound, nothing certified.
double plain_epsilon(double beta) {
  constexpr double kStep = 1e-4;
  const LossGrid grid = make_loss_grid({kRate, 1.1 / beta}, kStep, 1e-14, INFINITY);
  constexpr std::size_t kSize = 1 << 20;
  const std::int64_t offset = kSize / 4;
  std::vector<double> single(kSize);
  for (std::size_t i = 0; i < grid.log_q.size(); ++i) {
    const std::int64_t place = grid.first + static_cast<std::int64_t>(i);
    single[static_cast<std::size_t>(place) & (kSize - 1)] = std::exp(grid.log_q[i] + static_cast<double>(place) * kStep);
  }
  RealFourier fourier(kSize);
  std::vector<double> whole(kSize), power = single;
  whole[0] = 1;
  std::vector<Complex> a, b;
  const auto convolve = [&](std::vector<double>& into, const std::vector<double>& with) {
    fourier.forward(into, a);
    fourier.forward(with, b);
    for (std::size_t k = 0; k < a.size(); ++k) a[k] = a[k] * b[k];
    fourier.inverse(a, into);
  };
  for (std::int64_t left = kSteps; left > 0; left /= 2) {
    if (left % 2 == 1) convolve(whole, power);
    if (left > 1) convolve(power, std::vector<double>(power));
  }
  double above = 0, decayed = 0;
  for (std::int64_t place = static_cast<std::int64_t>(kSize) - offset - 1; place > 0; --place) {
    const double mass = whole[static_cast<std::size_t>(place) & (kSize - 1)];
    above += mass;
    decayed = decayed * std::exp(-kStep) + mass * std::exp(-kStep);
    if (above - decayed > kDelta) return static_cast<double>(place) * kStep;
  }
  return 0;
}

void BM_PlainGrid(benchmark::State& state) {
  double epsilon = 0;
  for (auto _ : state) benchmark::DoNotOptimize(epsilon = plain_epsilon(kBetas[state.range(0)]));
  state.counters["epsilon"] = epsilon;
}
BENCHMARK(BM_PlainGrid)->DenseRange(0, 4)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace fodp

BENCHMARK_MAIN();
