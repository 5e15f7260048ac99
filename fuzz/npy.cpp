// One .npy file. What is read has as many values as its header says.
#include "fodp/data/array_file.h"
#include "target.h"

FODP_FUZZ_TARGET(npy) {
  const auto file = ArrayFile::open(file_with("array.npy", bytes));
  const ArrayInfo array = file->info(0);
  std::uint64_t values = 0;
  std::vector<double> numbers;
  file->read(0, [&](std::span<const std::uint8_t> piece) {
    numbers.resize(piece.size() / array.width());
    to_numbers(array.type, piece, numbers.data());
    values += numbers.size();
  });
  require(values == array.values(), "as many values are read as the header says");
}
