// Group privacy: what a run costs a person who has several of its records.
//
// A person with k records has more than k times the epsilon of one record, at the same delta. Two bounds are offered; both are proved in
// docs/accounting.md and both are upper bounds for records that are all in the data or all not in it. k is from 1 to 8.
#pragma once

#include <cstdint>

#include "fodp/accounting/accountant.h"
#include "fodp/accounting/event.h"

namespace fodp {

// For steps that draw every record by itself: the number of the person's records in a lot is binomial, and the mixture of Gaussians that
// follows is composed as the accountant `pld` does it. Near the truth; some percent above it where steps are of more than 16 kinds. +inf
// where nothing can be said. InputError for a delta outside [0, 1], a k outside 1 to 8, or an event that is not known.
double group_epsilon(const Events& events, double delta, std::int64_t records);

// For any mechanism: neighbours of neighbours, k times. Larger than the other bound.
double chained_group_epsilon(const Events& events, double delta, std::int64_t records);

}  // namespace fodp
