#!/usr/bin/env bash
# What the spatial low pass adds to DP-SGD on CIFAR-10 (5,000 images, mlp, q .25, 160 steps, epsilon 17.44): docs/experiments.md. Both are
# tuned over the same learning rates on seeds 1 to 5; then the best rate of each is run on seeds 6 to 20, which chose nothing.
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
# Lines FILTER LR SEED from standard input.
train_all() {
  xargs -P "${JOBS:-$(nproc)}" -L 1 bash -c 'one "$@" || exit 255' "$0" || fail "a run failed" # 255 starts no further one
}
report() {
  python3 - "$out" "$1" <<'PY'
import json, pathlib, statistics, sys
rows = {}
for file in pathlib.Path(sys.argv[1]).glob("*/summary.json"):
    run = json.loads(file.read_text())
    rows.setdefault((run["filter"], run["lr"]), {})[run["init_seed"]] = run["test_accuracy"]
tuning = {key: [runs[seed] for seed in range(1, 6)] for key, runs in rows.items() if all(seed in runs for seed in range(1, 6))}
best = {name: max((statistics.mean(runs), lr) for (other, lr), runs in tuning.items() if other == name)[1] for name in ("none", "spatial")}
if sys.argv[2] == "best":
    for name, lr in best.items():
        print(name, format(lr, "g").removeprefix("0"))
    sys.exit()
print("| filter | lr | final test accuracy (mean of 5, each) |")
print("|---|---|---|")
for (name, lr), runs in sorted(tuning.items()):
    print("| %s | %g | %.4f (%s) |" % (name, lr, statistics.mean(runs), ", ".join("%.4f" % x for x in sorted(runs))))
with_filter, without = rows["spatial", best["spatial"]], rows["none", best["none"]]
fresh = range(6, 21)
gains = [with_filter[seed] - without[seed] for seed in fresh]
print("Seeds 6 to 20: %.4f with the filter at lr %g, %.4f without at lr %g: %+.2f points, standard error %.2f" % (
    statistics.mean(with_filter[seed] for seed in fresh), best["spatial"], statistics.mean(without[seed] for seed in fresh), best["none"],
    100 * statistics.mean(gains), 100 * statistics.stdev(gains) / len(gains) ** .5))
PY
}
for seed in 1 2 3 4 5; do
  for filter in none spatial; do
    for lr in .4 .8 1.6 2.4 3.2 4.8 6.4 12.8; do echo "$filter $lr $seed"; done
  done
done | train_all
best=$(report best)
while read -r filter lr; do
  for seed in $(seq 6 20); do echo "$filter $lr $seed"; done
done <<<"$best" | train_all
report all
