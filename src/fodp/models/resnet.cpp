// ResNet-20 for small images (He et al. 2016, section 4.2) with GroupNorm in place of BatchNorm, which mixes examples: a 3 x 3 convolution
// to 16 channels, three stages of three blocks with 16, 32 and 64 channels, average pooling, one linear layer. Names are torchvision's,
// with gn for bn; docs/models.md has the Python class that loads it. The activation is ReLU.
#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/relu.h>
#include <torch/nn/modules/container/sequential.h>

#include "fodp/gradients/conv.h"
#include "fodp/gradients/group_norm.h"
#include "fodp/gradients/linear.h"
#include "fodp/models/model.h"
#include "fodp/models/script.h"

namespace fodp {
namespace {

constexpr std::int64_t kGroups = 8, kBlocks = 3;

nn::Conv2d convolution(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride) {
  return nn::Conv2d(torch::nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2).bias(false));
}

// y = relu(shortcut(x) + gn2(conv2(relu(gn1(conv1(x)))))).
struct Block : torch::nn::Module, Scripted {
  Block(std::int64_t in, std::int64_t out, std::int64_t stride)
      : conv1(register_module("conv1", convolution(in, out, 3, stride))),
        gn1(register_module("gn1", nn::GroupNorm(kGroups, out))),
        conv2(register_module("conv2", convolution(out, out, 3, 1))),
        gn2(register_module("gn2", nn::GroupNorm(kGroups, out))) {
    if (in != out || stride != 1)
      downsample = register_module("downsample", torch::nn::Sequential(convolution(in, out, 1, stride), nn::GroupNorm(kGroups, out)));
  }

  at::Tensor forward(const at::Tensor& x) {
    const at::Tensor straight = gn2(conv2(at::relu(gn1(conv1(x)))));
    return at::relu(straight + (downsample.is_empty() ? x : downsample->forward(x)));
  }

  std::string script() const override {
    const std::string straight = "self.gn2.forward(self.conv2.forward(torch.relu(self.gn1.forward(self.conv1.forward(x)))))";
    return "def forward(self, x):\n    return torch.relu(" + straight + " + " +
           (downsample.is_empty() ? "x" : "self.downsample.forward(x)") + ")\n";
  }

  nn::Conv2d conv1;
  nn::GroupNorm gn1;
  nn::Conv2d conv2;
  nn::GroupNorm gn2;
  torch::nn::Sequential downsample = nullptr;
};

struct ResNet : torch::nn::Module, Scripted {
  explicit ResNet(const InputShape& shape)
      : conv1(register_module("conv1", convolution(shape.channels, 16, 3, 1))), gn1(register_module("gn1", nn::GroupNorm(kGroups, 16))) {
    std::int64_t in = 16;
    for (std::int64_t stage = 0; stage < 3; ++stage) {
      torch::nn::Sequential blocks;
      const std::int64_t out = 16 << stage;
      for (std::int64_t i = 0; i < kBlocks; ++i, in = out) blocks->push_back(std::make_shared<Block>(in, out, stage > 0 && i == 0 ? 2 : 1));
      stages.push_back(register_module("layer" + std::to_string(stage + 1), blocks));
    }
    fc = register_module("fc", nn::Linear(in, shape.classes));
  }

  at::Tensor forward(const at::Tensor& images) {
    at::Tensor x = at::relu(gn1(conv1(images)));
    for (torch::nn::Sequential& stage : stages) x = stage->forward(x);
    return fc(at::adaptive_avg_pool2d(x, {1, 1}).flatten(1));
  }

  std::string script() const override {
    return R"(
def forward(self, x):
    x = torch.relu(self.gn1.forward(self.conv1.forward(x)))
    x = self.layer3.forward(self.layer2.forward(self.layer1.forward(x)))
    return self.fc.forward(torch.flatten(torch.adaptive_avg_pool2d(x, [1, 1]), 1))
)";
  }

  nn::Conv2d conv1;
  nn::GroupNorm gn1;
  std::vector<torch::nn::Sequential> stages;
  nn::Linear fc = nullptr;
};

}  // namespace

Model make_resnet(const ModelOptions&, const InputShape& shape) {
  const auto net = std::make_shared<ResNet>(shape);
  return {.module = net, .forward = [net](const at::Tensor& input) { return net->forward(input); }};
}

}  // namespace fodp
