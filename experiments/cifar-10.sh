#!/bin/sh
# FO-DP-SGD and DP-SGD on the paper's CIFAR-10 protocol, each at four learning rates and three seeds: docs/experiments.md.
# Usage: experiments/cifar-10.sh DATA_DIR [OUT_DIR]. Runs that OUT_DIR holds already are not repeated.
set -eu
data=$1
out=${2:-runs/cifar-10}
here=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$out"
for seed in 1 2 3; do
  for method in fo-dp-sgd dp-sgd; do
    for lr in .1 .2 .4 .8; do
      echo "$method $lr $seed"
    done
  done
done | xargs -P "${JOBS:-$(nproc)}" -L 1 sh -c '
  dir='"$out"'/$0-lr$1-seed$2
  [ -f "$dir/summary.json" ] || { rm -rf "$dir"; '"$here"'/build/release/fodp train --method $0 --lr $1 --init-seed $2 --data cifar-10 --data-dir '"$data"' \
    --train-size 5000 --test-size 2000 --model mlp --hidden 64,32 --sample-rate .04 --epochs 250 --noise-multiplier 1.1 \
    --clip-norm 1 --threads 1 --quiet --out "$dir" >/dev/null 2>&1; }'
python3 - "$out" <<'PY'
import json, pathlib, statistics, sys
rows = {}
for file in pathlib.Path(sys.argv[1]).glob("*/summary.json"):
    run = json.loads(file.read_text()) | {"lr": json.loads((file.parent / "config.json").read_text())["lr"]}
    rows.setdefault((run["method"], run["lr"]), []).append(run)
print("| method | lr | final test accuracy (mean of %d, each) | best | epsilon | seconds |" % len(next(iter(rows.values()))))
print("|---|---|---|---|---|---|")
for (method, lr), runs in sorted(rows.items()):
    final = [run["test_accuracy"] for run in runs]
    print("| %s | %g | %.4f (%s) | %.4f | %.2f | %.0f |" % (method, lr, statistics.mean(final), ", ".join("%.4f" % x for x in sorted(final)),
          statistics.mean(run["best_test_accuracy"] for run in runs), runs[0]["epsilon"], statistics.mean(run["seconds"] for run in runs)))
PY
