#include "study/gnuplot.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>

#include "fodp/base/atomic_file.h"
#include "fodp/base/check.h"
#include "fodp/base/fields.h"
#include "study/child_process.h"

namespace fodp::app {
namespace {

// Okabe and Ito's colours, which colour-blind readers can tell apart, without yellow, which is pale on white; after them, the same dashed.
constexpr const char* kColors[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000"};
constexpr std::size_t kColorCount = std::size(kColors);
constexpr int kPanelWidth = 460, kPanelHeight = 340, kKeyLine = 20;

// In double quotes gnuplot reads escapes and, with "enhanced", markup; in single quotes only a quote is special.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("''") : c == '\n' ? std::string(" ") : std::string(1, c);
  return out + "'";
}

// Every name in the order of its first appearance: a series has one colour in all panels.
std::vector<std::string> names_of(const Figure& figure) {
  std::vector<std::string> names;
  for (const FigurePanel& panel : figure.panels)
    for (const FigureSeries& series : panel.series)
      if (std::ranges::count(names, series.name) == 0) names.push_back(series.name);
  return names;
}

std::string number_or_gap(std::optional<double> value) { return value && std::isfinite(*value) ? number_text(*value) : "NaN"; }

std::string data_block(const std::string& name, const FigureSeries& series) {
  std::string text = "$" + name + " << EOD\n";
  for (const FigurePoint& point : series.points)
    text += fmt::format("{} {} {} {}\n", number_or_gap(point.x.front()), number_or_gap(point.y.mean),
                        number_or_gap(point.y.low ? point.y.low : point.y.mean), number_or_gap(point.y.high ? point.y.high : point.y.mean));
  return text + "EOD\n";
}

bool has_intervals(const FigureSeries& series) {
  return std::ranges::any_of(series.points, [](const FigurePoint& point) { return point.y.low.has_value(); });
}

struct Style {
  std::string color;
  int dash;
};
Style style_of(std::size_t number) { return {kColors[number % kColorCount], 1 + static_cast<int>(number / kColorCount)}; }

std::string line_plot(const std::string& block, const FigureSeries& series, const Style& style) {
  std::string text;
  if (has_intervals(series))
    text += fmt::format("${} using 1:3:4 with filledcurves fillcolor rgb '{}' fillstyle transparent solid 0.15 noborder notitle, ", block,
                        style.color);
  return text +
         fmt::format("${} using 1:2 with lines linewidth 1.8 dashtype {} linecolor rgb '{}' notitle", block, style.dash, style.color);
}

std::string point_plot(const std::string& block, const Style& style) {
  return fmt::format(
      "${0} using 1:2:3:4 with yerrorbars pointtype 7 pointsize 0.5 linewidth 1.3 linecolor rgb '{1}' notitle, "
      "${0} using 1:2 with lines linewidth 1 dashtype {2} linecolor rgb '{1}' notitle",
      block, style.color, style.dash);
}

std::string bar_plot(const std::string& block, const Style& style, std::size_t place, std::size_t of) {
  const double width = .8 / static_cast<double>(of);
  const double shift = (static_cast<double>(place) - static_cast<double>(of - 1) / 2) * width;
  return fmt::format(
      "${0} using ($1+{1}):2:({2}) with boxes fillstyle solid 0.7 linecolor rgb '{3}' notitle, "
      "${0} using ($1+{1}):2:3:4 with yerrorbars pointtype 0 linewidth 1.2 linecolor rgb '#333333' notitle",
      block, shift, width * .9, style.color);
}

// A logarithmic horizontal axis with a mark at each value that has a point.
std::string log_range(const FigurePanel& panel) {
  std::set<double> values;
  for (const FigureSeries& series : panel.series)
    for (const FigurePoint& point : series.points) values.insert(point.x.front());
  std::string marks;
  for (const double value : values) marks += (marks.empty() ? "" : ", ") + number_text(value);
  return fmt::format("set logscale x\nset xrange [{}:{}]\nset xtics ({}) scale 0.5\n", number_text(*values.begin() / 1.1),
                     number_text(*values.rbegin() * 1.1), marks);
}

std::string ranges(const Figure& figure, const FigurePanel& panel) {
  if (figure.kind == FigureKind::bar) {
    std::string tics;
    for (std::size_t i = 0; i < figure.categories.size(); ++i)
      tics += fmt::format("{}{} {}", i ? ", " : "", quoted(figure.categories[i]), i);
    return fmt::format("set xrange [-0.6:{}]\nset yrange [0:*]\nset xtics ({}) scale 0\n",
                       static_cast<double>(figure.categories.size()) - .4, tics);
  }
  // A line that sticks to the axis would be hard to see.
  double low = INFINITY, high = -INFINITY, lowest = INFINITY, highest = -INFINITY;
  for (const FigureSeries& series : panel.series)
    for (const FigurePoint& point : series.points) {
      low = std::min(low, point.y.mean);
      high = std::max(high, point.y.mean);
      lowest = std::min(lowest, point.y.low.value_or(point.y.mean));
      highest = std::max(highest, point.y.high.value_or(point.y.mean));
    }
  // Intervals of two or three runs are so wide that the means would be one line.
  const double most = high > low ? high - low : INFINITY;
  low = std::max(lowest, low - most);
  high = std::min(highest, high + most);
  const double room = high > low ? .05 * (high - low) : std::max(.01, std::abs(high) * .1);
  return fmt::format("set yrange [{}:{}]\n", number_text(low - room), number_text(high + room)) +
         (figure.log_x ? log_range(panel) : std::string("set autoscale x\nset xtics autofreq scale 0.5\n"));
}

std::string panel_script(const Figure& figure, const FigurePanel& panel, const std::vector<std::string>& names, const std::string& prefix) {
  std::string text, plots;
  for (std::size_t i = 0; i < panel.series.size(); ++i) {
    const FigureSeries& series = panel.series[i];
    const std::string block = fmt::format("{}s{}", prefix, i);
    text += data_block(block, series);
    const Style style = style_of(static_cast<std::size_t>(std::ranges::find(names, series.name) - names.begin()));
    if (i) plots += ", ";
    plots += figure.kind == FigureKind::bar      ? bar_plot(block, style, i, panel.series.size())
             : figure.kind == FigureKind::points ? point_plot(block, style)
                                                 : line_plot(block, series, style);
  }
  const std::string& x = panel.x_label.empty() ? figure.x.front().label : panel.x_label;
  text += fmt::format("set title {} noenhanced\nset xlabel {} noenhanced\nset ylabel {} offset 1 noenhanced\n", quoted(panel.title),
                      quoted(x), quoted(panel.y_label.empty() ? figure.y_label : panel.y_label));
  return text + (panel.log_y ? "set logscale y\nset format y '10^{%T}'\nset autoscale\n" : ranges(figure, panel)) + "plot " + plots + "\n";
}

// The key stands above the panels, once: a line of names, each in its colour.
std::string key_script(const std::vector<std::string>& names, int columns, int column_width, double top) {
  if (names.size() < 2) return "";
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Style style = style_of(i);
    const std::string x = fmt::format("0.02+{}.0/W", static_cast<int>(i) % columns * column_width);
    const double y = top - static_cast<double>(static_cast<int>(i) / columns) * kKeyLine;
    text += fmt::format(
        "set arrow from screen {0}, screen {1}/H to screen {0}+22.0/W, screen {1}/H nohead linewidth 3 dashtype {2} linecolor rgb '{3}'\n",
        x, y, style.dash, style.color);
    text += fmt::format("set label {} at screen {}+28.0/W, screen {}/H left noenhanced\n", quoted(names[i]), x, y);
  }
  return text;
}

}  // namespace

std::string gnuplot_script(const Figure& figure) {
  const std::vector<std::string> names = names_of(figure);
  const int panels = static_cast<int>(figure.panels.size());
  const int across = std::min(panels, panels == 4 ? 2 : 3), down = (panels + across - 1) / across;
  std::size_t longest = 1;
  for (const std::string& name : names) longest = std::max(longest, name.size());
  const int width = std::max(across, 1) * kPanelWidth + (across == 1 ? 160 : 0);
  const int column_width = static_cast<int>(longest) * 7 + 48;
  const int key_columns = std::max(1, std::min(static_cast<int>(names.size()), (width - 20) / column_width));
  const int key_rows = names.size() < 2 ? 0 : (static_cast<int>(names.size()) + key_columns - 1) / key_columns;
  const bool titled = std::ranges::any_of(figure.panels, [](const FigurePanel& panel) { return !panel.title.empty(); });
  const int head = 34 + key_rows * kKeyLine + (titled ? 14 : 0), height = down * kPanelHeight + head;
  std::string text = fmt::format(
      "W = {}.0\nH = {}.0\nset terminal svg size {},{} font 'sans-serif,12' background 'white'\nset grid linecolor rgb '#dddddd'\nset "
      "border 3\nset "
      "tics nomirror\nset key off\n",
      width, height, width, height);
  text += fmt::format("set label {} at screen 0.02, screen (H-18)/H left font 'sans-serif,14' noenhanced\n", quoted(figure.title));
  text += key_script(names, key_columns, column_width, height - 42.0);
  text +=
      fmt::format("set multiplot layout {},{} margins 78.0/W, 1-15.0/W, 56.0/H, (H-{}-26)/H spacing 88.0/W, 85.0/H\n", down, across, head);
  for (std::size_t i = 0; i < figure.panels.size(); ++i) {
    text += panel_script(figure, figure.panels[i], names, fmt::format("p{}", i));
    if (i == 0) text += "unset label\nunset arrow\n";
  }
  return text + "unset multiplot\n";
}

void check_gnuplot() {
  check_input(find_program("gnuplot").has_value(),
              "gnuplot draws the SVG files and is not on this machine; type: sudo apt-get install gnuplot-nox");
}

void write_svg(const Figure& figure, const std::filesystem::path& file) {
  check_gnuplot();
  if (figure.panels.empty()) return;
  const ProcessResult drawn = run_process({"gnuplot"}, gnuplot_script(figure));
  check_fault(drawn.status == 0 && !drawn.output.empty(), "gnuplot could not draw {}: {}", file.string(), drawn.errors);
  write_file_atomically(file, drawn.output, "figure");
}

}  // namespace fodp::app
