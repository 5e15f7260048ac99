// Arrays of numbers in a file: .npy (one array, which has no name), .npz (a zip archive of .npy files, packed or not) and .safetensors.
//
// Nothing in a file is run. Every size that a file states is checked against the file before memory is taken for it. What is wrong is an
// InputError that names the file; no message holds a value of an array.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fodp/base/sha256.h"
#include "fodp/data/npy.h"

namespace fodp {

class ArrayFile {
 public:
  // By the ending of the file's name. InputError for any other ending.
  static std::unique_ptr<ArrayFile> open(const std::filesystem::path& path);
  virtual ~ArrayFile() = default;

  const std::string& file() const { return file_; }
  const std::vector<std::string>& names() const { return names_; }  // in the order of the file; one empty name for .npy

  // What the file says of the array at this place of names().
  virtual ArrayInfo info(std::size_t place) = 0;

  // Gives the values of the array in order, in pieces of whole values and in this machine's byte order.
  using Piece = std::function<void(std::span<const std::uint8_t>)>;
  void read(std::size_t place, const Piece& piece);

 protected:
  explicit ArrayFile(std::string file) : file_(std::move(file)) {}

  // The bytes of the values of the array, and that nothing else follows where nothing should.
  virtual ReadBytes values(std::size_t place) = 0;

  std::string file_;
  std::vector<std::string> names_;
};

// Values of a piece as numbers. `to` has as many places as the piece has values.
void to_numbers(at::ScalarType type, std::span<const std::uint8_t> piece, double* to);

// InputError, which begins with `what`, if this machine has less memory than so many bytes.
void check_memory(std::uint64_t bytes, std::string_view what);

}  // namespace fodp
