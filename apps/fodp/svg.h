// A figure of line charts beside each other, as an SVG text that stands by itself: no fonts, scripts or programs are needed to see it.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace fodp::app {

struct Chart {
  std::string title, x_label, y_label;
  std::vector<std::pair<double, double>> points;  // in the order of the line; not finite ones are left out
  bool log_y = false;                             // powers of ten; values must be above 0
};

std::string svg(const std::vector<Chart>& charts);

}  // namespace fodp::app
