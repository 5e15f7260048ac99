#include "completion.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "command.h"
#include "flags.h"
#include "pages.h"

namespace fodp::app {
namespace {

// The scripts: {0} stands for the names of the commands, {1} for what is offered after each.
constexpr char kBash[] = R"(# Completion of fodp for bash, written by `fodp completion bash`.
_fodp() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} words=
  COMPREPLY=()
  # bash parts --name=value at the sign.
  if [[ $current == = ]]; then current=; elif [[ $previous == = ]]; then previous=${{COMP_WORDS[COMP_CWORD-2]}}; fi
  if ((COMP_CWORD == 1)); then
    words='{0} help --help --version'
  else
    case ${{COMP_WORDS[1]}}:$previous in
      help:*) words='{0}' ;;
{1}    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _fodp fodp
)";

constexpr char kZsh[] = R"(#compdef fodp
# Completion of fodp for zsh, written by `fodp completion zsh`.
_fodp() {{
  local -a commands=(
{0}  )
  if ((CURRENT == 2)); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  ((CURRENT--))
  case $command in
    help) _describe command commands ;;
{1}  esac
}}
if [[ $funcstack[1] == _fodp ]]; then _fodp "$@"; else compdef _fodp fodp; fi
)";

constexpr char kFish[] = R"(# Completion of fodp for fish, written by `fodp completion fish`.
function __fish_fodp_command
    set -l words (commandline -opc)
    test (count $words) -ge 2; and test $words[2] = $argv[1]
end
complete -c fodp -f
complete -c fodp -n __fish_use_subcommand -l version -d 'print the version'
complete -c fodp -n __fish_use_subcommand -s h -l help -d 'list the commands'
complete -c fodp -n __fish_use_subcommand -a help -d 'explain a command'
)";

// `text` between single quotes, each character of `special` written as it must be there.
std::string quoted(std::string_view text, const std::string& special, const std::string& quote) {
  std::string out = "'";
  for (char c : text) {
    if (c == '\'')
      out += quote;
    else
      out += (special.find(c) == std::string::npos ? "" : "\\") + std::string(1, c);
  }
  return out + "'";
}

std::string zsh_quoted(std::string_view text) { return quoted(text, "", "'\\''"); }
std::string fish_quoted(std::string_view text) { return quoted(text, "\\", "\\'"); }

std::vector<std::string> names_of(const std::vector<CommandText>& commands) {
  std::vector<std::string> names;
  for (const CommandText& command : commands) names.push_back(command.name);
  return names;
}

// An option without a list of values is completed by file names (the `-o default` of the script) or, for a number, by nothing.
std::string bash_cases(const CommandText& command) {
  std::string out;
  std::vector<std::string> words, numbers, files;
  for (const OptionText& option : command.options) {
    if (option.is_positional) {
      words.insert(words.end(), option.values.begin(), option.values.end());
      continue;
    }
    words.push_back("--" + option.name);
    if (option.is_switch) continue;
    const std::string pattern = command.name + ":--" + option.name;
    if (!option.values.empty())
      out += fmt::format("      {}) words='{}' ;;\n", pattern, fmt::join(option.values, " "));
    else
      (option.is_file ? files : numbers).push_back(pattern);
  }
  if (!files.empty()) out += fmt::format("      {}) return ;;\n", fmt::join(files, "|"));
  if (!numbers.empty()) out += fmt::format("      {}) compopt +o default 2>/dev/null; return ;;\n", fmt::join(numbers, "|"));
  return out + fmt::format("      {}:*) words='{}' ;;\n", command.name, fmt::join(words, " "));
}

std::string bash(const std::vector<CommandText>& commands) {
  std::string cases;
  for (const CommandText& command : commands) cases += bash_cases(command);
  return fmt::format(kBash, fmt::join(names_of(commands), " "), cases);
}

// NAME[help]:what the value is called:how it is completed
std::string zsh_option(const OptionText& option) {
  const std::string value = option.values.empty() ? (option.is_file ? "_files" : " ") : fmt::format("({})", fmt::join(option.values, " "));
  if (option.is_positional) return zsh_quoted(fmt::format("1:{}:{}", option.name, value));
  std::string help;
  for (char c : option.help) help += (c == '[' || c == ']' || c == ':' || c == '\\' ? "\\" : "") + std::string(1, c);
  if (option.is_switch) return zsh_quoted(fmt::format("--{}[{}]", option.name, help));
  return zsh_quoted(fmt::format("--{}=[{}]:{}:{}", option.name, help, option.name, value));
}

std::string zsh(const std::vector<CommandText>& commands) {
  std::string names, cases;
  for (const CommandText& command : commands) {
    names += fmt::format("    {}\n", zsh_quoted(command.name + ":" + command.summary));
    cases += fmt::format("    {}) _arguments", command.name);
    for (const OptionText& option : command.options) cases += " \\\n      " + zsh_option(option);
    cases += " ;;\n";
  }
  return fmt::format(kZsh, names, cases);
}

std::string fish_option(const OptionText& option) {
  const std::string values =
      option.values.empty() ? "" : fmt::format(" -a {}", fish_quoted(fmt::format("{}", fmt::join(option.values, " "))));
  if (option.is_positional) return values;
  const char* value = option.is_switch ? "" : option.is_file && values.empty() ? " -r -F" : " -x";
  return fmt::format(" -l {}{}{} -d {}", option.name, value, values, fish_quoted(option.help));
}

std::string fish(const std::vector<CommandText>& commands) {
  std::string out = kFish;
  for (const CommandText& command : commands)
    out += fmt::format("complete -c fodp -n __fish_use_subcommand -a {} -d {}\n", command.name, fish_quoted(command.summary));
  out += fmt::format("complete -c fodp -n '__fish_fodp_command help' -a '{}'\n", fmt::join(names_of(commands), " "));
  for (const CommandText& command : commands)
    for (const OptionText& option : command.options)
      out += fmt::format("complete -c fodp -n '__fish_fodp_command {}'{}\n", command.name, fish_option(option));
  return out;
}

}  // namespace

std::string completion_script(const std::string& shell, const std::vector<CommandText>& commands) {
  if (shell == "bash") return bash(commands);
  if (shell == "zsh") return zsh(commands);
  if (shell == "fish") return fish(commands);
  throw InputError(fmt::format("'{}' is not a shell that is known here: {}", shell, suggestion(shell, {"bash", "zsh", "fish"})));
}

int completion(const Words& words) {
  std::string shell;
  Flags flags("completion",
              "Prints a script that completes the command line of fodp: commands, options, and the values of those that have a list. An "
              "installed fodp has brought it to where bash, zsh and fish look for it; without that, let the shell read it as it starts.",
              "source <(fodp completion bash)");
  flags.add_positional("SHELL", "bash, zsh or fish", shell);
  flags.values("SHELL", {"bash", "zsh", "fish"});
  if (!flags.parse(words)) return 0;
  check_input(!shell.empty(), "give the name of a shell: bash, zsh or fish; for example: fodp completion bash");
  const std::string script = completion_script(shell, described_commands());
  if (flags.json()) return print_json({{"shell", shell}, {"script", script}}), 0;
  return fmt::print("{}", script), 0;
}

}  // namespace fodp::app
