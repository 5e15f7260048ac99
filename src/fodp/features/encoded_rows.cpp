#include "fodp/features/encoded_rows.h"

#include <algorithm>

#include <ATen/ops/empty.h>

#include "fodp/base/check.h"

namespace fodp {

EncodedRows::EncodedRows(std::shared_ptr<const Rows> images, std::shared_ptr<const ImageEncoder> encoder, std::int64_t values,
                         ParallelFor parallel)
    : images_(std::move(images)), encoder_(std::move(encoder)), values_(values), parallel_(std::move(parallel)) {
  check_input(static_cast<std::int64_t>(images_->bytes().size()) == images_->count() * encoder_->image_bytes(),
              "features: the rows are not images of {} bytes", encoder_->image_bytes());
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
  const std::int64_t values = values_;
  at::Tensor features = at::empty({static_cast<std::int64_t>(rows.size()), values}, at::kFloat);
  encoder_->encode(pixels, parallel_, [&](std::int64_t first, std::int64_t count, const float* some) {
    std::copy_n(some, count * values, features.data_ptr<float>() + first * values);
  });
  return {features.to(at::kBFloat16), std::move(targets)};
}

}  // namespace fodp
