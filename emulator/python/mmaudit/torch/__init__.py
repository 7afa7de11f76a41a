"""Modules of torch with the bits of a GPU that is not here: docs/torch.md."""
try:
    import torch as _torch  # noqa: F401
except ImportError as _error:
    raise ImportError("mmaudit.torch: found no torch, allowed: torch 2.6 or newer (pip install torch)") from _error

from ._capture import capture
from ._checkpoint import capture_checkpoint
from ._compare import Comparison, compare
from ._emulate import Emulation, emulate
from ._operator import matmul, quantize
from ._plan import RECIPES, Plan, Recipe
from ._tighten import Tightened, tighten

__all__ = [
    "Comparison", "Emulation", "Plan", "RECIPES", "Recipe", "Tightened", "capture", "capture_checkpoint", "compare",
    "emulate", "matmul", "quantize", "tighten",
]
