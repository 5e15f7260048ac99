#include "fodp/models/model.h"

#include "fodp/base/check.h"

namespace fodp {

Model make_model(const ModelOptions& options, const InputShape& shape) {
  validate_fields(options);
  switch (options.model) {
    case ModelKind::mlp:
      return make_mlp(options, shape);
    case ModelKind::cnn:
    case ModelKind::resnet:
      break;
  }
  throw InputError(fmt::format("--model: {} is not in this version: use mlp", enum_name(options.model)));
}

}  // namespace fodp
