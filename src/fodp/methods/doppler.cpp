// DOPPLER (Zhang et al. 2024): DP-SGD's releases through a low-pass filter (update/low_pass.h).
#include "fodp/methods/method.h"

namespace fodp {

extern const MethodEntry kDoppler = {
    .name = "doppler",
    .summary = "DP-SGD's releases through a low-pass filter: the noise is white, the signal slow",
    .formula = "m_t = -sum_r a_r*m_{t-r} + sum_r b_r*g_{t-r}, over the same filter of ones;  theta <- theta - lr*m_t",
    .event = "SGM(q, sigma)",
    .filter = "low-pass",
    .defaults = {{"lr", ".02"}},
    .source = "Zhang et al., DOPPLER: Differentially Private Optimizers with Low-pass Filter for Privacy Noise Reduction, NeurIPS 2024",
    .reading =
        "zero initial state, and division by the filter's answer to ones as bias correction. Descent through the published second-order "
        "filter is stable only while the learning rate times the curvature is below .0145 (2 without a filter): hence the small default "
        "rate, which needs thousands of steps. For short runs `filter-order` 1 `lr` 4 is the better choice.",
};

}  // namespace fodp
