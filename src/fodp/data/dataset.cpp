#include "fodp/data/dataset.h"

#include <algorithm>
#include <cstring>

#include <ATen/ops/empty.h>
#include <fmt/ranges.h>

#include "fodp/base/check.h"

namespace fodp {

namespace fs = std::filesystem;

Examples::Examples(const DataFormat& format, std::vector<std::uint8_t> pixels, std::vector<std::uint8_t> labels)
    : format_(&format), pixels_(std::move(pixels)), labels_(std::move(labels)) {
  auto channels = static_cast<std::size_t>(format.channels);
  check_input(format.mean.size() == channels && format.std.size() == channels, "{}: {} means and {} deviations for {} channels",
              format.name, format.mean.size(), format.std.size(), channels);
  check_input(!labels_.empty(), "{}: there are no examples: at least 1 is needed", format.name);
  check_input(pixels_.size() == labels_.size() * static_cast<std::size_t>(format.features()),
              "{}: {} bytes of pixels for {} labels: must be {} bytes each", format.name, pixels_.size(), labels_.size(),
              format.features());
  auto wrong = std::ranges::find_if(labels_, [&](std::uint8_t label) { return label >= format.classes; });
  check_input(wrong == labels_.end(), "{}: label of example {} is {}: must be in [0, {}]", format.name, wrong - labels_.begin(),
              wrong == labels_.end() ? 0 : *wrong, format.classes - 1);
  for (std::size_t c = 0; c < channels; ++c) lines_.emplace_back(format.mean[c], format.std[c]);
}

std::vector<RowShape> Examples::inputs() const { return {{{format_->channels, format_->height, format_->width}, at::kFloat}}; }

Target Examples::target() const { return {Target::Kind::classes, format_->classes, {{}, at::kLong}}; }

void Examples::check_rows(std::span<const std::int64_t> rows) const {
  for (std::int64_t row : rows) check_input(row >= 0 && row < size(), "{}: row {}: must be in [0, {}]", format_->name, row, size() - 1);
}

at::Tensor Examples::inputs(std::span<const std::int64_t> rows) const {
  check_rows(rows);
  const auto count = static_cast<std::int64_t>(rows.size());
  at::Tensor out = at::empty({count, format_->channels, format_->height, format_->width}, at::kFloat);
  float* to = out.data_ptr<float>();
  std::int64_t plane = format_->height * format_->width;
  for (std::int64_t row : rows) {
    const std::uint8_t* from = pixels_.data() + row * format_->features();
    for (const ByteLine& line : lines_) {
      line.apply({from, static_cast<std::size_t>(plane)}, to);
      from += plane;
      to += plane;
    }
  }
  return out;
}

at::Tensor Examples::targets(std::span<const std::int64_t> rows) const {
  check_rows(rows);
  at::Tensor out = at::empty({static_cast<std::int64_t>(rows.size())}, at::kLong);
  std::int64_t* to = out.data_ptr<std::int64_t>();
  for (std::int64_t row : rows) *to++ = labels_[static_cast<std::size_t>(row)];
  return out;
}

namespace {

// Whether there are n examples to keep. `what` is n's name in messages, `most_is` says what `most` is.
void check_size(std::string_view what, std::int64_t n, std::int64_t most, std::string_view most_is, const DataFormat& format) {
  check_input(n >= 1 && n <= most, "{} is {}: must be in [1, {}], {} of {}", what, n, most, most_is, format.name);
}

constexpr std::string_view in_files = "the number of examples in the files", published = "the published number of examples";

}  // namespace

void Examples::keep_first(std::int64_t n, std::string_view what) {
  check_size(what, n, size(), in_files, *format_);
  pixels_.resize(static_cast<std::size_t>(n * format_->features()));
  labels_.resize(static_cast<std::size_t>(n));
  pixels_.shrink_to_fit();
  labels_.shrink_to_fit();
}

const DataSource& find_data_source(std::string_view name) {
  std::vector<std::string_view> known;
  for (const DataSource& source : data_sources()) {
    if (source.format.name == name) return source;
    known.push_back(source.format.name);
  }
  throw InputError(fmt::format("data is '{}': not known: {}", name, suggestion(name, known)));
}

namespace {

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

// The file of that name in the folder, packed or not.
std::optional<fs::path> find_file(const DataSource& source, const fs::path& folder, const std::string& name) {
  if (is_there(folder / name)) return folder / name;
  if (source.may_be_gzipped && is_there(folder / (name + ".gz"))) return folder / (name + ".gz");
  return std::nullopt;
}

std::vector<fs::path> find_files(const DataSource& source, const fs::path& folder, const std::vector<std::string>& names) {
  std::vector<fs::path> files;
  for (const std::string& name : names) files.push_back(find_file(source, folder, name).value_or(folder / name));
  return files;
}

std::vector<std::string> all_files(const DataSource& source) {
  std::vector<std::string> names = source.train_files;
  names.insert(names.end(), source.test_files.begin(), source.test_files.end());
  return names;
}

// Why this is not the source's folder, or empty if it is.
std::string what_is_missing(const DataSource& source, const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) return is_there(folder) ? "is not a folder" : "no such folder";
  std::vector<std::string> missing;
  for (const std::string& name : all_files(source))
    if (!find_file(source, folder, name)) missing.push_back(name);
  if (missing.empty()) return "";
  return fmt::format("has no {}{}", fmt::join(missing, ", "), source.may_be_gzipped ? " (packed as .gz or not)" : "");
}

// The folder of its own name comes first: sets may share file names, as mnist and fashion-mnist do.
std::vector<fs::path> places(const DataSource& source, const std::optional<fs::path>& data_dir) {
  if (!data_dir) return source.installed_at;
  return {*data_dir / source.folder, *data_dir};
}

std::string advice(const DataSource& source, const std::optional<fs::path>& data_dir) {
  for (const fs::path& installed : source.installed_at)
    if (data_dir && what_is_missing(source, installed).empty())
      return fmt::format("; leave out `data-dir` to take it from {}", installed.string());
  if (data_dir) return "";
  return fmt::format("; give `data-dir` DIR, where DIR or DIR/{} has {}", source.folder, fmt::join(all_files(source), ", "));
}

Dataset load(const DataSource& source, const fs::path& folder) {
  Sha256 contents;
  Examples train = source.read(source.format, find_files(source, folder, source.train_files), &contents);
  Examples test = source.read(source.format, find_files(source, folder, source.test_files), nullptr);
  return {&source.format, std::move(train), std::move(test), contents.text()};
}

std::optional<fs::path> as_path(const std::optional<std::string>& text) { return text ? std::optional<fs::path>(*text) : std::nullopt; }

}  // namespace

fs::path find_data_folder(const DataSource& source, const std::optional<fs::path>& data_dir) {
  check_input(!data_dir || !data_dir->empty(), "data-dir is empty: must name a folder");
  std::vector<std::string> tried;
  for (const fs::path& place : places(source, data_dir)) {
    std::string missing = what_is_missing(source, place);
    if (missing.empty()) return place;
    tried.push_back(fmt::format("{}: {}", place.string(), missing));
  }
  if (tried.empty()) tried.push_back("no package puts it in a known place");
  throw InputError(fmt::format("{} is not found: {}{}", source.format.name, fmt::join(tried, "; "), advice(source, data_dir)));
}

Examples Examples::take_last(std::int64_t n, std::string_view what) {
  check_input(n < size(), "{} {}: there are {} training examples, and some must be left to train on", what, n, size());
  const auto labels = labels_.end() - n;
  const auto pixels = pixels_.end() - n * format_->features();
  Examples taken(*format_, {pixels, pixels_.end()}, {labels, labels_.end()});
  keep_first(size() - n, what);
  return taken;
}

Dataset load_dataset(const DataOptions& options) {
  validate_fields(options);
  const DataSource& source = find_data_source(options.data);
  Dataset data = load(source, find_data_folder(source, as_path(options.data_dir)));
  if (options.train_size) data.train.keep_first(*options.train_size, "`train-size`");
  if (options.insecure_validation) data.test = data.train.take_last(*options.insecure_validation, "`insecure-validation`");
  if (options.test_size && !options.insecure_validation) data.test.keep_first(*options.test_size, "`test-size`");
  return data;
}

std::optional<DataSizes> sizes_from_headers(const DataOptions& options) {
  const DataSource& source = find_data_source(options.data);
  const std::vector<fs::path> folders = places(source, as_path(options.data_dir));
  if (std::ranges::none_of(folders, [&](const fs::path& at) { return what_is_missing(source, at).empty(); })) return std::nullopt;
  const fs::path folder = find_data_folder(source, as_path(options.data_dir));
  return DataSizes{source.count(source.format, find_files(source, folder, source.train_files)),
                   source.count(source.format, find_files(source, folder, source.test_files)), SizesFrom::files};
}

DataSizes announced_sizes(const DataOptions& options) {
  validate_fields(options);
  const DataFormat& format = find_data_source(options.data).format;
  const std::optional<DataSizes> found = sizes_from_headers(options);
  const std::string_view most_is = found ? in_files : published;
  DataSizes sizes =
      found.value_or(DataSizes{format.train_examples, format.test_examples, options.train_size ? SizesFrom::option : SizesFrom::published});
  if (options.train_size) check_size("`train-size`", *options.train_size, sizes.train, most_is, format);
  if (options.test_size) check_size("`test-size`", *options.test_size, sizes.test, most_is, format);
  sizes.train = options.train_size.value_or(sizes.train);
  sizes.test = options.test_size.value_or(sizes.test);
  if (options.insecure_validation) {
    check_input(*options.insecure_validation < sizes.train,
                "`insecure-validation` {}: there are {} training examples, and some must be left to train on", *options.insecure_validation,
                sizes.train);
    sizes.test = *options.insecure_validation;
    sizes.train -= sizes.test;
  }
  return sizes;
}

std::vector<DataReport> inspect_data(const std::optional<fs::path>& data_dir) {
  std::vector<DataReport> reports;
  for (const DataSource& source : data_sources()) {
    const DataFormat& format = source.format;
    DataReport report{.name = std::string(format.name),
                      .channels = format.channels,
                      .height = format.height,
                      .width = format.width,
                      .classes = format.classes};
    try {
      report.folder = find_data_folder(source, data_dir);
      Dataset data = load(source, *report.folder);
      report.found = true;
      report.train_examples = data.train.size();
      report.test_examples = data.test.size();
      report.fingerprint = data.fingerprint;
    } catch (const InputError& error) {
      report.problem = error.what();
    }
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace fodp
