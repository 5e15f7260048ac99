// Figures as SVG files, drawn by gnuplot.
#pragma once

#include <filesystem>
#include <string>

#include "study/figure.h"

namespace fodp::app {

// InputError that says how to install it, if gnuplot is not on this machine.
void check_gnuplot();

// What gnuplot is told; the figure's data stand in it, so that the text can be kept and drawn again.
std::string gnuplot_script(const Figure& figure);

// Draws to the file, whole or not at all. FaultError, with gnuplot's message, if it fails.
void write_svg(const Figure& figure, const std::filesystem::path& file);

}  // namespace fodp::app
