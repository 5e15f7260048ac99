// DP-Adam: DP-SGD's release, Adam's step (update/adam.h).
#include "fodp/methods/method.h"

namespace fodp {

extern const MethodEntry kDpAdam = {
    .name = "dp-adam",
    .summary = "DP-SGD's release, Adam's step: every coordinate is scaled by its own second moment, noise included",
    .formula = "g = S_t/L;  m <- .9*m + .1*g;  v <- .999*v + .001*g^2;  theta <- theta - lr*mhat/(sqrt(vhat) + 1e-8)",
    .event = "SGM(q, sigma)",
    .update = "adam",
    .defaults = {{"lr", ".005"}},
    .source = "Kingma and Ba, Adam, ICLR 2015; Tang, Shpilevskiy and Lecuyer, DP-AdamBC, AAAI 2024",
    .reading = "where noise dominates the second moment, this is DP-SGD with momentum at a rate of its own.",
};

}  // namespace fodp
