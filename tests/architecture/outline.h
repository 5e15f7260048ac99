// The outline of a source file: which classes and which functions it defines, and from which line to which.
//
// This is no C++ parser. It counts braces, after comments, literals and preprocessor lines are blanked out, and takes what stands before a
// brace for what the brace opens. That is right for code that clang-format has laid out and that opens no brace in a macro.
#pragma once

#include <cctype>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace outline {

struct Definition {
  std::string name;  // of a class: with its namespaces and outer classes; of a function: what stands before its body
  int first, last;   // lines, counted from 1; a function begins with its return type
};

struct Outline {
  std::vector<Definition> classes, functions;  // classes, structs, unions and enums; functions outside other functions
};

// Where the comment, the literal or the preprocessor line that begins at `at` ends; `at` if none begins there.
inline std::size_t end_of_opaque(std::string_view code, std::size_t at) {
  const auto after = [&](std::string_view end, std::size_t from) {
    return std::min(code.find(end, from), code.size() - end.size()) + end.size();
  };
  const std::string_view rest = code.substr(at);
  const bool in_word = at > 0 && std::isalnum(static_cast<unsigned char>(code[at - 1])) != 0;  // the mark in 1'000
  if (rest.starts_with("//")) return std::min(code.find('\n', at), code.size());
  if (rest.starts_with("/*")) return after("*/", at + 2);
  if (rest.starts_with("R\"") && !in_word) {
    const std::size_t open = code.find('(', at);
    return after(")" + std::string(code.substr(at + 2, open - at - 2)) + "\"", open);
  }
  if (rest.starts_with('#')) {
    std::size_t end = std::min(code.find('\n', at), code.size());
    while (end < code.size() && code[end - 1] == '\\') end = std::min(code.find('\n', end + 1), code.size());
    return end;
  }
  if (!rest.starts_with('"') && (!rest.starts_with('\'') || in_word)) return at;
  std::size_t end = at + 1;
  while (end < code.size() && code[end] != code[at]) end += code[end] == '\\' ? 2 : 1;
  return std::min(end + 1, code.size());
}

inline std::string blank_out_opaque(std::string code) {
  for (std::size_t at = 0; at < code.size(); ++at) {
    const std::size_t end = end_of_opaque(code, at);
    for (; at < end; ++at)
      if (code[at] != '\n') code[at] = ' ';
  }
  return code;
}

// "template <class T, class U = A<T>> struct B" -> "struct B"
inline std::string_view without_template(std::string_view head) {
  while (head.starts_with("template")) {
    std::size_t at = head.find('<') + 1;
    for (int depth = 1; depth > 0 && at < head.size(); ++at) depth += head[at] == '<' ? 1 : head[at] == '>' ? -1 : 0;
    head.remove_prefix(std::min(head.find_first_not_of(' ', at), head.size()));
  }
  return head;
}

class Reader {
 public:
  Reader(std::string text, std::string file) : code_(blank_out_opaque(std::move(text))), file_(std::move(file)) {}

  Outline read() {
    for (at_ = 0; at_ < code_.size(); ++at_) {
      const char c = code_[at_];
      if (c == '\n') ++line_;
      if (c == '{') {
        open();
      } else if (c == '}') {
        close();
      } else if (c == ';') {
        head_.clear();
      } else if (std::isspace(static_cast<unsigned char>(c)) == 0) {
        if (head_.empty()) head_line_ = line_;
        head_ += c;
      } else if (!head_.empty() && head_.back() != ' ') {
        head_ += ' ';
      }
    }
    return outline_;
  }

 private:
  struct Scope {
    bool named;        // a namespace or a class, not a function or a list of values
    std::string path;  // "fodp::Tape::"
    std::string head;  // what stands before the brace
    int line;          // where that begins
  };

  void open() {
    while (head_.ends_with(' ')) head_.pop_back();
    const Scope outer = scopes_.empty() ? Scope{true, "", "", 0} : scopes_.back();
    static const std::regex label("^(public|private|protected) ?: ?"), space("(inline )?namespace ?([\\w:]*)"),
        type(
            "((static|constexpr|inline|const) )*(class|struct|union|enum( class| struct)?) (alignas\\([^)]*\\) )?"
            "(\\w+(::\\w+)*(<.*>)?)( final)?( : .*)?");
    const std::string head(without_template(std::regex_replace(head_, label, "")));
    std::smatch match;
    Scope scope{false, "", head_, head_line_};
    if (outer.named && std::regex_match(head, match, space)) {
      scope.named = true;
      scope.path = outer.path + (match[2].length() > 0 ? match[2].str() : "(" + file_ + ")") + "::";
    } else if (outer.named && std::regex_match(head, match, type)) {
      scope.named = true;
      scope.path = outer.path + match[6].str() + "::";
      outline_.classes.push_back({outer.path + match[6].str(), line_, line_});
    }
    scopes_.push_back(scope);
    head_.clear();
  }

  void close() {
    if (scopes_.empty()) return;
    const Scope scope = scopes_.back();
    scopes_.pop_back();
    head_.clear();
    if (scope.named || !(scopes_.empty() || scopes_.back().named)) return;
    const std::size_t next = code_.find_first_not_of(" \n", at_ + 1);
    if (next != code_.npos && std::string_view(",){").find(code_[next]) != std::string_view::npos) {
      head_ = scope.head + "{}";  // values in a function's head: Tape() : rows_{0} {
      head_line_ = scope.line;
    } else if (scope.head.find('(') != scope.head.npos) {
      outline_.functions.push_back({scope.head, scope.line, line_});
    }
  }

  std::string code_, file_, head_;
  std::size_t at_ = 0;
  int line_ = 1, head_line_ = 1;
  std::vector<Scope> scopes_;
  Outline outline_;
};

// `file` stands for the anonymous namespace, which every source file has its own of.
inline Outline of(const std::string& text, const std::string& file) { return Reader(text, file).read(); }

struct SourceFile {
  std::string name, text;  // the name is relative to the repository
};

inline std::vector<SourceFile> source_files(std::initializer_list<const char*> folders) {
  std::vector<SourceFile> files;
  const std::filesystem::path root = FODP_SOURCE_DIR;
  for (const char* folder : folders)
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
      if (entry.path().extension() != ".h" && entry.path().extension() != ".cpp") continue;
      std::ifstream stream(entry.path());
      files.push_back({std::filesystem::relative(entry.path(), root).string(), {std::istreambuf_iterator<char>(stream), {}}});
    }
  return files;
}

}  // namespace outline
