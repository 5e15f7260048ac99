// A model file: parameters by name, as PyTorch's state dicts (.pt, .pth) or as safetensors (.safetensors), read and written so that
// Python's torch.load(weights_only=True) and safetensors take what is written here and the other way round.
//
// Guarantees:
//   loading   nothing in a file is executed; every size in it is checked against the file before memory is taken for it; what is not a
//             state dict is refused with InputError that names the file and what was expected
//   saving    atomic: the name asked for holds either the whole new file or what it held before, and no other file is left behind
//   assigning all or nothing: every check comes before the first value is written
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace fodp::files {

struct NamedTensor {
  std::string name;
  at::Tensor value;
};

using StateDict = std::vector<NamedTensor>;

// Texts by key that a file may carry beside its tensors.
using Metadata = std::map<std::string, std::string>;

// The tensors of a file, in its order: contiguous, on the CPU, of the file's types. Values are not checked to be finite.
StateDict load_state_dict(const std::filesystem::path& file);

// InputError for a path that cannot be written or a tensor that the format does not hold, FaultError for a full or failing disk.
// Names, keys and texts are UTF-8.
void save_state_dict(const StateDict& dict, const std::filesystem::path& file, const Metadata& metadata = {});

// The metadata that a file was saved with; for .safetensors also "format", which every such file of ours has.
Metadata load_metadata(const std::filesystem::path& file);

// Writes the values of `from` into the tensors of `to` that have the same names, in place and unseen by autograd. Names (in any order) and
// shapes must agree exactly and values must be finite, also after conversion to the type of `to`. `file` is for messages.
void assign_parameters(const StateDict& from, const std::vector<NamedTensor>& to, const std::filesystem::path& file);

}  // namespace fodp::files

// What a program that trains needs of this folder has the library's short names, too.
namespace fodp {

using files::assign_parameters;
using files::load_state_dict;
using files::NamedTensor;
using files::save_state_dict;
using files::StateDict;

}  // namespace fodp
