// A small transformer over tokens, trained privately: is this line from a licence of the GNU project or from another? The text is what
// every Debian machine has in /usr/share/common-licenses; a row is 32 characters, none of them in two rows.
#include <cstdio>
#include <fstream>
#include <iterator>

#include <fodp/gradients/attention.h>
#include <fodp/gradients/embedding.h>
#include <fodp/gradients/layer_norm.h>
#include <fodp/training/private_steps.h>
#include <torch/torch.h>

constexpr std::int64_t kLength = 32, kWords = 128, kWidth = 32;

// Rows come first everywhere: [rows, positions, width].
struct Transformer : torch::nn::Module {
  Transformer() {
    tokens = register_module("tokens", fodp::nn::Embedding(kWords, kWidth));
    places = register_module("places", fodp::nn::Embedding(kLength, kWidth));
    attention = register_module("attention", fodp::nn::MultiheadAttention(kWidth, 4));
    norm1 = register_module("norm1", fodp::nn::LayerNorm(std::vector{kWidth}));
    norm2 = register_module("norm2", fodp::nn::LayerNorm(std::vector{kWidth}));
    wide = register_module("wide", fodp::nn::Linear(kWidth, 2 * kWidth));
    narrow = register_module("narrow", fodp::nn::Linear(2 * kWidth, kWidth));
    head = register_module("head", fodp::nn::Linear(kWidth, 2));
  }
  at::Tensor forward(const at::Tensor& text) {
    at::Tensor x = tokens(text) + places(torch::arange(kLength).expand(text.sizes()));  // each row has its own places
    x = norm1(x + attention->forward(x));
    x = norm2(x + narrow(torch::gelu(wide(x))));
    return head(x.mean(1));
  }
  fodp::nn::Embedding tokens{nullptr}, places{nullptr};
  fodp::nn::MultiheadAttention attention{nullptr};
  fodp::nn::LayerNorm norm1{nullptr}, norm2{nullptr};
  fodp::nn::Linear wide{nullptr}, narrow{nullptr}, head{nullptr};
};

struct Text {
  std::vector<std::int64_t> tokens, labels;
  at::Tensor inputs() const { return torch::tensor(tokens).view({-1, kLength}); }
  at::Tensor targets() const { return torch::tensor(labels); }
};

void read(const std::string& name, std::int64_t label, Text& train, Text& test) {
  std::ifstream file("/usr/share/common-licenses/" + name);
  if (!file) throw std::runtime_error("/usr/share/common-licenses/" + name + ": cannot be read");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  for (std::size_t begin = 0; begin + kLength <= text.size(); begin += kLength) {
    Text& part = begin / kLength % 5 == 4 ? test : train;
    for (std::size_t i = 0; i < kLength; ++i) part.tokens.push_back(static_cast<unsigned char>(text[begin + i]) % kWords);
    part.labels.push_back(label);
  }
}

int main() try {
  Text train, test;
  for (const char* name : {"GPL-2", "GPL-3", "LGPL-2.1", "GFDL-1.3"}) read(name, 1, train, test);
  for (const char* name : {"Apache-2.0", "MPL-1.1", "MPL-2.0", "CC0-1.0", "Artistic"}) read(name, 0, train, test);
  const at::Tensor inputs = train.inputs(), targets = train.targets();

  auto model = std::make_shared<Transformer>();
  torch::optim::Adam optimizer(model->parameters(), torch::optim::AdamOptions(.004));
  const auto rows_of = [](const at::Tensor& all, std::span<const std::int64_t> rows) {
    return all.index_select(
        0, torch::from_blob(const_cast<std::int64_t*>(rows.data()), {static_cast<std::int64_t>(rows.size())}, torch::kLong));
  };
  namespace F = torch::nn::functional;
  fodp::PrivateSteps steps(*model,
                           [&](const at::Tensor& x, const at::Tensor& y) {
                             return F::cross_entropy(model->forward(x), y, F::CrossEntropyFuncOptions().reduction(torch::kNone));
                           },
                           {.count = inputs.size(0),
                            .gather =
                                [&](std::span<const std::int64_t> rows) {
                                  return fodp::Batch{rows_of(inputs, rows), rows_of(targets, rows)};
                                }},
                           {.privacy = {.epsilon = 8, .sample_rate = .1, .steps = 150}, .data_name = "Debian's common licences"});
  while (!steps.done()) {
    steps.set_gradients(steps.release(steps.clipped_sum(steps.sample())));
    optimizer.step();
  }

  const torch::NoGradGuard no_gradients;
  const at::Tensor right = model->forward(test.inputs()).argmax(1).eq(test.targets());
  const double accuracy = right.to(torch::kFloat).mean().item<double>(), share = test.targets().to(torch::kFloat).mean().item<double>();
  std::printf("%ld rows to train on, %ld to test; the larger class has %.1f%%\n", inputs.size(0), right.size(0),
              100 * std::max(share, 1 - share));
  std::printf("Test accuracy %.1f%% at epsilon %.3f\n", 100 * accuracy, steps.epsilon());
  return accuracy > std::max(share, 1 - share) && steps.epsilon() <= 8 ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
