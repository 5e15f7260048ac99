#!/usr/bin/env bash
# FO-DP-SGD and DP-SGD on the paper's CIFAR-10 protocol, each at four learning rates and three seeds: docs/experiments.md.
# Usage: experiments/cifar-10.sh DATA_DIR [OUT_DIR]. Runs that OUT_DIR holds already are not repeated. JOBS run at a time.
. "$(dirname "$0")/run.sh"
[ $# -ge 1 ] || fail "usage: $0 DATA_DIR [OUT_DIR]"
data=$1
out=${2:-runs/cifar-10}
need python3 "$FODP"
need_data cifar-10 "$data"
mkdir -p "$out"

# one METHOD LR SEED
one() {
  run_once "$out/$1-lr$2-seed$3" --method "$1" --lr "$2" --init-seed "$3" --data cifar-10 --data-dir "$data" --train-size 5000 \
    --test-size 2000 --model mlp --hidden 64,32 --sample-rate .04 --epochs 250 --noise-multiplier 1.1 --clip-norm 1 --threads 1
}
export -f one run_once quietly
export FODP out data
for seed in 1 2 3; do
  for method in fo-dp-sgd dp-sgd; do
    for lr in .1 .2 .4 .8; do
      echo "$method $lr $seed"
    done
  done
done | xargs -P "${JOBS:-$(nproc)}" -L 1 bash -c 'one "$@" || exit 255' "$0" || fail "a run failed" # 255 starts no further one
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
