// DP-AdamW: DP-Adam with decoupled weight decay (update/adam.h).
#include "fodp/methods/method.h"

namespace fodp {

extern const MethodEntry kDpAdamW = {
    .name = "dp-adamw",
    .summary = "DP-Adam with decoupled weight decay",
    .formula = "m, v as DP-Adam;  theta <- theta - lr*(mhat/(sqrt(vhat) + 1e-8) + decay*theta)",
    .event = "SGM(q, sigma)",
    .update = "adamw",
    .defaults = {{"lr", ".005"}},
    .source = "Loshchilov and Hutter, Decoupled Weight Decay Regularization, ICLR 2019",
    .reading = "the decay is .01 on every parameter, biases included.",
};

}  // namespace fodp
