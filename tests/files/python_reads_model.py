"""Loads model files written by fodp into nn.Sequential(Flatten, Linear(6, 4), Tanh, Linear(4, 3)) and compares every value.

    python3 python_reads_model.py FILE...      .pt and .pth with torch.load(weights_only=True), .safetensors with Python's safetensors,
                                               which must carry METADATA

Exits with 1 and says what differs; the values expected are those of fixtures/make_fixtures.py.
"""
import sys

import torch
from torch import nn


METADATA = {"format": "pt", "fodp": '{"größe": [1, "\\\\", {}]}\n'}  # that of safetensors_test.cpp


def expected():
    return {
        "1.weight": torch.arange(24.0).reshape(4, 6) / 8 - 1,
        "1.bias": torch.arange(4.0) / 4 - 0.5,
        "3.weight": torch.arange(12.0).reshape(3, 4) / 16,
        "3.bias": -torch.arange(3.0) / 2,
    }


def load(path):
    if path.endswith(".safetensors"):
        from safetensors.torch import load_file

        return load_file(path)
    return torch.load(path, weights_only=True)


def metadata(path):
    from safetensors import safe_open

    with safe_open(path, "pt") as file:
        return file.metadata()


def differences(path):
    state = load(path)
    model = nn.Sequential(nn.Flatten(), nn.Linear(6, 4), nn.Tanh(), nn.Linear(4, 3))
    model.load_state_dict(state, strict=True)
    want = expected()
    if sorted(state) != sorted(want):
        yield f"names are {sorted(state)}, expected {sorted(want)}"
    for name, value in model.state_dict().items():
        if state[name].dtype != torch.float32 or not torch.equal(value, want[name]):
            yield f"{name} is {state[name]}, expected {want[name]}"
    if path.endswith(".safetensors") and metadata(path) != METADATA:
        yield f"the metadata is {metadata(path)}, expected {METADATA}"
    hidden = torch.tanh(torch.ones(2, 6) @ want["1.weight"].t() + want["1.bias"])
    if not torch.allclose(model(torch.ones(2, 2, 3)), hidden @ want["3.weight"].t() + want["3.bias"]):
        yield "the model computes other values"


def main(paths):
    if not paths:
        sys.exit(__doc__)
    wrong = [f"{path}: {what}" for path in paths for what in differences(path)]
    sys.exit("\n".join(wrong) if wrong else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
