#include "study/figure.h"

#include <algorithm>
#include <cmath>

#include "fodp/base/fields.h"
#include "fodp/mechanism/kernel.h"
#include "study/quantities.h"

namespace fodp::app {
namespace {

std::optional<double> number_in(const Record& point, const std::string& name) {
  const auto value = point.find(name);
  if (value == point.end() || !value->is_number()) return std::nullopt;
  return value->get<double>();
}

// A number says little without its axis: "beta 0.9".
std::string named(const std::string& axis, const std::string& label) { return as_number(label) ? axis + " " + label : label; }

// The means over the runs, evaluation by evaluation. Runs that were cut short end the series.
// An interval from two values is twelve times as wide as they are apart: it would hide what the figure shows. Tables have it.
Estimate drawn(const std::vector<double>& values) {
  Estimate out = estimate(values);
  if (out.n < 3) out.low = out.high = std::nullopt;
  return out;
}

std::vector<FigurePoint> curve_points(const FigureSpec& spec, const std::string& y, const std::vector<const RunResult*>& runs) {
  std::vector<FigurePoint> points;
  std::size_t length = runs.empty() ? 0 : SIZE_MAX;
  for (const RunResult* run : runs) length = std::min(length, (*run->record)["curve"].size());
  for (std::size_t i = 0; i < length; ++i) {
    FigurePoint point;
    const Record& first = (*runs.front()->record)["curve"][i];
    for (const std::string& x : spec.x) point.x.push_back(number_in(first, x).value_or(NAN));
    std::vector<double> values;
    for (const RunResult* run : runs)
      if (const auto value = number_in((*run->record)["curve"][i], y)) values.push_back(*value);
    point.y = drawn(values);
    if (point.y.n > 0) points.push_back(std::move(point));
  }
  return points;
}

// The ends of runs over the values of an axis, which are numbers, or else are counted.
std::vector<FigurePoint> end_points(const FigureSpec& spec, const std::string& y, const StudyResults& results, const Place& place) {
  std::vector<FigurePoint> points;
  const Axis& axis = results.study.axis(spec.x.front());
  double count = 0;
  for (const AxisValue& value : axis.values) {
    Place one = place;
    one[axis.name] = value.label;
    std::vector<double> values;
    for (const RunResult* run : results.at(one))
      if (const auto number = final_quantity(*run->record, y)) values.push_back(*number);
    const double x = spec.kind == FigureKind::bar ? count : as_number(value.label).value_or(count);
    if (!values.empty()) points.push_back({.x = {x}, .y = drawn(values)});
    ++count;
  }
  return points;
}

FigureSeries series_at(const FigureSpec& spec, const std::string& y, const std::string& label, const StudyResults& results,
                       const Place& place) {
  FigureSeries series{.name = spec.y.size() == 1 ? label
                              : label.empty()    ? quantity_label(y)
                                                 : label + ", " + quantity_label(y),
                      .points = {}};
  if (series.name.empty()) series.name = quantity_label(y);
  series.points = spec.kind == FigureKind::line ? curve_points(spec, y, results.at(place)) : end_points(spec, y, results, place);
  return series;
}

FigurePanel panel_at(const FigureSpec& spec, std::string title, const StudyResults& results, const Place& place) {
  FigurePanel panel{.title = std::move(title), .series = {}, .log_y = spec.log_y};
  const auto add = [&](const std::string& label, const Place& at) {
    for (const std::string& y : spec.y)
      if (FigureSeries series = series_at(spec, y, label, results, at); !series.points.empty()) panel.series.push_back(std::move(series));
  };
  if (!spec.series) {
    add("", place);
    return panel;
  }
  for (const AxisValue& value : results.study.axis(*spec.series).values) {
    Place one = place;
    one[*spec.series] = value.label;
    add(named(*spec.series, value.label), one);
  }
  return panel;
}

void add_panels(Figure& figure, const FigureSpec& spec, const StudyResults& results, const Place& place, std::size_t depth,
                const std::string& title) {
  if (depth == spec.panels.size()) {
    if (FigurePanel panel = panel_at(spec, title, results, place); !panel.series.empty()) figure.panels.push_back(std::move(panel));
    return;
  }
  const Axis& axis = results.study.axis(spec.panels[depth]);
  for (const AxisValue& value : axis.values) {
    Place inner = place;
    inner[axis.name] = value.label;
    const std::string part = named(axis.name, value.label);
    add_panels(figure, spec, results, inner, depth + 1, title.empty() ? part : title + ", " + part);
  }
}

// An axis on which no point has a place, as on that of epsilon without noise, is left out. Series that have none on it are named.
void drop_empty_axes(Figure& figure) {
  for (std::size_t i = figure.x.size(); i-- > 0;) {
    std::string without;
    bool any = false;
    for (const FigurePanel& panel : figure.panels)
      for (const FigureSeries& series : panel.series) {
        const bool has = std::ranges::any_of(series.points, [&](const FigurePoint& point) { return std::isfinite(point.x[i]); });
        any = any || has;
        if (!has && without.find(series.name) == without.npos) without += (without.empty() ? "" : ", ") + series.name;
      }
    if (!without.empty())
      figure.note += fmt::format("{}Without a number of {}: {}.", figure.note.empty() ? "" : " ", figure.x[i].label, without);
    if (any) continue;
    if (figure.x.size() == 1) return figure.panels.clear();
    figure.x.erase(figure.x.begin() + static_cast<std::ptrdiff_t>(i));
    for (FigurePanel& panel : figure.panels)
      for (FigureSeries& series : panel.series)
        for (FigurePoint& point : series.points) point.x.erase(point.x.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

}  // namespace

Figure make_figure(const FigureSpec& spec, const StudyResults& results) {
  if (spec.kind == FigureKind::kernel) return kernel_figure(spec);
  Figure figure{.name = spec.name, .title = spec.title, .note = spec.note, .kind = spec.kind, .log_x = spec.log_x};
  for (const std::string& x : spec.x) {
    const std::string label = !spec.x_label.empty() && spec.x.size() == 1 ? spec.x_label : quantity_label(x);
    figure.x.push_back({spec.kind == FigureKind::bar ? "category" : x, label});
  }
  figure.y_label = !spec.y_label.empty() ? spec.y_label : quantity_label(spec.y.front());
  if (spec.kind == FigureKind::bar)
    for (const AxisValue& value : results.study.axis(spec.x.front()).values) figure.categories.push_back(value.label);
  add_panels(figure, spec, results, spec.where, 0, "");
  drop_empty_axes(figure);
  return figure;
}

Figure kernel_figure(const FigureSpec& spec) {
  Figure figure{.name = spec.name,
                .title = spec.title,
                .note = spec.note,
                .x = {{"lag", spec.x_label.empty() ? "lag" : spec.x_label}},
                .y_label = spec.y_label.empty() ? "weight" : spec.y_label,
                .panels = {{.title = "", .series = {}}}};
  for (const double alpha : spec.alpha)
    for (const double lambda : spec.lambda) {
      FractionalParameters parameters =
          resolve({.beta = .9, .alpha = alpha, .window = spec.window, .lambda = lambda, .tau = 0, .kernel = Kernel::tempered}, 1, 1);
      const std::vector<double> none(static_cast<std::size_t>(spec.window - 1), 0.0);
      const std::vector<double> weights = kernel_weights(parameters, 0, none);
      FigureSeries series{.name = fmt::format("alpha {}, lambda {}", number_text(alpha), number_text(lambda)), .points = {}};
      for (std::size_t j = 0; j < weights.size(); ++j)
        series.points.push_back({.x = {static_cast<double>(j + 1)}, .y = {.n = 1, .mean = weights[j]}});
      figure.panels.front().series.push_back(std::move(series));
    }
  return figure;
}

nlohmann::ordered_json figure_json(const Figure& figure) {
  using Json = nlohmann::ordered_json;
  const auto number = [](std::optional<double> value) { return value && std::isfinite(*value) ? Json(*value) : Json(); };
  static constexpr const char* kinds[] = {"line", "points", "bar", "line"};
  Json out = {{"name", figure.name}, {"title", figure.title}, {"note", figure.note}, {"kind", kinds[static_cast<int>(figure.kind)]}};
  out["x"] = Json::array();
  for (const FigureAxis& axis : figure.x) out["x"].push_back({{"key", axis.key}, {"label", axis.label}});
  out["log_x"] = figure.log_x;
  out["y_label"] = figure.y_label;
  out["panels"] = Json::array();
  for (const FigurePanel& panel : figure.panels) {
    Json list = Json::array();
    for (const FigureSeries& series : panel.series) {
      Json points = Json::array();
      for (const FigurePoint& point : series.points) {
        Json one;
        for (std::size_t i = 0; i < figure.x.size(); ++i)
          one[figure.x[i].key] =
              figure.categories.empty() ? number(point.x[i]) : Json(figure.categories[static_cast<std::size_t>(point.x[i])]);
        one["mean"] = number(point.y.mean);
        if (point.y.low) one["low"] = number(point.y.low);
        if (point.y.high) one["high"] = number(point.y.high);
        points.push_back(std::move(one));
      }
      list.push_back({{"name", series.name}, {"points", points}});
    }
    out["panels"].push_back({{"title", panel.title}, {"series", list}, {"log_y", panel.log_y}});
  }
  return out;
}

}  // namespace fodp::app
