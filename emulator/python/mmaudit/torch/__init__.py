"""Modules of torch with the bits of a GPU that is not here: docs/torch.md."""
from .._refuse import refused as _refused

try:
    import torch as _torch
except ImportError as _error:
    _found = "no torch" if getattr(_error, "name", None) == "torch" else f"a torch that fails ({_error})".replace("\n", " ")
    raise _refused("mmaudit.torch", _found, "torch 2.6 or newer (pip install torch)", ImportError) from _error
if tuple(int(_one) for _one in _torch.__version__.split(".")[:2]) < (2, 6):
    _found = f"torch {_torch.__version__}"
    raise _refused("mmaudit.torch", _found, "torch 2.6 or newer (pip install torch)", ImportError)

from ._calibrate import Calibration, calibrate
from ._capture import Captured, capture
from ._check_operators import OPERATORS, OperatorsCheck, check_operators
from ._checkpoint import capture_checkpoint
from ._choose import choose_plan
from ._choose_report import Chosen
from ._compare import Comparison, compare
from ._coverage import Coverage, CoverageRow
from ._emulate import Emulation, emulate
from ._export import Export
from ._import import plan_from
from ._load import load
from ._operator import matmul, quantize
from ._recipes import RECIPES, Plan, Recipe
from ._tighten import Tightened, tighten
from ._trace import Trace, trace, tracing
from ._trace_diff import TraceDiff, trace_diff

__all__ = [
    "Calibration", "Captured", "Chosen", "Comparison", "Coverage", "CoverageRow", "Emulation", "Export",
    "OPERATORS", "OperatorsCheck", "Plan", "RECIPES", "Recipe", "Tightened", "Trace", "TraceDiff", "calibrate",
    "capture", "capture_checkpoint", "check_operators", "choose_plan", "compare", "emulate", "load", "matmul",
    "plan_from", "quantize", "tighten", "trace", "trace_diff", "tracing",
]
