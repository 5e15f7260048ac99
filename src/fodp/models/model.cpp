#include "fodp/models/model.h"

#include "fodp/base/check.h"

namespace fodp {

InputShape InputShape::of(std::span<const std::int64_t> row, std::int64_t outputs) {
  check_input(row.size() == 1 || row.size() == 3, "a row has {} dimensions: a named model takes lists of numbers or images", row.size());
  if (row.size() == 1) return {1, 1, row[0], outputs, /*is_list=*/true};
  return {row[0], row[1], row[2], outputs};
}

Model make_model(const ModelOptions& options, const InputShape& shape) {
  validate_fields(options);
  const bool for_images = options.model == ModelKind::cnn || options.model == ModelKind::resnet;
  check_input(!shape.is_list || !for_images, "`model` {} is for images: for rows of numbers there are linear and mlp",
              enum_name(options.model));
  switch (options.model) {
    case ModelKind::mlp:
      return make_mlp(options, shape);
    case ModelKind::linear:
      return make_linear(options, shape);
    case ModelKind::cnn:
      return make_cnn(options, shape);
    case ModelKind::resnet:
      return make_resnet(options, shape);
  }
  throw FaultError("a model that is not in the table");
}

}  // namespace fodp
