// The zip archive of torch.save. LibTorch's reader does the reading, after a check of the directory here: the reader of 1.13 takes whatever
// memory a record claims, compares no checksums, and leaks when its constructor throws.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include <c10/core/Allocator.h>

namespace caffe2::serialize {
class PyTorchStreamReader;
}

namespace fodp::files {

struct ZipRecord {
  at::DataPtr data;
  std::size_t size;

  std::string_view bytes() const { return {static_cast<const char*>(data.get()), size}; }
};

class ZipArchive {
 public:
  // `bytes` must outlive the archive; `file` is for messages.
  ZipArchive(std::string_view bytes, std::string_view file);
  ~ZipArchive();

  bool has(std::string_view name) const { return checksums_.contains(name); }
  ZipRecord record(const std::string& name);

 private:
  std::string_view file_;
  std::map<std::string_view, std::uint32_t> checksums_;  // by name, without the folder that all records of torch.save lie in
  std::unique_ptr<caffe2::serialize::PyTorchStreamReader> reader_;
};

}  // namespace fodp::files
