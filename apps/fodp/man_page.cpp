// Man pages in roff, the `man` macros.
#include <algorithm>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "fodp/base/version.h"
#include "pages.h"

namespace fodp::app {
namespace {

constexpr char kExitStatus[] = R"(.SH EXIT STATUS
.TP
.B 0
Done.
.TP
.B 1
A fault: no memory, no disk, an error of a library.
.TP
.B 2
Bad input. The message names it and says what is allowed.
.TP
.B 3
A privacy refusal: a budget that is spent or would be passed, a model or data that cannot be trained privately.
.TP
.B 130
Ctrl\-C or SIGTERM. A training has finished its step and saved everything.
)";

// A backslash and a hyphen mean something of their own in roff, and so does a dot or a quote at the beginning of a line.
std::string escaped(std::string_view text) {
  std::string out = text.starts_with('.') || text.starts_with('\'') ? "\\&" : "";
  for (char c : text) out += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
  return out;
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

std::string opening(const std::string& page, std::string_view summary) {
  return fmt::format(".TH {} 1 \"\" \"fodp {}\" \"fodp\"\n.nh\n.ad l\n.SH NAME\n{} \\- {}\n", upper(page), kVersion, escaped(page),
                     escaped(summary));
}

std::string option_entry(const OptionText& option) {
  const char* value = option.is_switch || option.is_positional  ? ""
                      : option.is_file && option.values.empty() ? " \\fIpath\\fR"
                                                                : " \\fIvalue\\fR";
  std::string out = fmt::format(".TP\n\\fB{}\\fR{}\n{}\n", escaped(option.label()), value, escaped(option.help));
  if (!option.values.empty()) out += fmt::format(".br\nOne of: {}.\n", escaped(fmt::format("{}", fmt::join(option.values, ", "))));
  if (!option.standard.empty()) out += fmt::format(".br\nDefault: {}.\n", escaped(option.standard));
  return out;
}

}  // namespace

std::string man_page(const CommandText& command) {
  std::string out = opening("fodp-" + command.name, command.summary), words, heading;
  for (const OptionText& option : command.options)
    if (option.is_positional) words += " [\\fI" + option.name + "\\fR]";
  out += fmt::format(".SH SYNOPSIS\n\\fBfodp {}\\fR [\\fIoptions\\fR]{}\n", escaped(command.name), words);
  out += fmt::format(".SH DESCRIPTION\n{}\n.SH OPTIONS\n", escaped(command.about));
  for (const OptionText& option : command.options) {
    if (option.heading != heading) out += fmt::format(".SS {}\n", escaped(heading = option.heading));
    out += option_entry(option);
  }
  return out + kExitStatus + fmt::format(".SH EXAMPLES\n.nf\n{}\n.fi\n.SH SEE ALSO\n.BR fodp (1)\n", escaped(command.example));
}

std::string man_page(const std::vector<CommandText>& commands) {
  std::string out = opening("fodp", "private training with memory"), list, pages;
  for (const CommandText& command : commands) {
    list += fmt::format(".TP\n.B {}\n{}\n", escaped(command.name), escaped(command.summary));
    pages += fmt::format("{}.BR {} (1)", pages.empty() ? "" : ",\n", escaped("fodp-" + command.name));
  }
  return out +
         ".SH SYNOPSIS\n\\fBfodp\\fR \\fIcommand\\fR [\\fIoptions\\fR]\n.SH DESCRIPTION\nTrains models under differential privacy, and " +
         "says what a training costs. \\fBfodp help\\fR \\fIcommand\\fR explains a command.\n.SH COMMANDS\n" + list +
         ".SH OPTIONS\n.TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nList the commands.\n.TP\n\\fB\\-v\\fR, \\fB\\-\\-version\\fR\nPrint the "
         "version.\n" +
         kExitStatus + ".SH SEE ALSO\n" + pages + "\n";
}

}  // namespace fodp::app
