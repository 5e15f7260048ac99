#include "svg.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

namespace fodp::app {
namespace {

constexpr double kWidth = 420, kHeight = 300, kLeft = 70, kRight = 20, kTop = 40, kBottom = 50;

// From values to pixels, with round numbers to mark.
struct Axis {
  double low, high, begin, end;
  std::vector<double> marks;

  double place(double value) const { return begin + (value - low) / (high - low) * (end - begin); }
};

Axis make_axis(double low, double high, double begin, double end, double least_stride = 0) {
  if (!(high > low)) high = low + std::max(1., std::abs(low));
  double stride = std::pow(10, std::floor(std::log10((high - low) / 4)));
  for (double factor : {2., 2.5, 2.})
    if ((high - low) / stride > 6) stride *= factor;
  stride = std::max(stride, least_stride);
  Axis axis{low, high, begin, end, {}};
  for (double mark = std::ceil(low / stride) * stride; mark <= high + 1e-9 * stride; mark += stride)
    axis.marks.push_back(std::abs(mark) < 1e-9 * stride ? 0 : mark);
  return axis;
}

std::string text(double x, double y, const std::string& anchor, const std::string& words, const std::string& more = "") {
  std::string safe;
  for (char c : words) safe += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y, anchor, more, safe);
}

std::string line(double x1, double y1, double x2, double y2, const char* colour) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"/>\n", x1, y1, x2, y2, colour);
}

std::string draw(const Chart& chart, double left) {
  std::vector<std::pair<double, double>> points;
  for (auto [x, y] : chart.points)
    if (std::isfinite(x) && std::isfinite(y) && (!chart.log_y || y > 0)) points.emplace_back(x, chart.log_y ? std::log10(y) : y);
  double x_low = 0, x_high = 0, y_low = 0, y_high = 0;
  if (!points.empty()) {
    const auto by_y = [](const auto& a, const auto& b) { return a.second < b.second; };
    x_high = std::max_element(points.begin(), points.end())->first;
    y_high = std::max_element(points.begin(), points.end(), by_y)->second;
    if (chart.log_y) y_low = std::floor(std::min_element(points.begin(), points.end(), by_y)->second), y_high = std::ceil(y_high);
  }
  const double bottom = kHeight - kBottom, right = left + kWidth - kRight;
  left += kLeft;
  const Axis x = make_axis(x_low, x_high, left, right), y = make_axis(y_low, y_high, bottom, kTop, chart.log_y ? 1 : 0);

  std::string out = text((left + right) / 2, kTop - 16, "middle", chart.title, " font-weight=\"bold\"");
  for (double mark : x.marks)
    out += line(x.place(mark), kTop, x.place(mark), bottom, "#e4e4e4") +
           text(x.place(mark), bottom + 16, "middle", fmt::format("{:.4g}", mark));
  for (double mark : y.marks)
    out += line(left, y.place(mark), right, y.place(mark), "#e4e4e4") +
           text(left - 6, y.place(mark) + 4, "end", chart.log_y ? fmt::format("1e{:.0f}", mark) : fmt::format("{:.4g}", mark));
  out += line(left, bottom, right, bottom, "#333") + line(left, kTop, left, bottom, "#333");
  out += text((left + right) / 2, bottom + 36, "middle", chart.x_label);
  const double middle = (kTop + bottom) / 2;
  out += text(left - 52, middle, "middle", chart.y_label, fmt::format(" transform=\"rotate(-90 {:.1f} {:.1f})\"", left - 52, middle));
  out += "<polyline fill=\"none\" stroke=\"#1f5fa8\" stroke-width=\"2\" points=\"";
  for (auto [px, py] : points) out += fmt::format("{:.2f},{:.2f} ", x.place(px), y.place(py));
  return out + "\"/>\n";
}

}  // namespace

std::string svg(const std::vector<Chart>& charts) {
  const double width = kWidth * static_cast<double>(charts.size());
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" "
      "font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      width, kHeight);
  for (std::size_t i = 0; i < charts.size(); ++i) out += draw(charts[i], kWidth * static_cast<double>(i));
  return out + "</svg>\n";
}

}  // namespace fodp::app
