// FO-DP-SGD (Partohaghighi and Marcia 2026, Algorithm 1): DP-SGD whose query blends the current clipped sum with a fractional memory of
// past releases. The memory lives in the mechanism (mechanism/fractional.h); the step is DP-SGD's.
#include "fodp/methods/method.h"

namespace fodp {

extern const MethodEntry kFoDpSgd = {
    .name = "fo-dp-sgd",
    .summary =
        "DP-SGD whose released query blends the current clipped sum with a fractional, tempered, confidence-aware memory of past releases",
    .formula = "S_t = beta*s_t + (1-beta)*sum_j ahat_{t,j}*S_{t-j} + sigma*C*Z_t;  theta <- theta - lr*S_t/L",
    .event = "SGM(q, sigma/beta)",
    .release = "fractional",
    .defaults = {{"lr", "4"}},
    .source = "Partohaghighi and Marcia, Deep Learning under Fractional-Order Differential Privacy, arXiv 2605.09890",
    .reading =
        "lags count from 1 with weight (j+1)^(alpha-1), as in the paper (the slides' shifted kernel is `lag-origin` 0). The paper gives no "
        "value for lambda, tau, gamma, kappa, zeta and the stability constant: the defaults are ours.",
};

}  // namespace fodp
