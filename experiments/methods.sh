#!/usr/bin/env bash
# Every method on Fashion-MNIST at epsilon 3 with its defaults: SEEDS runs each (5), one line per method.
# With LRS="1 2 4 8" (or any list) each method is run at these learning rates instead of its default.
. "$(dirname "$0")/run.sh"
need python3 "$FODP"
need_data fashion-mnist
SEEDS=${SEEDS:-5}
METHODS=${METHODS:-$("$FODP" methods --json | python3 -c 'import json, sys; print(*[m["name"] for m in json.load(sys.stdin)["methods"]])')}
echo "| method | lr | final test accuracy, mean (each) | noise multiplier | epsilon |"
echo "|---|---|---|---|---|"
for method in $METHODS; do
  for lr in ${LRS:-default}; do
    rate=$([ "$lr" = default ] || echo "--lr $lr")
    runs=$(for _ in $(seq "$SEEDS"); do
      # shellcheck disable=SC2086
      quietly "$FODP" train --method $method $rate --delta 1e-5 --eval-every 100000 --json --quiet ${WORDS:-} || exit
    done)
    METHOD="$method ${WORDS:-}" LR=$lr python3 -c '
import json, os, sys
text, runs = sys.stdin.read(), []
while text.strip():
    run, end = json.JSONDecoder().raw_decode(text.lstrip())
    text = text.lstrip()[end:]
    runs.append(run)
each = sorted(r["test_accuracy"] for r in runs)
print("| %s | %s | %.4f (%s) | %.4g | %.2f |" % (os.environ["METHOD"].strip(), os.environ["LR"], sum(each) / len(each),
      ", ".join("%.4f" % a for a in each), runs[0]["noise_multiplier"], max(r["epsilon"] for r in runs)))' <<<"$runs"
  done
done
