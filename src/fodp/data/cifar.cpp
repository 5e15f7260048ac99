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

// How many records the file has. InputError if the last one is not whole.
std::uint64_t records_in(const FileBytes& file, std::uint64_t record_bytes) {
  std::uint64_t records = file.file_size() / record_bytes, more = file.file_size() % record_bytes;
  check_input(more == 0, "{}: {} bytes are {} records of {} and {} bytes more: expected whole records", file.name(), file.file_size(),
              records, record_bytes, more);
  return records;
}

void append_file(const DataFormat& format, std::span<const LabelByte> label_bytes, FileBytes& file, std::vector<std::uint8_t>& pixels,
                 std::vector<std::uint8_t>& labels) {
  auto features = static_cast<std::size_t>(format.features());
  std::uint64_t records = records_in(file, label_bytes.size() + features);
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

using Files = std::vector<std::filesystem::path>;

Examples read_files(const DataFormat& format, std::span<const LabelByte> label_bytes, const Files& files, Sha256* contents) {
  std::vector<std::uint8_t> pixels, labels;
  for (const auto& path : files) {
    FileBytes file(path, contents);
    append_file(format, label_bytes, file, pixels, labels);
  }
  return Examples(format, std::move(pixels), std::move(labels));
}

std::int64_t count_records(const DataFormat& format, std::int64_t label_bytes, const Files& files) {
  std::uint64_t records = 0;
  for (const auto& path : files) records += records_in(FileBytes(path), static_cast<std::uint64_t>(label_bytes + format.features()));
  return static_cast<std::int64_t>(records);
}

}  // namespace

Examples read_cifar10(const DataFormat& format, const Files& files, Sha256* contents) {
  const LabelByte label_bytes[] = {{"label", format.classes}};
  return read_files(format, label_bytes, files, contents);
}

Examples read_cifar100(const DataFormat& format, const Files& files, Sha256* contents) {
  const LabelByte label_bytes[] = {{"coarse label", 20}, {"fine label", format.classes}};
  return read_files(format, label_bytes, files, contents);
}

std::int64_t count_cifar10(const DataFormat& format, const Files& files) { return count_records(format, 1, files); }
std::int64_t count_cifar100(const DataFormat& format, const Files& files) { return count_records(format, 2, files); }

}  // namespace fodp
