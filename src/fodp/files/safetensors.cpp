#include "fodp/files/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <unordered_set>

#include <ATen/ops/empty.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "fodp/base/check.h"
#include "fodp/files/bytes.h"

namespace fodp::files {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "values are copied as they lie in memory");

constexpr std::uint64_t length_size = kSafetensorsLengthSize, max_header = 100'000'000, max_dimensions = 64;
constexpr std::size_t max_depth = 3;  // {name: {"shape": [...]}}
constexpr std::string_view metadata_key = "__metadata__";

struct DataType {
  std::string_view name;
  at::ScalarType type;
};

constexpr DataType data_types[] = {
    {"F64", at::kDouble}, {"F32", at::kFloat}, {"F16", at::kHalf}, {"BF16", at::kBFloat16}, {"I64", at::kLong},
    {"I32", at::kInt},    {"I16", at::kShort}, {"I8", at::kChar},  {"U8", at::kByte},
};

// Reads the JSON once before values are made of it: names in the order of the file, each key once in its object, no deeper than the format
// goes. (The library's own way to watch a parse looks through all earlier values again at the end of each object.)
class HeaderNames final : public json::json_sax_t {
 public:
  explicit HeaderNames(std::string_view file) : file_(file) {}

  std::vector<std::string> names;

  bool start_object(std::size_t) override { return enter(); }
  bool start_array(std::size_t) override { return enter(); }
  bool end_object() override { return leave(); }
  bool end_array() override { return leave(); }
  bool key(std::string& key) override {
    check_input(seen_.back().insert(key).second, "{}: '{}' comes twice in the header", file_, key);
    if (seen_.size() == 1 && key != metadata_key) names.push_back(key);
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const json::exception& error) override {
    throw InputError(fmt::format("{}: the header is not JSON: {}", file_, error.what()));
  }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(std::int64_t) override { return true; }
  bool number_unsigned(std::uint64_t) override { return true; }
  bool number_float(double, const std::string&) override { return true; }
  bool string(std::string&) override { return true; }
  bool binary(json::binary_t&) override { return true; }

 private:
  bool enter() {
    check_input(seen_.size() < max_depth, "{}: the header is nested deeper than safetensors headers are", file_);
    seen_.emplace_back();
    return true;
  }

  bool leave() {
    seen_.pop_back();
    return true;
  }

  std::string_view file_;
  std::vector<std::unordered_set<std::string>> seen_;
};

// What the header says of each tensor is not looked at here.
struct Header {
  json values;
  std::vector<std::string> names;  // of the tensors, in the order of the file
  Metadata metadata;

  Header(std::string_view text, std::string_view file) {
    check_input(text.starts_with('{'), "{}: not a safetensors file: its header must begin with {{", file);
    HeaderNames reader(file);
    json::sax_parse(text, &reader);
    names = std::move(reader.names);
    values = json::parse(text);
    const json given = values.value(std::string(metadata_key), json::object());
    const bool texts = given.is_object() && std::ranges::all_of(given, [](const json& value) { return value.is_string(); });
    check_input(texts, "{}: {} must map texts to texts", file, metadata_key);
    given.get_to(metadata);
  }
};

// A file taken apart into its header and its data.
struct Parts {
  std::string_view header, data;

  Parts(std::string_view bytes, std::string_view file) {
    const std::uint64_t size = safetensors_header_size(bytes.substr(0, length_size), bytes.size(), file);
    header = bytes.substr(length_size, size);
    data = bytes.substr(length_size + size);
  }
};

TensorPlace parse_entry(const std::string& name, const json& value, std::string_view file) {
  const auto check = [&](bool holds, std::string_view expected) {
    if (!holds) throw InputError(fmt::format("{}: parameter '{}' is {}: expected {}", file, name, value.dump().substr(0, 200), expected));
  };
  const auto is_natural = [](const json& number) { return number.is_number_unsigned(); };
  check(value.is_object() && value.size() == 3 && value.contains("dtype") && value.contains("shape") && value.contains("data_offsets"),
        "dtype, shape and data_offsets");
  const json &dtype = value["dtype"], &shape = value["shape"], &offsets = value["data_offsets"];
  const auto type = std::ranges::find_if(data_types, [&](const DataType& candidate) { return dtype == candidate.name; });
  check(type != std::end(data_types), fmt::format("a dtype of {}", names_in(data_types)));
  check(shape.is_array() && shape.size() <= max_dimensions && std::ranges::all_of(shape, is_natural), "a shape of at most 64 sizes");
  check(offsets.is_array() && offsets.size() == 2 && std::ranges::all_of(offsets, is_natural), "two data_offsets");

  TensorPlace entry{name, type->type, {}, offsets[0].get<std::uint64_t>(), offsets[1].get<std::uint64_t>()};
  check(entry.begin <= entry.end, "data_offsets that do not run backwards");
  // Sizes of 0 are left out of the product here, so that the others stay within what memory can address.
  const std::uint64_t limit = std::uint64_t{1} << 48, width = c10::elementSize(entry.type);
  std::uint64_t bytes = width;
  bool empty = false;
  for (const auto& item : shape) {
    const auto size = item.get<std::uint64_t>();
    check(size <= limit / bytes, "a smaller shape");
    bytes *= std::max<std::uint64_t>(size, 1);
    empty = empty || size == 0;
    entry.shape.push_back(static_cast<std::int64_t>(size));
  }
  check(entry.end - entry.begin == (empty ? 0 : bytes), fmt::format("data_offsets {} bytes apart", empty ? 0 : bytes));
  return entry;
}

void check_covers(std::vector<TensorPlace> entries, std::uint64_t data_size, std::string_view file) {
  std::ranges::sort(entries, {}, [](const TensorPlace& entry) { return std::pair(entry.begin, entry.end); });
  std::uint64_t position = 0;
  for (const auto& entry : entries) {
    check_input(entry.begin == position, "{}: parameter '{}' begins at byte {} of the data: expected {}, without holes or overlaps", file,
                entry.name, entry.begin, position);
    position = entry.end;
  }
  check_input(position == data_size, "{}: the header describes {} bytes of data, the file has {}", file, position, data_size);
}

// Places for the data of `dict`, wider types first.
std::vector<std::uint64_t> data_offsets(const StateDict& dict) {
  std::vector<std::size_t> order(dict.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater{}, [&](std::size_t i) { return dict[i].value.element_size(); });
  std::vector<std::uint64_t> offsets(dict.size());
  std::uint64_t position = 0;
  for (const auto i : order) {
    offsets[i] = position;
    position += dict[i].value.nbytes();
  }
  return offsets;
}

std::string header_text(const StateDict& dict, Metadata metadata, const std::vector<std::uint64_t>& offsets, std::string_view file) {
  metadata.emplace("format", "pt");
  std::string text = fmt::format(R"({{"{}":{})", metadata_key, json(metadata).dump());
  for (std::size_t i = 0; i < dict.size(); ++i) {
    const auto& [name, value] = dict[i];
    check_input(name != metadata_key, "{}: a parameter cannot be named {} in this format", file, metadata_key);
    const auto type = std::ranges::find(data_types, value.scalar_type(), &DataType::type);
    check_input(type != std::end(data_types), "{}: parameter '{}' is {}: safetensors are written of types {}", file, name,
                c10::toString(value.scalar_type()), names_in(data_types));
    text += fmt::format(R"(,{}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", json(name).dump(), type->name,
                        fmt::join(value.sizes().begin(), value.sizes().end(), ","), offsets[i], offsets[i] + value.nbytes());
  }
  text += '}';
  text.append((8 - text.size() % 8) % 8, ' ');
  check_input(text.size() <= max_header, "{}: the header has {} bytes: at most {}", file, text.size(), max_header);
  return text;
}

}  // namespace

std::string to_safetensors(const StateDict& dict, const Metadata& metadata, std::string_view file) {
  const auto offsets = data_offsets(dict);
  const std::string header = header_text(dict, metadata, offsets, file);
  std::size_t data_size = 0;
  for (const auto& [name, value] : dict) data_size += value.nbytes();
  const std::uint64_t header_size = header.size();
  std::string bytes(length_size + header.size() + data_size, '\0');
  std::memcpy(bytes.data(), &header_size, length_size);
  header.copy(bytes.data() + length_size, header.size());
  char* data = bytes.data() + length_size + header.size();
  for (std::size_t i = 0; i < dict.size(); ++i)
    if (dict[i].value.numel() > 0) std::memcpy(data + offsets[i], dict[i].value.data_ptr(), dict[i].value.nbytes());
  return bytes;
}

std::uint64_t safetensors_header_size(std::string_view first_bytes, std::uint64_t file_size, std::string_view file) {
  check_input(first_bytes.size() == length_size, "{}: {} bytes: a safetensors file has at least {}", file, file_size, length_size);
  const std::uint64_t size = unsigned_number(first_bytes);
  check_input(size <= max_header && size <= file_size - length_size,
              "{}: not a safetensors file: its header would have {} bytes, the file has {} and headers at most {}", file, size, file_size,
              max_header);
  return size;
}

std::vector<TensorPlace> safetensors_places(std::string_view text, std::uint64_t data_size, std::string_view file) {
  const Header header(text, file);
  std::vector<TensorPlace> places;
  for (const auto& name : header.names) places.push_back(parse_entry(name, header.values[name], file));
  check_covers(places, data_size, file);
  return places;
}

StateDict from_safetensors(std::string_view bytes, std::string_view file) {
  const Parts parts(bytes, file);
  StateDict dict;
  for (const auto& entry : safetensors_places(parts.header, parts.data.size(), file)) {
    dict.push_back({entry.name, at::empty(entry.shape, at::TensorOptions(entry.type))});
    if (entry.end > entry.begin) std::memcpy(dict.back().value.data_ptr(), parts.data.data() + entry.begin, entry.end - entry.begin);
  }
  return dict;
}

Metadata metadata_of_safetensors(std::string_view bytes, std::string_view file) { return Header(Parts(bytes, file).header, file).metadata; }

}  // namespace fodp::files
