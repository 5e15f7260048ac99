// Data as a run takes it, whatever kind it is of: a named data set of the table in sources.cpp, or data that the user brings, of a kind of
// the table in own_data.cpp.
#pragma once

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
  double target_scale = 1;                    // what 1 stands for, of a target that is a number: the model learns it within [-1, 1]
  std::string unit = "row";                   // whom the guarantee is for: each row, or the column that says whose row it is
  std::int64_t rows_per_unit = 1;
  bool test_is_public = true;
};

struct RunData {
  DataDescription about;
  std::shared_ptr<const Rows> train;  // units, where the data has a unit
  std::shared_ptr<const Rows> test;   // null if there are none
  std::string fingerprint;            // as of Dataset

  DataSizes sizes() const { return {train->count(), test ? test->count() : 0, SizesFrom::files}; }
};

// A kind of data that the user brings.
struct DataKind {
  std::string_view name;                // "table"
  std::vector<std::string_view> reads;  // the data options that it takes
  DataDescription (*describe)(const DataOptions& options);
  RunData (*load)(const DataOptions& options);
};

std::span<const DataKind> data_kinds();
const DataKind* find_data_kind(std::string_view name);  // null if it is none

DataDescription describe_named(const DataFormat& format);

// Of data of any kind. All throw InputError for options that do not go together or files that are not as they should be, and PrivacyError
// for a schema that is not confirmed.
DataDescription describe_data(const DataOptions& options);
// Nothing where only reading the rows tells how many there are.
std::optional<DataSizes> sizes_before_reading(const DataOptions& options);
RunData load_data(const DataOptions& options);

// The kind "table" (table_data.cpp): how a row of such a schema is described, and the schema that the options name, with their unit.
DataDescription describe_table(const Schema& schema, const std::string& schema_text);
Schema schema_of(const DataOptions& options);

extern const DataKind kTableData;

}  // namespace fodp
