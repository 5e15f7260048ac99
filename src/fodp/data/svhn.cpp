#include "fodp/data/svhn.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>

#include <fmt/ranges.h>
#include <matio.h>

#include "fodp/base/check.h"
#include "fodp/data/mat5.h"

namespace fodp {
namespace {

// What libmatio had to say in this thread since it was last emptied. It would go to standard error otherwise.
thread_local std::string matio_said;

void hear(int, char* message) {
  try {
    matio_said = message;
  } catch (...) {  // nothing may be thrown through C
  }
}

struct CloseFile {
  void operator()(mat_t* file) const { Mat_Close(file); }
};
struct FreeVariable {
  void operator()(matvar_t* variable) const { Mat_VarFree(variable); }
};
using MatFile = std::unique_ptr<mat_t, CloseFile>;
using MatVariable = std::unique_ptr<matvar_t, FreeVariable>;

MatFile open_file(const std::string& name) {
  static std::once_flag quiet;
  std::call_once(quiet, [] { Mat_LogInitFunc("fodp", hear); });
  matio_said.clear();
  MatFile file(Mat_Open(name.c_str(), MAT_ACC_RDONLY));
  check_input(file != nullptr, "{}: cannot be opened as a MATLAB file: {}", name, matio_said);
  return file;
}

// The named array of the file: real, of one of these classes.
MatVariable find_array(mat_t* file, const std::string& name, const char* variable_name, std::initializer_list<matio_classes> classes,
                       std::string_view expected) {
  MatVariable variable(Mat_VarReadInfo(file, variable_name));
  check_input(variable != nullptr, "{}: has no variable {}: expected {}", name, variable_name, expected);
  check_input(matio_said.empty(), "{}: variable {} cannot be read: {}", name, variable_name, matio_said);
  bool right_class = std::ranges::find(classes, variable->class_type) != classes.end();
  check_input(right_class && !variable->isComplex && !variable->isLogical, "{}: variable {} is of MATLAB class {}{}{}: expected {}", name,
              variable_name, static_cast<int>(variable->class_type), variable->isComplex ? ", complex" : "",
              variable->isLogical ? ", logical" : "", expected);
  return variable;
}

std::span<const std::size_t> shape(const matvar_t& variable) { return {variable.dims, static_cast<std::size_t>(variable.rank)}; }

// The values of a variable whose class is that of Value.
template <class Value>
std::vector<Value> read_values(mat_t* file, const std::string& name, matvar_t* variable, std::size_t count) {
  std::vector<Value> values(count);
  int failed = Mat_VarReadDataLinear(file, variable, values.data(), 0, 1, static_cast<int>(count));
  check_input(!failed && matio_said.empty(), "{}: variable {} cannot be read: {}", name, variable->name,
              matio_said.empty() ? fmt::format("libmatio's error {}", failed) : matio_said);
  return values;
}

std::vector<double> read_numbers(mat_t* file, const std::string& name, matvar_t* variable, std::size_t count) {
  if (variable->class_type == MAT_C_DOUBLE) return read_values<double>(file, name, variable, count);
  std::vector<std::uint8_t> bytes = read_values<std::uint8_t>(file, name, variable, count);
  return {bytes.begin(), bytes.end()};
}

// N of X [height, width, channels, N], after making sure that the file can hold so much.
std::size_t count_images(const DataFormat& format, const std::string& name, const matvar_t& x, std::uint64_t most_bytes) {
  auto dims = shape(x);
  bool right = dims.size() == 4 && dims[0] == static_cast<std::size_t>(format.height) &&
               dims[1] == static_cast<std::size_t>(format.width) && dims[2] == static_cast<std::size_t>(format.channels) && dims[3] >= 1;
  check_input(right, "{}: variable X is [{}]: expected [{}, {}, {}, N], N at least 1", name, fmt::join(dims, ", "), format.height,
              format.width, format.channels);
  auto features = static_cast<std::uint64_t>(format.features());
  check_input(dims[3] <= most_bytes / features, "{}: variable X says {} images of {} bytes: the file has {} bytes", name, dims[3], features,
              most_bytes);
  check_input(dims[3] * features <= static_cast<std::uint64_t>(std::numeric_limits<int>::max()), "{}: {} images: at most {} can be read",
              name, dims[3], static_cast<std::uint64_t>(std::numeric_limits<int>::max()) / features);
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

// The two arrays of a file. Their values are not read yet.
struct Arrays {
  MatFile file;
  MatVariable x, y;
  std::size_t count;
};

const std::filesystem::path& only_file(const DataFormat& format, const std::vector<std::filesystem::path>& files) {
  check_input(files.size() == 1, "{}: {} files given: expected 1", format.name, files.size());
  check_input(format.height == format.width, "{}: images are {} x {}: expected squares", format.name, format.height, format.width);
  return files[0];
}

Arrays find_arrays(const DataFormat& format, const std::string& name, std::uint64_t most_bytes) {
  MatFile file = open_file(name);
  MatVariable y = find_array(file.get(), name, "y", {MAT_C_UINT8, MAT_C_DOUBLE}, "the labels, uint8 or double");
  MatVariable x = find_array(file.get(), name, "X", {MAT_C_UINT8}, "the images, uint8");
  std::size_t count = count_images(format, name, *x, most_bytes);
  auto dims = shape(*y);
  check_input(dims.size() == 2 && dims[0] == count && dims[1] == 1, "{}: variable y is [{}]: expected [{}, 1], a label for each image of X",
              name, fmt::join(dims, ", "), count);
  return {std::move(file), std::move(x), std::move(y), count};
}

}  // namespace

Examples read_svhn(const DataFormat& format, const std::vector<std::filesystem::path>& files, Sha256* contents) {
  const std::filesystem::path& path = only_file(format, files);
  std::string name = path.string();
  Arrays arrays = find_arrays(format, name, check_mat5(path, contents));
  mat_t* file = arrays.file.get();
  std::vector<std::uint8_t> labels = labels_from(format, name, read_numbers(file, name, arrays.y.get(), arrays.count));
  std::vector<std::uint8_t> pixels =
      read_values<std::uint8_t>(file, name, arrays.x.get(), arrays.count * static_cast<std::size_t>(format.features()));
  transpose_planes(format, pixels);
  return Examples(format, std::move(pixels), std::move(labels));
}

std::int64_t count_svhn(const DataFormat& format, const std::vector<std::filesystem::path>& files) {
  const std::filesystem::path& path = only_file(format, files);
  return static_cast<std::int64_t>(find_arrays(format, path.string(), check_mat5_headers(path)).count);
}

}  // namespace fodp
