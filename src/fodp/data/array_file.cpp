#include "fodp/data/array_file.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include "fodp/base/check.h"
#include "fodp/data/file_bytes.h"
#include "fodp/data/zip_file.h"
#include "fodp/files/safetensors.h"

namespace fodp {
namespace {

static_assert(std::endian::native == std::endian::little, "values are copied as they lie in memory");

constexpr std::size_t kPiece = 1 << 18;

ReadBytes reader(const std::shared_ptr<FileBytes>& bytes) {
  return [bytes](std::span<std::uint8_t> out) { return bytes->read(out); };
}

void check_size(const ArrayInfo& array, std::uint64_t size, const std::string& where) {
  check_input(array.bytes() == size, "{}: the array is {}, which takes {} bytes: the file has {} for it", where, array.text(),
              array.bytes(), size);
}

class Npy final : public ArrayFile {
 public:
  explicit Npy(const std::filesystem::path& path) : ArrayFile(path.string()), path_(path) {
    names_ = {""};
    FileBytes bytes(path_);
    header_ = read_npy_header([&](std::span<std::uint8_t> out) { return bytes.read(out); }, file_);
    check_size(header_.array, bytes.file_size() - header_.size, file_);
  }

  ArrayInfo info(std::size_t) override { return header_.array; }

 protected:
  ReadBytes values(std::size_t) override {
    auto bytes = std::make_shared<FileBytes>(path_);
    bytes->skip(header_.size);
    return reader(bytes);
  }

 private:
  std::filesystem::path path_;
  NpyHeader header_;
};

class Npz final : public ArrayFile {
 public:
  explicit Npz(const std::filesystem::path& path) : ArrayFile(path.string()), archive_(path) {
    for (const ZipFile::Member& member : archive_.members()) {
      constexpr std::string_view ending = ".npy";
      if (!member.name.ends_with(ending)) continue;
      names_.push_back(member.name.substr(0, member.name.size() - ending.size()));
      members_.push_back(member);
    }
  }

  ArrayInfo info(std::size_t place) override { return opened(place).second; }

 protected:
  ReadBytes values(std::size_t place) override {
    return [reader = opened(place).first](std::span<std::uint8_t> out) { return reader->read(out); };
  }

 private:
  // A reader of the member that stands behind its header.
  std::pair<std::shared_ptr<ZipFile::Reader>, ArrayInfo> opened(std::size_t place) const {
    auto reader = std::make_shared<ZipFile::Reader>(archive_, members_[place]);
    const NpyHeader header = read_npy_header([&](std::span<std::uint8_t> out) { return reader->read(out); }, file_);
    check_size(header.array, members_[place].size - std::min(members_[place].size, header.size), file_);
    return {reader, header.array};
  }

  ZipFile archive_;
  std::vector<ZipFile::Member> members_;
};

class Safetensors final : public ArrayFile {
 public:
  explicit Safetensors(const std::filesystem::path& path) : ArrayFile(path.string()), path_(path) {
    FileBytes bytes(path_);
    const auto as_text = [](const std::vector<std::uint8_t>& from) { return std::string(from.begin(), from.end()); };
    const std::string length = as_text(bytes.read_up_to(files::kSafetensorsLengthSize));
    const std::uint64_t size = files::safetensors_header_size(length, bytes.file_size(), file_);
    const std::string header = as_text(bytes.read_up_to(size));
    check_input(header.size() == size, "{}: ends within its header", file_);
    begin_ = files::kSafetensorsLengthSize + size;
    places_ = files::safetensors_places(header, bytes.file_size() - begin_, file_);
    for (const files::TensorPlace& place : places_) names_.push_back(place.name);
  }

  ArrayInfo info(std::size_t place) override { return {.type = places_[place].type, .shape = places_[place].shape}; }

 protected:
  ReadBytes values(std::size_t place) override {
    auto bytes = std::make_shared<FileBytes>(path_);
    bytes->skip(begin_ + places_[place].begin);
    return reader(bytes);
  }

 private:
  std::filesystem::path path_;
  std::uint64_t begin_ = 0;  // of the data
  std::vector<files::TensorPlace> places_;
};

void swap_bytes(std::span<std::uint8_t> values, std::size_t width) {
  for (std::size_t at = 0; at < values.size(); at += width) std::ranges::reverse(values.subspan(at, width));
}

template <class Value>
void convert(std::span<const std::uint8_t> piece, double* to) {
  for (std::size_t at = 0; at + sizeof(Value) <= piece.size(); at += sizeof(Value)) {
    Value value;
    std::memcpy(&value, piece.data() + at, sizeof value);
    *to++ = static_cast<double>(value);
  }
}

}  // namespace

std::unique_ptr<ArrayFile> ArrayFile::open(const std::filesystem::path& path) {
  const std::string ending = path.extension().string();
  if (ending == ".npy") return std::make_unique<Npy>(path);
  if (ending == ".npz") return std::make_unique<Npz>(path);
  if (ending == ".safetensors") return std::make_unique<Safetensors>(path);
  throw InputError(
      fmt::format("{}: the ending '{}' is not known: tensors are read from .npy, .npz and .safetensors", path.string(), ending));
}

void ArrayFile::read(std::size_t place, const Piece& piece) {
  const ArrayInfo array = info(place);
  const ReadBytes next = values(place);
  std::vector<std::uint8_t> buffer(static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, array.bytes())));
  for (std::uint64_t left = array.bytes(); left > 0;) {
    const auto now = std::span(buffer).first(static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), left)));
    check_input(next(now) == now.size(), "{}: ends within an array: is it complete?", file_);
    if (array.big_endian) swap_bytes(now, array.width());
    piece(now);
    left -= now.size();
  }
  std::uint8_t behind;
  // The end of a member of an archive is where its checksum is compared.
  if (file_.ends_with(".npz")) check_input(next({&behind, 1}) == 0, "{}: an array is longer than its header says", file_);
}

void to_numbers(at::ScalarType type, std::span<const std::uint8_t> piece, double* to) {
  switch (type) {
    case at::kHalf:
      return convert<c10::Half>(piece, to);
    case at::kBFloat16:
      return convert<c10::BFloat16>(piece, to);
    case at::kFloat:
      return convert<float>(piece, to);
    case at::kDouble:
      return convert<double>(piece, to);
    case at::kByte:
      return convert<std::uint8_t>(piece, to);
    case at::kChar:
      return convert<std::int8_t>(piece, to);
    case at::kShort:
      return convert<std::int16_t>(piece, to);
    case at::kInt:
      return convert<std::int32_t>(piece, to);
    case at::kLong:
      return convert<std::int64_t>(piece, to);
    default:
      throw InputError("an array of a type that is not read");
  }
}

void check_memory(std::uint64_t bytes, std::string_view what) {
  const auto pages = static_cast<std::uint64_t>(std::max(0L, ::sysconf(_SC_PHYS_PAGES)));
  const std::uint64_t memory = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  check_input(bytes < memory, "{} would take {:.1f} GB of memory: this machine has {:.1f} GB", what, static_cast<double>(bytes) / 1e9,
              static_cast<double>(memory) / 1e9);
}

}  // namespace fodp
