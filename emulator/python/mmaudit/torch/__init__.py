"""Modules of torch with the bits of a GPU that is not here: docs/torch.md."""
try:
    import torch as _torch
except ImportError as _error:
    _found = "no torch" if getattr(_error, "name", None) == "torch" else f"a torch that fails ({_error})".replace("\n", " ")
    raise ImportError(f"mmaudit.torch: found {_found}, allowed: torch 2.6 or newer (pip install torch)") from _error
if tuple(int(_one) for _one in _torch.__version__.split(".")[:2]) < (2, 6):
    raise ImportError(f"mmaudit.torch: found torch {_torch.__version__}, allowed: torch 2.6 or newer (pip install torch)")

from ._capture import capture
from ._checkpoint import capture_checkpoint
from ._choose import choose_plan
from ._compare import Comparison, compare
from ._emulate import Emulation, emulate
from ._operator import matmul, quantize
from ._recipes import RECIPES, Plan, Recipe
from ._tighten import Tightened, tighten

__all__ = [
    "Comparison", "Emulation", "Plan", "RECIPES", "Recipe", "Tightened", "capture", "capture_checkpoint",
    "choose_plan", "compare", "emulate", "matmul", "quantize", "tighten",
]
