// A trained model as a TorchScript file (.ts), which Python's torch.jit.load and LibTorch run without this library: a service can serve it.
//
// The file takes what people have, not what the network takes. Its method forward makes the network's inputs itself:
//   images    forward(raw: Tensor): bytes [rows, channels, height, width], as the files of the data set have them
//   tensors   forward(raw: Tensor): bytes or other numbers [rows, ...], as the file that was trained on has them
//   tables    forward(columns: Dict[str, List[str]]): the texts of each column by its name, all of the same length
// and gives float64: probabilities [rows, classes], or the numbers of a regression [rows], in the units of the table. They are what fodp
// predict says, up to float32 rounding. Its method inputs stops before the network, and its part network takes inputs and gives outputs.
// The attribute classes has the names of the classes in order, and fodp the text of model.json (run_directory.h), which also is the file's
// extra file "fodp".
//
// Exporting is post-processing of parameters that were released already: it reads no training data and costs no privacy.
#pragma once

#include <filesystem>

#include <nlohmann/json.hpp>

namespace torch::nn {
class Module;
}

namespace fodp {

// Writes the file, whole or not at all. `about` is the run's model.json. InputError for a path that cannot be written and for inputs that
// TorchScript cannot make, such as dates of an unusual format.
void export_model(const torch::nn::Module& network, const nlohmann::ordered_json& about, const std::filesystem::path& file);

// Throws what export_model would, before a long run rather than after it. `inputs` is what model.json has under that name.
void check_can_export(const nlohmann::ordered_json& inputs, const std::filesystem::path& file);

}  // namespace fodp
