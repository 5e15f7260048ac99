// What the layers leave behind during one backward pass: per layer, enough to know each row's gradient norm and to add up the weighted
// rows, without ever storing a gradient per row (book-keeping; Bu et al. 2023, "Differentially private optimization on large model at small
// cost").
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

// One layer's part of a block of rows.
class Record {
 public:
  virtual ~Record() = default;

  virtual std::int64_t rows() const = 0;
  virtual std::int64_t elements() const = 0;  // how many numbers it keeps

  // The trainable parameters it covers: whole ones, or contiguous parts.
  virtual std::vector<at::Tensor> parameters() const = 0;

  // squared[i] += |gradient of row i|^2 over these parameters, in double. Not finite where the gradient is not. Where the gradient is a sum
  // over positions that write_weighted_sum forms in float32, reach[i] += (sum|a|^2)(sum|b|^2) of its factors: what its positions add up to
  // if none cancel another, and so what its rounding is in proportion to.
  virtual void add_squared_norms(std::span<double> squared, std::span<double> reach) = 0;

  // Zero-fills these rows in every factor, so that not even zero times NaN remains. Must leave tensors that others hold as they are.
  virtual void clear_rows(const at::Tensor& rows) = 0;

  // Writes sum_i weights[i] * gradient_i of each covered parameter to its place in `sum` (flat, float32, laid out as `parameters`).
  virtual void write_weighted_sum(const at::Tensor& weights, const FlatParameters& parameters, const at::Tensor& sum) const = 0;
};

class Tape {
 public:
  // Whether a layer is to record: inside a recording, with gradients on and one of these (undefined ones aside) trainable.
  static bool records(std::initializer_list<at::Tensor> parameters);

  // What a layer's backward calls. PrivacyError outside a recording.
  static void add_to_current(std::unique_ptr<Record> record);

  // Makes `tape` the thread's tape while it lives.
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

  std::int64_t elements() const;  // of all records

  // After a backward pass over so many rows: every trainable parameter has exactly one record, and every record these rows. PrivacyError
  // naming the parameter.
  void check_covers(const FlatParameters& parameters, std::int64_t rows) const;

 private:
  std::vector<std::unique_ptr<Record>> records_;
};

// Refuses by name, with what to use instead, every module that mixes examples in the mode it is in and every trainable parameter that no
// PrivateLayer covers.
void check_model(const torch::nn::Module& module);

}  // namespace fodp
