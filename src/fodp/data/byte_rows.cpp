#include "fodp/data/byte_rows.h"

#include <cmath>

#include <ATen/ops/empty.h>

#include "fodp/base/check.h"

namespace fodp {
namespace {

std::int64_t product(std::span<const std::int64_t> shape) {
  std::int64_t all = 1;
  for (const std::int64_t size : shape) all *= size;
  return all;
}

std::vector<double> one_for_each(const std::vector<double>& given, std::span<const std::int64_t> shape, std::string_view option) {
  const bool image = shape.size() == 3;
  const auto channels = static_cast<std::size_t>(shape[0]);
  check_input(given.size() == 1 || given.size() == channels, "{} has {} numbers: give one, or one for each of the {} {}", option,
              given.size(), channels, image ? "channels" : "numbers of a row");
  for (const double number : given) check_input(std::isfinite(number), "{} has a number that is not finite", option);
  return image && given.size() == 1 ? std::vector<double>(channels, given[0]) : given;
}

}  // namespace

Normalisation normalisation_for(std::span<const std::int64_t> shape, const std::optional<NumberList>& mean,
                                const std::optional<NumberList>& std, const Normalisation& standard) {
  Normalisation made{one_for_each(mean ? mean->numbers : standard.mean, shape, "`mean`"),
                     one_for_each(std ? std->numbers : standard.std, shape, "`std`")};
  for (const double number : made.std) check_input(number > 0, "`std` has the number {}: must be above 0", number_text(number));
  const std::size_t channels = std::max(made.mean.size(), made.std.size());  // of lists, one of the two may have one for all
  made.mean.resize(channels, made.mean[0]);
  made.std.resize(channels, made.std[0]);
  return made;
}

ByteRows::ByteRows(std::vector<std::int64_t> shape, const Normalisation& normalisation, std::vector<std::uint8_t> bytes, at::Tensor targets,
                   std::optional<std::int64_t> classes)
    : shape_(std::move(shape)),
      features_(product(shape_)),
      bytes_(std::move(bytes)),
      targets_(at::empty({targets.size(0), 0}, at::kFloat), targets, classes) {
  const auto channels = static_cast<std::int64_t>(normalisation.mean.size());
  check_input(channels >= 1 && features_ % channels == 0, "{} means for rows of {} values: they do not divide", channels, features_);
  check_input(static_cast<std::int64_t>(bytes_.size()) == count() * features_, "{} bytes for {} rows: must be {} each", bytes_.size(),
              count(), features_);
  for (std::size_t c = 0; c < normalisation.mean.size(); ++c) lines_.emplace_back(normalisation.mean[c], normalisation.std[c]);
}

Batch ByteRows::gather(std::span<const std::int64_t> rows) const {
  at::Tensor targets = targets_.gather(rows).targets;
  std::vector<std::int64_t> sizes = shape_;
  sizes.insert(sizes.begin(), static_cast<std::int64_t>(rows.size()));
  at::Tensor out = at::empty(sizes, at::kFloat);
  float* to = out.data_ptr<float>();
  const std::int64_t plane = features_ / static_cast<std::int64_t>(lines_.size());
  for (const std::int64_t row : rows) {
    const std::uint8_t* from = bytes_.data() + row * features_;
    for (const ByteLine& line : lines_) {
      line.apply({from, static_cast<std::size_t>(plane)}, to);
      from += plane;
      to += plane;
    }
  }
  return {out, targets};
}

}  // namespace fodp
