// Poisson sampling: every record is in the lot with probability q, independently of all others, by the secure stream; or, cyclic (BandMF),
// every record of the group whose turn it is with probability b*q.
//
// A record is included iff its 64-bit word is below floor(q*2^64), so the true rate is at most q. Records keep their slot: the lot's rows
// come in blocks of neighbouring slots, at most `block_rows` each (an overfull block is halved at its middle slot). What a slot holds
// changes neither blocks nor places, so a record changes the rounding of its own block only (docs/finite-precision.md). How many rows a lot
// has is as private as which: nothing prints or stores it, and only a run can look.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "fodp/accounting/draw.h"
#include "fodp/noise/stream.h"

namespace fodp {

namespace testing {
struct LotRows;  // tests/lot_rows.h
}

// Move-only. Only the sampler makes one, so that its rate is the one it was drawn at; it gives no more sums than it was drawn for (two
// sums of one lot cost more than two of two).
class Lot {
 public:
  Lot(Lot&&) = default;
  Lot& operator=(Lot&&) = default;

  const Draw& draw() const { return draw_; }
  std::uint64_t number() const { return number_; }

  // Takes one of the sums it was drawn for. PrivacyError if there is none left.
  void take_sum() const;

 private:
  friend class PoissonSampler;
  friend class PrivateSteps;
  friend struct testing::LotRows;
  Lot(std::uint64_t number, const Draw& draw) : number_(number), draw_(draw), sums_left_(draw.queries()) {}

  std::uint64_t number_;
  Draw draw_;
  mutable std::int64_t sums_left_;
  std::vector<std::vector<std::int64_t>> blocks_;  // rows, ascending: as secret as the data, and so is how many there are
};

// What a lot is drawn for.
struct LotTerms {
  double sample_rate = 1;              // of each record, or of each record of the group whose turn it is
  std::optional<double> charged_rate;  // what is charged if that is more: a public bound of a rate that depends on earlier releases
  std::int64_t queries = 1;            // sums that will be made of it
  std::int64_t cycle = 1;              // b groups, in turn
  std::uint64_t turn = 0;              // whose turn it is: group turn mod b, in cycle turn / b
  // The group of each record, below b. It must not depend on other records, and must stay the same for the whole run. If empty, it is the
  // slot modulo b: then a record that is taken out must leave its slot behind.
  std::span<const std::uint16_t> groups = {};
};

class PoissonSampler {
 public:
  // PrivacyError for a stream of another purpose, or of a key that another sampler draws by.
  PoissonSampler(std::int64_t records, std::int64_t block_rows, RandomStream stream);

  std::uint64_t id() const { return id_; }  // no other sampler of the process has it

  // The lot with this number; the same rows for the same key and number, whatever the blocks. PrivacyError for a number that is not above
  // all that were drawn before: two lots of one number are the same rows. InputError for a rate outside (0, 1].
  Lot draw(std::uint64_t number, const LotTerms& terms);

 private:
  std::vector<std::int64_t> sampled_rows(std::uint64_t number, const LotTerms& terms) const;
  void split(std::int64_t begin, std::int64_t end, std::vector<std::int64_t> rows, Lot& lot) const;

  std::int64_t records_, block_rows_;
  RandomStream stream_;
  std::uint64_t id_;
  std::optional<std::uint64_t> last_;  // the number of the last lot
};

}  // namespace fodp
