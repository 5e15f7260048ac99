#include "fodp/files/state_dict.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include <ATen/ops/isfinite.h>
#include <c10/core/GradMode.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "fodp/base/atomic_file.h"
#include "fodp/base/check.h"
#include "fodp/files/bytes.h"
#include "fodp/files/pt_file.h"
#include "fodp/files/safetensors.h"

namespace fodp::files {
namespace {

struct Format {
  std::string_view extension;
  std::string (*encode)(const StateDict&, const Metadata&, std::string_view file);
  StateDict (*decode)(std::string_view bytes, std::string_view file);
  Metadata (*metadata)(std::string_view bytes, std::string_view file);
};

constexpr Format formats[] = {
    {".pt", to_pt, from_pt, metadata_of_pt},
    {".pth", to_pt, from_pt, metadata_of_pt},
    {".safetensors", to_safetensors, from_safetensors, metadata_of_safetensors},
};

const Format& format_of(const std::filesystem::path& file) {
  const std::string extension = file.extension().string();
  std::vector<std::string_view> known;
  for (const auto& format : formats) {
    if (format.extension == extension) return format;
    known.push_back(format.extension);
  }
  throw InputError(fmt::format("model file {}: extension '{}' is not known: use {}", file.string(), extension, fmt::join(known, ", ")));
}

class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }

  int value() const { return value_; }

 private:
  int value_;
};

std::string read_file(const std::filesystem::path& file) {
  const Descriptor input(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));  // a pipe without a writer would wait for ever
  check_input(input.value() >= 0, "model file {}: cannot be read: {}", file.string(), std::strerror(errno));
  struct stat status {};
  const bool known = ::fstat(input.value(), &status) == 0;
  check_fault(known, "model file {}: {}", file.string(), std::strerror(errno));
  check_input(S_ISREG(status.st_mode), "model file {}: not a regular file", file.string());
  std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
  for (std::size_t done = 0; done < bytes.size();) {
    const auto count = ::read(input.value(), bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    check_fault(count > 0, "model file {}: reading stopped at byte {} of {}: {}", file.string(), done, bytes.size(),
                count == 0 ? "the file became shorter" : std::strerror(errno));
    done += static_cast<std::size_t>(count);
  }
  return bytes;
}

// Texts are UTF-8 in both formats.
bool is_utf8(const std::string& text) {
  try {
    nlohmann::json(text).dump();
    return true;
  } catch (const nlohmann::json::exception&) {
    return false;
  }
}

void check_name(const std::string& name, std::size_t position, const std::filesystem::path& file) {
  check_input(is_utf8(name), "model file {}: the name of tensor {} is not UTF-8", file.string(), position);
}

StateDict contiguous_on_cpu(const StateDict& dict, const std::filesystem::path& file) {
  std::unordered_set<std::string_view> names;
  StateDict result;
  for (const auto& [name, value] : dict) {
    check_name(name, result.size(), file);
    check_input(names.insert(name).second, "model file {}: parameter '{}' comes twice", file.string(), name);
    check_input(value.defined(), "model file {}: parameter '{}' is undefined: a tensor is needed", file.string(), name);
    check_input(value.layout() == at::kStrided && !value.is_quantized(),
                "model file {}: parameter '{}' is {}: only dense tensors are saved", file.string(), name, value.toString());
    result.push_back({name, value.detach().cpu().resolve_neg().contiguous()});
  }
  return result;
}

std::string shape_text(at::IntArrayRef shape) { return fmt::format("[{}]", fmt::join(shape.begin(), shape.end(), ", ")); }

// "3 missing: a, b, c" with at most 8 of them by name.
std::string listed(std::string_view what, const std::vector<std::string>& items) {
  constexpr std::size_t shown = 8;
  if (items.empty()) return "";
  const auto end = items.begin() + static_cast<std::ptrdiff_t>(std::min(shown, items.size()));
  const std::string more = items.size() > shown ? fmt::format(" and {} more", items.size() - shown) : "";
  return fmt::format("; {} {}: {}{}", items.size(), what, fmt::join(items.begin(), end, ", "), more);
}

using Lookup = std::unordered_map<std::string_view, const at::Tensor*>;

Lookup by_name(const std::vector<NamedTensor>& tensors, std::string_view where) {
  Lookup result;
  for (const auto& [name, value] : tensors) {
    check_input(value.defined(), "{}: parameter '{}' is undefined", where, name);
    check_input(result.emplace(name, &value).second, "{}: parameter '{}' comes twice", where, name);
  }
  return result;
}

void check_names_and_shapes(const StateDict& from, const std::vector<NamedTensor>& to, const std::string& file) {
  const Lookup given = by_name(from, file), wanted = by_name(to, "the model");
  std::vector<std::string> missing, unexpected, different;
  for (const auto& [name, value] : to) {
    const auto found = given.find(name);
    if (found == given.end()) {
      missing.push_back(name);
    } else if (found->second->sizes() != value.sizes()) {
      different.push_back(fmt::format("{} is {} (the model has {})", name, shape_text(found->second->sizes()), shape_text(value.sizes())));
    }
  }
  for (const auto& [name, value] : from)
    if (!wanted.contains(name)) unexpected.push_back(name);
  check_input(missing.empty() && unexpected.empty() && different.empty(), "model file {} does not fit the model{}{}{}", file,
              listed("missing", missing), listed("unexpected", unexpected), listed("of another shape", different));
}

void check_finite(const at::Tensor& given, const at::Tensor& converted, const std::string& name, const std::string& file) {
  if (!converted.is_floating_point()) return;
  const at::Tensor bad = at::isfinite(converted).logical_not();
  if (!bad.any().item<bool>()) return;
  const at::Tensor first = bad.nonzero().select(0, 0);
  at::Tensor value = given;
  for (std::int64_t axis = 0; axis < given.dim(); ++axis) value = value.select(0, first[axis].item<std::int64_t>());
  throw InputError(fmt::format("model file {}: parameter '{}' is {} at {}: must be finite in {}", file, name, value.item<double>(),
                               shape_text({first.data_ptr<std::int64_t>(), static_cast<std::size_t>(first.numel())}),
                               c10::toString(converted.scalar_type())));
}

}  // namespace

StateDict load_state_dict(const std::filesystem::path& file) {
  const Format& format = format_of(file);
  StateDict dict = format.decode(read_file(file), fmt::format("model file {}", file.string()));
  for (std::size_t i = 0; i < dict.size(); ++i) check_name(dict[i].name, i, file);
  return dict;
}

Metadata load_metadata(const std::filesystem::path& file) {
  return format_of(file).metadata(read_file(file), fmt::format("model file {}", file.string()));
}

void save_state_dict(const StateDict& dict, const std::filesystem::path& file, const Metadata& metadata) {
  const Format& format = format_of(file);
  for (const auto& [key, text] : metadata)
    check_input(is_utf8(key) && is_utf8(text), "model file {}: the metadata '{}' is not UTF-8", file.string(), printable(key));
  const std::string bytes = format.encode(contiguous_on_cpu(dict, file), metadata, fmt::format("model file {}", file.string()));
  write_file_atomically(file, bytes, "model file");
}

void assign_parameters(const StateDict& from, const std::vector<NamedTensor>& to, const std::filesystem::path& file) {
  const c10::NoGradGuard no_grad;
  check_names_and_shapes(from, to, file.string());
  const Lookup given = by_name(from, file.string());
  std::vector<at::Tensor> values;
  for (const auto& [name, target] : to) {
    const at::Tensor& value = *given.at(name);
    check_input(value.scalar_type() == target.scalar_type() || (value.is_floating_point() && target.is_floating_point()),
                "model file {}: parameter '{}' is {}: the model has {}", file.string(), name, c10::toString(value.scalar_type()),
                c10::toString(target.scalar_type()));
    values.push_back(value.to(target.options()));
    check_finite(value, values.back(), name, file.string());
  }
  for (std::size_t i = 0; i < to.size(); ++i) at::Tensor(to[i].value).copy_(values[i]);
}

}  // namespace fodp::files
