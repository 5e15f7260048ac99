#include "fodp/features/feature_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include "fodp/base/check.h"
#include "fodp/base/sha256.h"
#include "fodp/base/wide.h"

namespace fodp {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::int64_t kHeader = 4096, kPiece = 16 << 20;
constexpr std::string_view kFormat = "fodp features 1";

json to_json(const FeatureFacts& facts) {
  return {{"format", kFormat},  {"recipe", facts.recipe}, {"version", facts.version}, {"size", facts.size},  {"images", facts.images},
          {"what", facts.what}, {"rows", facts.rows},     {"values", facts.values},   {"probe", facts.probe}};
}

struct Header {
  FeatureFacts facts;
  std::string sha256;
};

std::optional<Header> parse_header(std::string_view text) {
  const json object = json::parse(text, nullptr, false);
  if (!object.is_object() || object.value("format", "") != kFormat) return std::nullopt;
  try {
    FeatureFacts facts{.recipe = object.at("recipe"),
                       .version = object.at("version"),
                       .size = object.at("size"),
                       .images = object.at("images"),
                       .what = object.at("what"),
                       .rows = object.at("rows"),
                       .values = object.at("values"),
                       .probe = object.at("probe")};
    if (facts.rows < 1 || facts.values < 1 || facts.rows > (std::int64_t(1) << 46) / facts.values) return std::nullopt;
    return Header{std::move(facts), object.at("sha256")};
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

// SHA-256 over the SHA-256 of each piece: pieces are hashed side by side.
std::string checksum(const std::uint8_t* data, std::int64_t size, const ParallelFor& parallel) {
  std::vector<Sha256::Digest> pieces(static_cast<std::size_t>((size + kPiece - 1) / kPiece));
  parallel(static_cast<std::int64_t>(pieces.size()), [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i)
      pieces[static_cast<std::size_t>(i)] =
          Sha256().add(data + i * kPiece, static_cast<std::size_t>(std::min(kPiece, size - i * kPiece))).digest();
  });
  Sha256 all;
  for (const Sha256::Digest& piece : pieces) all.add(piece);
  return all.text();
}

// To the nearest, ties to even. Features are finite.
FODP_WIDE void narrow(const float* from, std::uint16_t* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(from[i]);
    to[i] = static_cast<std::uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
  }
}

std::uint16_t* row_at(const MappedFile& file, std::int64_t values, std::int64_t row) {
  return reinterpret_cast<std::uint16_t*>(file.data() + kHeader) + row * values;
}

MappedFile with_space(const fs::path& partial, const fs::path& target, std::int64_t bytes) {
  const fs::path folder = target.has_parent_path() ? target.parent_path() : ".";
  struct statvfs disk;
  const double gigabytes = static_cast<double>(bytes) / 1e9;
  if (::statvfs(folder.c_str(), &disk) == 0) {
    const double free = static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize) / 1e9;
    check_input(free > gigabytes + .1,
                "features: the file takes {:.2f} GB, and {} has {:.2f} GB free: delete features that are not needed (fodp features "
                "`delete`), or choose another `feature-cache` or a smaller `feature-size`",
                gigabytes, folder.string(), free);
  }
  return MappedFile::create(partial, bytes);
}

}  // namespace

std::string FeatureFacts::file_name() const {
  const std::string key = fmt::format("{} {} {} {} {} {}", recipe, version, size, images, rows, values);
  return fmt::format("{}-{}-{}-{}.features", recipe, version, size, sha256_text(key).substr(0, 24));
}

MappedFile MappedFile::read(const fs::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  check_input(descriptor >= 0, "{}: cannot be read: {}", file.string(), std::strerror(errno));
  struct stat status;
  const std::int64_t size = ::fstat(descriptor, &status) == 0 ? status.st_size : 0;
  void* data = size > 0 ? ::mmap(nullptr, static_cast<std::size_t>(size), PROT_READ, MAP_SHARED, descriptor, 0) : MAP_FAILED;
  if (data == MAP_FAILED) ::close(descriptor);
  check_input(data != MAP_FAILED, "{}: cannot be read: it is empty or no file", file.string());
  return {descriptor, static_cast<std::uint8_t*>(data), size};
}

MappedFile MappedFile::create(const fs::path& file, std::int64_t bytes) {
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  check_input(descriptor >= 0, "{}: cannot be written: {}", file.string(), std::strerror(errno));
  const int error = ::posix_fallocate(descriptor, 0, bytes);
  void* data = error ? MAP_FAILED : ::mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (data == MAP_FAILED) {
    ::close(descriptor);
    ::unlink(file.c_str());
  }
  check_fault(data != MAP_FAILED, "{}: no space for {} bytes: {}", file.string(), bytes, std::strerror(error ? error : errno));
  return {descriptor, static_cast<std::uint8_t*>(data), bytes};
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), data_(std::exchange(other.data_, nullptr)), size_(other.size_) {}

MappedFile::~MappedFile() {
  if (data_) ::munmap(data_, static_cast<std::size_t>(size_));
  if (descriptor_ >= 0) ::close(descriptor_);
}

void MappedFile::flush() {
  const bool written = ::msync(data_, static_cast<std::size_t>(size_), MS_SYNC) == 0 && ::fsync(descriptor_) == 0;
  check_fault(written, "features: writing failed: {}", std::strerror(errno));
}

std::optional<FeatureFacts> FeatureFile::facts_in(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::string text(kHeader, '\0');
  if (!stream.read(text.data(), kHeader)) return std::nullopt;
  const std::optional<Header> header = parse_header(text);
  return header ? std::optional(header->facts) : std::nullopt;
}

std::shared_ptr<const FeatureFile> FeatureFile::open(const fs::path& file, const ParallelFor& parallel) {
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored) || fs::file_size(file, ignored) < kHeader) return nullptr;
  MappedFile mapped = MappedFile::read(file);
  const std::optional<Header> header = parse_header({reinterpret_cast<const char*>(mapped.data()), kHeader});
  if (!header || mapped.size() != kHeader + header->facts.bytes()) return nullptr;
  if (checksum(mapped.data() + kHeader, header->facts.bytes(), parallel) != header->sha256) return nullptr;
  return std::shared_ptr<const FeatureFile>(new FeatureFile(header->facts, std::move(mapped)));
}

at::Tensor FeatureFile::gather(std::span<const std::int64_t> rows) const {
  const auto count = static_cast<std::int64_t>(rows.size()), values = facts_.values;
  bool in_order = true;
  for (std::int64_t i = 0; i < count; ++i) {
    check_input(rows[i] >= 0 && rows[i] < facts_.rows, "features: row {}: must be in [0, {}]", rows[i], facts_.rows - 1);
    in_order = in_order && rows[i] == rows[0] + i;
  }
  if (count > 0 && in_order)
    return at::from_blob(
        row_at(file_, values, rows[0]), {count, values}, [file = shared_from_this()](void*) {}, at::kBFloat16);
  at::Tensor out = at::empty({count, values}, at::kBFloat16);
  auto* to = static_cast<std::uint16_t*>(out.data_ptr());
  for (const std::int64_t row : rows) to = std::copy_n(row_at(file_, values, row), values, to);
  return out;
}

FeatureWriter::FeatureWriter(const fs::path& file, FeatureFacts facts)
    : target_(file),
      partial_(file.string() + ".partial"),
      facts_(std::move(facts)),
      file_(with_space(partial_, target_, kHeader + facts_.bytes())) {}

void FeatureWriter::put(std::int64_t first, std::int64_t count, const float* features) {
  check_input(first >= 0 && count >= 0 && first + count <= facts_.rows, "features: rows {} to {} of {}", first, first + count, facts_.rows);
  narrow(features, row_at(file_, facts_.values, first), count * facts_.values);
}

// The name becomes that of a whole file after everything is on the disk.
void FeatureWriter::finish(const ParallelFor& parallel) {
  json header = to_json(facts_);
  header["sha256"] = checksum(file_.data() + kHeader, facts_.bytes(), parallel);
  std::string text = header.dump();
  check_fault(static_cast<std::int64_t>(text.size()) < kHeader, "features: the header has {} bytes: at most {}", text.size(), kHeader);
  text.resize(kHeader, ' ');
  std::ranges::copy(text, file_.data());
  file_.flush();
  const bool renamed = ::rename(partial_.c_str(), target_.c_str()) == 0;
  check_fault(renamed, "{}: cannot be written: {}", target_.string(), std::strerror(errno));
}

FeatureRows::FeatureRows(std::shared_ptr<const FeatureFile> features, at::Tensor labels, std::int64_t classes)
    : features_(std::move(features)), labels_(std::move(labels)), classes_(classes) {
  check_input(labels_.dim() == 1 && labels_.scalar_type() == at::kLong && labels_.size(0) == features_->facts().rows,
              "there are features of {} rows: the labels are others", features_->facts().rows);
}

Batch FeatureRows::gather(std::span<const std::int64_t> rows) const {
  at::Tensor inputs = features_->gather(rows);
  at::Tensor targets = at::empty({static_cast<std::int64_t>(rows.size())}, at::kLong);
  for (std::size_t i = 0; i < rows.size(); ++i) targets.data_ptr<std::int64_t>()[i] = labels_.data_ptr<std::int64_t>()[rows[i]];
  return {std::move(inputs), std::move(targets)};
}

}  // namespace fodp
