// SMA-DP-SGD (Partohaghighi and Marcia 2026): a memory for each layer, tempered by the layer's spectrum and gated by its agreement with the
// trend (mechanism/spectral.h); the step is DP-SGD's with layers clipped by themselves.
#include "fodp/methods/method.h"

namespace fodp {

extern const MethodEntry kSmaDpSgd = {
    .name = "sma-dp-sgd",
    .summary = "layer-wise memory of past releases, tempered by the power law of the layer's singular values and gated by cosine and norm",
    .formula =
        "per layer: v = sum_j ahat_j*S_{t-j}, a_j = (j+1)^(alpha-1)*exp(-lambda_t*j);  Gamma = max(0, cos(mu, v));  "
        "Psi = min(xi, |mu|/|v|);  omega = 1-exp(-t/tau_w);  S_t = beta*s_t + (1-beta)*omega*Gamma*Psi*v + sigma*C*Z_t;  "
        "theta <- theta - lr*S_t/L",
    .event = "SGM(q, sigma/beta)",
    .release = "spectral",
    .defaults = {{"lr", "4"}, {"group-clip", "shared"}},
    .source = "Partohaghighi and Marcia, SMA-DP: Spectral Memory-Aware Differential Privacy for Deep Learning, arXiv 2605.20450",
    .reading =
        "each of G layers is clipped to C/sqrt(G), which keeps the charge at sigma/beta; `group-clip` each is the literal text, every "
        "layer to C, at its price sigma/(beta*sqrt(G)). The spectrum is that of theta_t, looked at every `spectral-every` steps; fewer "
        "than five singular values in the tail give no tempering. The source gives no values: the defaults are ours.",
};

}  // namespace fodp
