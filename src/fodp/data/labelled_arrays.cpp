#include "fodp/data/labelled_arrays.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <fmt/ranges.h>

#include "fodp/base/check.h"

namespace fodp {
namespace {

constexpr std::string_view kInputNames[] = {"x", "inputs", "images", "data", "features"};
constexpr std::string_view kLabelNames[] = {"y", "labels", "targets", "label", "target"};

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::string printable(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c < ' ' || c > '~'; }, '?');
  return text.substr(0, 60);
}

std::size_t place_of(const ArrayFile& file, std::span<const std::string_view> known, std::string_view what) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < file.names().size(); ++i)
    if (std::ranges::find(known, lower(file.names()[i])) != known.end()) found.push_back(i);
  std::vector<std::string> names;
  for (const std::string& name : file.names())
    if (names.size() < 20) names.push_back(printable(name));
  check_input(found.size() == 1, "{}: {} array for the {}: expected exactly one called {}; the file has: {}", file.file(),
              found.empty() ? "no" : "more than one", what, fmt::join(known, ", "), fmt::join(names, ", "));
  return found[0];
}

std::vector<std::int64_t> row_shape(const ArrayInfo& array, const std::string& file) {
  const std::vector<std::int64_t>& all = array.shape;
  check_input(!all.empty() && all[0] >= 1, "{}: the inputs are {}: the rows must be the first dimension, and there must be one", file,
              array.text());
  check_input(std::ranges::none_of(all, [](std::int64_t size) { return size == 0; }), "{}: the inputs are {}: rows without numbers", file,
              array.text());
  check_input(all.size() <= 4, "{}: the inputs are {}: expected [rows, numbers], [rows, height, width] or [rows, channels, height, width]",
              file, array.text());
  if (all.size() == 1) return {1};
  if (all.size() == 2) return {all[1]};
  if (all.size() == 3) return {1, all[1], all[2]};
  const bool channels_last = (all[3] == 1 || all[3] == 3 || all[3] == 4) && all[1] > 4 && all[2] > 4;
  check_input(!channels_last,
              "{}: the inputs are {}, which looks like images with their channels last: expected [rows, channels, height, width] (numpy: "
              "x.transpose(0, 3, 1, 2))",
              file, array.text());
  return {all[1], all[2], all[3]};
}

// Calls `f` with the number of each value in the array and the value.
template <class F>
void for_each_number(ArrayFile& file, std::size_t place, Sha256* contents, const F& f) {
  const ArrayInfo array = file.info(place);
  if (contents) contents->add(array.text() + "\n");
  std::vector<double> numbers;
  std::int64_t next = 0;
  file.read(place, [&](std::span<const std::uint8_t> piece) {
    if (contents) contents->add(piece);
    numbers.resize(piece.size() / array.width());
    to_numbers(array.type, piece, numbers.data());
    for (const double number : numbers) f(next++, number);
  });
}

}  // namespace

Target LabelRule::target() const {
  if (!classes) return {Target::Kind::number, 0, {{}, at::kFloat}};
  return {Target::Kind::classes, *classes, {{}, at::kLong}};
}

LabelledArrays::LabelledArrays(const std::string& file, const std::optional<std::string>& labels, bool with_labels,
                               std::string_view labels_option)
    : inputs_(ArrayFile::open(file)) {
  const bool nameless = inputs_->names().size() == 1 && inputs_->names()[0].empty();
  check_input(nameless || !labels, "{}: {} is for the labels of a .npy file: this file has its labels itself", file, labels_option);
  if (!nameless) inputs_place_ = place_of(*inputs_, kInputNames, "inputs");
  info_ = inputs_->info(inputs_place_);
  shape_ = row_shape(info_, file);
  count_ = info_.shape[0];
  features_ = static_cast<std::int64_t>(info_.values()) / count_;
  if (!with_labels) return;
  check_input(!nameless || labels, "{}: a .npy file holds the inputs alone: {} names the .npy file with their labels", file, labels_option);
  labels_ = nameless ? std::shared_ptr<ArrayFile>(ArrayFile::open(*labels)) : inputs_;
  check_input(!nameless || (labels_->names().size() == 1 && labels_->names()[0].empty()), "{} {}: must be a .npy file", labels_option,
              labels_->file());
  if (!nameless) labels_place_ = place_of(*labels_, kLabelNames, "labels");
  const ArrayInfo found = labels_->info(labels_place_);
  const bool one_each = found.shape.size() == 1 || (found.shape.size() == 2 && found.shape[1] == 1);
  check_input(one_each && found.shape[0] == count_,
              "{}: the labels are {}: expected one for each of the {} rows (of one-hot labels, numpy gives them by y.argmax(1))",
              labels_->file(), found.text(), count_);
}

std::vector<std::uint8_t> LabelledArrays::read_bytes(Sha256* contents) {
  check_memory(info_.bytes(), file() + ": the inputs");
  std::vector<std::uint8_t> all;
  all.reserve(static_cast<std::size_t>(info_.bytes()));
  if (contents) contents->add(info_.text() + "\n");
  inputs_->read(inputs_place_, [&](std::span<const std::uint8_t> piece) {
    if (contents) contents->add(piece);
    all.insert(all.end(), piece.begin(), piece.end());
  });
  return all;
}

at::Tensor LabelledArrays::read_floats(Sha256* contents) {
  check_memory(info_.values() * sizeof(float), file() + ": the inputs");
  std::vector<std::int64_t> sizes = shape_;
  sizes.insert(sizes.begin(), count_);
  at::Tensor all = at::empty(sizes, at::kFloat);
  float* to = all.data_ptr<float>();
  for_each_number(*inputs_, inputs_place_, contents, [&](std::int64_t place, double number) {
    to[place] = static_cast<float>(number);
    check_input(std::isfinite(to[place]), "{}: row {}: an input is not a finite number", file(), place / features_ + 1);
  });
  return all;
}

at::Tensor LabelledArrays::read_labels(const LabelRule& rule, Sha256* contents) {
  at::Tensor all = at::zeros({count_}, rule.classes ? at::kLong : at::kFloat);
  if (!labels_) return all;
  const std::string& where = labels_->file();
  const at::ScalarType type = labels_->info(labels_place_).type;
  check_input(!rule.classes || !at::isFloatingType(type),
              "{}: the labels are {}: classes are whole numbers (numpy: y.astype('int64')); for numbers to predict give `target-low` and "
              "`target-high` instead of `classes`",
              where, labels_->info(labels_place_).text());
  for_each_number(*labels_, labels_place_, contents, [&](std::int64_t row, double label) {
    if (rule.classes) {
      check_input(label >= 0 && label < static_cast<double>(*rule.classes), "{}: row {}: the label is no class: must be from 0 to {}",
                  where, row + 1, *rule.classes - 1);
      all.data_ptr<std::int64_t>()[row] = static_cast<std::int64_t>(label);
    } else {
      check_input(std::isfinite(label), "{}: row {}: the label is not a finite number", where, row + 1);
      const double inside = std::clamp(label, rule.low, rule.high);
      all.data_ptr<float>()[row] = static_cast<float>(2 * ((inside / 2 - rule.low / 2) / rule.scale()) - 1);
    }
  });
  return all;
}

LabelledArrays::Loaded LabelledArrays::load(const Normalisation& normalisation, const LabelRule& rule, std::optional<HoldOut> hold_out,
                                            Sha256* contents) {
  std::vector<std::uint8_t> bytes;
  at::Tensor floats;
  if (this->bytes())
    bytes = read_bytes(contents);
  else
    floats = read_floats(contents);
  const at::Tensor targets = read_labels(rule, contents);
  Loaded loaded;
  for (std::int64_t row = 0; hold_out && row < count_; ++row) {
    Sha256 hash = hold_out->start();
    if (this->bytes())
      hash.add(bytes.data() + row * features_, static_cast<std::size_t>(features_));
    else
      hash.add(floats.data_ptr<float>() + row * features_, static_cast<std::size_t>(features_) * sizeof(float));
    hash.add(static_cast<const char*>(targets.data_ptr()) + row * static_cast<std::int64_t>(targets.element_size()),
             targets.element_size());
    loaded.held_out.push_back(hold_out->row_is_held_out(hash));
  }
  if (this->bytes()) {
    loaded.rows = std::make_shared<ByteRows>(shape_, normalisation, std::move(bytes), targets, rule.classes);
    return loaded;
  }
  const std::size_t channels = normalisation.mean.size();
  const std::int64_t plane = features_ / static_cast<std::int64_t>(channels);
  float* value = floats.data_ptr<float>();
  for (std::int64_t row = 0; row < count_; ++row)
    for (std::size_t channel = 0; channel < channels; ++channel)
      for (std::int64_t i = 0; i < plane; ++i, ++value) *value = normalisation.apply(*value, channel);
  loaded.rows = std::make_shared<TensorRows>(floats, targets, rule.classes);
  return loaded;
}

}  // namespace fodp
