// Post-FM-DP-SGD (FO-DP-SGD paper A.3): DP-SGD's release, and the fractional memory after it (update/memory_filter.h).
#include "fodp/methods/method.h"

namespace fodp {

extern const MethodEntry kPostFmDpSgd = {
    .name = "post-fm-dp-sgd",
    .summary = "DP-SGD's release; the fractional memory of past releases is blended in afterwards, as post-processing",
    .formula = "y_t = (s_t + sigma*C*Z_t)/L;  v_t = beta*y_t + (1-beta)*sum_j ahat_{t,j}*y_{t-j};  theta <- theta - lr*v_t",
    .event = "SGM(q, sigma)",
    .filter = "memory",
    .defaults = {{"lr", "4"}},
    .source = "Partohaghighi and Marcia, Deep Learning under Fractional-Order Differential Privacy, arXiv 2605.09890, A.3",
    .reading = "the weights are FO-DP-SGD's on the transcript of y, with kappa and zeta divided by L; beta does not change the charge.",
};

}  // namespace fodp
