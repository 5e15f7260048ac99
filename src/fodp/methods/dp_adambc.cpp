// DP-AdamBC (Tang, Shpilevskiy and Lecuyer 2024): DP-Adam with the noise's variance, which is known, taken off the second moment
// (update/adam.h).
#include "fodp/methods/method.h"

namespace fodp {

extern const MethodEntry kDpAdamBc = {
    .name = "dp-adambc",
    .summary = "DP-Adam with the known variance of the noise subtracted from the second moment",
    .formula = "m, v as DP-Adam;  Phi = (sigma*C/L)^2;  theta <- theta - lr*mhat/sqrt(max(vhat - Phi, floor))",
    .event = "SGM(q, sigma)",
    .update = "adambc",
    .defaults = {{"lr", ".005"}},
    .source = "Tang, Shpilevskiy and Lecuyer, DP-AdamBC: Your DP-Adam Is Actually DP-SGD, AAAI 2024",
    .reading =
        "the floor is 1e-6 here (`adambc-floor`). On a release with fractional memory Phi is that release's noise variance, by linearity "
        "from the weights; on a spectral release or behind a filter it is not known and the pairing is refused. Where the noise "
        "varies, Phi is averaged with v's weights.",
};

}  // namespace fodp
