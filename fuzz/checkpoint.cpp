// The saved state of a run: as it is, and with the first line and the checksum that let the reader look further.
#include "fodp/base/sha256.h"
#include "fodp/base/state_file.h"
#include "target.h"

FODP_FUZZ_TARGET(checkpoint) {
  std::string whole(text(bytes));
  if (!whole.starts_with("fodp state ")) {
    whole = "fodp state 1\n" + whole;
    const Sha256::Digest digest = Sha256().add(whole).digest();
    whole.append(digest.begin(), digest.end());
  }
  const State state = state_from_bytes(whole, "FILE");
  require(state_from_bytes(state_bytes(state), "AGAIN").size() == state.size(), "as many values come back");
}
