#include "fodp/training/export.h"

#include <unistd.h>

#include <sstream>

#include <ATen/core/List.h>
#include <ATen/ops/tensor.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/nn/module.h>

#include "fodp/base/atomic_file.h"
#include "fodp/base/check.h"
#include "fodp/data/schema.h"
#include "fodp/models/script.h"
#include "fodp/training/model_file.h"
#include "fodp/training/table_script.h"

namespace fodp {
namespace {

// In double and rounded once, as training has it. Whoever scales bytes to [0, 1] beforehand would get wrong answers without a word, so that
// only whole numbers are taken where training took bytes.
constexpr char kArrayInputs[] = R"(
def inputs(self, raw: Tensor) -> Tensor:
    assert raw.dim() == len(self.shape) + 1 and raw.size()[1:] == self.shape, "inputs must have the shape [rows, " + str(self.shape)[1:] + ", got " + str(raw.size())
    assert self.divide_by == 1. or not torch.is_floating_point(raw), "inputs must be bytes, 0 to 255, as the files have them: normalising is done here"
    return ((raw.to(7) / self.divide_by - self.mean) / self.std).to(6)
)";

constexpr char kArrayClasses[] = R"(
def forward(self, raw: Tensor) -> Tensor:
    return torch.softmax(self.network.forward(self.inputs(raw)).to(7), 1)
)";

constexpr char kArrayNumber[] = R"(
def forward(self, raw: Tensor) -> Tensor:
    outputs = torch.reshape(self.network.forward(self.inputs(raw)).to(7), [-1])
    return self.label_low + (outputs + 1.) * (self.label_high / 2. - self.label_low / 2.)
)";

constexpr char kTableClasses[] = R"(
def forward(self, columns: Dict[str, List[str]]) -> Tensor:
    return torch.softmax(self.network.forward(self.inputs(columns)).to(7), 1)
)";

constexpr char kTableNumber[] = R"(
def forward(self, columns: Dict[str, List[str]]) -> Tensor:
    outputs = torch.reshape(self.network.forward(self.inputs(columns)).to(7), [-1])
    return self.label_low + (outputs + 1.) * (self.label_high / 2. - self.label_low / 2.)
)";

bool is_table(const nlohmann::ordered_json& inputs) { return inputs.value("kind", "") == "table"; }

// Inputs that are numbers already: images, or tensors.
void check_is_array(const nlohmann::ordered_json& inputs) {
  check_input(!inputs.contains("features"),
              "`export`: a model of features cannot be exported, since whoever serves it would have to compute "
              "the features: use fodp predict");
  const auto count = [&](const char* key) { return inputs.contains(key) ? inputs.at(key).size() : 0; };
  const std::size_t dimensions = count("shape");
  const bool known = inputs.contains("divide_by") && count("mean") >= 1 && count("mean") == count("std");
  const bool list = known && dimensions == 1 && (count("mean") == 1 || count("mean") == inputs.at("shape").at(0));
  check_input(known && (dimensions == 3 || list), "`export`: a model of such inputs cannot be exported: tables, images and tensors can");
}

Schema schema_in(const nlohmann::ordered_json& inputs) {
  std::optional<std::string> unit;
  if (inputs.contains("privacy_unit")) unit = inputs.at("privacy_unit").get<std::string>();
  const std::string where = "model.json: schema";
  return with_unit(schema_from_toml(inputs.at("schema").get<std::string>(), where), unit, where);
}

void add_text_list(torch::jit::Module& module, const char* name, const std::vector<std::string>& texts) {
  const at::IValue list = c10::List<std::string>(texts);
  module.register_attribute(name, list.type(), list);
}

void add_label_bounds(torch::jit::Module& module, double low, double high) {
  module.register_attribute("label_low", c10::FloatType::get(), low);
  module.register_attribute("label_high", c10::FloatType::get(), high);
}

void add_array(torch::jit::Module& module, const nlohmann::ordered_json& inputs) {
  const auto shape = inputs.at("shape").get<std::vector<std::int64_t>>();
  const auto by_channel = [&](const nlohmann::ordered_json& values) {
    const at::Tensor numbers = at::tensor(values.get<std::vector<double>>(), at::kDouble);
    return shape.size() == 3 ? numbers.reshape({-1, 1, 1}) : numbers;
  };
  module.register_buffer("mean", by_channel(inputs.at("mean")));
  module.register_buffer("std", by_channel(inputs.at("std")));
  const at::IValue sizes = c10::List<std::int64_t>(shape);
  module.register_attribute("shape", sizes.type(), sizes);
  module.register_attribute("divide_by", c10::FloatType::get(), inputs.at("divide_by").get<double>());
  module.define(kArrayInputs);
  if (!inputs.contains("target_low")) return module.define(kArrayClasses);
  add_label_bounds(module, inputs.at("target_low"), inputs.at("target_high"));
  module.define(kArrayNumber);
}

void add_table(torch::jit::Module& module, const Schema& schema) {
  add_table_inputs(module, schema);
  if (!schema.is_regression()) return module.define(kTableClasses);
  add_label_bounds(module, schema.label().low, schema.label().high);
  module.define(kTableNumber);
}

// Classes without names are called by their numbers, from 0.
std::vector<std::string> class_names(const nlohmann::ordered_json& about) {
  if (about.contains("class_names")) return about.at("class_names").get<std::vector<std::string>>();
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < about.at("classes").get<std::int64_t>(); ++i) names.push_back(std::to_string(i));
  return names;
}

void check_file(const std::filesystem::path& file) {
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  std::error_code ignored;
  check_input(file.extension() == ".ts", "`export` {}: the name of a TorchScript file ends in .ts", file.string());
  check_input(std::filesystem::is_directory(folder, ignored) && ::access(folder.c_str(), W_OK | X_OK) == 0,
              "`export` {}: {} is not a directory that can be written", file.string(), folder.string());
  check_input(!std::filesystem::is_directory(file, ignored), "`export` {}: is a directory", file.string());
}

}  // namespace

void check_can_export(const nlohmann::ordered_json& inputs, const std::filesystem::path& file) {
  check_file(file);
  if (!is_table(inputs)) return check_is_array(inputs);
  check_table_can_be_scripted(schema_in(inputs), fmt::format("`export` {}", file.string()));
}

void export_model(const torch::nn::Module& network, const nlohmann::ordered_json& about, const std::filesystem::path& file) {
  const nlohmann::ordered_json& inputs = about.at("inputs");
  check_can_export(inputs, file);
  const std::string text = about.dump();
  torch::jit::Module module("fodp_model");
  module.register_module("network", to_script(network));
  module.register_attribute("fodp", c10::StringType::get(), text);
  add_text_list(module, "classes", class_names(about));
  if (is_table(inputs))
    add_table(module, schema_in(inputs));
  else
    add_array(module, inputs);
  module.eval();
  std::ostringstream bytes;
  module.save(bytes, {{kModelKey, text}});
  write_file_atomically(file, bytes.str(), "TorchScript file");
}

}  // namespace fodp
