#include "fodp/data/npy.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include <fmt/ranges.h>

#include "fodp/base/check.h"

namespace fodp {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::uint64_t kMostHeader = 1 << 20, kMostBytes = std::uint64_t{1} << 48;
constexpr std::size_t kMostDimensions = 32;  // NumPy's own limit

struct NpyType {
  std::string_view code;  // without the byte order
  at::ScalarType type;
};

constexpr NpyType kTypes[] = {{"f2", at::kHalf}, {"f4", at::kFloat}, {"f8", at::kDouble}, {"u1", at::kByte},
                              {"i1", at::kChar}, {"i2", at::kShort}, {"i4", at::kInt},    {"i8", at::kLong}};

std::string_view type_name(at::ScalarType type) {
  switch (type) {
    case at::kHalf:
      return "float16";
    case at::kBFloat16:
      return "bfloat16";
    case at::kFloat:
      return "float32";
    case at::kDouble:
      return "float64";
    case at::kByte:
      return "uint8";
    case at::kChar:
      return "int8";
    case at::kShort:
      return "int16";
    case at::kInt:
      return "int32";
    case at::kLong:
      return "int64";
    default:
      return at::toString(type);
  }
}

// The dictionary of the header: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }.
class HeaderText {
 public:
  HeaderText(std::string_view text, const std::string& where) : rest_(text), where_(where) {}

  ArrayInfo parse() {
    expect("{");
    while (!accept("}")) {
      const std::string_view key = quoted();
      expect(":");
      if (key == "descr" && !type_)
        type_ = type(quoted());
      else if (key == "fortran_order" && !fortran_)
        fortran_ = accept("True") || (expect("False"), false);
      else if (key == "shape" && !shape_)
        shape_ = shape();
      else
        refuse("the keys descr, fortran_order and shape, each once");
      if (!accept(",")) {
        expect("}");
        break;
      }
    }
    skip_blanks();
    if (!rest_.empty() || !type_ || !fortran_ || !shape_) refuse("descr, fortran_order and shape, and nothing else");
    info_.shape = std::move(*shape_);
    info_.type = *type_;
    const bool one_line = std::ranges::count_if(info_.shape, [](std::int64_t size) { return size > 1; }) <= 1;
    check_input(!*fortran_ || one_line, "{}: the array is in Fortran order: save it in C order, as numpy.ascontiguousarray gives it",
                where_);
    return info_;
  }

 private:
  [[noreturn]] void refuse(std::string_view expected) const {
    throw InputError(fmt::format("{}: the header of the array is damaged: expected {}", where_, expected));
  }

  void skip_blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \n"), rest_.size())); }

  bool accept(std::string_view word) {
    skip_blanks();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  void expect(std::string_view word) {
    if (!accept(word)) refuse(word);
  }

  std::string_view quoted() {
    skip_blanks();
    check_input(!rest_.starts_with("["), "{}: the array holds records of several fields: save each field as an array of its own", where_);
    const std::size_t end = rest_.size() < 2 ? rest_.npos : rest_.find(rest_[0], 1);
    if ((!rest_.starts_with('\'') && !rest_.starts_with('"')) || end == rest_.npos) refuse("a text in quotes");
    const std::string_view text = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return text;
  }

  at::ScalarType type(std::string_view descr) {
    const char order = descr.empty() ? '?' : descr[0];
    const bool has_order = order == '<' || order == '>' || order == '|' || order == '=';
    const std::string_view code = has_order ? descr.substr(1) : descr;
    check_input(!code.starts_with('O'), "{}: the array holds Python objects, which only running code could read: save numbers instead",
                where_);
    const auto found = std::ranges::find(kTypes, code, &NpyType::code);
    check_input(found != std::end(kTypes),
                "{}: the array's type is one that is not read: save it as float16, float32, float64, uint8, int8, int16, int32 or int64 "
                "(numpy: x.astype('float32'))",
                where_);
    info_.big_endian = order == '>';
    return found->type;
  }

  std::vector<std::int64_t> shape() {
    std::vector<std::int64_t> sizes;
    std::uint64_t bytes = 8;  // no type is wider
    expect("(");
    while (!accept(")")) {
      skip_blanks();
      std::int64_t size = 0;
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), size);
      if (error != std::errc() || size < 0 || sizes.size() == kMostDimensions) refuse("a shape of at most 32 sizes");
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      check_input(static_cast<std::uint64_t>(size) <= kMostBytes / bytes, "{}: the array is larger than 2^48 bytes", where_);
      bytes *= std::max<std::uint64_t>(static_cast<std::uint64_t>(size), 1);
      sizes.push_back(size);
      if (!accept(",")) {
        expect(")");
        break;
      }
    }
    return sizes;
  }

  std::string_view rest_;
  const std::string& where_;
  ArrayInfo info_;
  std::optional<at::ScalarType> type_;
  std::optional<bool> fortran_;
  std::optional<std::vector<std::int64_t>> shape_;
};

std::vector<std::uint8_t> bytes_of(const ReadBytes& read, std::size_t count, const std::string& where) {
  std::vector<std::uint8_t> bytes(count);
  check_input(read(bytes) == count, "{}: ends within the header of the array", where);
  return bytes;
}

}  // namespace

std::uint64_t ArrayInfo::values() const {
  std::uint64_t product = 1;
  for (const std::int64_t size : shape) product *= static_cast<std::uint64_t>(size);
  return product;
}

std::string ArrayInfo::text() const { return fmt::format("{} [{}]", type_name(type), fmt::join(shape, ", ")); }

NpyHeader read_npy_header(const ReadBytes& read, const std::string& where) {
  const std::vector<std::uint8_t> start = bytes_of(read, kMagic.size() + 2, where);
  check_input(std::ranges::equal(kMagic, std::span(start).first(kMagic.size()),
                                 [](char a, std::uint8_t b) { return static_cast<std::uint8_t>(a) == b; }),
              "{}: not an array file of NumPy: its first bytes are others", where);
  const int version = start[kMagic.size()];
  check_input(version >= 1 && version <= 3, "{}: version {} of NumPy's array files: 1 to 3 are read", where, version);
  const std::vector<std::uint8_t> length = bytes_of(read, version == 1 ? 2 : 4, where);
  std::uint64_t size = 0;
  for (std::size_t i = length.size(); i-- > 0;) size = size << 8 | length[i];
  check_input(size <= kMostHeader, "{}: the header of the array would have {} bytes: at most {}", where, size, kMostHeader);
  const std::vector<std::uint8_t> text = bytes_of(read, size, where);
  const std::string_view view(reinterpret_cast<const char*>(text.data()), text.size());
  return {HeaderText(view, where).parse(), start.size() + length.size() + size};
}

}  // namespace fodp
