// BandMF (Choquette-Choo et al. 2023): noise that cancels over steps (mechanism/banded.h), lots drawn from b groups of records in turn.
#include "fodp/methods/method.h"

namespace fodp {

extern const MethodEntry kBandMf = {
    .name = "bandmf",
    .summary = "DP-SGD with noise correlated over b steps so that it cancels, and records that take part every b-th step at most",
    .formula = "xi_t = (z_t - sum_{k<b} c_k*xi_{t-k})/c_0;  S_t = s_t + sigma*C*xi_t;  theta <- theta - lr*S_t/L",
    .event = "SGM(b*q, sigma) for b steps together",
    .release = "banded",
    .defaults = {{"lr", "4"}},
    .source = "Choquette-Choo et al., (Amplified) Banded Matrix Factorization, NeurIPS 2023",
    .reading =
        "c is a power of the prefix-sum matrix (`order`; 1/2 is its square root, as in the source) cut to b bands and scaled to norm 1; a "
        "record's group follows from a hash of the record, so that no other record's joining or leaving moves it, and is sampled at rate "
        "b*q when its turn comes. The guarantee needs that a row number stands for the same record during the whole run. The correlated "
        "noise is secret and never stored. Bands and order are chosen from public "
        "numbers unless they are given (docs/planning.md).",
};

}  // namespace fodp
