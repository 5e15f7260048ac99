# Sourced by the experiments. What they need is looked for at the start, and a run that fails stops them with its message. FODP is the program.
set -euo pipefail
FODP=${FODP:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/build/release/fodp}

fail() {
  echo "$0: $*" >&2
  exit 1
}

# need PROGRAM...
need() {
  local program
  for program in "$@"; do command -v "$program" >/dev/null || fail "$program is not here and is needed"; done
}

# need_data NAME [DIR]: the data set is there and every file of it can be read.
need_data() {
  local reports
  reports=$("$FODP" data ${2:+--data-dir "$2"} --json) || fail "no data"
  python3 -c '
import json, sys
report = next(r for r in json.load(sys.stdin)["data"] if r["name"] == sys.argv[1])
sys.exit(report.get("problem"))' "$1" <<<"$reports" || fail "$1 is needed"
}

# quietly COMMAND...: its messages are shown only if it fails.
quietly() {
  local messages status=0
  messages=$(mktemp)
  "$@" 2>"$messages" || status=$?
  if ((status != 0)); then
    echo "$0: ended with status $status: $*" >&2
    cat "$messages" >&2
  fi
  rm -f "$messages"
  return "$status"
}

# run_once DIR OPTION...: trains into DIR, unless it holds a finished run.
run_once() {
  local dir=$1
  shift
  [ -f "$dir/summary.json" ] && return
  rm -rf "$dir"
  quietly "$FODP" train "$@" --quiet --out "$dir" >/dev/null
}
