#include "fodp/data/own_data.h"

#include <algorithm>
#include <set>

#include <fmt/ranges.h>

#include "fodp/base/check.h"

namespace fodp {
namespace {

// The options of data of one's own that say something, and are not among those that are read.
void check_read(const DataOptions& options, std::span<const std::string_view> read) {
  std::set<std::string_view> own;
  for (const DataKind& kind : data_kinds()) own.insert(kind.reads.begin(), kind.reads.end());
  const DataOptions defaults;
  for_each_field(options, [&](const auto& field, const auto& value) {
    using Value = std::remove_cvref_t<decltype(value)>;
    const bool given = FieldText<Value>::value(value) != FieldText<Value>::value(defaults.*field.member);
    if (!given || !own.contains(field.name)) return;
    check_input(std::ranges::find(read, field.name) != read.end(), "`{}` is not for the data {}", field.name, options.data);
  });
}

void check_own_test_files(const DataOptions& options) {
  std::error_code ignored;
  for (const std::string& test : options.test.names)
    for (const std::string& train : options.train.names)
      check_input(test != train && !std::filesystem::equivalent(test, train, ignored),
                  "`test` {}: is what is trained on: give rows that are not, or hold some out (`test-fraction`)", test);
}

// What holds of every kind of data of one's own.
void check_own(const DataOptions& options) {
  check_input(!options.train.names.empty(), "`data` {} needs `train`, what to train on", options.data);
  check_input(options.test.names.empty() || !options.test_fraction, "`test` and `test-fraction`: give one of them");
  check_own_test_files(options);
  check_input(options.test_fraction || !options.test_seed, "`test-seed` is for `test-fraction`");
  check_input(!options.insecure_validation, "`insecure-validation` is for named data sets: data of your own has `test-fraction`");
  check_input(!options.data_dir, "`data-dir` is for named data sets: `train` says where data of your own is");
}

}  // namespace

// Every kind: one line each.
std::span<const DataKind> data_kinds() {
  static const DataKind kinds[] = {kTableData, kTensorData, kImageData};
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
  if (!kind) return describe_named(find_data_source(options.data).format);
  check_own(options);
  DataDescription about = kind->describe(options);
  about.name = fmt::format("{}", fmt::join(options.train.names, ", "));
  about.test_is_public = options.test_public || (options.test.names.empty() && !options.test_fraction);
  return about;
}

std::optional<DataSizes> sizes_before_reading(const DataOptions& options) {
  const DataKind* kind = find_data_kind(options.data);
  if (!kind) return announced_sizes(options);
  validate_fields(options);
  describe_data(options);
  if (std::optional<DataSizes> sizes = kind->sizes(options)) return sizes;
  if (!options.train_size) return std::nullopt;
  return DataSizes{*options.train_size, options.test_size.value_or(0), SizesFrom::option};
}

RunData load_data(const DataOptions& options, const ReadProgress& progress) {
  DataDescription about = describe_data(options);
  if (const DataKind* kind = find_data_kind(options.data)) return kind->load(options, std::move(about), progress);
  Dataset data = load_dataset(options);
  return {.about = std::move(about),
          .train = std::make_shared<Examples>(std::move(data.train)),
          .test = std::make_shared<Examples>(std::move(data.test)),
          .fingerprint = std::move(data.fingerprint)};
}

const DataKind& kind_of_trained(const nlohmann::json& model, const std::string& where) {
  const std::string name = model.at("inputs").value("kind", std::string(kTensorData.name));
  const DataKind* kind = find_data_kind(name);
  check_input(kind != nullptr, "{}: was trained on data of a kind that this program does not know: '{}'", where, name);
  return *kind;
}

}  // namespace fodp
