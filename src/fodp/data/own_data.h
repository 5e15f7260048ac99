// Data as a run takes it, whatever kind it is of: a named data set of the table in sources.cpp, or data that the user brings, of a kind of
// the table in own_data.cpp.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "fodp/data/dataset.h"
#include "fodp/data/rows.h"
#include "fodp/data/schema.h"

namespace fodp {

// What is public about the data of a run before any row is read.
struct DataDescription {
  std::string name;                           // what the statement calls it: "cifar-10"
  std::vector<std::int64_t> row_shape;        // of the inputs of one row
  Target target = {};                         // of one row
  std::vector<std::string> class_names = {};  // in order; empty where classes have numbers only
  nlohmann::ordered_json inputs = {};         // how inputs are made of what is read, for whoever uses the model elsewhere
  // Of a target that is a number: the model learns it within [-1, 1], and what is -1 to the model is `target_low`, what is 1 to it is
  // target_low + 2 * target_scale.
  double target_low = -1, target_scale = 1;
  std::string unit = "row";  // whom the guarantee is for: each row, or the column that says whose row it is
  std::int64_t rows_per_unit = 1;
  bool test_is_public = true;
  bool unit_norm = false;  // the inputs of a row are features of norm 1 (features/feature_data.h)
};

struct RunData {
  DataDescription about;
  std::shared_ptr<const Rows> train;  // units, where the data has a unit
  std::shared_ptr<const Rows> test;   // null if there are none
  std::string fingerprint;            // as of Dataset

  DataSizes sizes() const { return {train->count(), test ? test->count() : 0, SizesFrom::files}; }
};

// Told now and then while rows are read that take long: how many are read, of how many.
using ReadProgress = std::function<void(std::int64_t done, std::int64_t all)>;

// Rows for a model that was trained: where they stand, and whether their labels are read, too.
struct NewRowsOptions {
  std::string data;
  std::optional<std::string> labels = {};  // a file of their own, for kinds that have it
  bool with_labels = false;
};

struct NewRows {
  std::shared_ptr<const Rows> rows;
  std::vector<std::string> names = {};  // of the file of each row, where each has one
  std::string fingerprint = {};         // as of RunData
};

// A kind of data that the user brings.
struct DataKind {
  std::string_view name;                // "table"
  std::vector<std::string_view> reads;  // the data options that it takes
  DataDescription (*describe)(const DataOptions& options);
  // How many rows load() gives, by headers and names of files alone; nothing where only reading the rows tells.
  std::optional<DataSizes> (*sizes)(const DataOptions& options);
  RunData (*load)(const DataOptions& options, DataDescription about, const ReadProgress& progress);
  // Of a run that was trained on data of this kind, by its model.json, which `where` names: what was public about the data, and further
  // rows as that run would take them.
  DataDescription (*describe_trained)(const nlohmann::json& model, const std::string& where);
  NewRows (*read_new)(const nlohmann::json& model, const NewRowsOptions& options, const std::string& where);
};

std::span<const DataKind> data_kinds();
const DataKind* find_data_kind(std::string_view name);  // null if it is none

DataDescription describe_named(const DataFormat& format);

// Of data of any kind. All throw InputError for options that do not go together or files that are not as they should be, and PrivacyError
// for a schema that is not confirmed.
DataDescription describe_data(const DataOptions& options);
// Nothing where only reading the rows tells how many there are.
std::optional<DataSizes> sizes_before_reading(const DataOptions& options);
RunData load_data(const DataOptions& options, const ReadProgress& progress = {});

// The kind of data that a run was trained on, by its model.json. Named data sets are tensors of bytes to whoever has more of their images.
const DataKind& kind_of_trained(const nlohmann::json& model, const std::string& where);

// The kind "table" (table_data.cpp): how a row of such a schema is described, and the schema that the options name, with their unit.
DataDescription describe_table(const Schema& schema, const std::string& schema_text);
Schema schema_of(const DataOptions& options);

extern const DataKind kTableData, kTensorData, kImageData;

}  // namespace fodp
