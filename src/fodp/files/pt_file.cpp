#include "fodp/files/pt_file.h"

#include <algorithm>
#include <bit>
#include <unordered_map>
#include <unordered_set>

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <caffe2/serialize/inline_container.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "fodp/base/check.h"
#include "fodp/files/bytes.h"
#include "fodp/files/pickle.h"
#include "fodp/files/zip_archive.h"

namespace fodp::files {
namespace {

static_assert(std::endian::native == std::endian::little, "storages are copied as they lie in memory");

constexpr char metadata_record[] = "extra/metadata.json";
constexpr std::uint64_t max_expansion = 16;  // views may share a storage: all tensors together are at most this many times the file

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
                c10::toString(value.scalar_type()), names_in(storage_types));
    pickle.text(name);
    write_tensor(pickle, value, type->name, key);
  }
  pickle.op(Op::set_items);
  pickle.op(Op::stop);
  return pickle.bytes();
}

// Makes the tensors that the pickle describes out of the archive's records.
class TensorReader {
 public:
  TensorReader(ZipArchive& archive, const Pickle& pickle, std::size_t file_size, std::string_view file)
      : archive_(archive), pickle_(pickle), bytes_left_(max_expansion * file_size), file_(file) {}

  at::Tensor read(const Value& tensor, std::string_view name) {
    View view{.storage = pickle_[tensor.items[0]],
              .offset = pickle_[tensor.items[1]].number,
              .size = numbers(tensor.items[2]),
              .stride = numbers(tensor.items[3])};
    view.label = fmt::format("{}: parameter '{}' (size [{}], stride [{}], offset {}, storage '{}' of {} elements)", file_, printable(name),
                             fmt::join(view.size, ", "), fmt::join(view.stride, ", "), view.offset, printable(view.storage.text),
                             view.storage.number);
    const auto type = view.storage.type->type;
    const auto width = static_cast<std::int64_t>(c10::elementSize(type));
    const ZipRecord& record = this->record(view.storage);
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
    for (const Index item : pickle_[tuple].items) result.push_back(pickle_[item].number);
    return result;
  }

  const ZipRecord& record(const Value& storage) {
    const std::string name = fmt::format("data/{}", storage.text);
    const auto found = records_.find(name);
    return found != records_.end() ? found->second : records_.emplace(name, archive_.record(name)).first->second;
  }

  ZipArchive& archive_;
  const Pickle& pickle_;
  std::int64_t bytes_left_;
  std::string_view file_;
  std::unordered_map<std::string, ZipRecord> records_;
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

std::string to_pt(const StateDict& dict, const Metadata& metadata, std::string_view file) {
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
  if (!metadata.empty()) {
    const std::string texts = nlohmann::json(metadata).dump();
    writer.writeRecord(metadata_record, texts.data(), texts.size());
  }
  writer.writeEndOfFile();
  return bytes;
}

Metadata metadata_of_pt(std::string_view bytes, std::string_view file) {
  check_is_zip(bytes, file);
  ZipArchive archive(bytes, file);
  if (!archive.has(metadata_record)) return {};
  const ZipRecord record = archive.record(metadata_record);
  const nlohmann::json texts = nlohmann::json::parse(record.bytes(), nullptr, /*allow_exceptions=*/false);
  const bool holds = texts.is_object() && std::ranges::all_of(texts, [](const nlohmann::json& text) { return text.is_string(); });
  check_input(holds, "{}: {} must map texts to texts", file, metadata_record);
  return texts.get<Metadata>();
}

StateDict from_pt(std::string_view bytes, std::string_view file) {
  check_is_zip(bytes, file);
  ZipArchive archive(bytes, file);
  if (archive.has("byteorder"))
    check_input(archive.record("byteorder").bytes() == "little", "{}: written on a big-endian machine: only little-endian is read", file);
  const ZipRecord record = archive.record("data.pkl");
  const Pickle pickle = read_pickle(record.bytes(), file);
  const Value& root = pickle[pickle.root];
  check_input(root.kind == Kind::dict, "{}: holds {}: expected a state dict, as of torch.save(model.state_dict(), file)", file,
              kind_names[static_cast<std::size_t>(root.kind)]);

  TensorReader reader(archive, pickle, bytes.size(), file);
  std::unordered_set<std::string_view> names;
  StateDict dict;
  for (std::size_t i = 0; i < root.items.size(); i += 2) {
    const Value &key = pickle[root.items[i]], &value = pickle[root.items[i + 1]];
    check_input(key.kind == Kind::text, "{}: a key is {}: a state dict has names", file, kind_names[static_cast<std::size_t>(key.kind)]);
    check_input(names.insert(key.text).second, "{}: parameter '{}' comes twice", file, printable(key.text));
    check_input(value.kind == Kind::tensor, "{}: entry '{}' is {}: a state dict holds tensors only", file, printable(key.text),
                kind_names[static_cast<std::size_t>(value.kind)]);
    dict.push_back({std::string(key.text), reader.read(value, key.text)});
  }
  return dict;
}

}  // namespace fodp::files
