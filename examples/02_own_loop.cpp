// A LibTorch loop of one's own, made private: one's own module, one's own data, torch's Adam.
//
// Against the plain loop, four things change: the layers are fodp::nn's, the loss is one number per row, rows are fetched by number, and
// loss.backward() becomes sample, clipped_sum, release.
#include <cstdio>

#include <fodp/fodp.h>
#include <torch/torch.h>

// Any module will do whose trainable layers are fodp::nn's; whatever has no parameters stays torch's.
struct Net : torch::nn::Module {
  Net() {
    conv = register_module("conv", fodp::nn::Conv2d(torch::nn::Conv2dOptions(1, 8, 5).stride(2)));
    norm = register_module("norm", fodp::nn::GroupNorm(4, 8));
    head = register_module("head", fodp::nn::Linear(8 * 6 * 6, 10));
  }
  at::Tensor forward(at::Tensor x) {
    x = torch::max_pool2d(torch::relu(norm(conv(x))), 2);
    return head(x.flatten(1));
  }
  fodp::nn::Conv2d conv{nullptr};
  fodp::nn::GroupNorm norm{nullptr};
  fodp::nn::Linear head{nullptr};
};

int main() try {
  // Debian's dataset-fashion-mnist; any data of yours that can be fetched by row number will do.
  const fodp::Dataset data = fodp::load_dataset({.train_size = 20000, .test_size = 2000});
  auto model = std::make_shared<Net>();
  torch::optim::Adam optimizer(model->parameters(), torch::optim::AdamOptions(.003));

  fodp::PrivateSteps steps(
      *model,
      // The loss of each row, from that row alone.
      [&](const at::Tensor& x, const at::Tensor& y) {
        return torch::nn::functional::cross_entropy(model->forward(x), y,
                                                    torch::nn::functional::CrossEntropyFuncOptions().reduction(torch::kNone));
      },
      {.count = data.train.size(),
       .gather =
           [&](std::span<const std::int64_t> rows) {
             return fodp::Batch{data.train.inputs(rows), data.train.targets(rows)};
           }},
      {.method = "dp-sgd", .privacy = {.epsilon = 3, .sample_rate = .02, .steps = 120}, .data_name = "the first 20,000 of Fashion-MNIST"});

  while (!steps.done()) {
    fodp::Lot lot = steps.sample();                               // every row with probability .02
    fodp::ClippedSum sum = steps.clipped_sum(lot);                // of per-example gradients; cannot be looked into
    const fodp::Release release = steps.release(std::move(sum));  // charged, then noised: private from here on
    steps.set_gradients(release);                                 // .grad of every parameter; or steps.update(release) for plain descent
    optimizer.step();
  }

  model->eval();
  const torch::NoGradGuard no_gradients;
  std::vector<std::int64_t> rows(data.test.size());
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::int64_t>(i);
  const double accuracy =
      model->forward(data.test.inputs(rows)).argmax(1).eq(data.test.targets(rows)).to(torch::kFloat).mean().item<double>();
  std::printf("Test accuracy %.1f%% at epsilon %.3f\n\n%s", 100 * accuracy, steps.epsilon(), steps.statement().c_str());
  return accuracy > .6 && steps.epsilon() <= 3 ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
