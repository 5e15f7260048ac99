#include "study/study_file.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "fodp/base/check.h"
#include "fodp/base/fields.h"
#include "fodp/base/json_text.h"
#include "fodp/base/toml_reader.h"
#include "fodp/base/toml_text.h"
#include "study/quantities.h"

namespace fodp::app {
namespace {

using Keys = std::vector<std::string_view>;

// Names of files are made from these.
void check_name(const std::string& name, const std::string& where) {
  check_input(!name.empty() && name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == name.npos &&
                  name.front() != '.',
              "{}: '{}' is to become the name of a file: letters, digits, '-', '_' and '.' are allowed", where, name);
}

std::string plain_option(std::string_view key) {
  std::string name(key);
  std::ranges::replace(name, '_', '-');
  return name;
}

// What a study sets itself.
void check_option(const std::string& name, const std::string& where) {
  static const std::set<std::string> reserved = {"out",           "save",      "export", "resume", "dry-run", "threads", "checkpoint-every",
                                                 "insecure-seed", "init-seed", "json",   "quiet",  "config",  "data-dir"};
  check_input(!reserved.contains(name), "{}: --{} is not for a study file: {}", where, name,
              name.ends_with("seed") ? "seeds = [...] sets it" : "the study's own command line sets it");
}

Options read_options(const toml::table& table, const std::string& file, const std::string& path, std::string_view leave_out = {}) {
  Options options;
  const TomlReader reader(table, file, path);
  for (const auto& [key, node] : table) {
    if (key.str() == leave_out) continue;
    const std::string name = plain_option(key.str());
    check_option(name, reader.where(key.str()));
    check_input(!options.contains(name), "{}: --{} is set twice", reader.where(key.str()), name);
    options[name] = option_text(node, reader.where(key.str()));
  }
  return options;
}

AxisValue read_value(const toml::node& node, const std::string& axis, const std::string& file, const std::string& where) {
  const toml::table* table = node.as_table();
  if (!table) {
    check_option(axis, where);
    return {.label = option_text(node, where), .options = {{axis, option_text(node, where)}}};
  }
  const toml::node* label = table->get("label");
  check_input(label && label->is_string() && !label->as_string()->get().empty(),
              "{}: a value that sets several options needs label = \"...\", which tables and figures call it by", where);
  return {.label = label->as_string()->get(), .options = read_options(*table, file, "axes." + axis, "label")};
}

std::vector<Axis> read_axes(const toml::table& table, const std::string& file) {
  // toml++ sorts keys; the order of the file is the order of the lines.
  std::vector<std::pair<std::string, const toml::node*>> keys;
  for (const auto& [key, node] : table) keys.emplace_back(key.str(), &node);
  const auto place = [](const auto& item) { return std::pair{item.second->source().begin.line, item.second->source().begin.column}; };
  std::ranges::sort(keys, {}, place);
  std::vector<Axis> axes;
  for (const auto& [key, node] : keys) {
    const std::string where = fmt::format("{}: line {}: axes.{}", file, node->source().begin.line, key);
    const toml::array* values = node->as_array();
    check_input(values != nullptr, "{}: expected a list of values", where);
    check_input(!values->empty(), "{}: the axis is empty: give at least one value", where);
    Axis axis{.name = plain_option(key), .values = {}};
    check_input(axis.name != "seed" && axis.name != "seeds", "{}: seeds stand at the top of the file: seeds = [1, 2, 3]", where);
    for (const toml::node& value : *values) {
      axis.values.push_back(read_value(value, axis.name, file, where));
      const std::string& label = axis.values.back().label;
      check_input(std::ranges::count(axis.values, label, &AxisValue::label) == 1, "{}: '{}' stands there twice", where, label);
    }
    axes.push_back(std::move(axis));
  }
  return axes;
}

constexpr std::int64_t kLargestSeed = std::int64_t{1} << 53;

std::vector<std::int64_t> read_seeds(TomlReader& reader, std::vector<std::int64_t> standard) {
  const toml::array* items = reader.array("seeds");
  if (!items) return standard;
  std::vector<std::int64_t> seeds;
  const std::string where = reader.where("seeds");
  for (const toml::node& item : *items) {
    check_input(item.is_integer() && item.as_integer()->get() >= 0 && item.as_integer()->get() <= kLargestSeed,
                "{}: expected whole numbers from 0 to {}", where, kLargestSeed);
    seeds.push_back(item.as_integer()->get());
    check_input(std::ranges::count(seeds, seeds.back()) == 1, "{}: {} stands there twice: such runs would be the same run", where,
                seeds.back());
  }
  check_input(!seeds.empty(), "{}: give at least one", where);
  return seeds;
}

// Axes by name, in a study that has them.
class AxisCheck {
 public:
  AxisCheck(const Study& study, const TomlReader& reader) : study_(study), reader_(reader) {}

  void name(const std::string& axis, std::string_view key) {
    std::vector<std::string_view> names;
    for (const Axis& one : study_.axes) names.push_back(one.name);
    check_input(std::ranges::count(names, axis) > 0, "{}: there is no axis '{}': {}", reader_.where(key), axis,
                names.empty() ? "the study has none" : suggestion(axis, names));
    check_input(used_.insert(axis).second, "{}: the axis '{}' is used twice", reader_.where(key), axis);
  }

  Place place(const toml::table* table, std::string_view key) {
    Place place;
    if (!table) return place;
    for (const auto& [raw, node] : *table) {
      const std::string axis = plain_option(raw.str()), label = option_text(node, reader_.where(key));
      name(axis, key);
      std::vector<std::string_view> labels;
      for (const AxisValue& value : study_.axis(axis).values) labels.push_back(value.label);
      check_input(std::ranges::count(labels, label) > 0, "{}: the axis '{}' has no value '{}': {}", reader_.where(key), axis, label,
                  suggestion(label, labels));
      place[axis] = label;
    }
    return place;
  }

  // Mixing the values of an axis would average over different things.
  void all_used(std::string_view key, const std::string& advice = {}) {
    for (const Axis& axis : study_.axes)
      check_input(used_.contains(axis.name) || axis.values.size() == 1, "{}: says nothing of the axis '{}': {}", reader_.where(key),
                  axis.name,
                  !advice.empty() ? advice
                                  : fmt::format("name it, or choose one of its values with where = {{ \"{}\" = \"{}\" }}", axis.name,
                                                axis.values.front().label));
  }

 private:
  const Study& study_;
  const TomlReader& reader_;
  std::set<std::string> used_;
};

void check_number_of_runs(const Study& study) {
  double runs = static_cast<double>(study.seeds.size());
  for (const Axis& axis : study.axes) runs *= static_cast<double>(axis.values.size());
  check_input(runs <= static_cast<double>(kMostRuns), "{}: axes and seeds make {:.3g} runs: at most {} are allowed", study.file.string(),
              runs, kMostRuns);
}

void check_differ(const std::vector<std::string>& grid, const std::string& where) {
  for (const std::string& value : grid) check_input(std::ranges::count(grid, value) == 1, "{}: {} stands there twice", where, value);
}

Tuning read_tuning(const toml::table& table, const Study& study) {
  TomlReader reader(table, study.file.string(), "tune");
  check_number_of_runs(study);
  AxisCheck axes(study, reader);
  Tuning tuning{.option = plain_option(reader.required("option")),
                .by = reader.list("by").value_or(std::vector<std::string>()),
                .grid = reader.list("grid").value_or(std::vector<std::string>())};
  for (const std::string& axis : tuning.by) axes.name(axis, "by");
  tuning.where = axes.place(reader.table("where"), "where");
  check_input(tuning.grid.size() > 1, "{}: give at least two values to choose from", reader.where("grid"));
  if (const toml::table* grids = reader.table("grids")) {
    check_input(!tuning.by.empty(), "{}: grids are by label of the first axis in tune.by", reader.where("grids"));
    TomlReader inner(*grids, study.file.string(), "tune.grids");
    for (const AxisValue& value : study.axis(tuning.by.front()).values)
      if (const auto list = inner.list(value.label)) {
        check_input(list->size() == tuning.grid.size(), "{}: has {} values where tune.grid has {}: each method gets the same effort",
                    inner.where(value.label), list->size(), tuning.grid.size());
        tuning.grids[value.label] = *list;
      }
    inner.finish();
  }
  check_option(tuning.option, reader.where("option"));
  for (const Axis& axis : study.axes)
    for (const AxisValue& value : axis.values)
      check_input(std::ranges::none_of(value.options, [&](const auto& item) { return same_thing(item.first, tuning.option); }),
                  "{}: the axis '{}' sets it already, and one of them would have no effect", reader.where("option"), axis.name);
  check_input(std::ranges::none_of(study.base, [&](const auto& item) { return same_thing(item.first, tuning.option); }),
              "{}: [base] sets it already, which would have no effect", reader.where("option"));
  check_differ(tuning.grid, reader.where("grid"));
  for (const auto& [label, grid] : tuning.grids) check_differ(grid, reader.where("grids"));
  tuning.seeds = read_seeds(reader, {101});
  for (const std::int64_t seed : tuning.seeds)
    check_input(std::ranges::count(study.seeds, seed) == 0,
                "{}: {} is a seed of the study, too: a value would be chosen because it suits that very run; give others",
                reader.where("seeds"), seed);
  tuning.validation = reader.whole("validation").value_or(0);
  check_input(tuning.validation > 0, "{}: say how many training rows are held out to measure on", reader.where("validation"));
  if (const auto file = reader.text("recorded")) tuning.recorded = study.file.parent_path() / *file;
  reader.finish();
  return tuning;
}

std::map<std::string, double> read_reported(const toml::table& reported, const Study& study, const TableSpec& table,
                                            const std::string& where) {
  const std::vector<std::string> names = line_names(study, table.rows);
  std::map<std::string, double> out;
  for (const auto& [key, node] : reported) {
    const std::string name(key.str());
    check_input(std::ranges::count(names, name) > 0, "{}: the table has no line '{}': {}", where, name,
                suggestion(name, {names.begin(), names.end()}));
    const auto number = node.value<double>();
    check_input(number.has_value(), "{}: '{}' must be a number", where, name);
    out[name] = *number;
  }
  return out;
}

TableSpec read_table(TomlReader& reader, const Study& study) {
  const std::string name = reader.required("name");
  TableSpec table{.name = name,
                  .title = reader.text("title").value_or(name),
                  .note = reader.text("note").value_or(""),
                  .value = reader.text("value").value_or("test_accuracy"),
                  .rows = reader.list("rows").value_or(std::vector<std::string>())};
  check_name(table.name, reader.where("name"));
  check_input(!table.rows.empty(), "{}: name at least one axis", reader.where("rows"));
  AxisCheck axes(study, reader);
  for (const std::string& axis : table.rows) axes.name(axis, "rows");
  table.where = axes.place(reader.table("where"), "where");
  axes.all_used("rows");
  check_final_quantity(table.value, study, reader.where("value"));
  table.target = reader.number("target");
  check_input((table.value == kEpochsToTarget) == table.target.has_value(), "{}: target goes with value = \"{}\"", reader.where("target"),
              kEpochsToTarget);
  table.relative = reader.truth("relative").value_or(false);
  if ((table.baseline = reader.text("baseline"))) {
    std::vector<std::string_view> labels;
    for (const AxisValue& value : study.axis(table.rows.back()).values) labels.push_back(value.label);
    check_input(std::ranges::count(labels, *table.baseline) > 0, "{}: the axis '{}' has no value '{}': {}", reader.where("baseline"),
                table.rows.back(), *table.baseline, suggestion(*table.baseline, labels));
  }
  check_input(!table.relative || table.baseline, "{}: ratios need a baseline", reader.where("relative"));
  if (const toml::table* reported = reader.table("reported"))
    table.reported = read_reported(*reported, study, table, reader.where("reported"));
  return table;
}

FigureKind read_kind(TomlReader& reader) {
  const std::string kind = reader.text("kind").value_or("line");
  const std::vector<std::pair<std::string_view, FigureKind>> kinds = {
      {"line", FigureKind::line}, {"points", FigureKind::points}, {"bar", FigureKind::bar}, {"kernel", FigureKind::kernel}};
  for (const auto& [name, value] : kinds)
    if (name == kind) return value;
  throw InputError(fmt::format("{}: '{}' is not a kind of figure: {}", reader.where("kind"), kind,
                               suggestion(kind, {"line", "points", "bar", "kernel"})));
}

void check_kernel(const FigureSpec& figure, TomlReader& reader) {
  check_input(!figure.alpha.empty() && !figure.lambda.empty() && figure.window >= 2,
              "{}: a kernel needs alpha = [...], lambda = [...] and window = a number of lags above 1", reader.where("kind"));
}

void check_log_axis(const FigureSpec& figure, const Study& study, const TomlReader& reader) {
  check_input(figure.kind == FigureKind::points, "{}: only figures of kind \"points\" have it", reader.where("log-x"));
  for (const AxisValue& value : study.axis(figure.x.front()).values)
    check_input(as_number(value.label).value_or(0) > 0, "{}: every value of the axis must be a number above 0, and '{}' is not",
                reader.where("log-x"), value.label);
}

FigureSpec read_figure(TomlReader& reader, const Study& study) {
  const std::string name = reader.required("name");
  FigureSpec figure{.name = name,
                    .title = reader.text("title").value_or(name),
                    .note = reader.text("note").value_or(""),
                    .kind = read_kind(reader),
                    .x = reader.list("x").value_or(std::vector<std::string>()),
                    .y = reader.list("y").value_or(std::vector<std::string>{"test_accuracy"}),
                    .x_label = reader.text("x-label").value_or(""),
                    .y_label = reader.text("y-label").value_or(""),
                    .series = reader.text("series"),
                    .panels = reader.list("panels").value_or(std::vector<std::string>()),
                    .log_x = reader.truth("log-x").value_or(false),
                    .log_y = reader.truth("log-y").value_or(false),
                    .alpha = reader.numbers("alpha"),
                    .lambda = reader.numbers("lambda"),
                    .window = reader.whole("window").value_or(0)};
  check_name(figure.name, reader.where("name"));
  const toml::table* where = reader.table("where");
  if (figure.kind == FigureKind::kernel) return check_kernel(figure, reader), figure;
  check_input(figure.alpha.empty() && figure.lambda.empty() && figure.window == 0,
              "{}: alpha, lambda and window are for figures of kind \"kernel\"", reader.where("kind"));
  AxisCheck axes(study, reader);
  if (figure.series) axes.name(*figure.series, "series");
  for (const std::string& axis : figure.panels) axes.name(axis, "panels");
  check_input(!figure.y.empty(), "{}: give at least one quantity", reader.where("y"));
  if (figure.kind == FigureKind::line) {
    if (figure.x.empty()) figure.x = {"epoch"};
    for (const std::string& x : figure.x) check_curve_quantity(x, study, reader.where("x"));
    for (const std::string& y : figure.y) check_curve_quantity(y, study, reader.where("y"));
  } else {
    check_input(figure.x.size() == 1, "{}: one axis of the study", reader.where("x"));
    axes.name(figure.x.front(), "x");
    for (const std::string& y : figure.y) check_final_quantity(y, study, reader.where("y"));
  }
  if (figure.log_x) check_log_axis(figure, study, reader);
  check_input(!figure.log_y || figure.kind == FigureKind::line, "{}: only figures of kind \"line\" have it", reader.where("log-y"));
  figure.where = axes.place(where, "where");
  axes.all_used("series");
  return figure;
}

Claim read_claim(TomlReader& reader, const Study& study) {
  Claim claim{.text = reader.required("text"),
              .source = reader.text("source").value_or(study.source),
              .value = reader.text("value").value_or("test_accuracy")};
  check_final_quantity(claim.value, study, reader.where("value"));
  for (const auto& [key, place] : {std::pair{"better", &claim.better}, {"worse", &claim.worse}}) {
    AxisCheck axes(study, reader);
    *place = axes.place(reader.table(key), key);
    axes.all_used(key, "say which of its values is meant");
  }
  check_input(claim.better != claim.worse, "{}: is the same place as `worse`", reader.where("better"));
  claim.claimed = reader.number("claimed");
  claim.target = reader.number("target");
  check_input((claim.value == kEpochsToTarget) == claim.target.has_value(), "{}: target goes with value = \"{}\"", reader.where("target"),
              kEpochsToTarget);
  claim.less = reader.truth("less").value_or(false);
  return claim;
}

// --quick: one seed and a tenth of the training, unless the study says otherwise.
void make_quick(Study& study, const toml::table* quick) {
  const std::string file = study.file.string();
  std::optional<std::vector<std::int64_t>> seeds;
  if (quick) {
    TomlReader reader(*quick, file, "quick");
    seeds = read_seeds(reader, {study.seeds.front()});
    if (const toml::table* base = reader.table("base"))
      for (auto& [name, text] : read_options(*base, file, "quick.base")) {
        displace(study.base, name);
        study.base[name] = text;
      }
    if (const toml::table* axes = reader.table("axes"))
      for (const Axis& fewer : read_axes(*axes, file)) {
        const auto axis = std::ranges::find(study.axes, fewer.name, &Axis::name);
        check_input(axis != study.axes.end(), "{}: there is no axis '{}'", reader.where("axes"), fewer.name);
        std::erase_if(axis->values, [&](const AxisValue& v) { return std::ranges::count(fewer.values, v.label, &AxisValue::label) == 0; });
        check_input(axis->values.size() == fewer.values.size(), "{}: the axis '{}' has not all of these values", reader.where("axes"),
                    fewer.name);
      }
    reader.finish();
  }
  study.seeds = seeds.value_or(std::vector{study.seeds.front()});
  if (quick && quick->contains("base")) return;
  for (const char* name : {"epochs", "steps"})
    if (const auto length = study.base.find(name); length != study.base.end())
      length->second =
          number_text(std::max(1.0, std::round(parse_number(length->second, study.file.string() + ": base." + name, {}) / 10)));
}

// Two axes that set one option would leave it to their order which of them counts.
void check_axes_differ(const Study& study) {
  std::vector<std::pair<std::string, std::string>> set_before;  // option, axis
  for (const Axis& axis : study.axes) {
    std::set<std::string> own;
    for (const AxisValue& value : axis.values)
      for (const auto& item : value.options) own.insert(item.first);
    for (const std::string& name : own)
      for (const auto& [other, first] : set_before)
        check_input(!same_thing(name, other), "{}: axes.{}: sets --{}, and the axis '{}' sets {}", study.file.string(), axis.name, name,
                    first, name == other ? "it, too" : "--" + other + ", which says the same in another way");
    for (const std::string& name : own) set_before.emplace_back(name, axis.name);
  }
}

void check_names_differ(const Study& study) {
  std::set<std::string> names;
  for (const TableSpec& table : study.tables)
    check_input(names.insert(table.name).second, "{}: two tables are called '{}'", study.file.string(), table.name);
  names.clear();
  for (const FigureSpec& figure : study.figures)
    check_input(names.insert(figure.name).second, "{}: two figures are called '{}'", study.file.string(), figure.name);
}

}  // namespace

Study read_study(const std::filesystem::path& path, bool quick) {
  const std::string file = path.string();
  check_input(std::filesystem::is_regular_file(path), "{}: there is no study file of that name", file);
  const toml::table all = parse_toml(read_text_file(path, file), file);
  TomlReader reader(all, file);
  Study study{.name = path.stem().string(),
              .file = path,
              .title = reader.text("title").value_or(path.stem().string()),
              .shows = reader.text("shows").value_or(""),
              .asks = reader.text("asks").value_or(""),
              .source = reader.text("source").value_or(""),
              .seeds = read_seeds(reader, {1}),
              .jobs = reader.whole("jobs"),
              .seconds_per_run = reader.number("seconds-per-run")};
  check_name(study.name, file);
  check_input(study.seconds_per_run.value_or(1) > 0, "{}: must be above 0", reader.where("seconds-per-run"));
  check_input(!study.jobs || *study.jobs > 0, "{}: at least one run at a time", reader.where("jobs"));
  if (const toml::table* base = reader.table("base")) study.base = read_options(*base, file, "base");
  if (const toml::table* axes = reader.table("axes")) study.axes = read_axes(*axes, file);
  const toml::table* quicker = reader.table("quick");
  if (const toml::table* tune = reader.table("tune")) study.tuning = read_tuning(*tune, study);
  reader.each("tables", [&](TomlReader& table) { study.tables.push_back(read_table(table, study)); });
  reader.each("figures", [&](TomlReader& figure) { study.figures.push_back(read_figure(figure, study)); });
  reader.each("claims", [&](TomlReader& claim) { study.claims.push_back(read_claim(claim, study)); });
  reader.finish();
  check_names_differ(study);
  check_axes_differ(study);
  check_number_of_runs(study);
  Study quick_study = study;  // its section is checked also where it is not used
  make_quick(quick_study, quicker);
  return quick ? quick_study : study;
}

}  // namespace fodp::app
