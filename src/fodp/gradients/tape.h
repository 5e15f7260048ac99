// What the layers leave behind during one backward pass. Each layer leaves enough to compute every row's gradient norm and the weighted sum
// of the rows' gradients, without a gradient of all parameters for each row ever being stored. This is the book-keeping of Bu et al. 2023,
// "Differentially private optimization on large model at small cost".
//
// A layer takes part by deriving its module from PrivateLayer and, in backward, calling Tape::add_to_current with its Record. Only input
// gradients flow through autograd: no parameter ever gets a `.grad`.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

namespace torch::nn {
class Module;
}

namespace fodp {

class FlatParameters;

// Marks a module whose own parameters write to the tape.
class PrivateLayer {
 public:
  virtual ~PrivateLayer() = default;
};

// What one layer keeps of a block of rows.
class Record {
 public:
  virtual ~Record() = default;

  virtual std::int64_t rows() const = 0;
  virtual std::int64_t elements() const = 0;  // how many numbers it keeps

  // The trainable parameters that the record covers, whole or in contiguous parts.
  virtual std::vector<at::Tensor> parameters() const = 0;

  // Adds to squared[i] the squared norm of row i's gradient of these parameters, in double. It is not finite where the gradient is not.
  // Where write_weighted_sum forms the gradient in float32 as a sum over positions of products b a^T, adds to reach[i] the value
  // (sum|a|^2)(sum|b|^2). This bounds the square of what the positions would add up to if none cancelled another, which the rounding error
  // is in proportion to.
  virtual void add_squared_norms(std::span<double> squared, std::span<double> reach) = 0;

  // Sets these rows to zero in all that the record keeps, because a weight of zero times NaN is NaN. Tensors that others hold must stay as
  // they are.
  virtual void clear_rows(const at::Tensor& rows) = 0;

  // Writes the weighted sum of the rows' gradients, sum_i weights[i] * gradient_i, of each covered parameter to its place in `sum`, which
  // is float32 and laid out as `parameters`.
  virtual void write_weighted_sum(const at::Tensor& weights, const FlatParameters& parameters, const at::Tensor& sum) const = 0;
};

class Tape {
 public:
  // Whether a layer has to record: this thread has a Recording, gradients are on, and one of these parameters is trainable. Undefined ones
  // do not count.
  static bool records(std::initializer_list<at::Tensor> parameters);

  // Adds a layer's record to the tape of this thread. PrivacyError if the thread has no Recording.
  static void add_to_current(std::unique_ptr<Record> record);

  // Makes `tape` the one that this thread records to for as long as the object lives.
  class Recording {
   public:
    explicit Recording(Tape& tape);
    ~Recording();
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;

   private:
    Tape* outer_;
  };

  std::span<const std::unique_ptr<Record>> records() const { return records_; }
  void clear() { records_.clear(); }

  std::int64_t elements() const;  // how many numbers all records keep

  // Checks, after a backward pass over `rows` rows, that every trainable parameter has exactly one record and that every record has this
  // many rows. Throws a PrivacyError that names the parameter.
  void check_covers(const FlatParameters& parameters, std::int64_t rows) const;

 private:
  std::vector<std::unique_ptr<Record>> records_;
};

// Refuses a model that has a module which mixes examples in the mode it is in, or a trainable parameter that no PrivateLayer covers. The
// PrivacyError names each such module, with what to use instead; if there is any, what FlatParameters refuses is listed too. It is cheap
// where nothing is refused.
void check_model(const torch::nn::Module& module);

}  // namespace fodp
