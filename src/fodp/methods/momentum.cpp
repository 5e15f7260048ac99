// DP-SGD with momentum (update/momentum.h): post-processing of DP-SGD's releases.
#include "fodp/methods/method.h"

namespace fodp {

extern const MethodEntry kMomentum = {
    .name = "momentum",
    .summary = "DP-SGD's release; steps along an average (ema) or a decaying sum (heavy ball) of past gradients",
    .formula = "g = S_t/L;  ema: m <- mu*m + (1-mu)*g, theta <- theta - lr*m/(1-mu^t);  heavy-ball: v <- mu*v + g, theta <- theta - lr*v",
    .event = "SGM(q, sigma)",
    .update = "momentum",
    .defaults = {{"lr", "4"}},
    .source = "Polyak 1964; Abadi et al. 2016",
    .reading = "the learning rate is for the ema form; the heavy ball's steps are 1/(1-mu) times as long: divide it by ten at mu .9.",
};

}  // namespace fodp
