// Rows of features that are computed whenever they are gathered: for a model that predicts each row once.
#pragma once

#include <memory>

#include "fodp/base/parallel.h"
#include "fodp/data/rows.h"
#include "fodp/features/feature_recipe.h"

namespace fodp {

class EncodedRows : public Rows {
 public:
  // InputError unless `images` are rows of the encoder's bytes.
  EncodedRows(std::shared_ptr<const Rows> images, std::shared_ptr<const ImageEncoder> encoder, std::int64_t values, ParallelFor parallel);

  std::int64_t count() const override { return images_->count(); }
  std::vector<RowShape> inputs() const override { return {{{values_}, at::kBFloat16}}; }
  Target target() const override { return images_->target(); }
  // In bfloat16, as a cache keeps them.
  Batch gather(std::span<const std::int64_t> rows) const override;

 private:
  std::shared_ptr<const Rows> images_;
  std::shared_ptr<const ImageEncoder> encoder_;
  std::int64_t values_;
  ParallelFor parallel_;
};

}  // namespace fodp
