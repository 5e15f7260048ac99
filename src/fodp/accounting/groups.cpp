#include "fodp/accounting/groups.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace fodp {
namespace {

// A range of steps and the box they fill.
struct Box {
  std::size_t begin = 0, end = 0;
  SampledGaussian least, most;
  double rate_spread = 0, noise_spread = 0;
  double loss = 0;  // about what is lost by taking the steps together
};

// Of the likelihood ratio, as far as it tells what a step adds to epsilon: groups are chosen by it, and hold whatever it says.
double variance(const SampledGaussian& event) {
  return event.sample_rate * event.sample_rate * std::expm1(std::min(20., std::pow(event.noise_multiplier, -2)));
}

double variance(const Group& group) { return (1 - group.share) * variance(group.low) + group.share * variance(group.high); }

Box box_of(const std::vector<CountedStep>& steps, std::size_t begin, std::size_t end) {
  Box box{.begin = begin, .end = end, .least = steps[begin].event, .most = steps[begin].event};
  double cost = 0;
  for (std::size_t i = begin; i < end; ++i) {
    const auto& [event, count] = steps[i];
    box.least.sample_rate = std::min(box.least.sample_rate, event.sample_rate);
    box.most.sample_rate = std::max(box.most.sample_rate, event.sample_rate);
    box.least.noise_multiplier = std::max(box.least.noise_multiplier, event.noise_multiplier);
    box.most.noise_multiplier = std::min(box.most.noise_multiplier, event.noise_multiplier);
    cost += count * variance(event);
  }
  box.rate_spread = std::log(box.most.sample_rate / box.least.sample_rate);
  box.noise_spread =
      std::log(box.least.noise_multiplier / box.most.noise_multiplier) * std::max(1., std::pow(box.most.noise_multiplier, -2));
  box.loss = cost * (box.rate_spread + box.noise_spread);
  return box;
}

// Sorts the steps of a box along its wider side; where its second half begins.
std::size_t halve(std::vector<CountedStep>& steps, const Box& box) {
  const bool by_rate = box.rate_spread > box.noise_spread;
  const auto key = [&](const CountedStep& step) {
    const auto [q, z] = std::pair(step.event.sample_rate, step.event.noise_multiplier);
    return by_rate ? std::pair(q, z) : std::pair(z, q);
  };
  const auto begin = steps.begin() + static_cast<std::ptrdiff_t>(box.begin), end = steps.begin() + static_cast<std::ptrdiff_t>(box.end);
  std::sort(begin, end, [&](const CountedStep& a, const CountedStep& b) { return key(a) < key(b); });
  const double middle = std::sqrt(key(*begin).first) * std::sqrt(key(*(end - 1)).first);
  const auto found = std::partition_point(begin, end, [&](const CountedStep& step) { return key(step).first < middle; });
  return static_cast<std::size_t>(std::clamp(found, begin + 1, end - 1) - steps.begin());
}

// The distance in total variation of the Gaussians: in it, and in the rate, every divergence of a step is convex.
double distance(double noise_multiplier) { return std::erf(1 / (2 * std::numbers::sqrt2 * noise_multiplier)); }

// The steps of a box as coins between `low` and one beyond its dearest corner, so that no step's chance of that is near 1: such a step
// would cost a common share most. `low` has the corner's rate or noise where the coin shall not move it.
void toss(const std::vector<CountedStep>& steps, const Box& box, const SampledGaussian& low, Group& group) {
  constexpr double kBeyond = 2, kLeastNoise = .15, kUnit = 1e-15;
  const double slow = 1 / low.noise_multiplier, fast = 1 / box.most.noise_multiplier;
  SampledGaussian high = box.most;
  if (low.sample_rate < high.sample_rate)
    high.sample_rate = std::min(.5 * (1 + high.sample_rate), high.sample_rate + kBeyond * (high.sample_rate - low.sample_rate));
  // The multipliers are compared, not their reciprocals, which may be equal where those are not.
  const bool noise_differs = box.most.noise_multiplier < low.noise_multiplier;
  if (noise_differs) high.noise_multiplier = 1 / (fast + kBeyond * (fast - slow));
  const double near = distance(low.noise_multiplier), far = distance(high.noise_multiplier);
  const double rates = high.sample_rate - low.sample_rate, distances = far - near;
  // Differences too small to have digits, or a distance hardly below 1: the corner stands for all.
  const bool rates_differ = rates > 0;
  if (high.noise_multiplier < kLeastNoise || (rates_differ && rates < 1e-9 * high.sample_rate) ||
      (noise_differs && !(distances >= 1e-9 * far)))
    return;
  double log_low = 0;
  for (std::size_t i = box.begin; i < box.end; ++i) {
    const auto& [event, count] = steps[i];
    double share = 0;
    if (rates_differ) share = std::max(share, (event.sample_rate - low.sample_rate + 4 * kUnit * high.sample_rate) / rates);
    if (noise_differs) share = std::max(share, (distance(event.noise_multiplier) - near + 8 * kUnit * far) / distances);
    if (!(share < 1)) return;
    log_low += count * std::log1p(-share);
  }
  const double share = std::min(1., -std::expm1(log_low / group.count) * (1 + 1e-10));
  Group tossed = group;
  tossed.low = low, tossed.high = high, tossed.share = share;
  if (variance(tossed) < variance(group)) group = tossed;
}

Group group_of(const std::vector<CountedStep>& steps, const Box& box) {
  Group group{.low = box.most, .high = box.most, .least = box.least, .most = box.most};
  for (std::size_t i = box.begin; i < box.end; ++i) group.count += steps[i].count;
  if (box.least == box.most) return group;
  toss(steps, box, box.least, group);
  if (box.rate_spread > 0) toss(steps, box, {box.least.sample_rate, box.most.noise_multiplier}, group);
  if (box.noise_spread > 0) toss(steps, box, {box.most.sample_rate, box.least.noise_multiplier}, group);
  return group;
}

// More groups, until f(groups) is within the tolerance of what the steps cost.
template <class F>
std::vector<Group> enough_groups(const std::vector<CountedStep>& steps, double tolerance, const F& cost_of) {
  constexpr std::size_t kFewest = 24, kMost = 288;
  double cost = 0;
  for (const auto& [event, count] : steps) cost += count * variance(event);
  for (std::size_t wanted = kFewest;; wanted += wanted / 2) {
    std::vector<Group> groups = group_steps(steps, std::min(wanted, kMost));
    double grouped = 0;
    for (const Group& group : groups) grouped += group.count * cost_of(group);
    if (std::abs(grouped - cost) <= tolerance * cost || wanted >= kMost) return groups;
  }
}

}  // namespace

std::vector<Group> group_steps(std::vector<CountedStep> steps, std::size_t most_groups) {
  std::vector<Group> groups;
  if (steps.empty()) return groups;
  const auto key = [](const CountedStep& step) { return std::pair(step.event.sample_rate, step.event.noise_multiplier); };
  std::sort(steps.begin(), steps.end(), [&](const CountedStep& a, const CountedStep& b) { return key(a) < key(b); });

  // The box that loses most is halved until there are enough.
  std::vector<Box> boxes{box_of(steps, 0, steps.size())};
  const auto less = [](const Box& a, const Box& b) { return std::pair(a.loss, b.begin) < std::pair(b.loss, a.begin); };
  while (boxes.size() < most_groups && boxes.front().least != boxes.front().most) {
    std::pop_heap(boxes.begin(), boxes.end(), less);
    const Box box = boxes.back();
    boxes.pop_back();
    const std::size_t middle = halve(steps, box);
    for (const auto& [begin, end] : {std::pair(box.begin, middle), std::pair(middle, box.end)}) {
      boxes.push_back(box_of(steps, begin, end));
      std::push_heap(boxes.begin(), boxes.end(), less);
    }
  }
  std::sort(boxes.begin(), boxes.end(), [](const Box& a, const Box& b) { return a.begin < b.begin; });
  for (const Box& box : boxes) groups.push_back(group_of(steps, box));
  return groups;
}

std::vector<Group> groups_above(const std::vector<CountedStep>& steps, double tolerance) {
  return enough_groups(steps, tolerance, [](const Group& group) { return variance(group); });
}

std::vector<Group> groups_below(const std::vector<CountedStep>& steps, double tolerance) {
  return enough_groups(steps, tolerance, [](const Group& group) { return variance(group.least); });
}

}  // namespace fodp
