#include "fodp/models/script.h"

#include <fmt/ranges.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/pooling.h>

#include "fodp/base/check.h"
#include "fodp/gradients/conv.h"
#include "fodp/gradients/group_norm.h"
#include "fodp/gradients/linear.h"

namespace fodp {
namespace {

std::string list(at::ArrayRef<std::int64_t> values) { return fmt::format("[{}]", fmt::join(values, ", ")); }

std::string defined(const std::string& result) { return "def forward(self, x):\n    return " + result + "\n"; }

std::string script_of(const nn::LinearImpl& layer) {
  return defined(layer.options.bias() ? "torch.linear(x, self.weight, self.bias)" : "torch.linear(x, self.weight)");
}

std::string script_of(const nn::Conv2dImpl& layer) {
  const auto* padding = get_if<torch::ExpandingArray<2>>(&layer.options.padding());  // of the variant that LibTorch uses
  check_fault(padding && get_if<torch::enumtype::kZeros>(&layer.options.padding_mode()),
              "a convolution with this padding cannot be exported");
  return defined(fmt::format("torch.conv2d(x, self.weight, {}, {}, {}, {}, {})", layer.options.bias() ? "self.bias" : "None",
                             list(*layer.options.stride()), list(**padding), list(*layer.options.dilation()), layer.options.groups()));
}

std::string script_of(const nn::GroupNormImpl& layer) {
  return defined(fmt::format("torch.group_norm(x, {}, self.weight, self.bias, {:.17g})", layer.options.num_groups(), layer.options.eps()));
}

std::string script_of(const torch::nn::MaxPool2dImpl& layer) {
  check_fault(!layer.options.ceil_mode(), "pooling with ceil_mode cannot be exported");
  return defined(fmt::format("torch.max_pool2d(x, {}, {}, {}, {})", list(*layer.options.kernel_size()), list(*layer.options.stride()),
                             list(*layer.options.padding()), list(*layer.options.dilation())));
}

std::string script_of(const torch::nn::FlattenImpl& layer) {
  return defined(fmt::format("torch.flatten(x, {}, {})", layer.options.start_dim(), layer.options.end_dim()));
}

// Its parts one after the other. They are named by numbers, which cannot follow a dot.
std::string script_of(const torch::nn::SequentialImpl& layers) {
  std::string text = "def forward(self, x):\n";
  for (const auto& part : layers.named_children()) text += fmt::format("    x = getattr(self, \"{}\").forward(x)\n", part.key());
  return text + "    return x\n";
}

// Empty unless the module is of this type.
template <class Layer>
std::string if_it_is(const torch::nn::Module& module) {
  const auto* layer = dynamic_cast<const Layer*>(&module);
  return layer ? script_of(*layer) : "";
}

// Every kind of layer: one line each.
std::string script_text(const torch::nn::Module& module) {
  if (const auto* own = dynamic_cast<const Scripted*>(&module)) return own->script();
  if (dynamic_cast<const torch::nn::TanhImpl*>(&module)) return defined("torch.tanh(x)");
  if (dynamic_cast<const torch::nn::ReLUImpl*>(&module)) return defined("torch.relu(x)");
  for (const auto script : {if_it_is<torch::nn::SequentialImpl>, if_it_is<nn::LinearImpl>, if_it_is<nn::Conv2dImpl>,
                            if_it_is<nn::GroupNormImpl>, if_it_is<torch::nn::MaxPool2dImpl>, if_it_is<torch::nn::FlattenImpl>})
    if (const std::string text = script(module); !text.empty()) return text;
  throw FaultError(fmt::format("a layer of type {} cannot be exported", module.name()));
}

torch::jit::Module with_parts(const torch::nn::Module& module, const std::string& name) {
  torch::jit::Module script(name);
  for (const auto& part : module.named_children()) script.register_module(part.key(), with_parts(*part.value(), name + "_" + part.key()));
  for (const auto& item : module.named_parameters(/*recurse=*/false))
    script.register_parameter(item.key(), item.value().detach().clone(), /*is_buffer=*/false);
  for (const auto& item : module.named_buffers(/*recurse=*/false))
    script.register_parameter(item.key(), item.value().detach().clone(), /*is_buffer=*/true);
  script.define(script_text(module));
  return script;
}

}  // namespace

torch::jit::Module to_script(const torch::nn::Module& module) {
  torch::jit::Module script = with_parts(module, "network");
  script.eval();
  return script;
}

}  // namespace fodp
