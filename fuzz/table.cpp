// A schema and a table in one input, with a byte 0 between them. What a table becomes depends on no chance: read twice, it is the same.
#include <algorithm>

#include "fodp/data/schema_draft.h"
#include "fodp/data/table.h"
#include "target.h"

FODP_FUZZ_TARGET(table) {
  const auto end = std::ranges::find(bytes, 0);
  if (end == bytes.end()) return;
  const std::string text(bytes.begin(), end);
  const std::filesystem::path file = file_with("table.csv", bytes.subspan(static_cast<std::size_t>(end - bytes.begin()) + 1));
  const Schema schema = schema_from_toml(text, "schema");
  TableRows rows(schema);
  rows.hold_out(.5, 1);
  rows.add_file(file, TableUse::train);
  require(rows.held_out().size() == static_cast<std::size_t>(rows.count()), "every row is held out or not");
  std::vector<std::int64_t> all;
  for (std::int64_t row = 0; row < std::min<std::int64_t>(rows.count(), 100); ++row) all.push_back(row);
  const Batch batch = rows.gather(all);
  const at::Tensor& inputs = batch.inputs;
  for (std::int64_t i = 0; i < inputs.numel(); ++i)
    require(inputs.data_ptr<float>()[i] >= -1 && inputs.data_ptr<float>()[i] <= 1, "inputs lie in [-1, 1]");
  try {
    const Schema draft = schema_from_toml(draft_schema(file), "draft");
    require(draft.columns.size() >= 1, "a draft has columns");
  } catch (const InputError&) {
    // A table that a schema fits need not be one that a schema can be guessed for.
  }
}
