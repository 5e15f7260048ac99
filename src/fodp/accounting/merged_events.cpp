#include "fodp/accounting/merged_events.h"

#include <algorithm>
#include <functional>

namespace fodp {

std::size_t EventHash::operator()(const Event& event) const {
  std::size_t hash = std::hash<const EventKind*>()(event.kind);
  for (double number : {event.sample_rate, event.noise_multiplier, event.slack}) hash = hash * 1000003 + std::hash<double>()(number);
  return hash;
}

Composed& MergedEvents::place_of(const Event& event) {
  // A run of equal events needs no search.
  if (!events_.empty() && events_.back().event == event) return events_.back();
  const auto [found, is_new] = places_.try_emplace(event, events_.size());
  if (is_new) events_.push_back({event, 0});
  return events_[found->second];
}

void MergedEvents::add(const Event& event, std::int64_t count) {
  if (count != 0) place_of(event).count += count;
}

void MergedEvents::add(const Events& events) {
  for (const Composed& part : events) add(part.event, part.count);
}

void MergedEvents::raise(const Event& event, std::int64_t count) {
  if (count <= 0) return;
  Composed& place = place_of(event);
  place.count = std::max(place.count, count);
}

std::int64_t MergedEvents::count(const Event& event) const {
  if (!events_.empty() && events_.back().event == event) return events_.back().count;
  const auto found = places_.find(event);
  return found == places_.end() ? 0 : events_[found->second].count;
}

Events merged(const Events& events) { return together(events, {}); }

Events together(const Events& first, const Events& second) {
  MergedEvents both;
  both.add(first);
  both.add(second);
  return both.events();
}

Events without(const Events& all, const Events& part) {
  MergedEvents taken;
  taken.add(part);
  Events rest;
  for (const auto& [event, count] : merged(all))
    if (count > taken.count(event)) rest.push_back({event, count - taken.count(event)});
  return rest;
}

Events covering(const Events& plan, const Events& charged) {
  MergedEvents larger;
  larger.add(plan);
  for (const Composed& part : merged(charged)) larger.raise(part.event, part.count);
  return larger.events();
}

}  // namespace fodp
