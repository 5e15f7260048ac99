#include "fodp/training/model_file.h"

#include <algorithm>
#include <fstream>
#include <string>

#include <torch/nn/module.h>

#include "fodp/accounting/spending_json.h"
#include "fodp/base/check.h"
#include "fodp/base/sha256.h"
#include "fodp/files/state_dict.h"

namespace fodp {
namespace {

nlohmann::json read_json(const std::filesystem::path& file) {
  std::ifstream stream(file);
  return nlohmann::json::parse(stream, nullptr, /*allow_exceptions=*/false);
}

// The model.json beside a file, if the run that lies there made this very file.
std::optional<nlohmann::json> model_json_beside(const std::filesystem::path& file) {
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(folder / "model.json", ignored)) return std::nullopt;
  const nlohmann::json summary = read_json(folder / "summary.json");
  const bool own = summary.is_object() && summary.contains("model_sha256") && summary["model_sha256"] == sha256_file(file);
  return own ? std::optional(read_json(folder / "model.json")) : std::nullopt;
}

// A file that claims that its training cost nothing is taken as one that does not say.
std::optional<std::vector<Spending>> unless_free(std::vector<Spending> runs) {
  const bool free = std::ranges::all_of(runs, [](const Spending& run) { return total_count(run.events) == 0; });
  return free ? std::nullopt : std::optional(std::move(runs));
}

}  // namespace

std::optional<std::vector<Spending>> cost_of_model(const std::filesystem::path& file) {
  const files::Metadata metadata = files::load_metadata(file);
  const auto text = metadata.find(kModelKey);
  if (text != metadata.end()) {
    const std::string where = fmt::format("model file {}: metadata '{}'", file.string(), kModelKey);
    const nlohmann::json model = nlohmann::json::parse(text->second, nullptr, /*allow_exceptions=*/false);
    check_input(!model.is_discarded(), "{}: not JSON", where);
    return unless_free(spending_from_json(model, "events", where));
  }
  const std::optional<nlohmann::json> beside = model_json_beside(file);
  if (!beside) return std::nullopt;
  return unless_free(spending_from_json(*beside, "events", fmt::format("model.json beside {}", file.string())));
}

void load_parameters(const std::filesystem::path& file, torch::nn::Module& model) { set_parameters(load_state_dict(file), model, file); }

void set_parameters(const files::StateDict& parameters, torch::nn::Module& model, const std::filesystem::path& file) {
  std::vector<NamedTensor> own;
  for (const auto& item : model.named_parameters()) own.push_back({item.key(), item.value()});
  assign_parameters(parameters, own, file);
}

}  // namespace fodp
