"""Runs the Python lines of docs/models.md and compares a loaded model with what fodp computed.

    python3 python_loads_models.py docs/models.md 'EXPRESSION' model.pt values.pt

EXPRESSION makes the model, as ResNet(3, 10). values.pt is a state dict with "inputs" and "outputs". Exits with 1 and says what differs.
"""
import sys

import torch

page, expression, model_file, values_file = sys.argv[1:]
exec(open(page).read().split("```python\n")[1].split("```")[0])
model = eval(expression)
model.load_state_dict(torch.load(model_file, weights_only=True), strict=True)
values = torch.load(values_file, weights_only=True)
with torch.no_grad():
    difference = (model(values["inputs"]) - values["outputs"]).abs().max().item()
if not difference < 1e-4:
    sys.exit(f"{expression}: outputs differ by {difference}")
