// The rows of a table as numbers, by its schema.
//
// A number is clipped to its bounds and scaled to [-1, 1]; a date likewise; a category becomes one input for each of its values and one for
// all others, 1 for the one that it is and else 0. Where values may be missing, a further input is 1 for a row that has none, whose other
// inputs of that column are 0. What a row becomes depends on that row and on the schema alone. In memory a row has one float for each
// column of the schema that is used.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "fodp/base/sha256.h"
#include "fodp/data/held_out.h"
#include "fodp/data/rows.h"
#include "fodp/data/schema.h"

namespace fodp {

// What is read of a file: for training everything; to test on, inputs and labels; to predict, inputs alone, and the file need not have
// more.
enum class TableUse { train, test, predict };

double memory_of_this_machine();  // in bytes

class TableRows : public Rows {
 public:
  // No rows yet. The schema must be one that check() passes. A file whose rows would take more than so many bytes, such as a small one that
  // unpacks to a huge one, is refused before memory runs out.
  explicit TableRows(Schema schema, double most_bytes = memory_of_this_machine());

  // Adds the rows of a file. InputError, with file, line, column and what was expected, for a value that is wrong, for a row with more or
  // fewer fields than the others, for columns that are not those of the schema, and for a file without rows. No message repeats a value.
  void add_file(const std::filesystem::path& file, TableUse use, Sha256* contents = nullptr);

  const Schema& schema() const { return schema_; }
  std::int64_t count() const override { return static_cast<std::int64_t>(labels_.size()); }
  std::vector<RowShape> inputs() const override { return {{{inputs_}, at::kFloat}}; }
  Target target() const override;
  Batch gather(std::span<const std::int64_t> rows) const override;
  std::span<const float> labels() const { return labels_; }  // of all rows: the number of the class, or the scaled number

  // From here on about this fraction of the units (of the rows, where the schema has no unit) is marked as held out. Which ones follows
  // from the seed and the unit's name alone (the row's fields, and how many equal rows came before), so that another unit more or less
  // changes nothing for the rest. Of equal rows it does not matter which is held out.
  void hold_out(double fraction, std::uint64_t seed);
  void end_of_files();                                             // frees what only further rows would need
  const std::vector<bool>& held_out() const { return held_out_; }  // for each row; empty before

  // Rows of the same unit have the same number; units are numbered from 0 by their first row. Empty if the schema has no unit.
  const std::vector<std::int64_t>& unit_of_row() const { return units_; }

 private:
  class FileReader;

  std::span<const float> cells(std::int64_t row) const;
  void add_cell(float value);
  void check_memory(const std::string& file) const;
  void fill(std::int64_t row, float* out) const;

  Schema schema_;
  double most_bytes_;
  std::vector<std::size_t> used_;  // columns of the schema that are inputs
  std::int64_t inputs_ = 0;
  // In chunks of equally many rows, [rows][used]: a scaled number, the number of a category, or NaN where the value is missing.
  std::vector<std::vector<float>> chunks_;
  std::vector<float> labels_;  // number of the class, or the scaled number
  std::vector<std::int64_t> units_;
  std::vector<std::string> unit_names_;
  std::optional<HoldOut> holding_out_;
  std::vector<bool> held_out_;
};

// A label that is a number, as the model learns it, and back: scaled so that its bounds are -1 and 1.
double scaled(const Column& column, double value);
double unscaled(const Column& column, double value);

}  // namespace fodp
