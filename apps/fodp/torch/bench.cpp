// fodp bench: what privacy costs on this machine. Each measure is a ratio of two things that are timed in turn in this process, so that
// it tells little of how fast or busy the machine is.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include <ATen/ops/empty.h>
#include <fmt/core.h>

#include "bench_step.h"
#include "command.h"
#include "flags.h"
#include "fodp/base/check.h"
#include "fodp/base/phases.h"
#include "fodp/noise/lattice.h"
#include "fodp/training/threads.h"
#include "text.h"

namespace fodp::app {
namespace {

struct BenchOptions {
  bool quick = false;
  std::optional<std::string> only;

  static auto fields() {
    using Self = BenchOptions;
    return std::tuple{
        field("quick", &Self::quick, "few repeats, and without the resnet and the wide model: about half a minute, and less exact"),
        field("only", &Self::only, "only the measures whose name contains this"),
    };
  }
};

struct Measure {
  std::string name;
  double target;
  bool at_most;  // the target is the most that is good, else the least
  std::function<double()> value;
  bool slow = false;  // left out by --quick
};

double seconds_of(const std::function<void()>& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

// The median of one's time over the other's, timed in turn: at least `repeats` pairs, and for a second.
double ratio(int repeats, const std::function<double()>& one, const std::function<double()>& other) {
  one(), other();
  std::vector<double> ratios;
  double total = 0;
  for (int i = 0; i < repeats || (total < 1 && i < 400); ++i) {
    const double a = one(), b = other();
    total += a + b;
    ratios.push_back(a / b);
  }
  return median(ratios);
}

double step_ratio(int repeats, std::string_view model, std::int64_t threads) {
  BenchStep plain(bench_case(model)), with_privacy(bench_case(model));
  with_privacy.make_private("dp-sgd");
  return ratio(
      repeats,
      [&] {
        bench_threads(threads, /*plain=*/false);
        return seconds_of([&] { with_privacy.private_step(); });
      },
      [&] {
        bench_threads(threads, /*plain=*/true);
        return seconds_of([&] { plain.plain_step(); });
      });
}

double method_ratio(int repeats, std::string_view model) {
  BenchStep with_memory(bench_case(model)), without(bench_case(model));
  with_memory.make_private("fo-dp-sgd");
  without.make_private("dp-sgd");
  bench_threads(1, /*plain=*/false);
  return ratio(
      repeats, [&] { return seconds_of([&] { with_memory.private_step(); }); },
      [&] { return seconds_of([&] { without.private_step(); }); });
}

double noise_ratio(int repeats) {
  constexpr std::int64_t kBlocks = 64;
  const RunKey key = RunKey::from_insecure_seed(1);
  const RandomStream stream(key, Purpose::noise);
  std::vector<std::int64_t> noise(kNoiseBlock);
  at::Tensor normals = at::empty({kBlocks * kNoiseBlock}, at::kFloat);
  std::uint64_t number = 0;
  bench_threads(1, /*plain=*/false);
  return ratio(
      repeats,
      [&] {
        ++number;
        return seconds_of([&] {
          for (std::uint32_t block = 0; block < kBlocks; ++block) draw_lattice_noise(stream, number, block, 1, 0x1p-20, noise);
        });
      },
      [&] { return seconds_of([&] { normals.normal_(); }); });
}

// FO-DP-SGD with a window of 8 has to read the sum (8 bytes a parameter), seven past releases (28), the trend and the parameters (4 each),
// and to write the release, the trend and the parameters (4 each).
double streaming(int repeats) {
  constexpr double kBytes = 56;
  BenchStep step(bench_case("wide"));
  step.make_private("fo-dp-sgd");
  bench_threads(default_threads(), /*plain=*/false);
  for (int i = 0; i < 8; ++i) step.private_step();  // until the window is full
  const auto half = static_cast<std::size_t>(static_cast<double>(step.parameters()) * kBytes / 2);
  std::vector<char> from(half, 1), to(half, 2);
  const ParallelFor parallel = by_threads();
  return ratio(
      repeats,
      [&] {
        return seconds_of([&] {
          parallel(default_threads(), [&](std::int64_t first, std::int64_t last) {
            const auto all = static_cast<std::size_t>(default_threads());
            const std::size_t begin = half * static_cast<std::size_t>(first) / all, end = half * static_cast<std::size_t>(last) / all;
            std::memcpy(to.data() + begin, from.data() + begin, end - begin);
          });
        });
      },
      [&] { return step.private_step_timing_release(); });
}

// The most memory of a process that takes three steps. Measured in a copy of this one, which has to be made before threads are.
double peak_megabytes(std::string_view model, bool with_privacy) {
  int ends[2];
  check_fault(pipe(ends) == 0, "no pipe: {}", std::strerror(errno));
  const pid_t child = fork();
  check_fault(child >= 0, "no process: {}", std::strerror(errno));
  if (child == 0) {
    BenchStep step(bench_case(model));
    bench_threads(default_threads(), !with_privacy);
    if (with_privacy) step.make_private("dp-sgd");
    for (int i = 0; i < 3; ++i) with_privacy ? step.private_step() : step.plain_step();
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const double peak = static_cast<double>(usage.ru_maxrss) / 1024;
    _exit(write(ends[1], &peak, sizeof peak) == sizeof peak ? 0 : 1);
  }
  double peak = NAN;
  const bool got = read(ends[0], &peak, sizeof peak) == sizeof peak;
  int status = 0;
  waitpid(child, &status, 0);
  close(ends[0]), close(ends[1]);
  check_fault(got && status == 0, "the memory of a step could not be measured");
  return peak;
}

// Those of memory first: they have to be taken before this process has threads.
std::vector<Measure> measures(bool quick) {
  const int repeats = quick ? 5 : 15;
  std::vector<Measure> all;
  for (const char* model : {"mlp", "cnn", "resnet"})
    all.push_back({fmt::format("peak memory, private over plain: {}", bench_case(model).what), 1.05, true,
                   [=] { return peak_megabytes(model, true) / peak_megabytes(model, false); }, std::string_view(model) == "resnet"});
  const auto step = [&](const char* model, std::int64_t threads, double target) {
    const BenchCase& what = bench_case(model);
    all.push_back({fmt::format("step, dp-sgd over plain: {}, lot {}, {} thread{}", what.what, what.lot, threads, threads == 1 ? "" : "s"),
                   target, true, [=] { return step_ratio(repeats, model, threads); }, std::string_view(model) == "resnet"});
  };
  step("mlp", 1, 1.05), step("mlp", 2, 1.05);
  step("paper", 1, 1.25);
  step("cnn", 1, 1.25), step("cnn", 2, 1.25);
  step("resnet", 1, 1.3), step("resnet", 2, 1.3);
  step("transformer", 1, 1.3), step("transformer", 2, 1.3);
  all.push_back({"step, fo-dp-sgd over dp-sgd: the paper's mlp, 1 thread", 1.05, true, [=] { return method_ratio(repeats, "paper"); }});
  all.push_back(
      {"step, fo-dp-sgd over dp-sgd: 10 million parameters, 1 thread", 1.10, true, [=] { return method_ratio(repeats, "wide"); }, true});
  all.push_back({"noise, ours over torch::randn: 1 thread", .5, true, [=] { return noise_ratio(repeats); }});
  all.push_back({"release and update, a copy of the same bytes over them: 10 million parameters", .7, false,
                 [=] { return streaming(repeats); }, true});
  return all;
}

// Milliseconds of a step by phase, on one thread.
nlohmann::ordered_json breakdown(std::string_view model, const std::string& method) {
  BenchStep step(bench_case(model));
  step.make_private(method);
  bench_threads(1, /*plain=*/false);
  step.private_step();
  constexpr int kSteps = 5;
  const PhaseTimes times;
  const double all = seconds_of([&] {
    for (int i = 0; i < kSteps; ++i) step.private_step();
  });
  nlohmann::ordered_json phases;
  double rest = all;
  for (std::size_t i = 0; i < kPhaseNames.size(); ++i) {
    const double seconds = times.seconds(static_cast<Phase>(i));
    phases[std::string(kPhaseNames[i])] = 1e3 * seconds / kSteps;
    rest -= seconds;
  }
  phases["other"] = 1e3 * rest / kSteps;
  phases["all"] = 1e3 * all / kSteps;
  return {{"model", bench_case(model).what}, {"method", method}, {"milliseconds", phases}};
}

void print_breakdown(const nlohmann::ordered_json& steps) {
  std::string text = "\nMilliseconds of a step on one thread\n";
  const auto& names = steps.front()["milliseconds"];
  text += fmt::format("  {:<42}", "");
  for (const auto& phase : names.items()) text += fmt::format("{:>9}", phase.key());
  for (const auto& step : steps) {
    text += fmt::format("\n  {:<42}", step["method"].get<std::string>() + ", " + step["model"].get<std::string>());
    for (const auto& phase : step["milliseconds"].items()) text += fmt::format("{:>9.2f}", phase.value().get<double>());
  }
  fmt::print("{}\n", text);
}

}  // namespace

int bench(const Words& words) {
  BenchOptions options;
  Flags flags(
      "bench",
      "Measures what privacy costs on this machine: steps, noise and memory, each as a ratio to what LibTorch takes without privacy, "
      "beside the ratio that fodp aims at, and where the time of a step goes. Rows are made up. Other programs that run at the "
      "same time change the results.",
      "fodp bench --json > bench.json");
  flags.add("Measurements", options);
  if (!flags.parse(words)) return 0;
  nlohmann::ordered_json list = nlohmann::ordered_json::array(), steps = nlohmann::ordered_json::array();
  for (const Measure& measure : measures(options.quick)) {
    if ((options.quick && measure.slow) || (options.only && measure.name.find(*options.only) == std::string::npos)) continue;
    const double value = measure.value();
    const bool holds = measure.at_most ? value <= measure.target : value >= measure.target;
    list.push_back({{"name", measure.name}, {"value", value}, {"target", measure.target}, {"at_most", measure.at_most}, {"holds", holds}});
    if (!flags.json())
      fmt::print("{:<84} {:>6.2f}  {} {:.2f}  {}\n", measure.name, value, measure.at_most ? "at most" : "at least", measure.target,
                 holds ? "holds" : "missed");
    std::fflush(stdout);
  }
  check_input(!list.empty(), "--only {}: no measure has this in its name", options.only.value_or(""));
  if (!options.only)
    for (const char* model : {"mlp", "paper", "cnn", "resnet", "transformer"})
      if (!options.quick || std::string_view(model) != "resnet")
        for (const char* method : {"dp-sgd", "fo-dp-sgd"}) steps.push_back(breakdown(model, method));
  if (flags.json()) return print_json({{"measures", list}, {"threads", default_threads()}, {"steps", steps}}), 0;
  if (!steps.empty()) print_breakdown(steps);
  return 0;
}

}  // namespace fodp::app
