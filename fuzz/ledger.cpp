// The ledger of a run. Lines get the checksums that they need, so that the reader looks at what they say; bytes that begin with '#' are
// read as they are, without the '#'.
#include "fodp/accounting/ledger_file.h"
#include "fodp/base/check.h"
#include "fodp/base/sha256.h"
#include "target.h"

namespace {

std::string with_line_checksums(std::string_view lines) {
  std::string whole, digits;
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    digits = fodp::Sha256().add(digits).add(line).text().substr(0, 16);
    whole += std::string(line) + " " + digits + "\n";
    lines.remove_prefix(std::min(lines.size(), line.size() + 1));
  }
  return whole;
}

}  // namespace

FODP_FUZZ_TARGET(ledger) {
  const bool plain = !bytes.empty() && bytes.front() == '#';
  const std::string whole = plain ? std::string(text(bytes).substr(1)) : with_line_checksums(text(bytes));
  try {
    const LedgerContent content =
        fodp::read_ledger(file_with("ledger", {reinterpret_cast<const std::uint8_t*>(whole.data()), whole.size()}));
    require(total_count(content.guaranteed()) >= total_count(content.charged), "what is guaranteed covers what was charged");
  } catch (const PrivacyError& error) {  // a damaged file is refused, too
    throw InputError(error.what());
  }
}
