// One safetensors file. What was read is written and read again.
#include "fodp/files/safetensors.h"

#include "target.h"

FODP_FUZZ_TARGET(safetensors) {
  const files::StateDict dict = files::from_safetensors(text(bytes), "FILE");
  const files::Metadata metadata = files::metadata_of_safetensors(text(bytes), "FILE");
  const files::StateDict again = files::from_safetensors(files::to_safetensors(dict, metadata, "FILE"), "FILE");
  require(again.size() == dict.size(), "as many tensors come back");
  for (std::size_t i = 0; i < dict.size(); ++i)
    require(again[i].name == dict[i].name && again[i].value.sizes() == dict[i].value.sizes(), "names and shapes come back");
}
