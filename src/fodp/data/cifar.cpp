#include "fodp/data/cifar.h"

#include "fodp/base/check.h"
#include "fodp/data/file_bytes.h"

namespace fodp {
namespace {

// One label byte of a record: what it is called in messages and how many values it has. The last one of a record is the class.
struct LabelByte {
  std::string_view name;
  std::int64_t values;
};

void append_file(const DataFormat& format, std::span<const LabelByte> label_bytes, const std::filesystem::path& path,
                 std::vector<std::uint8_t>& pixels, std::vector<std::uint8_t>& labels) {
  FileBytes file(path);
  auto features = static_cast<std::size_t>(format.features());
  std::uint64_t record = label_bytes.size() + features, records = file.file_size() / record;
  check_input(file.file_size() % record == 0, "{}: {} bytes are {} records of {} and {} bytes more: expected whole records", file.name(),
              file.file_size(), records, record, file.file_size() % record);
  std::size_t first = labels.size();
  labels.resize(first + records);
  pixels.resize((first + records) * features);
  for (std::uint64_t i = 0; i < records; ++i) {
    std::uint8_t value = 0;
    for (const LabelByte& label : label_bytes) {
      std::uint64_t at = file.offset();
      file.read({&value, 1});
      check_input(value < label.values, "{}: {} of record {} (from 0; byte {}) is {}: must be in [0, {}]", file.name(), label.name, i, at,
                  value, label.values - 1);
    }
    labels[first + i] = value;
    std::size_t got = file.read(std::span(pixels).subspan((first + i) * features, features));
    check_input(got == features, "{}: ends at byte {}: it was {} bytes long when opened", file.name(), file.offset(), file.file_size());
  }
}

Examples read_files(const DataFormat& format, std::span<const LabelByte> label_bytes, const std::vector<std::filesystem::path>& files) {
  std::vector<std::uint8_t> pixels, labels;
  for (const auto& path : files) append_file(format, label_bytes, path, pixels, labels);
  return Examples(format, std::move(pixels), std::move(labels));
}

}  // namespace

Examples read_cifar10(const DataFormat& format, const std::vector<std::filesystem::path>& files) {
  const LabelByte label_bytes[] = {{"label", format.classes}};
  return read_files(format, label_bytes, files);
}

Examples read_cifar100(const DataFormat& format, const std::vector<std::filesystem::path>& files) {
  const LabelByte label_bytes[] = {{"coarse label", 20}, {"fine label", format.classes}};
  return read_files(format, label_bytes, files);
}

}  // namespace fodp
