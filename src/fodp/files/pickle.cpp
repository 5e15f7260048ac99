#include "fodp/files/pickle.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "fodp/base/check.h"
#include "fodp/files/bytes.h"

namespace fodp::files {
namespace {

constexpr std::size_t max_pickle_bytes = std::size_t{64} << 20;
constexpr std::size_t max_values = 4'000'000;              // values, memo slots, stack height: 150,000 tensors
constexpr std::size_t max_dimensions = 64, max_key = 100;  // short, since the memo lets a pickle use them any number of times

const StorageType* storage_type(std::string_view name) {
  const auto found = std::ranges::find(storage_types, name, &StorageType::name);
  return found == std::end(storage_types) ? nullptr : found;
}

// Runs the pickle over a pool of values. Views point into the pickle.
class Unpickler {
 public:
  Unpickler(std::string_view pickle, std::string_view file) : pickle_(pickle), file_(file) {}

  Pickle run() {
    while (step()) {
    }
    check_input(stack_.size() == 1 && marks_.empty(), "{}: the pickle ends with {} values: a state dict is one", file_, stack_.size());
    return {.pool = std::move(pool_), .root = stack_[0]};
  }

 private:
  void check(bool holds, std::string_view expected) const {
    check_input(holds, "{}: data.pkl, byte {}: not a state dict: expected {}", file_, position_, expected);
  }

  std::string_view take(std::size_t count) {
    check(count <= pickle_.size() - position_, "more bytes");
    position_ += count;
    return pickle_.substr(position_ - count, count);
  }

  std::string_view take_line() {
    const auto end = pickle_.find('\n', position_);
    check(end != pickle_.npos, "the end of a name");
    const auto line = take(end - position_);
    ++position_;
    return line;
  }

  void push(Index index) {
    check(stack_.size() < max_values, "a lower stack");
    stack_.push_back(index);
  }

  void push(Value value) {
    check(pool_.size() < max_values, "fewer values");
    pool_.push_back(std::move(value));
    push(static_cast<Index>(pool_.size() - 1));
  }

  Index pop() {
    check(stack_.size() > (marks_.empty() ? 0 : marks_.back()), "a value on the stack");
    const Index top = stack_.back();
    stack_.pop_back();
    return top;
  }

  Index top() {
    push(pop());
    return stack_.back();
  }

  std::vector<Index> pop_to_mark() {
    check(!marks_.empty(), "a mark");
    const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<Index> items(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    marks_.pop_back();
    return items;
  }

  void push_tuple(std::size_t count) {
    std::vector<Index> items(count);
    for (std::size_t i = count; i-- > 0;) items[i] = pop();
    push({.kind = Kind::tuple, .items = std::move(items)});
  }

  void put(std::uint64_t slot) {
    check(slot < max_values, "a smaller memo");
    if (slot >= memo_.size()) memo_.resize(slot + 1);
    memo_[slot] = top();
  }

  void get(std::uint64_t slot) {
    check(slot < memo_.size() && memo_[slot], "a value in the memo");
    push(*memo_[slot]);
  }

  const Value& expect(Index index, Kind kind, std::string_view what) const {
    check(pool_[index].kind == kind, what);
    return pool_[index];
  }

  void add_items(const std::vector<Index>& items) {
    const Index target = top();
    expect(target, Kind::dict, "a dict to put items into");
    check(items.size() % 2 == 0, "a value for every key");
    auto& all = pool_[target].items;
    all.insert(all.end(), items.begin(), items.end());
  }

  void global() {
    const auto module = take_line(), name = take_line();
    const std::string full = fmt::format("{}.{}", module, name);
    const auto known = std::ranges::find(constructors, full);
    const StorageType* type = storage_type(full);
    check_input(known != std::end(constructors) || type, "{}: refused: the file asks for {}; only state dicts are read", file_,
                printable(full));
    push({.kind = Kind::global, .text = type ? type->name : *known, .type = type});
  }

  void persistent_id() {
    const Value& id = expect(pop(), Kind::tuple, "a tuple that names a storage");
    check(id.items.size() == 5, "the five parts of a storage's name");
    check(expect(id.items[0], Kind::text, "the word storage").text == "storage", "the word storage");
    const StorageType* type = expect(id.items[1], Kind::global, "a storage type").type;
    check(type, "a storage type");
    const Value& key = expect(id.items[2], Kind::text, "a storage's key");
    check(key.text.size() <= max_key, "a shorter key");
    const Value& count = expect(id.items[4], Kind::number, "a storage's count of elements");
    push({.kind = Kind::storage, .number = count.number, .text = key.text, .type = type});
  }

  void reduce() {
    const Value& tuple = expect(pop(), Kind::tuple, "a tuple of arguments");
    check(tuple.items.size() <= 7, "at most seven arguments");
    const std::vector<Index> args = tuple.items;
    const Value& function = expect(pop(), Kind::global, "a type to make");
    if (function.text == ordered_dict) {
      check(args.empty(), "an OrderedDict made without arguments");
      push({.kind = Kind::dict});
    } else if (function.text == rebuild_parameter) {
      check(args.size() == 3, "the three arguments of _rebuild_parameter");
      expect(args[0], Kind::tensor, "a tensor in a Parameter");
      push(args[0]);
    } else {
      check(function.text == rebuild_tensor, "a tensor or an OrderedDict to make");
      reduce_tensor(args);
    }
  }

  void reduce_tensor(const std::vector<Index>& args) {
    check(args.size() == 6 || args.size() == 7, "the six arguments of _rebuild_tensor_v2");
    expect(args[0], Kind::storage, "a storage");
    expect(args[1], Kind::number, "an offset");
    for (const Index tuple : {args[2], args[3]}) {
      const auto& lengths = expect(tuple, Kind::tuple, "a tuple of sizes or strides").items;
      check(lengths.size() <= max_dimensions, "at most 64 dimensions");
      for (const Index length : lengths) expect(length, Kind::number, "a number");
    }
    expect(args[4], Kind::boolean, "requires_grad");
    check(expect(args[5], Kind::dict, "backward hooks").items.empty(), "no backward hooks");
    // A seventh argument says that values are to be negated or conjugated.
    if (args.size() == 7) check(pool_[args[6]].kind == Kind::none || pool_[args[6]].items.empty(), "a tensor without flags");
    push({.kind = Kind::tensor, .items = {args[0], args[1], args[2], args[3]}});
  }

  // nn.Module.state_dict() sets an attribute _metadata, of no use here.
  void build() {
    const Value& attributes = expect(pop(), Kind::dict, "attributes");
    expect(top(), Kind::dict, "an OrderedDict that takes attributes");
    check(attributes.items.size() == 2 && expect(attributes.items[0], Kind::text, "_metadata").text == "_metadata",
          "no attribute but _metadata");
  }

  std::size_t long_width() {
    const auto width = unsigned_number(take(1));
    check(width <= 8, "a number of at most 64 bits");
    return width;
  }

  void push_number(std::int64_t number) { push({.kind = Kind::number, .number = number}); }

  // clang-format off
  bool step() {
    const auto code = static_cast<unsigned char>(take(1)[0]);
    switch (Op{code}) {
      case Op::proto: check(take(1)[0] == 2, "pickle protocol 2, the default of torch.save"); break;
      case Op::stop: return false;
      case Op::mark: check(marks_.size() < max_values, "fewer marks"); marks_.push_back(stack_.size()); break;
      case Op::global: global(); break;
      case Op::reduce: reduce(); break;
      case Op::build: build(); break;
      case Op::persistent_id: persistent_id(); break;
      case Op::none: push({.kind = Kind::none}); break;
      case Op::true_value: push({.kind = Kind::boolean, .number = 1}); break;
      case Op::false_value: push({.kind = Kind::boolean}); break;
      case Op::int1: push_number(static_cast<std::int64_t>(unsigned_number(take(1)))); break;
      case Op::int2: push_number(static_cast<std::int64_t>(unsigned_number(take(2)))); break;
      case Op::int4: push_number(signed_number(take(4))); break;
      case Op::long1: push_number(signed_number(take(long_width()))); break;
      case Op::unicode: push({.kind = Kind::text, .text = take(unsigned_number(take(4)))}); break;
      case Op::empty_tuple: push_tuple(0); break;
      case Op::tuple: push({.kind = Kind::tuple, .items = pop_to_mark()}); break;
      case Op::tuple1: push_tuple(1); break;
      case Op::tuple2: push_tuple(2); break;
      case Op::tuple3: push_tuple(3); break;
      case Op::empty_dict: push({.kind = Kind::dict}); break;
      case Op::set_item: { const Index item = pop(), key = pop(); add_items({key, item}); break; }
      case Op::set_items: add_items(pop_to_mark()); break;
      case Op::put1: put(unsigned_number(take(1))); break;
      case Op::put4: put(unsigned_number(take(4))); break;
      case Op::get1: get(unsigned_number(take(1))); break;
      case Op::get4: get(unsigned_number(take(4))); break;
      default: check(false, fmt::format("no pickle instruction 0x{:02x}", code));
    }
    return true;
  }
  // clang-format on

  std::string_view pickle_, file_;
  std::size_t position_ = 0;
  std::vector<Value> pool_;
  std::vector<Index> stack_;
  std::vector<std::size_t> marks_;
  std::vector<std::optional<Index>> memo_;
};

}  // namespace

Pickle read_pickle(std::string_view bytes, std::string_view file) {
  check_input(bytes.size() <= max_pickle_bytes, "{}: data.pkl has {} bytes: at most {}", file, bytes.size(), max_pickle_bytes);
  return Unpickler(bytes, file).run();
}

}  // namespace fodp::files
