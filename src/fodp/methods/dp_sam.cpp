// DP-SAM: climb along a first private gradient, descend along a second one taken there, both of one lot. The two releases are charged
// together: each is noised at sqrt(2)*sigma, so that 1/sigma^2 = 1/s1^2 + 1/s2^2.
#include "fodp/methods/ascent.h"
#include "fodp/methods/method.h"

namespace fodp {
namespace {

class DpSam : public Method {
 public:
  explicit DpSam(const RunContext& context) : rho_(*context.options.of<SharpnessOptions>().rho) {}

  void step(Step& s) override {
    Lot lot = s.sample({.queries = 2});
    Release uphill = s.release(s.clipped_sum(lot));
    ClippedSum sum = s.at(ascent(uphill.values(), rho_), [&] { return s.clipped_sum(lot); });
    s.update(s.release(std::move(sum)));
  }

 private:
  double rho_;
};

}  // namespace

extern const MethodEntry kDpSam = {
    .name = "dp-sam",
    .summary = "sharpness-aware: one private gradient to climb by, a second one of the same lot, taken there, to descend by",
    .formula = "P = s_t(theta) + sqrt(2)*sigma*C*Z;  e = rho*P/|P|;  S_t = s_t(theta + e) + sqrt(2)*sigma*C*Z';  theta <- theta - lr*S_t/L",
    .event = "SGM(q, sigma), both releases together",
    .queries_per_step = 2,
    .sums_per_step = 2,
    .options = {reads<SharpnessOptions>()},
    .defaults = {{"lr", "4"}, {"rho", ".05"}},
    .source = "Foret et al., Sharpness-Aware Minimization, ICLR 2021; private as in Park et al., ICML 2023",
    .reading =
        "one lot serves both queries, each at sqrt(2)*sigma, which keeps DP-SGD's epsilon. With memory each query has a memory of its own; "
        "with adaptive clipping each carries its count.",
    .alias = "sa-dp-sgd",
    .alias_reason =
        "the FO-DP-SGD paper's text calls this baseline SA-DP-SGD and its tables print DP-SAM in that place; simulated annealing is "
        "annealed-dp-sgd",
    .make = [](const RunContext& context) -> std::unique_ptr<Method> { return std::make_unique<DpSam>(context); },
};

}  // namespace fodp
