// How the rows of a sum were drawn: what its charge must be for. The mechanism holds the charge against it.
#pragma once

#include <cstdint>

namespace fodp {

struct DrawTerms {
  double sample_rate = 1;    // the largest chance that any record has to be among the rows
  std::uint64_t ticket = 0;  // sums with one ticket are paid for by one charge
  std::int64_t queries = 1;  // how many sums are made of these very rows
  std::int64_t cycle = 1;    // a record can be in one of so many consecutive lots only (cyclic sampling)
  std::uint64_t turn = 0;    // which of the lots of a cyclic run this is: its rows are of group turn mod cycle
};

// A rate below 1 makes a release cheaper, so it is nobody's to claim: PoissonSampler (data/sampling.h) writes the terms that it drew by.
class Draw {
 public:
  // Rows that may hold every record, each of whose sums is paid for by itself. No other terms cost more, so they need nobody's word.
  Draw() = default;

  // For front ends that draw rows elsewhere. Nothing here can check it: the caller vouches that every record was among the rows with at
  // most this probability, independently of all other records and of all other draws, by randomness that stays secret, and that the rest
  // of the terms hold. A run (PrivateSteps) takes rows of its own sampler only.
  static Draw vouching_that_rows_were_drawn_so(const DrawTerms& terms) { return Draw(terms, 0); }

  double sample_rate() const { return terms_.sample_rate; }
  std::uint64_t ticket() const { return terms_.ticket; }
  std::int64_t queries() const { return terms_.queries; }
  std::int64_t cycle() const { return terms_.cycle; }
  std::uint64_t turn() const { return terms_.turn; }
  std::uint64_t source() const { return source_; }  // the id of the sampler that drew them, 0 if none of fodp's did

 private:
  friend class PoissonSampler;
  Draw(const DrawTerms& terms, std::uint64_t source) : terms_(terms), source_(source) {}

  DrawTerms terms_;
  std::uint64_t source_ = 0;
};

}  // namespace fodp
