// Text for people, fitted to the width of the terminal that shows it.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace fodp::app {

// The columns that text on this file descriptor has: the variable COLUMNS, else the terminal's own width; 100 where there is no terminal or
// it does not know; never less than 40.
std::size_t text_width(int descriptor = STDOUT_FILENO);

// The lines of `text`, those longer than `width` broken at blanks. What is broken off a line stands under its last column: under the word
// that follows the line's first gap of two or more blanks ("  Adjacency   add or remove one row"), else under its first word. A line of the
// text that is such a broken-off part already is joined to its line before, so that a text can be fitted to another width.
std::string wrapped(std::string_view text, std::size_t width);

// Prints `text` on standard output, fitted to its width.
void print_text(std::string_view text);

}  // namespace fodp::app
