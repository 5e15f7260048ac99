"""Runs all Python lines of a page of ours, in a folder that holds the run they name, and compares what they predict with what the run says.

    cd FOLDER && python3 python_predicts.py PAGE.md      FOLDER/runs/demo is a run on Fashion-MNIST, tested on Debian's package

The lines define inputs (of model.json), predict(pixels) and, where they load an exported model, serve(pixels), which must agree. Exits with 1 if the share of right predictions is not test_accuracy of
summary.json, one row aside: two machines may round the two best outputs of a row differently.
"""
import gzip
import json
import sys

import torch

TEST_SET = "/usr/share/datasets/fashion-mnist/t10k-"


def read(name, header):
    with gzip.open(TEST_SET + name) as file:
        return torch.frombuffer(bytearray(file.read()[header:]), dtype=torch.uint8)


for block in open(sys.argv[1]).read().split("```python\n")[1:]:
    exec(block.split("```")[0])

pixels = read("images-idx3-ubyte.gz", 16).view(-1, *inputs["shape"])
labels = read("labels-idx1-ubyte.gz", 8)
with torch.no_grad():
    right = (predict(pixels) == labels).sum().item()
    if "serve" in globals() and not (serve(pixels) == predict(pixels)).sum() >= len(labels) - 1:
        sys.exit(f"{sys.argv[1]}: serve and predict differ")
reported = json.load(open("runs/demo/summary.json"))["test_accuracy"]
if not abs(right - reported * len(labels)) < 1.5:
    sys.exit(f"{sys.argv[1]}: {right} of {len(labels)} predictions are right, the run reports {reported}")
