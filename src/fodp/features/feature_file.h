// A file of features: one row of bfloat16 numbers for each image, mapped into memory where it is read. A file is there under its name only
// when it is whole, and says what it is of; its contents are checked against their checksum when it is opened.
//
//   4096 bytes: a JSON object, filled up with spaces; then rows x values x 2 bytes, little-endian
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "fodp/base/parallel.h"
#include "fodp/data/rows.h"

namespace fodp {

// What features are of, and how they are made.
struct FeatureFacts {
  std::string recipe;        // "patches"
  std::int64_t version = 0;  // of the recipe
  std::string size;          // "standard"
  std::string images;        // SHA-256 of the images' bytes, in order
  std::string what;          // for people: "cifar-10, training rows"
  std::int64_t rows = 0, values = 0;
  std::vector<double> probe = {};  // features of an image that everybody has (patch_probe)

  std::int64_t bytes() const { return rows * values * 2; }
  std::string file_name() const;  // follows from all but `what` and `probe`
};

// Memory of a file, for as long as this lives.
class MappedFile {
 public:
  static MappedFile read(const std::filesystem::path& file);                        // InputError if it cannot be opened
  static MappedFile create(const std::filesystem::path& file, std::int64_t bytes);  // for its user alone; FaultError without the space
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile();

  std::uint8_t* data() const { return data_; }
  std::int64_t size() const { return size_; }
  void flush();  // FaultError if it cannot be written

 private:
  MappedFile(int descriptor, std::uint8_t* data, std::int64_t size) : descriptor_(descriptor), data_(data), size_(size) {}

  int descriptor_;
  std::uint8_t* data_;
  std::int64_t size_;
};

class FeatureFile : public std::enable_shared_from_this<FeatureFile> {
 public:
  // Nothing if the file is not there, is not whole or does not have the contents that it was written with.
  static std::shared_ptr<const FeatureFile> open(const std::filesystem::path& file, const ParallelFor& parallel);
  // What it says of itself, unchecked.
  static std::optional<FeatureFacts> facts_in(const std::filesystem::path& file);

  const FeatureFacts& facts() const { return facts_; }
  // Rows as bfloat16, [rows, values]. Rows that follow each other are not copied: the tensor is the file's memory, and is only read.
  at::Tensor gather(std::span<const std::int64_t> rows) const;

 private:
  FeatureFile(FeatureFacts facts, MappedFile file) : facts_(std::move(facts)), file_(std::move(file)) {}

  FeatureFacts facts_;
  MappedFile file_;
};

// Writes one, under another name until it is whole. What is left of one that never became so is replaced by the next.
class FeatureWriter {
 public:
  // InputError before any work if the disk has not enough space.
  FeatureWriter(const std::filesystem::path& file, FeatureFacts facts);

  void put(std::int64_t first, std::int64_t count, const float* features);  // rows [first, first + count); from several threads at once
  void set_probe(std::vector<double> probe) { facts_.probe = std::move(probe); }
  void finish(const ParallelFor& parallel);

 private:
  std::filesystem::path target_, partial_;
  FeatureFacts facts_;
  MappedFile file_;
};

// Rows of features in place of the images that they are of.
class FeatureRows : public Rows {
 public:
  FeatureRows(std::shared_ptr<const FeatureFile> features, at::Tensor labels, std::int64_t classes);

  std::int64_t count() const override { return labels_.size(0); }
  std::vector<RowShape> inputs() const override { return {{{features_->facts().values}, at::kBFloat16}}; }
  Target target() const override { return {Target::Kind::classes, classes_, {{}, at::kLong}}; }
  Batch gather(std::span<const std::int64_t> rows) const override;

 private:
  std::shared_ptr<const FeatureFile> features_;
  at::Tensor labels_;
  std::int64_t classes_;
};

}  // namespace fodp
