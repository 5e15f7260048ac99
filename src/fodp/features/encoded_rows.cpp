#include "fodp/features/encoded_rows.h"

#include <algorithm>

#include <ATen/ops/empty.h>

#include "fodp/base/check.h"

namespace fodp {

EncodedRows::EncodedRows(std::shared_ptr<const Rows> images, PatchDictionary dictionary, ParallelFor parallel)
    : images_(std::move(images)), dictionary_(std::move(dictionary)), parallel_(std::move(parallel)) {
  const ImageShape& shape = dictionary_.sizes.image;
  check_input(static_cast<std::int64_t>(images_->bytes().size()) == images_->count() * shape.channels * shape.side * shape.side,
              "features: the rows are not images of {} x {} x {} bytes", shape.channels, shape.side, shape.side);
}

Batch EncodedRows::gather(std::span<const std::int64_t> rows) const {
  const std::span<const std::uint8_t> bytes = images_->bytes();
  const std::size_t each = bytes.size() / static_cast<std::size_t>(images_->count());
  std::vector<std::uint8_t> pixels;
  pixels.reserve(rows.size() * each);
  at::Tensor targets = images_->gather(rows).targets;  // refuses a row that does not exist
  for (const std::int64_t row : rows) {
    const auto own = bytes.subspan(static_cast<std::size_t>(row) * each, each);
    pixels.insert(pixels.end(), own.begin(), own.end());
  }
  const std::int64_t values = dictionary_.sizes.values();
  at::Tensor features = at::empty({static_cast<std::int64_t>(rows.size()), values}, at::kFloat);
  encode_images(dictionary_, pixels, parallel_, [&](std::int64_t first, std::int64_t count, const float* some) {
    std::copy_n(some, count * values, features.data_ptr<float>() + first * values);
  });
  return {features.to(at::kBFloat16).to(at::kFloat), std::move(targets)};
}

}  // namespace fodp
