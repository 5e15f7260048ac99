// fodp schema: a first schema for a table, to be finished by hand.
#include <fmt/core.h>

#include "command.h"
#include "flags.h"
#include "fodp/base/atomic_file.h"
#include "fodp/base/check.h"
#include "fodp/data/schema_draft.h"

namespace fodp::app {
namespace {

struct SchemaOptions {
  std::optional<std::string> out;

  static auto fields() { return std::tuple{field("out", &SchemaOptions::out, "write it to this file", {}, "standard output")}; }
};

}  // namespace

int schema(const Words& words) {
  std::string file;
  SchemaOptions options;
  Flags flags("schema",
              "Drafts the schema of a table: what each column is, with bounds and values as its rows have them. These tell of the rows, so "
              "each such column carries the line from_data = true, and training refuses the schema until you have put in what is known "
              "without looking and deleted the line.",
              "fodp schema people.csv --out people.toml");
  flags.add_positional("FILE", "the table: CSV or one like it, packed by gzip or not", file);
  flags.add("Schema", options);
  if (!flags.parse(words)) return 0;
  check_input(!file.empty(), "give the file of a table; for example: fodp schema people.csv");
  const std::string text = draft_schema(file);
  if (options.out) write_file_atomically(*options.out, text, "schema");
  if (flags.json()) return print_json({{"schema", text}}), 0;
  if (!options.out) fmt::print("{}", text);
  if (options.out && !flags.quiet())
    note(fmt::format("{} written: put in bounds that are known without the rows, then delete each line from_data = true\n", *options.out));
  return 0;
}

}  // namespace fodp::app
