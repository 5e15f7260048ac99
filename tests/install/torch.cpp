#include <ATen/ops/ones.h>
#include <fodp/accounting/ledger.h>
#include <fodp/gradients/clip.h>
#include <fodp/gradients/linear.h>
#include <fodp/mechanism/gaussian.h>
#include <fodp/update/sgd.h>

// A private step on one's own module.
int main() {
  fodp::nn::Linear model(3, 1);
  fodp::FlatParameters parameters(*model);
  const fodp::Clipper clipper(
      *model, parameters, [&](const at::Tensor& x, const at::Tensor&) { return model->forward(x).squeeze(1); }, {.clip_norm = 1}, 128);
  fodp::ClippedSum sum = clipper.clipped_sum({{0, 1, 2}}, .5, [](std::span<const std::int64_t> rows) {
    return fodp::Batch{at::ones({static_cast<std::int64_t>(rows.size()), 3}), at::Tensor()};
  });
  const fodp::RunKey key = fodp::RunKey::from_system();
  const fodp::RandomStream noise(key, fodp::Purpose::noise);
  fodp::GaussianMechanism mechanism(1.0);
  fodp::Ledger ledger;
  fodp::Charge charge = ledger.charge(mechanism.event(sum));
  const fodp::Release release = mechanism.release(std::move(sum), std::move(charge), noise);
  const float before = parameters.values()[0];
  fodp::Sgd().apply(parameters.values(), release, 3, .1);
  return parameters.values()[0] != before && ledger.count() == 1 ? 0 : 1;
}
