#!/usr/bin/env bash
# The picture of the README: FO-DP-SGD and DP-SGD on Fashion-MNIST at epsilon 3 with the defaults, five seeds each.
# Usage: experiments/fashion-mnist.sh [OUT_DIR]; needs gnuplot. Runs that OUT_DIR holds already are not repeated.
. "$(dirname "$0")/run.sh"
out=${1:-runs/fashion-mnist-figure}
need python3 gnuplot "$FODP"
need_data fashion-mnist
here=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$out"
for method in fo-dp-sgd dp-sgd; do
  for seed in 1 2 3 4 5; do
    run_once "$out/$method-$seed" --method $method --delta 1e-5 --init-seed $seed --eval-every 15
  done
  # epsilon, mean, least and greatest accuracy over the seeds
  python3 - "$out" $method <<'PY' >"$out/$method.dat"
import json, pathlib, sys
runs = [[json.loads(line) for line in open(file)] for file in sorted(pathlib.Path(sys.argv[1]).glob(sys.argv[2] + "-*/metrics.jsonl"))]
for points in zip(*runs):
    accuracies = [100 * point["test_accuracy"] for point in points]
    print(points[0]["epsilon"], sum(accuracies) / len(accuracies), min(accuracies), max(accuracies))
PY
done
gnuplot <<PLOT
set terminal svg size 720,400 font "sans,13" background "white"
set output "$here/docs/fashion-mnist.svg"
set xlabel "epsilon spent (delta 1e-5)"
set ylabel "test accuracy, %"
set key bottom right
set grid
set yrange [70:86]
plot "$out/dp-sgd.dat" using 1:3:4 with filledcurves fillcolor "#ffd8a8" notitle, \
     "$out/fo-dp-sgd.dat" using 1:3:4 with filledcurves fillcolor "#a5d8ff" notitle, \
     "$out/dp-sgd.dat" using 1:2 with lines linewidth 2 linecolor "#e8590c" title "DP-SGD", \
     "$out/fo-dp-sgd.dat" using 1:2 with lines linewidth 2 linecolor "#1971c2" title "FO-DP-SGD"
PLOT
for method in fo-dp-sgd dp-sgd; do tail -1 "$out/$method.dat"; done
