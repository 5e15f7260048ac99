// One question to the accountant of privacy loss distributions (pld.h): epsilon at a delta, or delta at an epsilon, of one run, in one
// direction at a time. Chooses the grid, the tilt and the window with which the sum of the losses is composed (tilted_sum.h). Every answer
// holds the truth; how narrow it is depends on these choices.
#pragma once

#include <optional>
#include <vector>

#include "fodp/accounting/analytic.h"
#include "fodp/accounting/cumulants.h"
#include "fodp/accounting/grid_cache.h"
#include "fodp/accounting/pld_run.h"

namespace fodp {

std::vector<Piece> pieces_of(const std::vector<CountedStep>& parts);

class PldQuestion {
 public:
  struct Answer {
    Interval interval;
    double step = 0;
    double excess = 0;  // of the upper end, from rounding and the window: about, in epsilon
  };
  enum class Asks { epsilon, delta };

  // `pieces` are the sampled steps of the run or, if `grouped`, stand for them. `target` is delta (to be told epsilon) or epsilon (to be
  // told delta). `width` is the relative width that an interval may have. `grids` must outlive the question.
  PldQuestion(const PldRun& run, std::vector<Piece> pieces, bool grouped, double target, Asks asks, double width, GridCache& grids);

  // Whether there is enough noise for masses to stay in the range of doubles. Nothing else may be called otherwise.
  bool possible() const;

  // An upper bound on what ask() would find, without asking.
  double bound(Direction direction) const;

  // A fine answer at once, for where about it lies.
  Answer ask_near(Direction direction, double about) const;

  // `known` is a lower bound from the other direction: an answer that is surely below it need not be sharp.
  Answer ask(Direction direction, double known) const;

 private:
  enum class Look { usual, closer };
  struct Frame;

  RunCumulants cumulants(double tail, double highest) const;
  double step_for(double s, double needed, double excess, double width) const;
  double log_share(double s, double epsilon, const Cumulants::Value& tilted) const;
  double choose_step(const Frame& frame, double epsilon) const;
  double highest_loss(Direction direction, double epsilon, Look look) const;
  Frame frame_at(const RunCumulants& within, double s, Direction direction, double epsilon, Look look) const;
  std::optional<Frame> frame(Direction direction, double epsilon, Look look) const;
  double step_of(const Frame& frame, double epsilon, double coarseness) const;
  Answer first_answer(Direction direction, double epsilon) const;
  Answer closer(Direction direction, Answer answer, double epsilon) const;
  Answer solve(const std::vector<Piece>& pieces, Direction direction, double epsilon, double coarseness, Look look = Look::usual) const;

  double target_;
  double fineness_ = 1;
  bool gives_epsilon_;
  double width_;
  GridCache& grids_;
  double count_;
  std::vector<Piece> pieces_;
  std::vector<Piece> first_;          // for coarse answers
  std::vector<CountedStep> outline_;  // few steps that cost about, and at least, what the pieces do: for the cumulants
  double tail_ = 0;
  std::optional<RunCumulants> run_cumulants_;
};

}  // namespace fodp
