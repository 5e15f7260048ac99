#include "fodp/data/mat5.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "fodp/base/check.h"
#include "fodp/data/file_bytes.h"
#include "fodp/data/inflater.h"

namespace fodp {
namespace {

constexpr std::uint32_t matrix_type = 14, compressed_type = 15, flags_type = 6, shape_type = 5, name_type = 1;
constexpr int first_numeric_class = 6, last_numeric_class = 15;  // double to uint64
constexpr std::uint32_t most_dimensions = 32, most_name = 256;
constexpr std::size_t chunk = 1 << 16;

struct Tag {
  std::uint32_t type, bytes;
};

std::uint32_t word(const std::uint8_t* bytes) {
  return bytes[0] | std::uint32_t{bytes[1]} << 8 | std::uint32_t{bytes[2]} << 16 | std::uint32_t{bytes[3]} << 24;
}

void check_header(FileBytes& file) {
  std::array<std::uint8_t, 128> header;
  std::size_t got = file.read(header);
  check_input(got == header.size(), "{}: ends after {} bytes, inside the 128-byte header of a MATLAB file", file.name(), got);
  int version = header[124] | header[125] << 8;
  check_input(version != 0x200, "{}: is MATLAB v7.3: expected v5 (in MATLAB: save -v7)", file.name());
  check_input(version == 0x100 && header[126] == 'I' && header[127] == 'M',
              "{}: is not a little-endian MATLAB v5 file: bytes 124 to 127 are {:02x} {:02x} {:02x} {:02x}: expected 00 01 49 4d",
              file.name(), header[124], header[125], header[126], header[127]);
}

// The bytes of one variable when unpacked, from after the tag of its array.
class VariableBytes {
 public:
  // `tag` was read at byte `at` of the file.
  VariableBytes(FileBytes& file, std::uint64_t at, Tag tag) : file_(file), at_(at), stored_left_(tag.bytes) {
    check_input(tag.type == matrix_type || tag.type == compressed_type, "{}: type {} at byte {}: expected {}, an array, or {}, compressed",
                file.name(), tag.type, at, matrix_type, compressed_type);
    check_input(tag.bytes <= file.file_size() - file.offset(), "{}: the variable at byte {} has {} bytes: the file ends {} after its tag",
                file.name(), at, tag.bytes, file.file_size() - file.offset());
    left_ = tag.bytes;
    if (tag.type == matrix_type) return;
    inflater_.emplace(Inflater::Wrapper::zlib);
    packed_.resize(chunk);
    left_ = 8;
    std::array<std::uint8_t, 8> inner;
    read(inner);
    check(word(&inner[0]) == matrix_type, "is not a MATLAB array");
    left_ = word(&inner[4]);
    const std::uint64_t most = tag.bytes * Inflater::most_for_one_byte;
    check_input(left_ <= most, "{}: the variable at byte {} says {} bytes: {} compressed ones have at most {}", file.name(), at, left_,
                tag.bytes, most);
  }

  // As many bytes as the array says it has and were not read yet.
  std::uint64_t left() const { return left_; }

  void check(bool holds, std::string_view complaint) const {
    check_input(holds, "{}: the variable at byte {} {}", file_.name(), at_, complaint);
  }

  void read(std::span<std::uint8_t> out) {
    check(out.size() <= left_, "ends inside what it says it holds");
    left_ -= out.size();
    while (!out.empty()) {
      const std::size_t got = inflater_ ? unpack(out) : file_.read(out);
      check_input(inflater_ || got > 0, "{}: ends at byte {}, inside a variable", file_.name(), file_.offset());
      if (!inflater_) stored_left_ -= got;
      out = out.subspan(got);
    }
  }

  // The next `count` bytes. Memory grows with what there really is.
  std::vector<std::uint8_t> read_vector(std::uint64_t count) {
    std::vector<std::uint8_t> bytes;
    while (bytes.size() < count) {
      const std::size_t had = bytes.size();
      const auto want = static_cast<std::size_t>(std::min<std::uint64_t>(count, std::max(chunk, 2 * had)));
      bytes.reserve(want);  // exactly: resize alone could round up
      bytes.resize(want);
      read(std::span(bytes).subspan(had));
    }
    return bytes;
  }

  // Reads all that is left, so that the checksum of a compressed variable is verified.
  void finish() {
    std::vector<std::uint8_t> rest(chunk);
    while (left_ > 0) read(std::span(rest).first(std::min<std::uint64_t>(left_, rest.size())));
    while (inflater_ && !ended_) unpack(rest);
    check_input(!inflater_ || stored_left_ + waiting_.size() == 0, "{}: {} bytes after the end of the compressed data at byte {}",
                file_.name(), stored_left_ + waiting_.size(), file_.offset() - waiting_.size());
  }

  // Passes over all that is left without a look at it.
  void skip() { file_.skip(stored_left_); }

 private:
  // Gives at least one byte, unless the stream ends before it.
  std::size_t unpack(std::span<std::uint8_t> out) {
    for (;;) {
      check_input(!ended_, "{}: compressed data ends early, before byte {}", file_.name(), file_.offset() - waiting_.size());
      if (waiting_.empty()) refill();
      const auto progress = inflater_->step(waiting_, out);
      waiting_ = waiting_.subspan(progress.consumed);
      check_input(!progress.problem, "{}: corrupt compressed data at byte {}: {}", file_.name(), file_.offset() - waiting_.size(),
                  progress.problem ? progress.problem : "");
      ended_ = progress.ended;
      if (progress.produced > 0 || ended_) return progress.produced;
    }
  }

  void refill() {
    check_input(stored_left_ > 0, "{}: compressed data ends early, at byte {}", file_.name(), file_.offset());
    const std::size_t got = file_.read(std::span(packed_).first(std::min<std::uint64_t>(stored_left_, packed_.size())));
    check_input(got > 0, "{}: ends at byte {}, inside a variable", file_.name(), file_.offset());
    stored_left_ -= got;
    waiting_ = std::span(packed_).first(got);
  }

  FileBytes& file_;
  std::uint64_t at_, stored_left_;  // of the variable's bytes in the file, those that were not read yet
  std::uint64_t left_ = 0;
  std::optional<Inflater> inflater_;  // for a compressed variable only
  std::vector<std::uint8_t> packed_;
  std::span<const std::uint8_t> waiting_;  // packed bytes not yet consumed
  bool ended_ = false;
};

// A part of an array, without its values: those are read by who wants them. A part of at most 4 bytes may stand inside its tag.
struct Part {
  Tag tag;
  std::optional<std::array<std::uint8_t, 4>> inside;

  explicit Part(VariableBytes& variable) {
    std::array<std::uint8_t, 8> bytes;
    variable.read(bytes);
    tag = {word(&bytes[0]), word(&bytes[4])};
    if (tag.type >> 16 == 0) return;
    tag = {tag.type & 0xffff, tag.type >> 16};
    variable.check(tag.bytes <= 4, "has a part of more than 4 bytes in its tag");
    inside = {bytes[4], bytes[5], bytes[6], bytes[7]};
  }

  std::vector<std::uint8_t> values(VariableBytes& variable) const {
    if (inside) return {inside->begin(), inside->begin() + tag.bytes};
    return variable.read_vector(tag.bytes);
  }
};

// One of the three short parts that an array begins with, and what fills it up to a multiple of 8.
std::vector<std::uint8_t> read_short(VariableBytes& variable, std::uint32_t type, std::uint32_t most, std::string_view complaint) {
  const Part part(variable);
  variable.check(part.tag.type == type && part.tag.bytes <= most, complaint);
  std::vector<std::uint8_t> values = part.values(variable);
  if (!part.inside) variable.read_vector((8 - part.tag.bytes % 8) % 8);
  return values;
}

void check_kind(const FileBytes& file, std::uint64_t at, int kind) {
  check_input(kind >= first_numeric_class && kind <= last_numeric_class,
              "{}: the variable at byte {} is of MATLAB class {}: expected a numeric array, {} to {}", file.name(), at, kind,
              first_numeric_class, last_numeric_class);
}

enum class Depth { headers, everything };

MatArray read_array(FileBytes& file, std::uint64_t at, Tag tag, Depth depth, std::initializer_list<std::string_view> wanted) {
  VariableBytes variable(file, at, tag);
  MatArray array;
  const std::vector<std::uint8_t> flags = read_short(variable, flags_type, 8, "is not a MATLAB array");
  variable.check(flags.size() == 8, "is not a MATLAB array");
  array.kind = flags[0];
  array.is_complex = (flags[1] & 8) != 0;
  array.is_logical = (flags[1] & 2) != 0;
  check_kind(file, at, array.kind);
  const std::vector<std::uint8_t> sizes = read_short(variable, shape_type, 4 * most_dimensions, "has no shape of at most 32 sizes");
  variable.check(sizes.size() >= 8 && sizes.size() % 4 == 0, "has no shape of at least 2 sizes");
  for (std::size_t i = 0; i < sizes.size(); i += 4) array.shape.push_back(word(&sizes[i]));
  const std::vector<std::uint8_t> name = read_short(variable, name_type, most_name, "has no name of at most 256 letters");
  array.name.assign(name.begin(), name.end());

  const Part values(variable);
  array.stored_as = values.tag.type;
  array.stored_bytes = values.tag.bytes;
  variable.check(values.inside || array.stored_bytes <= variable.left(), "says that it has more values than bytes for them");
  if (depth == Depth::headers) {
    variable.skip();
    return array;
  }
  if (std::ranges::find(wanted, array.name) != wanted.end()) array.values = values.values(variable);
  variable.finish();
  return array;
}

std::vector<MatArray> read_arrays(FileBytes& file, Depth depth, std::initializer_list<std::string_view> wanted) {
  check_header(file);
  std::vector<MatArray> arrays;
  while (!file.at_end()) {
    std::uint64_t at = file.offset();
    std::array<std::uint8_t, 8> bytes;
    std::size_t got = file.read(bytes);
    check_input(got == bytes.size(), "{}: ends after {} bytes, inside the tag of the variable at byte {}", file.name(), at + got, at);
    arrays.push_back(read_array(file, at, {word(&bytes[0]), word(&bytes[4])}, depth, wanted));
  }
  return arrays;
}

template <class Stored>
std::vector<double> numbers_of(std::span<const std::uint8_t> bytes) {
  std::vector<double> numbers(bytes.size() / sizeof(Stored));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    Stored value;
    std::memcpy(&value, bytes.data() + i * sizeof(Stored), sizeof(Stored));
    numbers[i] = static_cast<double>(value);
  }
  return numbers;
}

struct NumberType {
  std::uint32_t type;
  std::uint64_t width;
  std::vector<double> (*numbers)(std::span<const std::uint8_t> bytes);
};

template <class Stored>
constexpr NumberType number_type(std::uint32_t type) {
  return {type, sizeof(Stored), numbers_of<Stored>};
}

constexpr NumberType number_types[] = {number_type<std::int8_t>(1),   number_type<std::uint8_t>(2), number_type<std::int16_t>(3),
                                       number_type<std::uint16_t>(4), number_type<std::int32_t>(5), number_type<std::uint32_t>(6),
                                       number_type<float>(7),         number_type<double>(9),       number_type<std::int64_t>(12),
                                       number_type<std::uint64_t>(13)};

}  // namespace

std::vector<double> MatArray::numbers(std::uint64_t count, std::string_view file) const {
  const auto type = std::ranges::find(number_types, stored_as, &NumberType::type);
  check_input(type != std::end(number_types), "{}: the values of variable {} are of type {}: expected numbers", file, name, stored_as);
  check_input(values.size() == count * type->width, "{}: variable {} has {} bytes of values: expected {} times {}", file, name,
              values.size(), count, type->width);
  return type->numbers(values);
}

std::vector<MatArray> read_mat5(const std::filesystem::path& path, std::initializer_list<std::string_view> wanted, Sha256* contents) {
  FileBytes file(path, contents);
  return read_arrays(file, Depth::everything, wanted);
}

std::vector<MatArray> read_mat5_headers(const std::filesystem::path& path) {
  FileBytes file(path);
  return read_arrays(file, Depth::headers, {});
}

}  // namespace fodp
