#include "fodp/data/idx.h"

#include <algorithm>

#include "fodp/base/check.h"
#include "fodp/data/file_bytes.h"

namespace fodp {
namespace {

constexpr std::uint32_t image_magic = 0x803, label_magic = 0x801;  // unsigned bytes in 3 or 1 dimensions
constexpr std::uint64_t most_unpacked = std::uint64_t{8} << 30;    // of a packed file: ten million images of MNIST's size

std::uint32_t read_word(FileBytes& file, std::string_view what) {
  std::uint8_t bytes[4];
  std::uint64_t at = file.offset();
  std::size_t got = file.read(bytes);
  check_input(got == 4, "{}: ends after {} bytes, inside its header: expected {} at byte {}", file.name(), at + got, what, at);
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 | bytes[3];
}

void check_magic(FileBytes& file, std::uint32_t expected, std::string_view what) {
  std::uint32_t magic = read_word(file, "the magic number");
  check_input(magic == expected, "{}: its first 4 bytes are {:08x}: expected {:08x}, an IDX file of {}", file.name(), magic, expected,
              what);
}

std::uint32_t read_count(FileBytes& file, std::string_view what) {
  std::uint32_t count = read_word(file, "the number of examples");
  check_input(count > 0, "{}: its header says 0 {} (byte 4): expected at least 1", file.name(), what);
  return count;
}

// The header of a file of images or of labels: how many there are. The next byte of the file is the first record's.
std::uint32_t read_image_header(const DataFormat& format, FileBytes& file) {
  check_magic(file, image_magic, "images");
  std::uint32_t count = read_count(file, "images");
  std::uint32_t height = read_word(file, "the number of rows"), width = read_word(file, "the number of columns");
  check_input(height == format.height && width == format.width, "{}: its images are {} x {} (bytes 8 to 15): expected {} x {}", file.name(),
              height, width, format.height, format.width);
  return count;
}

std::uint32_t read_label_header(FileBytes& file) {
  check_magic(file, label_magic, "labels");
  return read_count(file, "labels");
}

void check_same_count(const std::vector<std::filesystem::path>& files, std::uint64_t images, std::uint64_t labels) {
  check_input(images == labels, "{} has {} images but {} has {} labels: expected as many", files[0].string(), images, files[1].string(),
              labels);
}

// `length` is that of the file when unpacked; for one that is too long, any length above the expected one will do.
void check_length(const FileBytes& file, std::uint64_t length, std::uint64_t expected, std::uint64_t count, std::string_view what) {
  check_input(length >= expected, "{}: ends after {} bytes: expected {}, for the {} {} its header says", file.name(), length, expected,
              count, what);
  check_input(length == expected, "{}: goes on after byte {}, where the {} {} its header says end", file.name(), expected, count, what);
}

// Whether the file can have the length that its header says. This comes before memory is taken for it.
void check_announced(const FileBytes& file, std::uint64_t expected, std::uint64_t count, std::string_view what) {
  if (!file.packed()) return check_length(file, file.file_size(), expected, count, what);
  const std::uint64_t most = std::min(file.file_size() * Inflater::most_for_one_byte, most_unpacked);
  check_input(expected <= most, "{}: its header says {} {}, {} bytes when unpacked: a packed file of {} bytes can have {}", file.name(),
              count, what, expected, file.file_size(), most);
}

std::vector<std::uint8_t> read_records(FileBytes& file, std::uint64_t count, std::uint64_t bytes_each, std::string_view what) {
  std::uint64_t expected = file.offset() + count * bytes_each;
  check_announced(file, expected, count, what);
  std::vector<std::uint8_t> bytes = file.read_up_to(count * bytes_each);
  check_length(file, file.offset() + (file.at_end() ? 0 : 1), expected, count, what);
  return bytes;
}

std::vector<std::uint8_t> read_images(const DataFormat& format, const std::filesystem::path& path, Sha256* contents) {
  FileBytes file(path, contents);
  std::uint32_t count = read_image_header(format, file);
  return read_records(file, count, static_cast<std::uint64_t>(format.features()), "images");
}

std::vector<std::uint8_t> read_labels(const DataFormat& format, const std::filesystem::path& path, Sha256* contents) {
  FileBytes file(path, contents);
  std::uint32_t count = read_label_header(file);
  std::vector<std::uint8_t> labels = read_records(file, count, 1, "labels");
  for (std::size_t i = 0; i < labels.size(); ++i)
    check_input(labels[i] < format.classes, "{}: label of record {} (from 0) is {}: must be in [0, {}]", file.name(), i, labels[i],
                format.classes - 1);
  return labels;
}

void check_two_files(const DataFormat& format, const std::vector<std::filesystem::path>& files) {
  check_input(files.size() == 2, "{}: {} files given: expected 2, images and labels", format.name, files.size());
}

}  // namespace

Examples read_idx(const DataFormat& format, const std::vector<std::filesystem::path>& files, Sha256* contents) {
  check_two_files(format, files);
  std::vector<std::uint8_t> pixels = read_images(format, files[0], contents);
  std::vector<std::uint8_t> labels = read_labels(format, files[1], contents);
  check_same_count(files, pixels.size() / static_cast<std::size_t>(format.features()), labels.size());
  return Examples(format, std::move(pixels), std::move(labels));
}

std::int64_t count_idx(const DataFormat& format, const std::vector<std::filesystem::path>& files) {
  check_two_files(format, files);
  FileBytes image_file(files[0]), label_file(files[1]);
  std::uint64_t images = read_image_header(format, image_file), labels = read_label_header(label_file);
  auto features = static_cast<std::uint64_t>(format.features());
  check_announced(image_file, image_file.offset() + images * features, images, "images");
  check_announced(label_file, label_file.offset() + labels, labels, "labels");
  check_same_count(files, images, labels);
  return static_cast<std::int64_t>(images);
}

}  // namespace fodp
