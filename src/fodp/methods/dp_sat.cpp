// DP-SAT (Park et al. 2023): descend from where the last private step would climb to. The climb is along the previous release, so it costs
// nothing.
#include "fodp/methods/ascent.h"
#include "fodp/methods/method.h"

namespace fodp {
namespace {

class DpSat : public Method {
 public:
  explicit DpSat(const RunContext& context) : rho_(*context.options.of<SharpnessOptions>().rho) {}

  void step(Step& s) override {
    Lot lot = s.sample();
    ClippedSum sum = s.at(ascent(last_, rho_), [&] { return s.clipped_sum(lot); });
    Release release = s.release(std::move(sum));
    last_.assign(release.values().begin(), release.values().end());
    s.update(release);
  }

  void state(StateVisitor& visit) override { visit("last", last_); }

 private:
  double rho_;
  std::vector<float> last_;
};

}  // namespace

extern const MethodEntry kDpSat = {
    .name = "dp-sat",
    .summary = "sharpness-aware: the gradient is taken where the previous release would climb to",
    .formula = "e = rho*S_{t-1}/|S_{t-1}| (0 at first);  S_t = s_t(theta + e) + sigma*C*Z_t;  theta <- theta - lr*S_t/L",
    .event = "SGM(q, sigma)",
    .options = {reads<SharpnessOptions>()},
    .defaults = {{"lr", "4"}, {"rho", ".03"}},
    .source = "Park et al., Differentially Private Sharpness-Aware Training, ICML 2023",
    .reading = "the climb is along the release itself, before any filter.",
    .make = [](const RunContext& context) -> std::unique_ptr<Method> { return std::make_unique<DpSat>(context); },
};

}  // namespace fodp
