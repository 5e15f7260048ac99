// ADP-AdamW: DP-AdamW with adaptive clipping (gradients/adaptive_clip.h).
#include "fodp/methods/method.h"

namespace fodp {

extern const MethodEntry kAdpAdamW = {
    .name = "adp-adamw",
    .summary = "DP-AdamW with a clip norm that follows a quantile of the gradient norms",
    .formula = "C_{t+1} = C_t*exp(-.2*(b_t - .5)), b_t the noisy share of unclipped rows;  m, v, theta as DP-AdamW",
    .event = "SGM(q, sigma), the sum and the count together",
    .update = "adamw",
    .clipping = "adaptive",
    .defaults = {{"lr", ".01"}},
    .source = "Chilukoti et al., arXiv 2502.11329; adaptive clipping: Andrew et al., NeurIPS 2021",
    .reading = "the source does not say what adapts; we read it as DP-AdamW with adaptive clipping.",
    .check = check_rows_are_counted,
};

}  // namespace fodp
