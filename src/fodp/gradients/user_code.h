// Runs code that the user gave: the model's forward pass, the loss, the function that fetches rows. What that code throws becomes a
// UserCodeError, which says what fodp was doing and which shape the rows had; LibTorch's stack frames are left out. Refusals of privacy
// (PrivacyError), faults of the machine (FaultError) and running out of memory pass through as they are.
//
// Privacy: an exception may quote the rows it met ("index 4711 is out of range") or how many there were ("got [37, 5]"). Its text is
// therefore passed on only where the rows are public. For training rows the error names the operation and the shape of a row, and neither
// the text nor the number of rows.
#pragma once

#include "fodp/base/check.h"
#include "fodp/data/rows.h"

namespace fodp {

class UserCodeError : public InputError {
 public:
  using InputError::InputError;
};

// For use inside a catch block: throws what the exception being handled becomes.
[[noreturn]] void throw_from_user_code(const char* doing, const Batch& batch, bool rows_are_public);

// Returns f(), which runs on rows that hold no training data, such as made-up ones. `doing` completes "failed while ...":
//   in_user_code("computing the loss of made-up rows", batch, [&] { return losses(batch.inputs, batch.targets); })
template <class F>
auto in_user_code(const char* doing, const Batch& batch, const F& f) {
  try {
    return f();
  } catch (...) {
    throw_from_user_code(doing, batch, /*rows_are_public=*/true);
  }
}

// Returns f(), which runs on training rows. Where the rows are still to be fetched, `batch` is empty: Batch{}.
template <class F>
auto in_user_code_on_training_rows(const char* doing, const Batch& batch, const F& f) {
  try {
    return f();
  } catch (...) {
    throw_from_user_code(doing, batch, /*rows_are_public=*/false);
  }
}

}  // namespace fodp
