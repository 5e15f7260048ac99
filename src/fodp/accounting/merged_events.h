// Lists of events with equal ones merged: composition does not depend on the order, so that an event and how often it occurs say it all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "fodp/accounting/event.h"

namespace fodp {

struct EventHash {
  std::size_t operator()(const Event& event) const;
};

// Events in the order in which they first came. Adding one takes the same time however many there are.
class MergedEvents {
 public:
  void add(const Event& event, std::int64_t count);
  void add(const Events& events);
  // Makes the count of the event at least `count`.
  void raise(const Event& event, std::int64_t count);
  std::int64_t count(const Event& event) const;  // 0 for one that is not there
  const Events& events() const { return events_; }

 private:
  Composed& place_of(const Event& event);

  Events events_;
  std::unordered_map<Event, std::size_t, EventHash> places_;
};

// The same events, equal ones merged.
Events merged(const Events& events);
// Both lists one after the other, equal events merged.
Events together(const Events& first, const Events& second);
// The events of `all` that are not among `part`, counts compared; equal ones merged.
Events without(const Events& all, const Events& part);

// What a run costs that may be left at any point of its plan: of each event the larger of its planned and its charged count. A run that
// is stopped, whatever led to that, could have gone on to the plan's end; what it released is a part of what the whole plan releases.
// What the run could have cost without its stop is therefore what it guarantees. The cost of the charged events alone holds only where
// their number was fixed beforehand: tests/accounting/merged_events_test.cpp has an example of how much it can be too small.
Events covering(const Events& plan, const Events& charged);

}  // namespace fodp
