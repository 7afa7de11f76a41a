"""Products as cuBLASLt and cublasGemmEx compute them, by their plans."""
from ctypes import byref, c_void_p
from typing import Any, Mapping, Optional

import numpy as np

from . import _arrays, _library
from ._library import lib

#: The format of D where a problem does not say it.
_OUTPUTS = {"tf32": "f32", "s8": "s32", "e4m3": "bf16", "e5m2": "bf16"}
#: Fields of a problem that only the command line tool predicts, with what they are without them.
_TOOL_ONLY = {"alpha": 1, "beta": 0, "scale_a": 1, "scale_b": 1, "bias": False, "activation": "none"}


def _words(fields: Mapping[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in fields.items())


def _dimensions(field: Any, kernel: Mapping[str, Any], name: str) -> None:
    for i, extent in enumerate(kernel.get(name, ())):
        field[i] = extent


def gemm(
    a: np.ndarray, b: np.ndarray, *, like: str = "cublaslt", problem: Optional[Mapping[str, Any]] = None,
    plan: Optional[Mapping[str, Any]] = None, call: Optional[Mapping[str, Any]] = None, threads: int = 0,
) -> np.ndarray:
    """D = A * B with the bits that a library returns. Needs no GPU.

    Args:
        a: (M, K); b: (K, N), whatever the layout that the library was given. dtypes as in emulate().
        like: "cublaslt" or "cublas".
        problem: {"type": "bf16", "d": "f32", "layout": "nt"}, fields as in docs/gemm.md; its sizes, if any, are A's and B's.
        plan: a plan of docs/gemm.md, {"instruction": ..., "tile_k": 64, "slices": 3}; or
        call: what the library did, {"algorithm": {"split_k": 3}, "kernels": [{"name": ...}]}, as ``mmaudit gemm
            compare --json`` writes it. One of both.
        threads: 0: one per core.
    Returns: D, (M, N).
    Raises: ValueError, in one line "field: found X, allowed: Y", also for kernels without a known plan.
    """
    given = dict(problem or {})
    kind = str(given.get("type", "f16"))
    output = str(given.get("d", _OUTPUTS.get(kind, kind)))
    how = _arrays.Casting()
    a, b = _arrays.operand("a", a, kind, how), _arrays.operand("b", b, "e4m3" if kind == "e5m2" else kind, how)
    if a.ndim != 2 or b.ndim != 2:
        raise ValueError(f"a, b shape: found {list(a.shape)}, {list(b.shape)}, allowed: two dimensions each")
    _arrays.require_shape("b", b, (a.shape[1], b.shape[1]), "k, n")
    for name, size in (("m", a.shape[0]), ("n", b.shape[1]), ("k", a.shape[1])):
        if given.get(name, size) != size:
            raise ValueError(f"problem {name}: found {given[name]}, allowed: {size}, as A and B have")
    for name, usual in _TOOL_ONLY.items():
        if given.get(name, usual) != usual:
            raise ValueError(f"problem {name}: found {given[name]}, allowed: {usual} (mmaudit gemm predict takes others)")
    if not 0 <= threads <= 4096:
        raise ValueError(f"threads: found {threads}, allowed: 0 to 4096")
    work = _library.Gemm()
    work.like, work.type, work.d_format = (_library.encoded(x) for x in (like, kind, output))
    work.layout = _library.encoded(str(given.get("layout", "nn")))
    (work.m, work.k), work.n, work.threads = a.shape, b.shape[1], threads
    if plan is not None:
        work.plan = _library.encoded(_words(plan))
    if call is not None:
        kernels = list(call.get("kernels", ()))
        work.kernels = _library.encoded("\n".join(str(kernel["name"]) for kernel in kernels))
        work.algorithm = _library.encoded(_words(call.get("algorithm", {})))
        for name in ("grid", "block", "cluster"):
            _dimensions(getattr(work, name), kernels[0] if kernels else {}, name)
    d = np.empty((work.m, work.n), _arrays.value_dtype(output, _arrays.is_ml(a)))
    work.a, work.b, work.d = _arrays.given(a), _arrays.given(b), _arrays.written(d)
    _library.check(lib.mmaudit_gemm_predict(byref(work), c_void_p()))
    return d
