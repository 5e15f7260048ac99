// Rows of bytes in memory, such as pixels, and how inputs are normalised. Bytes stay bytes; a row is divided by 255 and normalised when it
// is gathered.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fodp/base/number_list.h"
#include "fodp/base/wide_loops.h"
#include "fodp/data/rows.h"

namespace fodp {

// Inputs become (x - mean) / std, in double and then rounded to float32. The values of a row are divided into as many parts of one size,
// one after the other, as there are numbers here: these are the channels of an image. The numbers are public: they are stated, and never
// computed from the rows.
struct Normalisation {
  std::vector<double> mean, std;

  float apply(double value, std::size_t channel) const { return static_cast<float>((value - mean[channel]) / std[channel]); }
};

// One number stands for all channels. InputError, in which the options are `mean` and `std`, for another number of them, or for a number
// that is not finite, and for a std that is not above 0. `shape` is that of a row: [numbers] or [channels, height, width].
Normalisation normalisation_for(std::span<const std::int64_t> shape, const std::optional<NumberList>& mean,
                                const std::optional<NumberList>& std, const Normalisation& standard);

class ByteRows : public Rows {
 public:
  // As TensorRows has it for the targets, with `bytes` row after row. InputError if the sizes do not fit each other.
  ByteRows(std::vector<std::int64_t> shape, const Normalisation& normalisation, std::vector<std::uint8_t> bytes, at::Tensor targets,
           std::optional<std::int64_t> classes);

  std::int64_t count() const override { return targets_.count(); }
  std::vector<RowShape> inputs() const override { return {{shape_, at::kFloat}}; }
  Target target() const override { return targets_.target(); }
  Batch gather(std::span<const std::int64_t> rows) const override;
  std::span<const std::uint8_t> bytes() const override { return bytes_; }

 private:
  std::vector<std::int64_t> shape_;
  std::int64_t features_;
  std::vector<std::uint8_t> bytes_;
  TensorRows targets_;           // rows without an input of their own
  std::vector<ByteLine> lines_;  // by channel
};

}  // namespace fodp
