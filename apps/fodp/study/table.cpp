#include "study/table.h"

#include <algorithm>
#include <cmath>

#include "fodp/base/check.h"
#include "fodp/base/fields.h"
#include "study/quantities.h"

namespace fodp::app {
namespace {

// The values of the runs at a place, by seed.
std::map<std::int64_t, double> values_at(const TableSpec& spec, const StudyResults& results, const Place& place) {
  std::map<std::int64_t, double> values;
  for (const RunResult* run : results.at(place))
    if (const auto value = final_quantity(*run->record, spec.value, spec.target)) values[run->seed] = *value;
  return values;
}

Comparison compare_pairs(const std::map<std::int64_t, double>& values, const std::map<std::int64_t, double>& baseline, bool relative) {
  std::vector<double> ours, theirs;
  for (const auto& [seed, value] : values)
    if (const auto pair = baseline.find(seed); pair != baseline.end()) {
      ours.push_back(relative ? value / pair->second : value);
      theirs.push_back(relative ? 0 : pair->second);
    }
  return compare(ours, theirs);
}

// Infinite if one of them had no noise; none if one has no epsilon in its record.
std::optional<double> mean_epsilon(const std::vector<const RunResult*>& runs) {
  double sum = 0;
  for (const RunResult* run : runs) {
    const Record epsilon = run->record->value("epsilon", Record());
    if (epsilon == "inf") return INFINITY;
    if (!epsilon.is_number()) return std::nullopt;
    sum += epsilon.get<double>();
  }
  return sum / static_cast<double>(runs.size());
}

void add_lines(Table& table, const StudyResults& results, const Place& group, std::vector<std::string> labels) {
  const TableSpec& spec = table.spec;
  const std::string& last = spec.rows.back();
  std::map<std::int64_t, double> baseline;
  if (spec.baseline) {
    Place place = group;
    place[last] = *spec.baseline;
    baseline = values_at(spec, results, place);
  }
  std::vector<std::size_t> compared;
  std::vector<double> p;
  labels.emplace_back();
  for (const AxisValue& value : results.study.axis(last).values) {
    Place place = group;
    place[last] = labels.back() = value.label;
    const std::vector<const RunResult*> runs = results.at(place);
    if (runs.empty()) continue;
    const std::map<std::int64_t, double> values = values_at(spec, results, place);
    std::vector<double> list;
    for (const auto& item : values) list.push_back(item.second);
    TableLine line{.labels = labels, .value = estimate(list), .runs = static_cast<std::int64_t>(runs.size())};
    if (spec.value.ends_with("accuracy") && line.value.n > 0)
      line.error = sampling_error(line.value.mean, runs.front()->record->value("test_examples", std::int64_t{0}));
    if (spec.baseline && value.label != *spec.baseline && !baseline.empty() && !values.empty()) {
      line.against = compare_pairs(values, baseline, spec.relative);
      if (line.against->p && !spec.relative) {
        compared.push_back(table.lines.size());
        p.push_back(*line.against->p);
      }
    }
    line.epsilon = mean_epsilon(runs);
    table.lines.push_back(std::move(line));
  }
  const std::vector<double> corrected = holm(p);
  for (std::size_t i = 0; i < compared.size(); ++i) table.lines[compared[i]].p_holm = corrected[i];
}

void add_groups(Table& table, const StudyResults& results, const Place& group, const std::vector<std::string>& labels) {
  if (labels.size() + 1 == table.spec.rows.size()) return add_lines(table, results, group, labels);
  const std::string& axis = table.spec.rows[labels.size()];
  for (const AxisValue& value : results.study.axis(axis).values) {
    Place inner = group;
    inner[axis] = value.label;
    std::vector<std::string> longer = labels;
    longer.push_back(value.label);
    add_groups(table, results, inner, longer);
  }
}

std::string digits(std::optional<double> number) { return number ? number_text(*number) : ""; }

// For people: four digits behind the point for shares, fewer for large numbers.
std::string short_number(std::optional<double> number) {
  if (!number) return "";
  const double size = std::abs(*number);
  return size < 10 ? fmt::format("{:.4f}", *number) : size < 1000 ? fmt::format("{:.2f}", *number) : fmt::format("{:.0f}", *number);
}

std::string interval(const Estimate& value) {
  return value.low ? fmt::format("[{}, {}]", short_number(value.low), short_number(value.high)) : "";
}

std::string p_text(std::optional<double> p) { return !p ? "" : *p < 1e-4 ? "< .0001" : fmt::format("{:.4f}", *p); }

struct Column {
  std::string title;
  bool number;
};

bool has_errors(const Table& table) {
  return std::ranges::any_of(table.lines, [](const TableLine& line) { return line.error.has_value(); });
}

// Beside what was gained stands what was spent for it, unless that is what the table is about.
bool has_epsilon(const Table& table) {
  const auto is_epsilon = [](const std::string& name) { return name == "epsilon"; };
  return table.spec.value.ends_with("accuracy") && std::ranges::none_of(table.spec.rows, is_epsilon) &&
         std::ranges::any_of(table.lines, [](const TableLine& line) { return line.epsilon.has_value(); });
}

// Three digits, never rounded below the true number.
std::string epsilon_text(std::optional<double> epsilon) {
  if (!epsilon) return "";
  if (std::isinf(*epsilon)) return "inf";
  const double unit = std::pow(10.0, std::floor(std::log10(std::max(*epsilon, 1e-9))) - 2);
  return fmt::format("{:.3g}", std::ceil(*epsilon / unit * (1 - 1e-9)) * unit);
}

std::optional<double> reported(const Table& table, const TableLine& line) {
  const auto found = table.spec.reported.find(line_name(line.labels));
  return found == table.spec.reported.end() ? std::nullopt : std::optional(found->second);
}

std::vector<Column> columns(const Table& table) {
  std::vector<Column> out;
  for (const std::string& axis : table.spec.rows) out.push_back({axis, false});
  if (has_epsilon(table)) out.push_back({"epsilon", true});
  for (const char* name : {"n", "mean", "std", "95% interval"}) out.push_back({name, true});
  if (!table.spec.reported.empty()) out.push_back({"reported", true});
  if (has_errors(table)) out.push_back({"test set's error", true});
  if (table.spec.baseline && table.spec.relative)
    out.push_back({"over " + *table.spec.baseline, true});
  else if (table.spec.baseline)
    for (const std::string& title :
         {"minus " + *table.spec.baseline, std::string("95% interval"), std::string("p"), std::string("p, Holm")})
      out.push_back({title, true});
  return out;
}

std::vector<std::string> cells(const Table& table, const TableLine& line) {
  std::vector<std::string> out = line.labels;
  if (has_epsilon(table)) out.push_back(epsilon_text(line.epsilon));
  const std::string n = line.value.n == line.runs ? std::to_string(line.runs) : fmt::format("{} of {}", line.value.n, line.runs);
  out.insert(out.end(), {n,
                         line.value.n > 0                      ? short_number(line.value.mean)
                         : table.spec.value == kEpochsToTarget ? "never"
                                                               : "none",
                         short_number(line.value.std), interval(line.value)});
  if (!table.spec.reported.empty()) out.push_back(short_number(reported(table, line)));
  if (has_errors(table)) out.push_back(short_number(line.error));
  if (!table.spec.baseline) return out;
  if (table.spec.relative) {
    const bool is_baseline = line.labels.back() == *table.spec.baseline;
    out.push_back(line.against ? fmt::format("{} {}", short_number(line.against->mean), interval(*line.against)) : is_baseline ? "1" : "");
    return out;
  }
  if (!line.against) return out.insert(out.end(), 4, ""), out;
  const Comparison& against = *line.against;
  const std::string pairs = against.n == line.value.n ? "" : fmt::format(" ({} pair{})", against.n, against.n == 1 ? "" : "s");
  out.insert(out.end(), {fmt::format("{:+.4f}", against.mean) + pairs, interval(against), p_text(against.p), p_text(line.p_holm)});
  return out;
}

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == text.npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

}  // namespace

Table make_table(const TableSpec& spec, const StudyResults& results) {
  Table table{.spec = spec, .lines = {}};
  add_groups(table, results, spec.where, {});
  return table;
}

std::string table_csv(const Table& table) {
  std::string out;
  for (const std::string& axis : table.spec.rows) out += quoted(axis) + ",";
  out += "n,mean,std,low,high,sampling_error,epsilon";
  if (table.spec.baseline && table.spec.relative) out += ",ratio,ratio_low,ratio_high";
  if (table.spec.baseline && !table.spec.relative) out += ",difference,difference_low,difference_high,p,p_holm";
  if (!table.spec.reported.empty()) out += ",reported";
  out += "\n";
  for (const TableLine& line : table.lines) {
    for (const std::string& label : line.labels) out += quoted(label) + ",";
    const Estimate& value = line.value;
    out += fmt::format("{},{},{},{},{},{},{}", value.n, value.n > 0 ? number_text(value.mean) : "", digits(value.std), digits(value.low),
                       digits(value.high), digits(line.error), digits(line.epsilon));
    if (table.spec.baseline) {
      const Comparison against = line.against.value_or(Comparison());
      out += line.against ? fmt::format(",{},{},{}", number_text(against.mean), digits(against.low), digits(against.high)) : ",,,";
      if (!table.spec.relative) out += fmt::format(",{},{}", digits(against.p), digits(line.p_holm));
    }
    if (!table.spec.reported.empty()) out += "," + digits(reported(table, line));
    out += "\n";
  }
  return out;
}

std::string table_markdown(const Table& table) {
  const auto cell = [](std::string text) {
    for (std::size_t at = text.find('|'); at != text.npos; at = text.find('|', at + 2)) text.replace(at, 1, "\\|");
    return " " + text + " |";
  };
  std::string out = "|", rule = "|";
  for (const Column& column : columns(table)) {
    out += cell(column.title);
    rule += column.number ? "---:|" : "---|";
  }
  out += "\n" + rule + "\n";
  for (const TableLine& line : table.lines) {
    out += "|";
    for (const std::string& text : cells(table, line)) out += cell(text);
    out += "\n";
  }
  return out;
}

nlohmann::ordered_json table_json(const Table& table) {
  nlohmann::ordered_json out = {{"name", table.spec.name}, {"title", table.spec.title}, {"note", table.spec.note}};
  out["columns"] = nlohmann::ordered_json::array();
  for (const Column& column : columns(table)) out["columns"].push_back({{"title", column.title}, {"number", column.number}});
  out["rows"] = nlohmann::ordered_json::array();
  for (const TableLine& line : table.lines) out["rows"].push_back(cells(table, line));
  return out;
}

}  // namespace fodp::app
