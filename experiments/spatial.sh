#!/usr/bin/env bash
# What the spatial low pass adds to DP-SGD on CIFAR-10 (5,000 images, mlp, q .25, 160 steps, epsilon 17.44), both at the same learning
# rates and five seeds: docs/experiments.md.
# Usage: experiments/spatial.sh DATA_DIR [OUT_DIR]. Runs that OUT_DIR holds already are not repeated. JOBS run at a time.
. "$(dirname "$0")/run.sh"
[ $# -ge 1 ] || fail "usage: $0 DATA_DIR [OUT_DIR]"
data=$1
out=${2:-runs/spatial}
need python3 "$FODP"
need_data cifar-10 "$data"
mkdir -p "$out"

# one FILTER LR SEED
one() {
  run_once "$out/$1-lr$2-seed$3" --method dp-sgd --filter "$1" --lr "$2" --init-seed "$3" --data cifar-10 --data-dir "$data" --train-size 5000 \
    --test-size 2000 --model mlp --hidden 64,32 --sample-rate .25 --steps 160 --epsilon 17.44 --clip-norm 1 --threads 1
}
export -f one run_once quietly
export FODP out data
for seed in 1 2 3 4 5; do
  for filter in none spatial; do
    for lr in .4 .8 1.6 2.4 3.2 4.8 6.4 12.8; do
      echo "$filter $lr $seed"
    done
  done
done | xargs -P "${JOBS:-$(nproc)}" -L 1 bash -c 'one "$@" || exit 255' "$0" || fail "a run failed" # 255 starts no further one
python3 - "$out" <<'PY'
import json, pathlib, statistics, sys
rows = {}
for file in pathlib.Path(sys.argv[1]).glob("*/summary.json"):
    run = json.loads(file.read_text())
    rows.setdefault((run["filter"], run["lr"]), {})[run["init_seed"]] = run["test_accuracy"]
print("| filter | lr | final test accuracy (mean of %d, each) |" % len(next(iter(rows.values()))))
print("|---|---|---|")
for (name, lr), runs in sorted(rows.items()):
    print("| %s | %g | %.4f (%s) |" % (name, lr, statistics.mean(runs.values()), ", ".join("%.4f" % x for x in sorted(runs.values()))))
best = {name: max((statistics.mean(runs.values()), lr) for (other, lr), runs in rows.items() if other == name)[1] for name in ("none", "spatial")}
gains = [rows["spatial", best["spatial"]][seed] - rows["none", best["none"]][seed] for seed in rows["none", best["none"]]]
print("Gain at the best rate of each (%g, %g): %+.2f points, standard error %.2f over the seeds" % (best["spatial"], best["none"],
      100 * statistics.mean(gains), 100 * statistics.stdev(gains) / len(gains) ** .5))
PY
