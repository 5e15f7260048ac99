#include "fodp/data/svhn.h"

#include <algorithm>
#include <cmath>

#include <fmt/ranges.h>

#include "fodp/base/check.h"
#include "fodp/data/mat5.h"

namespace fodp {
namespace {

// The named array of the file: real, of one of these classes.
MatArray& find_array(std::vector<MatArray>& arrays, const std::string& name, std::string_view variable, std::initializer_list<int> classes,
                     std::string_view expected) {
  const auto found = std::ranges::find(arrays, variable, &MatArray::name);
  check_input(found != arrays.end(), "{}: has no variable {}: expected {}", name, variable, expected);
  check_input(std::ranges::count(arrays, variable, &MatArray::name) == 1, "{}: variable {} comes twice", name, variable);
  const bool right_class = std::ranges::find(classes, found->kind) != classes.end();
  check_input(right_class && !found->is_complex && !found->is_logical, "{}: variable {} is of MATLAB class {}{}{}: expected {}", name,
              variable, found->kind, found->is_complex ? ", complex" : "", found->is_logical ? ", logical" : "", expected);
  return *found;
}

// N of X [height, width, channels, N], after making sure that the file holds so much.
std::uint64_t count_images(const DataFormat& format, const std::string& name, const MatArray& x) {
  const auto& dims = x.shape;
  bool right = dims.size() == 4 && dims[0] == static_cast<std::uint64_t>(format.height) &&
               dims[1] == static_cast<std::uint64_t>(format.width) && dims[2] == static_cast<std::uint64_t>(format.channels) &&
               dims[3] >= 1;
  check_input(right, "{}: variable X is [{}]: expected [{}, {}, {}, N], N at least 1", name, fmt::join(dims, ", "), format.height,
              format.width, format.channels);
  auto features = static_cast<std::uint64_t>(format.features());
  check_input(x.stored_as == MatArray::stored_as_bytes && x.stored_bytes == dims[3] * features,
              "{}: variable X says {} images of {} bytes: the file has {} bytes of type {}: expected type {}", name, dims[3], features,
              x.stored_bytes, x.stored_as, MatArray::stored_as_bytes);
  return dims[3];
}

// Column-major [height, width] planes to rows of columns, in place: height and width are equal.
void transpose_planes(const DataFormat& format, std::vector<std::uint8_t>& pixels) {
  auto side = static_cast<std::size_t>(format.height);
  for (std::size_t start = 0; start < pixels.size(); start += side * side)
    for (std::size_t row = 1; row < side; ++row)
      for (std::size_t column = 0; column < row; ++column)
        std::swap(pixels[start + row * side + column], pixels[start + column * side + row]);
}

std::vector<std::uint8_t> labels_from(const DataFormat& format, const std::string& name, const std::vector<double>& numbers) {
  std::vector<std::uint8_t> labels(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    double y = numbers[i];
    check_input(y >= 1 && y <= static_cast<double>(format.classes) && y == std::floor(y),
                "{}: label of record {} (from 0) is {}: must be a whole number in [1, {}]", name, i, y, format.classes);
    labels[i] = static_cast<std::uint8_t>(static_cast<std::int64_t>(y) % format.classes);
  }
  return labels;
}

const std::filesystem::path& only_file(const DataFormat& format, const std::vector<std::filesystem::path>& files) {
  check_input(files.size() == 1, "{}: {} files given: expected 1", format.name, files.size());
  check_input(format.height == format.width, "{}: images are {} x {}: expected squares", format.name, format.height, format.width);
  return files[0];
}

// The two arrays of a file and how many examples they hold.
struct Digits {
  MatArray x, y;
  std::uint64_t count;
};

Digits find_digits(const DataFormat& format, const std::string& name, std::vector<MatArray> arrays) {
  MatArray& y = find_array(arrays, name, "y", {MatArray::of_bytes, MatArray::of_doubles}, "the labels, uint8 or double");
  MatArray& x = find_array(arrays, name, "X", {MatArray::of_bytes}, "the images, uint8");
  const std::uint64_t count = count_images(format, name, x);
  check_input(y.shape == std::vector<std::uint64_t>{count, 1}, "{}: variable y is [{}]: expected [{}, 1], a label for each image of X",
              name, fmt::join(y.shape, ", "), count);
  return {std::move(x), std::move(y), count};
}

}  // namespace

Examples read_svhn(const DataFormat& format, const std::vector<std::filesystem::path>& files, Sha256* contents) {
  const std::filesystem::path& path = only_file(format, files);
  const std::string name = path.string();
  Digits digits = find_digits(format, name, read_mat5(path, {"X", "y"}, contents));
  std::vector<std::uint8_t> labels = labels_from(format, name, digits.y.numbers(digits.count, name));
  transpose_planes(format, digits.x.values);
  return Examples(format, std::move(digits.x.values), std::move(labels));
}

std::int64_t count_svhn(const DataFormat& format, const std::vector<std::filesystem::path>& files) {
  const std::filesystem::path& path = only_file(format, files);
  return static_cast<std::int64_t>(find_digits(format, path.string(), read_mat5_headers(path)).count);
}

}  // namespace fodp
