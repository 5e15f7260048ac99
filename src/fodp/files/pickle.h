// The part of pickle protocol 2 that a state dict is made of.
//
// A pickle is a program. The reader knows the instructions below and a fixed list of names; it builds values in a pool and calls nothing.
// Anything else is refused by name.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <c10/core/ScalarType.h>
#include <c10/util/ArrayRef.h>

namespace fodp::files {

struct StorageType {
  std::string_view name;
  at::ScalarType type;
};

inline constexpr StorageType storage_types[] = {
    {"torch.FloatStorage", at::kFloat},       {"torch.DoubleStorage", at::kDouble}, {"torch.HalfStorage", at::kHalf},
    {"torch.BFloat16Storage", at::kBFloat16}, {"torch.LongStorage", at::kLong},     {"torch.IntStorage", at::kInt},
    {"torch.ShortStorage", at::kShort},       {"torch.CharStorage", at::kChar},     {"torch.ByteStorage", at::kByte},
};

inline constexpr std::string_view ordered_dict = "collections.OrderedDict", rebuild_tensor = "torch._utils._rebuild_tensor_v2",
                                  rebuild_parameter = "torch._utils._rebuild_parameter";
inline constexpr std::string_view constructors[] = {ordered_dict, rebuild_tensor, rebuild_parameter};

// The instructions of pickle protocol 2 that a state dict is made of.
enum class Op : unsigned char {
  proto = 0x80,
  stop = '.',
  mark = '(',
  global = 'c',
  reduce = 'R',
  build = 'b',
  persistent_id = 'Q',
  none = 'N',
  true_value = 0x88,
  false_value = 0x89,
  int1 = 'K',
  int2 = 'M',
  int4 = 'J',
  long1 = 0x8a,
  unicode = 'X',
  empty_tuple = ')',
  tuple = 't',
  tuple1 = 0x85,
  tuple2 = 0x86,
  tuple3 = 0x87,
  empty_dict = '}',
  set_item = 's',
  set_items = 'u',
  put1 = 'q',
  put4 = 'r',
  get1 = 'h',
  get4 = 'j'
};

class PickleWriter {
 public:
  void op(Op code) { bytes_ += static_cast<char>(code); }

  void global(std::string_view name) {
    const auto dot = name.rfind('.');
    op(Op::global);
    bytes_.append(name.substr(0, dot)).append("\n").append(name.substr(dot + 1)).append("\n");
  }

  void text(std::string_view value) {
    op(Op::unicode);
    little_endian(value.size(), 4);
    bytes_.append(value);
  }

  void number(std::int64_t value) {
    op(Op::long1);
    little_endian(8, 1);
    little_endian(static_cast<std::uint64_t>(value), 8);
  }

  void numbers(at::IntArrayRef values) {
    op(Op::mark);
    for (const auto value : values) number(value);
    op(Op::tuple);
  }

  void empty_ordered_dict() {
    global(ordered_dict);
    op(Op::empty_tuple);
    op(Op::reduce);
  }

  void little_endian(std::uint64_t value, int width) {
    for (int i = 0; i < width; ++i) bytes_ += static_cast<char>(value >> 8 * i & 0xff);
  }

  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

using Index = std::uint32_t;  // of a Value in its pool: no recursion when it ends, whatever contains what

enum class Kind { none, boolean, number, text, tuple, dict, global, storage, tensor };
inline constexpr std::string_view kind_names[] = {"None",   "a bool", "a number",  "a text",  "a tuple",
                                                  "a dict", "a type", "a storage", "a tensor"};

struct Value {
  Kind kind;
  std::int64_t number = 0;   // a number; a storage's count of elements
  std::string_view text;     // a text, the name of a type, a storage's key
  std::vector<Index> items;  // of a tuple; of a dict, key and value in turn; of a tensor: storage, offset, size, stride
  const StorageType* type = nullptr;
};

// What a pickle leaves. Views point into its bytes.
struct Pickle {
  std::vector<Value> pool;
  Index root;

  const Value& operator[](Index index) const { return pool[index]; }
};

Pickle read_pickle(std::string_view bytes, std::string_view file);

}  // namespace fodp::files
