#include "fodp/base/state.h"

#include <algorithm>

namespace fodp {

const StateValue& StateVisitor::saved(const std::string& path, std::size_t type) {
  const auto found = from_->find(path);
  check_input(found != from_->end(), "state: '{}' is missing: it was saved by a run of other parts", path);
  check_input(found->second.index() == type, "state: '{}' is of another type than this run's", path);
  ++taken_;
  return found->second;
}

void StateVisitor::operator()(std::string_view name, std::span<float> values) {
  std::vector<float> copy(values.begin(), values.end());
  (*this)(name, copy);
  check_input(copy.size() == values.size(), "state: '{}{}' has {} values: this run has {}", path_, name, copy.size(), values.size());
  if (loads()) std::ranges::copy(copy, values.begin());
}

void StateVisitor::operator()(std::string_view name, std::vector<std::vector<double>>& rows) {
  auto count = static_cast<std::int64_t>(rows.size());
  (*this)(std::string(name) + ".count", count);
  check_input(count >= 0 && count <= 1 << 20, "state: '{}{}' has {} rows", path_, name, count);
  rows.resize(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < rows.size(); ++i) (*this)(std::string(name) + "." + std::to_string(i), rows[i]);
}

void StateVisitor::check_all_taken() const {
  check_input(!from_ || taken_ == from_->size(), "state: {} values are of no part of this run: it was saved by a run of other parts",
              from_ ? from_->size() - taken_ : 0);
}

}  // namespace fodp
