// How the rows of a sum were drawn: what its charge must be for. The sampler writes it and the mechanism holds the charge against it.
#pragma once

#include <cstdint>

namespace fodp {

struct Draw {
  Draw(double rate = 1) : sample_rate(rate) {}

  double sample_rate;        // the largest chance that any record has to be among the rows
  std::uint64_t ticket = 0;  // sums with one ticket are paid for by one charge
  std::int64_t queries = 1;  // how many sums are made of these very rows
  std::int64_t cycle = 1;    // a record can be in one of so many consecutive lots only (cyclic sampling)
  std::uint64_t source = 0;  // the sampler that drew them: a run takes lots of its own only
  std::uint64_t turn = 0;    // which of the lots of a cyclic run this is: its rows are of group turn mod cycle
};

}  // namespace fodp
