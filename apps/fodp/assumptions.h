// What sampling, noise and neighbours are taken to be; for help and for people.
#pragma once

namespace fodp::app {

inline constexpr char kAssumptions[] =
    "Assumes Poisson sampling (each record is in each lot independently with probability q), Gaussian noise of standard deviation sigma*C "
    "on a sum clipped to C per record, and neighbours that differ by adding or removing one record. Exact arithmetic is assumed; a "
    "training adds what its finite precision costs.";

}  // namespace fodp::app
