#include "fodp/base/state_file.h"

#include <bit>
#include <cstring>
#include <fstream>
#include <iterator>
#include <type_traits>

#include "fodp/base/atomic_file.h"
#include "fodp/base/sha256.h"

namespace fodp {
namespace {

static_assert(std::endian::native == std::endian::little, "states are written as they stand in memory, which must be little-endian");

constexpr std::string_view kFirstLine = "fodp state 1\n";
constexpr std::string_view kAnyVersion = "fodp state ";

template <class T>
constexpr bool kIsList = !std::is_arithmetic_v<T>;

template <class T>
void put(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class T>
void put_values(std::string& out, const T& value) {
  if constexpr (kIsList<T>) {
    put(out, static_cast<std::uint64_t>(value.size()));
    out.append(reinterpret_cast<const char*>(value.data()), value.size() * sizeof(typename T::value_type));
  } else {
    put(out, value);
  }
}

class Reader {
 public:
  Reader(std::string_view bytes, std::string_view where) : rest_(bytes), where_(where) {}

  bool at_end() const { return rest_.empty(); }

  std::string_view take(std::uint64_t count) {
    check_input(count <= rest_.size(), "{}: ends within a value", where_);
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

  template <class T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }

  template <class T>
  T value() {
    if constexpr (std::is_same_v<T, bool>) {
      const auto byte = number<std::uint8_t>();
      check_input(byte <= 1, "{}: a value that is true or false is neither", where_);
      return byte == 1;
    } else if constexpr (kIsList<T>) {
      using Item = typename T::value_type;
      const auto count = number<std::uint64_t>();
      check_input(count <= rest_.size() / sizeof(Item), "{}: ends within a value", where_);
      T list(count, Item());
      if (count > 0) std::memcpy(list.data(), take(count * sizeof(Item)).data(), count * sizeof(Item));  // an empty one has no address
      return list;
    } else {
      return number<T>();
    }
  }

  // A value of the type at this place of StateValue's list.
  template <std::size_t... Places>
  StateValue value_of_type(std::size_t type, std::index_sequence<Places...>) {
    StateValue read;
    const bool known = ((type == Places && (read.emplace<Places>(value<std::variant_alternative_t<Places, StateValue>>()), true)) || ...);
    check_input(known, "{}: a value has type {}, which is not known", where_, type);
    return read;
  }

 private:
  std::string_view rest_, where_;
};

std::string digest_of(std::string_view bytes) {
  const Sha256::Digest digest = Sha256().add(bytes).digest();
  return {digest.begin(), digest.end()};
}

}  // namespace

std::string state_bytes(const State& state) {
  std::string out(kFirstLine);
  for (const auto& [name, value] : state) {
    put_values(out, name);
    put(out, static_cast<std::uint8_t>(value.index()));
    std::visit([&](const auto& typed) { put_values(out, typed); }, value);
  }
  return out + digest_of(out);
}

State state_from_bytes(std::string_view bytes, std::string_view where) {
  constexpr std::size_t kDigest = std::tuple_size_v<Sha256::Digest>;
  check_input(bytes.starts_with(kAnyVersion), "{}: not the saved state of a run", where);
  check_input(bytes.starts_with(kFirstLine), "{}: a saved state of another version; this program reads version 1", where);
  check_input(bytes.size() >= kFirstLine.size() + kDigest &&
                  digest_of(bytes.substr(0, bytes.size() - kDigest)) == bytes.substr(bytes.size() - kDigest),
              "{}: does not fit its checksum: it was damaged or cut off", where);
  Reader reader(bytes.substr(kFirstLine.size(), bytes.size() - kFirstLine.size() - kDigest), where);
  State state;
  while (!reader.at_end()) {
    const auto name = reader.value<std::string>();
    const auto type = reader.number<std::uint8_t>();
    const bool is_new = state.emplace(name, reader.value_of_type(type, std::make_index_sequence<std::variant_size_v<StateValue>>())).second;
    check_input(is_new, "{}: a value is there twice", where);
  }
  return state;
}

void write_state(const State& state, const std::filesystem::path& file) { write_file_atomically(file, state_bytes(state), "checkpoint"); }

State read_state(const std::filesystem::path& file) {
  const std::string where = "checkpoint " + file.string();
  std::error_code ignored;
  std::ifstream stream(file, std::ios::binary);
  check_input(std::filesystem::is_regular_file(file, ignored) && stream.good(), "{}: not a file that can be read", where);
  return state_from_bytes(std::string{std::istreambuf_iterator<char>(stream), {}}, where);
}

}  // namespace fodp
