// Figures of a study: series of points with intervals, made from records, drawn by the page (page.h) and as SVG files (gnuplot.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "study/results.h"
#include "study/statistics.h"

namespace fodp::app {

struct FigurePoint {
  std::vector<double> x;  // one for each x axis of the figure; for bars the number of the category
  Estimate y;
};

struct FigureSeries {
  std::string name;
  std::vector<FigurePoint> points;
};

struct FigurePanel {
  std::string title;
  std::vector<FigureSeries> series;
  std::string x_label = "", y_label = "";  // instead of the figure's, where they differ
  bool log_y = false;                      // powers of ten; values must be above 0
};

struct FigureAxis {
  std::string key, label;
};

struct Figure {
  std::string name, title, note;
  FigureKind kind = FigureKind::line;
  bool log_x = false;
  std::vector<FigureAxis> x;            // the first is the one that is drawn first
  std::vector<std::string> categories;  // of bars
  std::string y_label;
  std::vector<FigurePanel> panels;  // without those that have no point
};

Figure make_figure(const FigureSpec& spec, const StudyResults& results);

// The weights of the fractional kernel over the lag, for each pair of order and tempering: from the formula alone.
Figure kernel_figure(const FigureSpec& spec);

// As the page takes it.
nlohmann::ordered_json figure_json(const Figure& figure);

}  // namespace fodp::app
