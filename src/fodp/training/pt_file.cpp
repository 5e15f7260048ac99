#include "fodp/training/pt_file.h"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <ranges>
#include <unordered_map>
#include <unordered_set>

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <c10/util/Exception.h>
#include <caffe2/serialize/inline_container.h>
#include <caffe2/serialize/read_adapter_interface.h>
#include <fmt/ranges.h>

#include "fodp/base/check.h"

namespace fodp {
namespace {

static_assert(std::endian::native == std::endian::little, "storages are copied as they lie in memory");

constexpr std::size_t max_pickle_bytes = std::size_t{64} << 20;
constexpr std::size_t max_values = 4'000'000;  // values, memo slots, stack height: 150,000 tensors
constexpr std::uint64_t max_expansion = 16;    // views may share a storage: all tensors together are at most this many times the file
constexpr std::size_t max_dimensions = 64, max_key = 100;  // short, since the memo lets a pickle use them any number of times

struct StorageType {
  std::string_view name;
  at::ScalarType type;
};

constexpr StorageType storage_types[] = {
    {"torch.FloatStorage", at::kFloat},       {"torch.DoubleStorage", at::kDouble}, {"torch.HalfStorage", at::kHalf},
    {"torch.BFloat16Storage", at::kBFloat16}, {"torch.LongStorage", at::kLong},     {"torch.IntStorage", at::kInt},
    {"torch.ShortStorage", at::kShort},       {"torch.CharStorage", at::kChar},     {"torch.ByteStorage", at::kByte},
};

constexpr std::string_view ordered_dict = "collections.OrderedDict", rebuild_tensor = "torch._utils._rebuild_tensor_v2",
                           rebuild_parameter = "torch._utils._rebuild_parameter";
constexpr std::string_view constructors[] = {ordered_dict, rebuild_tensor, rebuild_parameter};

const StorageType* storage_type(std::string_view name) {
  const auto found = std::ranges::find(storage_types, name, &StorageType::name);
  return found == std::end(storage_types) ? nullptr : found;
}

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

// Little-endian, up to 8 bytes.
std::uint64_t unsigned_number(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

std::int64_t signed_number(std::string_view bytes) {
  if (bytes.empty()) return 0;
  const auto unused = static_cast<int>(64 - 8 * bytes.size());
  return static_cast<std::int64_t>(unsigned_number(bytes) << unused) >> unused;
}

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

void write_tensor(PickleWriter& pickle, const at::Tensor& value, std::string_view type, std::size_t key) {
  pickle.global(rebuild_tensor);
  pickle.op(Op::mark);
  pickle.op(Op::mark);
  pickle.text("storage");
  pickle.global(type);
  pickle.text(std::to_string(key));
  pickle.text("cpu");
  pickle.number(value.numel());
  pickle.op(Op::tuple);
  pickle.op(Op::persistent_id);
  pickle.number(0);
  pickle.numbers(value.sizes());
  pickle.numbers(value.strides());
  pickle.op(Op::false_value);
  pickle.empty_ordered_dict();
  pickle.op(Op::tuple);
  pickle.op(Op::reduce);
}

std::string pickled(const StateDict& dict, std::string_view file) {
  PickleWriter pickle;
  pickle.op(Op::proto);
  pickle.little_endian(2, 1);
  pickle.empty_ordered_dict();
  pickle.op(Op::mark);
  for (std::size_t key = 0; key < dict.size(); ++key) {
    const auto& [name, value] = dict[key];
    const auto type = std::ranges::find(storage_types, value.scalar_type(), &StorageType::type);
    check_input(type != std::end(storage_types), "{}: parameter '{}' is {}, which has none of the storages {}", file, name,
                c10::toString(value.scalar_type()), fmt::join(storage_types | std::views::transform(&StorageType::name), ", "));
    pickle.text(name);
    write_tensor(pickle, value, type->name, key);
  }
  pickle.op(Op::set_items);
  pickle.op(Op::stop);
  return pickle.bytes();
}

using Index = std::uint32_t;  // of a Value in its pool: no recursion when it ends, whatever contains what

enum class Kind { none, boolean, number, text, tuple, dict, global, storage, tensor };
constexpr std::string_view kind_names[] = {"None", "a bool", "a number", "a text", "a tuple", "a dict", "a type", "a storage", "a tensor"};

struct Value {
  Kind kind;
  std::int64_t number = 0;   // a number; a storage's count of elements
  std::string_view text;     // a text, the name of a type, a storage's key
  std::vector<Index> items;  // of a tuple; of a dict, key and value in turn; of a tensor: storage, offset, size, stride
  const StorageType* type = nullptr;
};

std::string printable(std::string_view text) {
  std::string result(text.substr(0, 100));
  std::ranges::replace_if(
      result, [](char c) { return c < ' ' || c > '~'; }, '?');
  return result;
}

// Runs the pickle over a pool of values. Views point into the pickle.
class Unpickler {
 public:
  Unpickler(std::string_view pickle, std::string_view file) : pickle_(pickle), file_(file) {}

  const Value& run() {
    while (step()) {
    }
    check_input(stack_.size() == 1 && marks_.empty(), "{}: the pickle ends with {} values: a state dict is one", file_, stack_.size());
    return pool_[stack_[0]];
  }

  const Value& value(Index index) const { return pool_[index]; }

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
    if (args.size() == 7) check(value(args[6]).kind == Kind::none || value(args[6]).items.empty(), "a tensor without flags");
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

// The directory of a zip archive, checked before PyTorchStreamReader sees the file: the reader of 1.13 takes whatever memory a record
// claims, compares no checksums, and leaks when its constructor throws.
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

  bool has(std::string_view name) const { return records_.contains(name); }
  std::uint32_t checksum(std::string_view name) const { return records_.find(name)->second.checksum; }

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
    check_input(found != records_.end() && !has(".data/version"), "{}: a zip archive, but not of torch.save: no record 'version'", file_);
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

struct Record {
  at::DataPtr data;
  std::size_t size;

  std::string_view bytes() const { return {static_cast<const char*>(data.get()), size}; }
};

class Archive {
 public:
  Archive(std::string_view bytes, std::string_view file) : file_(file), directory_(bytes, file) {
    named_in_errors("archive",
                    [&] { reader_ = std::make_unique<caffe2::serialize::PyTorchStreamReader>(std::make_shared<Memory>(bytes)); });
  }

  bool has(const std::string& name) const { return directory_.has(name); }

  Record record(const std::string& name) {
    check_input(has(name), "{}: record '{}' is missing: a file of torch.save has it", file_, printable(name));
    Record result;
    named_in_errors(name, [&] { std::tie(result.data, result.size) = reader_->getRecord(name); });
    // torch.save writes 0 where it is told to leave checksums out.
    const auto expected = directory_.checksum(name);
    const auto found = crc32_z(0, static_cast<const unsigned char*>(result.data.get()), result.size);
    check_input(expected == 0 || expected == found, "{}: record '{}' is damaged: its checksum is {:08x}, expected {:08x}", file_,
                printable(name), found, expected);
    return result;
  }

 private:
  template <class F>
  void named_in_errors(std::string_view what, F&& f) const {
    try {
      f();
    } catch (const c10::Error& error) {
      check_input(false, "{}: {} cannot be read: {}", file_, printable(what), error.what_without_backtrace());
    } catch (const std::exception& error) {
      check_input(false, "{}: {} cannot be read: {}", file_, printable(what), error.what());
    }
  }

  std::string_view file_;
  ZipDirectory directory_;
  std::unique_ptr<caffe2::serialize::PyTorchStreamReader> reader_;
};

// Makes the tensors that the pickle describes out of the archive's records.
class TensorReader {
 public:
  TensorReader(Archive& archive, const Unpickler& pickle, std::size_t file_size, std::string_view file)
      : archive_(archive), pickle_(pickle), bytes_left_(max_expansion * file_size), file_(file) {}

  at::Tensor read(const Value& tensor, std::string_view name) {
    View view{.storage = pickle_.value(tensor.items[0]),
              .offset = pickle_.value(tensor.items[1]).number,
              .size = numbers(tensor.items[2]),
              .stride = numbers(tensor.items[3])};
    view.label = fmt::format("{}: parameter '{}' (size [{}], stride [{}], offset {}, storage '{}' of {} elements)", file_, printable(name),
                             fmt::join(view.size, ", "), fmt::join(view.stride, ", "), view.offset, printable(view.storage.text),
                             view.storage.number);
    const auto type = view.storage.type->type;
    const auto width = static_cast<std::int64_t>(c10::elementSize(type));
    const Record& record = this->record(view.storage);
    const auto length = static_cast<std::int64_t>(record.size);
    check_input(view.storage.number >= 0 && view.storage.number <= length && view.storage.number * width == length,
                "{}: the storage's record has {} bytes: expected {} for each element", view.label, length, width);

    const auto elements = count_elements(view, bytes_left_ / width);
    if (elements == 0) return at::empty(view.size, at::TensorOptions(type));
    check_inside(view);
    bytes_left_ -= elements * width;
    return at::from_blob(static_cast<char*>(record.data.get()) + view.offset * width, view.size, view.stride, at::TensorOptions(type))
        .clone(at::MemoryFormat::Contiguous);
  }

 private:
  struct View {
    const Value& storage;
    std::int64_t offset;
    std::vector<std::int64_t> size, stride;
    std::string label;  // for messages
  };

  // Sizes of 0 are left out of what is held against the limit, so that the others stay small too.
  static std::int64_t count_elements(View& view, std::int64_t limit) {
    check_input(view.size.size() == view.stride.size(), "{}: must have as many strides as sizes", view.label);
    std::int64_t product = 1;
    bool empty = false;
    for (std::size_t axis = 0; axis < view.size.size(); ++axis) {
      const auto size = view.size[axis];
      check_input(size >= 0 && view.stride[axis] >= 0, "{}: sizes and strides must not be negative", view.label);
      check_input(size <= limit / product, "{}: all tensors together are more than {} times the file", view.label, max_expansion);
      product *= std::max<std::int64_t>(size, 1);
      empty = empty || size == 0;
      if (size <= 1) view.stride[axis] = 1;  // finds no element
    }
    check_input(product <= limit, "{}: all tensors together are more than {} times the file", view.label, max_expansion);
    return empty ? 0 : product;
  }

  static void check_inside(const View& view) {
    const auto count = view.storage.number;
    std::int64_t last = view.offset;
    bool inside = last >= 0 && last < count;
    for (std::size_t axis = 0; inside && axis < view.size.size(); ++axis) {
      const auto steps = view.size[axis] - 1;
      inside = steps == 0 || view.stride[axis] <= (count - 1 - last) / steps;
      if (inside) last += steps * view.stride[axis];
    }
    check_input(inside, "{}: reaches outside its storage", view.label);
  }

  std::vector<std::int64_t> numbers(Index tuple) const {
    std::vector<std::int64_t> result;
    for (const Index item : pickle_.value(tuple).items) result.push_back(pickle_.value(item).number);
    return result;
  }

  const Record& record(const Value& storage) {
    const std::string name = fmt::format("data/{}", storage.text);
    const auto found = records_.find(name);
    return found != records_.end() ? found->second : records_.emplace(name, archive_.record(name)).first->second;
  }

  Archive& archive_;
  const Unpickler& pickle_;
  std::int64_t bytes_left_;
  std::string_view file_;
  std::unordered_map<std::string, Record> records_;
};

void check_is_zip(std::string_view bytes, std::string_view file) {
  const bool is_pickle = bytes.starts_with('\x80'), is_tar = bytes.size() > 262 && bytes.substr(257, 5) == "ustar";
  check_input(!is_pickle && !is_tar,
              "{}: in torch's old format, which is not read: load it in Python and save it again with torch.save(..., "
              "_use_new_zipfile_serialization=True), the default since torch 1.6",
              file);
  check_input(bytes.starts_with("PK\x03\x04"), "{}: not a zip archive: expected a state dict saved by torch.save", file);
}

}  // namespace

std::string to_pt(const StateDict& dict, std::string_view file) {
  const std::string pickle = pickled(dict, file);
  std::string bytes;
  // Into memory, which does not fail half-way: the writer's destructor ends the process if it cannot finish the archive.
  caffe2::serialize::PyTorchStreamWriter writer([&](const void* data, std::size_t size) {
    bytes.append(static_cast<const char*>(data), size);
    return size;
  });
  writer.writeRecord("data.pkl", pickle.data(), pickle.size());
  writer.writeRecord("byteorder", "little", 6);
  for (std::size_t key = 0; key < dict.size(); ++key)
    writer.writeRecord(fmt::format("data/{}", key), dict[key].value.data_ptr(), dict[key].value.nbytes());
  writer.writeEndOfFile();
  return bytes;
}

StateDict from_pt(std::string_view bytes, std::string_view file) {
  check_is_zip(bytes, file);
  Archive archive(bytes, file);
  if (archive.has("byteorder"))
    check_input(archive.record("byteorder").bytes() == "little", "{}: written on a big-endian machine: only little-endian is read", file);
  const Record record = archive.record("data.pkl");
  check_input(record.size <= max_pickle_bytes, "{}: data.pkl has {} bytes: at most {}", file, record.size, max_pickle_bytes);
  Unpickler pickle(record.bytes(), file);
  const Value& root = pickle.run();
  check_input(root.kind == Kind::dict, "{}: holds {}: expected a state dict, as of torch.save(model.state_dict(), file)", file,
              kind_names[static_cast<std::size_t>(root.kind)]);

  TensorReader reader(archive, pickle, bytes.size(), file);
  std::unordered_set<std::string_view> names;
  StateDict dict;
  for (std::size_t i = 0; i < root.items.size(); i += 2) {
    const Value &key = pickle.value(root.items[i]), &value = pickle.value(root.items[i + 1]);
    check_input(key.kind == Kind::text, "{}: a key is {}: a state dict has names", file, kind_names[static_cast<std::size_t>(key.kind)]);
    check_input(names.insert(key.text).second, "{}: parameter '{}' comes twice", file, printable(key.text));
    check_input(value.kind == Kind::tensor, "{}: entry '{}' is {}: a state dict holds tensors only", file, printable(key.text),
                kind_names[static_cast<std::size_t>(value.kind)]);
    dict.push_back({std::string(key.text), reader.read(value, key.text)});
  }
  return dict;
}

}  // namespace fodp
