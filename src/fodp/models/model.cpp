#include "fodp/models/model.h"

#include "fodp/base/check.h"

namespace fodp {

Model make_model(const ModelOptions& options, const InputShape& shape) {
  validate_fields(options);
  switch (options.model) {
    case ModelKind::mlp:
      return make_mlp(options, shape);
    case ModelKind::cnn:
      return make_cnn(options, shape);
    case ModelKind::resnet:
      return make_resnet(options, shape);
  }
  throw FaultError("a model that is not in the table");
}

}  // namespace fodp
