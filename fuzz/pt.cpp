// One model file of torch.save: the zip archive and what lies in it.
#include "fodp/files/pt_file.h"
#include "target.h"

FODP_FUZZ_TARGET(pt) {
  const files::StateDict dict = files::from_pt(text(bytes), "FILE");
  for (const auto& [name, value] : dict) require(value.is_contiguous(), "tensors are contiguous");
}
