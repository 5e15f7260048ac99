// --data tensors: arrays of numbers or bytes in .npy, .npz and .safetensors files.
#include <algorithm>
#include <cmath>

#include <fmt/ranges.h>

#include "fodp/base/check.h"
#include "fodp/data/held_out.h"
#include "fodp/data/labelled_arrays.h"
#include "fodp/data/own_data.h"
#include "fodp/data/row_views.h"

namespace fodp {
namespace {

const Normalisation kStandard{{0}, {1}};

LabelRule rule_of(const DataOptions& options) {
  const bool numbers = options.target_low || options.target_high;
  check_input(options.classes.has_value() != numbers,
              "`data` tensors needs `classes`, how many classes there are; or, where the labels are numbers to predict, `target-low` and "
              "`target-high` instead. What is counted in the labels would tell of the rows, so that it is stated");
  if (options.classes) return {.classes = options.classes};
  check_input(options.target_low && options.target_high, "`target-low` and `target-high`: give both");
  const double low = *options.target_low, high = *options.target_high;
  check_input(std::isfinite(low) && std::isfinite(high) && low < high, "`target-low` {} and `target-high` {}: must be finite and in order",
              number_text(low), number_text(high));
  return {.classes = {}, .low = low, .high = high};
}

LabelledArrays training_arrays(const DataOptions& options) {
  check_input(options.train.names.size() == 1, "`train`: tensors come from one file; {} are given", options.train.names.size());
  check_input(options.test.names.size() <= 1, "`test`: tensors come from one file; {} are given", options.test.names.size());
  check_input(!options.test_labels || !options.test.names.empty(), "`test-labels` is for the labels of `test`");
  return LabelledArrays(options.train.names[0], options.labels, true, "`labels`");
}

// Rows of both files must be alike: a byte is divided by 255, and any other number is taken as it is.
void check_alike(const LabelledArrays& arrays, std::span<const std::int64_t> shape, bool bytes, std::string_view others) {
  check_input(std::ranges::equal(arrays.shape(), shape), "{}: a row is [{}]: in {} it is [{}]", arrays.file(),
              fmt::join(arrays.shape(), ", "), others, fmt::join(shape, ", "));
  check_input(arrays.bytes() == bytes,
              "{}: the inputs are {}uint8, unlike those of {}: bytes are divided by 255, and all other numbers are taken as they are",
              arrays.file(), arrays.bytes() ? "" : "not ", others);
}

DataDescription described(const std::vector<std::int64_t>& shape, bool bytes, const Normalisation& normalisation, const LabelRule& rule) {
  DataDescription about{.name = "", .row_shape = shape, .target = rule.target()};
  about.inputs = {
      {"kind", "tensors"}, {"divide_by", bytes ? 255 : 1}, {"mean", normalisation.mean}, {"std", normalisation.std}, {"shape", shape}};
  if (rule.classes) return about;
  about.target_low = rule.low;
  about.target_scale = rule.scale();
  about.inputs["target_low"] = rule.low;
  about.inputs["target_high"] = rule.high;
  return about;
}

DataDescription describe(const DataOptions& options) {
  const LabelRule rule = rule_of(options);
  const LabelledArrays train = training_arrays(options);
  return described(train.shape(), train.bytes(), normalisation_for(train.shape(), options.mean, options.std, kStandard), rule);
}

std::optional<LabelledArrays> test_arrays(const DataOptions& options, const LabelledArrays& train) {
  if (options.test.names.empty()) return std::nullopt;
  LabelledArrays test(options.test.names[0], options.test_labels, true, "`test-labels`");
  check_alike(test, train.shape(), train.bytes(), train.file());
  return test;
}

std::int64_t kept(const std::optional<std::int64_t>& size, std::int64_t rows, std::string_view option) {
  check_input(size.value_or(0) <= rows, "{} is {}: there are {} rows", option, size.value_or(0), rows);
  return size.value_or(rows);
}

// Which rows are held out follows from the rows.
std::optional<DataSizes> sizes(const DataOptions& options) {
  if (options.test_fraction) return std::nullopt;
  const LabelledArrays train = training_arrays(options);
  const std::optional<LabelledArrays> test = test_arrays(options, train);
  return DataSizes{kept(options.train_size, train.count(), "`train-size`"),
                   test ? kept(options.test_size, test->count(), "`test-size`") : 0, SizesFrom::files};
}

std::shared_ptr<const Rows> these(const std::shared_ptr<const Rows>& all, std::vector<std::int64_t> rows) {
  if (static_cast<std::int64_t>(rows.size()) == all->count()) return all;
  return std::make_shared<SomeRows>(all, std::move(rows));
}

RunData load(const DataOptions& options, DataDescription about, const ReadProgress&) {
  RunData data{.about = std::move(about)};
  const LabelRule rule = rule_of(options);
  LabelledArrays train = training_arrays(options);
  std::optional<LabelledArrays> test = test_arrays(options, train);
  const Normalisation normalisation = normalisation_for(train.shape(), options.mean, options.std, kStandard);
  Sha256 contents;
  const LabelledArrays::Loaded loaded = train.load(normalisation, rule, hold_out_of(options), &contents);
  data.fingerprint = contents.text();
  RowsInTwo rows = in_two(train.count(), loaded.held_out, options);
  data.train = these(loaded.rows, std::move(rows.train));
  if (options.test_fraction) data.test = these(loaded.rows, std::move(rows.test));
  if (test) {
    const LabelledArrays::Loaded other = test->load(normalisation, rule, std::nullopt, nullptr);
    data.test = these(other.rows, first_rows(test->count(), options.test_size, "`test-size`"));
  }
  return data;
}

// What a model.json says of the inputs; that of a named data set says the same of its images.
struct Trained {
  std::vector<std::int64_t> shape;
  bool bytes;
  Normalisation normalisation;
  LabelRule rule;

  Trained(const nlohmann::json& model, const std::string& where) {
    const nlohmann::json& inputs = model.at("inputs");
    shape = inputs.at("shape").get<std::vector<std::int64_t>>();
    bytes = inputs.at("divide_by") == 255;
    const bool sound = (shape.size() == 1 || shape.size() == 3) &&
                       std::ranges::all_of(shape, [](std::int64_t size) { return size >= 1 && size <= std::int64_t{1} << 20; });
    check_input(sound, "{}: inputs: the shape is not that of a row", where);
    normalisation = normalisation_for(shape, NumberList{inputs.at("mean").get<std::vector<double>>()},
                                      NumberList{inputs.at("std").get<std::vector<double>>()}, kStandard);
    if (const auto classes = model.at("classes").get<std::int64_t>(); classes > 0)
      rule.classes = classes;
    else
      rule = {.classes = {}, .low = inputs.at("target_low"), .high = inputs.at("target_high")};
  }
};

DataDescription describe_trained(const nlohmann::json& model, const std::string& where) {
  const Trained trained(model, where);
  return described(trained.shape, trained.bytes, trained.normalisation, trained.rule);
}

NewRows read_new(const nlohmann::json& model, const NewRowsOptions& options, const std::string& where) {
  const Trained trained(model, where);
  LabelledArrays arrays(options.data, options.labels, options.with_labels, "`labels`");
  check_alike(arrays, trained.shape, trained.bytes, "the data that the run was trained on");
  Sha256 contents;
  const std::shared_ptr<const Rows> rows = arrays.load(trained.normalisation, trained.rule, std::nullopt, &contents).rows;
  return {.rows = rows, .fingerprint = contents.text()};
}

}  // namespace

extern const DataKind kTensorData = {
    .name = "tensors",
    .reads = {"train", "test", "labels", "test-labels", "classes", "target-low", "target-high", "mean", "std", "test-fraction", "test-seed",
              "test-public"},
    .describe = describe,
    .sizes = sizes,
    .load = load,
    .describe_trained = describe_trained,
    .read_new = read_new,
};

}  // namespace fodp
