// A model file as the start of a run: its parameters, and what they cost where the file says so. Files that fodp writes do.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "fodp/accounting/spending.h"
#include "fodp/files/state_dict.h"

namespace torch::nn {
class Module;
}

namespace fodp {

// The key of a model file's metadata (files/state_dict.h) under which the text of model.json stands.
inline constexpr char kModelKey[] = "fodp";

// The run that made the file and those before it, from the file's own metadata; or, for a file without, from the model.json beside it, if
// the summary.json there has the file's hash. Nothing for a file that carries nothing, such as a plain state dict: its cost is unknown.
// Reads no training data. InputError for a file that cannot be read, and for one whose text is damaged.
std::optional<std::vector<Spending>> cost_of_model(const std::filesystem::path& file);

// Puts the parameters of the file into the model. InputError, naming what differs, for a file that does not fit it.
void load_parameters(const std::filesystem::path& file, torch::nn::Module& model);
// The same for parameters that were read already; `file` is for messages.
void set_parameters(const files::StateDict& parameters, torch::nn::Module& model, const std::filesystem::path& file);

}  // namespace fodp
