#include "fodp/data/own_data.h"

#include <algorithm>

#include "fodp/base/check.h"

namespace fodp {
namespace {

// The options of data of one's own that say something, and are not among those that are read.
void check_read(const DataOptions& options, std::span<const std::string_view> read) {
  static constexpr std::string_view own[] = {"train", "test", "schema", "privacy-unit", "test-fraction", "test-seed", "test-public"};
  const DataOptions defaults;
  for_each_field(options, [&](const auto& field, const auto& value) {
    using Value = std::remove_cvref_t<decltype(value)>;
    const bool given = FieldText<Value>::value(value) != FieldText<Value>::value(defaults.*field.member);
    if (!given || std::ranges::find(own, field.name) == std::end(own)) return;
    check_input(std::ranges::find(read, field.name) != read.end(), "`{}` is not for the data {}", field.name, options.data);
  });
}

}  // namespace

// Every kind: one line each.
std::span<const DataKind> data_kinds() {
  static const DataKind kinds[] = {kTableData};
  return kinds;
}

const DataKind* find_data_kind(std::string_view name) {
  const auto kinds = data_kinds();
  const auto found = std::ranges::find(kinds, name, &DataKind::name);
  return found == kinds.end() ? nullptr : &*found;
}

DataDescription describe_named(const DataFormat& format) {
  return {.name = std::string(format.name),
          .row_shape = {format.channels, format.height, format.width},
          .target = {Target::Kind::classes, format.classes, {{}, at::kLong}},
          .inputs = {
              {"divide_by", 255}, {"mean", format.mean}, {"std", format.std}, {"shape", {format.channels, format.height, format.width}}}};
}

DataDescription describe_data(const DataOptions& options) {
  const DataKind* kind = find_data_kind(options.data);
  check_read(options, kind ? std::span<const std::string_view>(kind->reads) : std::span<const std::string_view>());
  return kind ? kind->describe(options) : describe_named(find_data_source(options.data).format);
}

std::optional<DataSizes> sizes_before_reading(const DataOptions& options) {
  if (!find_data_kind(options.data)) return announced_sizes(options);
  validate_fields(options);
  if (!options.train_size) return std::nullopt;
  return DataSizes{*options.train_size, options.test_size.value_or(0), SizesFrom::option};
}

RunData load_data(const DataOptions& options) {
  DataDescription about = describe_data(options);
  if (const DataKind* kind = find_data_kind(options.data)) return kind->load(options);
  Dataset data = load_dataset(options);
  return {.about = std::move(about),
          .train = std::make_shared<Examples>(std::move(data.train)),
          .test = std::make_shared<Examples>(std::move(data.test)),
          .fingerprint = std::move(data.fingerprint)};
}

}  // namespace fodp
