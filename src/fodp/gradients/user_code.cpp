#include "fodp/gradients/user_code.h"

#include <cctype>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/ranges.h>

namespace fodp {
namespace {

// "inputs [rows, 3, 32, 32] float": the number of rows is not part of it.
std::string described(const char* name, const at::Tensor& tensor) {
  std::vector<std::string> sizes;
  for (std::int64_t axis = 0; axis < tensor.dim(); ++axis) sizes.push_back(axis == 0 ? "rows" : std::to_string(tensor.size(axis)));
  std::string type = at::toString(tensor.scalar_type());
  for (char& letter : type) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return fmt::format("{} [{}] {}", name, fmt::join(sizes, ", "), type);
}

// " (inputs ..., targets ...)", or nothing for a batch that holds nothing yet.
std::string described(const Batch& batch) {
  std::vector<std::string> tensors;
  for (const at::Tensor& inputs : batch.inputs) tensors.push_back(described("inputs", inputs));
  if (batch.targets.defined()) tensors.push_back(described("targets", batch.targets));
  return tensors.empty() ? "" : fmt::format(" ({})", fmt::join(tensors, ", "));
}

// LibTorch puts its stack frames on the lines after the first.
std::string_view first_line(std::string_view text) { return text.substr(0, text.find('\n')); }

}  // namespace

void throw_from_user_code(const char* doing, const Batch& batch, bool rows_are_public) {
  std::string said = "it threw something that is not a std::exception";
  try {
    throw;
  } catch (const UserCodeError&) {
    throw;
  } catch (const PrivacyError&) {
    throw;
  } catch (const FaultError&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    said = first_line(error.what());
  } catch (...) {
  }
  const std::string where = fmt::format("the model, the loss or the function that fetches rows failed while {}{}", doing, described(batch));
  if (rows_are_public) throw UserCodeError(where + ": " + said);
  throw UserCodeError(where + "; what it said is withheld, because it may quote training data: try it on public rows of this shape");
}

}  // namespace fodp
