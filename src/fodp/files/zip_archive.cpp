#include "fodp/files/zip_archive.h"

#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <tuple>

#include <c10/util/Exception.h>
#include <caffe2/serialize/inline_container.h>
#include <caffe2/serialize/read_adapter_interface.h>
#include <fmt/format.h>

#include "fodp/base/check.h"
#include "fodp/files/bytes.h"

namespace fodp::files {
namespace {

class ZipDirectory {
 public:
  ZipDirectory(std::string_view bytes, std::string_view file) : bytes_(bytes), file_(file) {
    constexpr std::size_t end_size = 22, locator_size = 20, end64_size = 56;
    const bool whole = bytes.size() >= end_size && number(bytes.size() - end_size, 4) == 0x06054b50;
    check_input(whole, "{}: the zip archive is cut off: no directory at its end", file);
    const std::size_t end = bytes.size() - end_size;
    std::uint64_t count = number(end + 10, 2), position = number(end + 16, 4);
    if (end >= locator_size + end64_size && number(end - locator_size, 4) == 0x07064b50) {
      const auto end64 = number(end - locator_size + 8, 8);
      if (number(end64, 4) == 0x06064b50) {
        count = number(end64 + 32, 8);
        position = number(end64 + 48, 8);
      }
    }
    for (; count > 0; --count) position += add_entry(position);
    check_version();
  }

  std::map<std::string_view, std::uint32_t> checksums() const {
    std::map<std::string_view, std::uint32_t> result;
    for (const auto& [name, entry] : records_) result.emplace(name, entry.checksum);
    return result;
  }

 private:
  struct Entry {
    std::uint32_t checksum;
    std::string_view data;
  };

  std::string_view part(std::uint64_t at, std::uint64_t size) const {
    check_input(at <= bytes_.size() && size <= bytes_.size() - at, "{}: the zip directory points outside the file", file_);
    return bytes_.substr(at, size);
  }

  std::uint64_t number(std::uint64_t at, std::size_t width) const { return unsigned_number(part(at, width)); }

  // Returns the size of the entry at `at`. Names are kept without the folder that all records of torch.save lie in.
  std::uint64_t add_entry(std::uint64_t at) {
    constexpr std::size_t entry_size = 46, local_size = 30, encrypted_mark = 0x2061, folder_mark = 0x10;
    check_input(number(at, 4) == 0x02014b50, "{}: the zip directory is damaged", file_);
    const auto size = number(at + 20, 4), name_size = number(at + 28, 2), local = number(at + 42, 4);
    const std::string_view full = part(at + entry_size, name_size);
    if (records_.empty()) root_ = full.substr(0, full.find('/') + 1);
    check_input(!root_.empty() && full.starts_with(root_), "{}: record '{}' is not in the folder of the others", file_, printable(full));
    total_ += size;
    // Of a record marked as a folder the reader hands out memory that nothing was written to.
    const bool is_folder = full.ends_with('/') || (number(at + 38, 4) & folder_mark) != 0;
    const bool is_stored = number(at + 10, 2) == 0 && number(at + 24, 4) == size && (number(at + 8, 2) & encrypted_mark) == 0;
    check_input(is_stored && !is_folder && total_ <= bytes_.size(),
                "{}: record '{}' is compressed, encrypted, a folder, over 4 GB or longer than the file: only plain records are read", file_,
                printable(full));
    check_input(number(local, 4) == 0x04034b50, "{}: record '{}' is damaged", file_, printable(full));
    const auto data = part(local + local_size + number(local + 26, 2) + number(local + 28, 2), size);
    const bool is_new = records_.emplace(full.substr(root_.size()), Entry{static_cast<std::uint32_t>(number(at + 16, 4)), data}).second;
    check_input(is_new, "{}: record '{}' comes twice", file_, printable(full));
    return entry_size + name_size + number(at + 30, 2) + number(at + 32, 2);
  }

  void check_version() const {
    const auto found = records_.find("version");
    check_input(found != records_.end() && !records_.contains(".data/version"),
                "{}: a zip archive, but not of torch.save: no record 'version'", file_);
    const auto text = found->second.data;
    std::uint64_t version = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version);
    check_input(error == std::errc() && version >= caffe2::serialize::kMinSupportedFileFormatVersion &&
                    version <= caffe2::serialize::kMaxSupportedFileFormatVersion,
                "{}: archive version '{}': {} to {} are read", file_, printable(text), caffe2::serialize::kMinSupportedFileFormatVersion,
                caffe2::serialize::kMaxSupportedFileFormatVersion);
  }

  std::string_view bytes_, file_, root_;
  std::uint64_t total_ = 0;
  std::map<std::string_view, Entry> records_;
};

class Memory : public caffe2::serialize::ReadAdapterInterface {
 public:
  explicit Memory(std::string_view bytes) : bytes_(bytes) {}
  std::size_t size() const override { return bytes_.size(); }
  std::size_t read(std::uint64_t position, void* buffer, std::size_t count, const char*) const override {
    if (position >= bytes_.size()) return 0;
    count = std::min<std::size_t>(count, bytes_.size() - position);
    std::memcpy(buffer, bytes_.data() + position, count);
    return count;
  }

 private:
  std::string_view bytes_;
};

template <class F>
void named_in_errors(std::string_view file, std::string_view what, F&& f) {
  try {
    f();
  } catch (const c10::Error& error) {
    check_input(false, "{}: {} cannot be read: {}", file, printable(what), error.what_without_backtrace());
  } catch (const std::exception& error) {
    check_input(false, "{}: {} cannot be read: {}", file, printable(what), error.what());
  }
}

}  // namespace

ZipArchive::ZipArchive(std::string_view bytes, std::string_view file) : file_(file), checksums_(ZipDirectory(bytes, file).checksums()) {
  named_in_errors(file, "archive",
                  [&] { reader_ = std::make_unique<caffe2::serialize::PyTorchStreamReader>(std::make_shared<Memory>(bytes)); });
}

ZipArchive::~ZipArchive() = default;

ZipRecord ZipArchive::record(const std::string& name) {
  const auto entry = checksums_.find(name);
  check_input(entry != checksums_.end(), "{}: record '{}' is missing: a file of torch.save has it", file_, printable(name));
  ZipRecord result;
  named_in_errors(file_, name, [&] { std::tie(result.data, result.size) = reader_->getRecord(name); });
  // torch.save writes 0 where it is told to leave checksums out.
  const auto expected = entry->second;
  const auto found = crc32_z(0, static_cast<const unsigned char*>(result.data.get()), result.size);
  check_input(expected == 0 || expected == found, "{}: record '{}' is damaged: its checksum is {:08x}, expected {:08x}", file_,
              printable(name), found, expected);
  return result;
}

}  // namespace fodp::files
