// Tables of a study: a mean over the seeds for each combination of labels, and what sets it apart from the baseline.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "study/results.h"
#include "study/statistics.h"

namespace fodp::app {

struct TableLine {
  std::vector<std::string> labels;  // of the table's axes, in its order
  Estimate value;
  std::int64_t runs = 0;              // how many have ended: more than value.n where some have no such number
  std::optional<double> error;        // the test set's own sampling error, for accuracies
  std::optional<double> epsilon;      // what these runs spent, on average; infinite without noise
  std::optional<Comparison> against;  // the baseline, over the seeds that both have; none in the baseline's own line
  std::optional<double> p_holm;       // corrected for the lines compared with the same baseline
};

struct Table {
  TableSpec spec;
  std::vector<TableLine> lines;  // combinations without a finished run are left out
};

Table make_table(const TableSpec& spec, const StudyResults& results);

// The axes' names, then n, mean, std, low, high, and the rest; numbers with all their digits, empty where not known.
std::string table_csv(const Table& table);
std::string table_markdown(const Table& table);
// As the page takes it.
nlohmann::ordered_json table_json(const Table& table);

}  // namespace fodp::app
