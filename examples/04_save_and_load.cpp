// Parameters out to Python and back: a state dict that torch.load(weights_only=True) reads, and the same as safetensors.
//
//   >>> model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
//   >>> model.load_state_dict(torch.load("model.pt", weights_only=True))
//   >>> torch.save(model.state_dict(), "from_python.pt")
#include <cstdio>

#include <fodp/files/state_dict.h>
#include <fodp/gradients/linear.h>
#include <torch/torch.h>

std::vector<fodp::NamedTensor> state_of(const torch::nn::Module& model) {
  std::vector<fodp::NamedTensor> state;
  for (const auto& item : model.named_parameters()) state.push_back({item.key(), item.value().detach()});
  return state;
}

int main(int argc, char** argv) try {
  const auto make = [] { return torch::nn::Sequential(fodp::nn::Linear(4, 8), torch::nn::Tanh(), fodp::nn::Linear(8, 2)); };
  torch::nn::Sequential model = make(), other = make();
  if (argc > 1) fodp::assign_parameters(fodp::load_state_dict(argv[1]), state_of(*model), argv[1]);  // for instance from_python.pt

  for (const char* file : {"model.pt", "model.safetensors"}) {
    fodp::save_state_dict(state_of(*model), file);                                 // whole or not at all
    fodp::assign_parameters(fodp::load_state_dict(file), state_of(*other), file);  // names and shapes must agree
    const at::Tensor x = torch::randn({3, 4});
    if (!other->forward(x).equal(model->forward(x))) return 1;
    std::printf("%s: written and read back\n", file);
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
