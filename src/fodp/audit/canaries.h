// Canaries: records made to be found, and a test that looks for them in what a run releases. If the test is right too often, the run is
// less private than it claims.
//
// A canary's gradient has the full clip norm and lies along a coordinate of its own (in each clip group that has enough coordinates). It is
// in a lot when a record that stands for it is, so the run's own sampler draws it, and it is among the training rows by a fair coin. The
// test knows all other rows and lots, as differential privacy allows an adversary to, and takes what they add away from the noised sum.
// What is left of a canary's coordinate is noise, or noise and the canary. There are two scores: what is left, added up over all lots, and
// the logarithms of the likelihood ratio of the two cases, added up. The latter is the most powerful test of a sound run, which is found to
// be nearly as private as it claims; the former is better at runs whose noise is not what they claim.
#pragma once

#include <cstdint>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "fodp/accounting/accountant.h"
#include "fodp/audit/bounds.h"
#include "fodp/audit/watched_run.h"

namespace fodp {

// How a canary is seen in one lot: chosen with this chance, its likelihood ratio then has this standard deviation (1/z).
struct CanaryLot {
  double sample_rate = 1;
  double signal = 0;
};

// How much a canary looks like one that is among the rows.
struct CanaryScore {
  double likelihood = 0, sum = 0;
};

// The canaries of one run.
class Canaries {
 public:
  // At most `wanted` of them, and no more than there are records and, later, coordinates. `noise_weights` are the mechanism's.
  Canaries(std::int64_t wanted, std::int64_t records, std::vector<double> noise_weights, std::mt19937_64& coins);

  void pass_on(const SeenSum& seen, ClippedRows& passed_on);  // puts those in that are among the rows and in the lot
  void released(const SeenSum& seen);
  void end_of_run();

  std::int64_t count() const { return static_cast<std::int64_t>(among_rows_.size()); }
  std::vector<CanaryScore> scores(bool among_rows) const;
  const std::vector<CanaryLot>& lots() const { return lots_; }  // of a canary of the first group

 private:
  struct Place {
    std::int64_t coordinate;
    double length;
  };
  // A lot that is not yet seen in all the releases that it is in.
  struct Pending {
    std::uint64_t number;
    LotTaken taken;
    std::size_t age = 0;
    double squared_signal = 0;
    std::vector<double> exponents;  // by canary
  };

  std::int64_t record(std::int64_t canary) const { return canary * records_ / count(); }
  std::size_t find_places(const ClippedRows& sum);
  void settle(const Pending& lot);

  std::int64_t records_;
  std::vector<double> weights_;
  std::vector<Place> places_;     // in the present sum, as many for each canary, one canary after the other
  std::vector<char> among_rows_;  // by canary
  std::vector<CanaryScore> scores_;
  std::deque<Pending> pending_;
  std::deque<std::vector<double>> residuals_;  // the last ones first: what is left at each canary's places, all in a row
  std::vector<CanaryLot> lots_;
};

// What the scores of all runs say.
struct CanaryResult {
  std::int64_t canaries = 0;
  double epsilon_lower = 0;  // the largest of the bounds, which hold together with the confidence asked for
  double gaussian = 0, counted = 0, one_run = 0;
  double of_sound_run = 0;  // what a sound run is expected to show with so many canaries: an audit that has no power shows here
};

struct CanaryScores {
  std::vector<CanaryScore> in, out;
  std::int64_t of_first_run_in = 0, of_first_run_out = 0;  // they come first
};

// The thresholds follow from `lots` alone, by simulation: they are fixed before the scores are looked at.
CanaryResult judge_canaries(const CanaryScores& scores, const std::vector<CanaryLot>& lots, const Events& events, double delta,
                            const Accountant& accountant, double confidence);

}  // namespace fodp
