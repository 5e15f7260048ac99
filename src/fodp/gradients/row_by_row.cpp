#include "fodp/gradients/row_by_row.h"

#include <algorithm>

#include <ATen/ops/cat.h>

#include "fodp/base/phases.h"

namespace fodp {

void pass_on_refusals() {
  try {
    throw;
  } catch (const PrivacyError&) {
    throw;
  } catch (const FaultError&) {
    throw;
  } catch (...) {
  }
}

Batch fetched(const Gather& gather, std::span<const std::int64_t> rows) {
  const InPhase in_phase(Phase::gather);
  Batch batch = gather(rows);
  check_privacy(batch.inputs.size() > 0 && batch.inputs.rows() == static_cast<std::int64_t>(rows.size()),
                "the function that fetches rows gives another number of rows than it is asked for");
  return batch;
}

Batch copy_of(const Batch& batch) {
  std::vector<at::Tensor> inputs;
  for (const at::Tensor& tensor : batch.inputs) inputs.push_back(tensor.clone());
  return {std::move(inputs), batch.targets.defined() ? batch.targets.clone() : at::Tensor()};
}

Batch joined(std::span<const std::optional<Batch>> rows) {
  const Batch& stand_in = **std::ranges::find_if(rows, [](const auto& row) { return row.has_value(); });
  const auto join = [&](const auto& tensor_of) {
    std::vector<at::Tensor> parts;
    for (const auto& row : rows) parts.push_back(tensor_of(row ? *row : stand_in));
    return at::cat(parts, 0);
  };
  std::vector<at::Tensor> inputs;
  for (std::size_t k = 0; k < stand_in.inputs.size(); ++k) inputs.push_back(join([&](const Batch& row) { return row.inputs[k]; }));
  return {std::move(inputs), stand_in.targets.defined() ? join([](const Batch& row) { return row.targets; }) : at::Tensor()};
}

}  // namespace fodp
