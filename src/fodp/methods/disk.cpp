// DiSK (Zhang et al. 2025), one-gradient mode: the gradient is taken ahead, where the last step points, and filtered (update/kalman.h).
#include "fodp/methods/method.h"
#include "fodp/update/kalman.h"

namespace fodp {
namespace {

class Disk : public Method {
 public:
  explicit Disk(const KalmanOptions& options) : gamma_((1 - options.disk_kappa) / options.disk_kappa) {}

  void step(Step& s) override {
    Lot lot = s.sample();
    ClippedSum sum = s.at(ahead(s.parameters()), [&] { return s.clipped_sum(lot); });
    s.update(s.release(std::move(sum)));
  }

  void state(StateVisitor& visit) override { visit("previous", previous_); }

 private:
  // gamma*(theta_t - theta_{t-1}); nothing in the first step.
  std::vector<float> ahead(std::span<const float> parameters) {
    std::vector<float> offset;
    for (std::size_t i = 0; i < previous_.size(); ++i) offset.push_back(static_cast<float>(gamma_ * (parameters[i] - previous_[i])));
    previous_.assign(parameters.begin(), parameters.end());
    return offset;
  }

  double gamma_;
  std::vector<float> previous_;
};

}  // namespace

extern const MethodEntry kDisk = {
    .name = "disk",
    .summary = "a simplified Kalman filter of private gradients that are taken where the last step points",
    .formula =
        "g_t = (s_t(theta_t + (1-kappa)/kappa*(theta_t - theta_{t-1})) + sigma*C*Z_t)/L;  m_t = (1-kappa)*m_{t-1} + kappa*g_t, m_0 = g_0;  "
        "theta <- theta - lr*m_t",
    .event = "SGM(q, sigma)",
    .filter = "kalman",
    .options = {reads<KalmanOptions>()},
    .defaults = {{"lr", "4"}},
    .source = "Zhang et al., DiSK: Differentially Private Optimizer with Simplified Kalman Filter for Noise Reduction, ICLR 2025",
    .reading = "one-gradient mode. Without the look-ahead it is dp-sgd with `filter` kalman.",
    .make = [](const RunContext& context) -> std::unique_ptr<Method> {
      return std::make_unique<Disk>(context.options.of<KalmanOptions>());
    },
};

}  // namespace fodp
