// The program inside a model file of torch.save, with an archive made around it: storages 0 to 3 have 24, 4, 12 and 3 floats. In a whole
// file (pt.cpp) the checksum keeps most changes of the program from being read.
#include "fodp/files/pickle.h"

#include <string>
#include <utility>

#include <caffe2/serialize/inline_container.h>

#include "fodp/files/pt_file.h"
#include "target.h"

namespace {

std::string archive_around(fodp::fuzz::Bytes pickle) {
  std::string bytes;
  caffe2::serialize::PyTorchStreamWriter writer([&](const void* data, std::size_t size) {
    bytes.append(static_cast<const char*>(data), size);
    return size;
  });
  writer.writeRecord("data.pkl", pickle.data(), pickle.size());
  const float values[24] = {1, 2, 3};
  for (const auto& [name, count] : {std::pair("data/0", 24), {"data/1", 4}, {"data/2", 12}, {"data/3", 3}})
    writer.writeRecord(name, values, static_cast<std::size_t>(count) * sizeof(float));
  writer.writeEndOfFile();
  return bytes;
}

}  // namespace

FODP_FUZZ_TARGET(pickle) {
  const files::Pickle pickle = files::read_pickle(text(bytes), "FILE");
  for (const files::Value& value : pickle.pool)
    for (const files::Index item : value.items) require(item < pickle.pool.size(), "values hold values of the pool");
  const files::StateDict dict = files::from_pt(archive_around(bytes), "FILE");
  for (const auto& [name, value] : dict) require(value.is_contiguous(), "tensors are contiguous");
}
