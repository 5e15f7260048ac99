// Rows of features that are computed whenever they are gathered: for a model that predicts each row once.
#pragma once

#include <memory>

#include "fodp/base/parallel.h"
#include "fodp/data/rows.h"
#include "fodp/features/patch_features.h"

namespace fodp {

class EncodedRows : public Rows {
 public:
  // InputError unless `images` are rows of bytes of the dictionary's shape.
  EncodedRows(std::shared_ptr<const Rows> images, PatchDictionary dictionary, ParallelFor parallel);

  std::int64_t count() const override { return images_->count(); }
  std::vector<RowShape> inputs() const override { return {{{dictionary_.sizes.values()}, at::kFloat}}; }
  Target target() const override { return images_->target(); }
  // With values rounded to bfloat16, as a cache keeps them.
  Batch gather(std::span<const std::int64_t> rows) const override;

 private:
  std::shared_ptr<const Rows> images_;
  PatchDictionary dictionary_;
  ParallelFor parallel_;
};

}  // namespace fodp
