"""Products as cuBLASLt and cublasGemmEx compute them, by their plans."""
from ctypes import byref, c_void_p
from typing import Any, Mapping, Optional, Tuple

import numpy as np

from . import _arrays, _library
from ._library import lib
from ._products import threads_of
from ._refuse import refused

#: The format of D where a problem does not say it.
_OUTPUTS = {"tf32": "f32", "s8": "s32", "e4m3": "bf16", "e5m2": "bf16"}
#: Fields of a problem that gemm() has in another place.
_OWN = ("api", "type", "d", "m", "n", "k", "layout")


def _mapping(what: str, value: Any) -> "dict[str, Any]":
    if not isinstance(value, Mapping):
        raise refused(what, type(value).__name__, "fields with values, as a dict has")
    return dict(value)


def _words(what: str, fields: Mapping[str, Any]) -> str:
    words = []
    for name, value in fields.items():
        words.append(f"{name}={value}")
        if len(words[-1].split()) != 1:
            raise refused(f"{what} {name}", repr(value), "one number, name or truth value")
    return " ".join(words)


def _dimensions(field: Any, kernel: Mapping[str, Any], name: str) -> None:
    given = kernel.get(name, ())
    good = isinstance(given, (list, tuple)) and len(given) <= 3
    if not good or not all(isinstance(extent, (int, np.integer)) and 0 <= extent < 2**32 for extent in given):
        raise refused(f"call kernels {name}", given, "up to 3 integers of 32 bits")
    for i, extent in enumerate(given):
        field[i] = extent


def _take_call(work: Any, call: Mapping[str, Any]) -> None:
    """What the library did, as `mmaudit gemm compare --json` writes it."""
    call = _mapping("call", call)
    listed, algorithm = call.pop("kernels", ()), _mapping("call algorithm", call.pop("algorithm", {}))
    if not isinstance(listed, (list, tuple)):
        raise refused("call kernels", type(listed).__name__, "a list")
    kernels = [_mapping("call kernels", one) for one in listed]
    for field in (*call, *(field for one in kernels for field in one if field not in ("name", "grid", "block", "cluster"))):
        raise refused("call", field, "algorithm, kernels; of a kernel name, grid, block, cluster")
    for one in kernels:
        if not isinstance(one.get("name"), str) or "\n" in one["name"]:
            raise refused("call kernels name", repr(one.get('name')), "the name of a kernel")
    _arrays.filled(work, kernels="\n".join(one["name"] for one in kernels), algorithm=_words("call algorithm", algorithm))
    for name in ("grid", "block", "cluster"):
        _dimensions(getattr(work, name), kernels[0] if kernels else {}, name)


def _batch(given: "dict[str, Any]", a: np.ndarray, b: np.ndarray) -> "Tuple[int, ...]":
    """The shape of D; `given` gets the batch that A and B have, where it does not say it."""
    if a.ndim not in (2, 3) or b.ndim not in (2, 3):
        raise refused("a, b shape", f"{list(a.shape)}, {list(b.shape)}", "two dimensions each, three of a batch")
    if a.ndim == 2 and b.ndim == 2:
        batch = given.get("batch", 1)
        if batch != 1:
            raise refused("problem batch", batch, "1, as A and B have")
        _arrays.require_shape("b", b, (a.shape[1], b.shape[1]), "k, n")
        return (a.shape[0], b.shape[1])
    batch = (a if a.ndim == 3 else b).shape[0]
    if given.setdefault("batch", batch) != batch:
        raise refused("problem batch", given['batch'], f"{batch}, as A and B have")
    _arrays.require_shape("b", b, ((batch,) if b.ndim == 3 else ()) + (a.shape[-1], b.shape[-1]), "batch, k, n")
    for name, x in (("stride_a", a), ("stride_b", b)) if batch != 1 else ():
        if x.ndim == 2 and given.setdefault(name, 0) != 0:
            raise refused(f"problem {name}", given[name], "0 where all products share one matrix")
        if x.ndim == 3 and given.get(name) == 0:
            raise refused(f"problem {name}", "0", "another one where every product has its own matrix")
    return (batch, a.shape[-2], b.shape[-1])


def gemm(
    a: np.ndarray, b: np.ndarray, c: Optional[np.ndarray] = None, *, like: str = "cublaslt",
    problem: Optional[Mapping[str, Any]] = None, plan: Optional[Mapping[str, Any]] = None,
    call: Optional[Mapping[str, Any]] = None, bias: Optional[np.ndarray] = None, threads: int = 0,
) -> np.ndarray:
    """D = A * B, or activation(alpha * A * B + beta * C + bias), with the bits that a library returns. Needs no GPU.

    Args:
        a: (M, K); b: (K, N), whatever the layout that the library was given. dtypes as in emulate(). Of a batch
            (batch, M, K) and (batch, K, N); one of both may be a single matrix, which all products of the batch share.
        c: (M, N) or (batch, M, N), in D's format, where the problem has a beta.
        like: "cublaslt" or "cublas".
        problem: {"type": "bf16", "d": "f32", "layout": "nt", "alpha": 0.5, "bias": True, "activation": "relu"}, fields as
            in docs/gemm.md; its sizes, if any, are A's and B's.
        bias: (N,), in D's format (bf16 where FP8 gives a D of f32), where the problem has a bias.
        plan: a plan of docs/gemm.md, {"instruction": ..., "tile_k": 64, "slices": 3}; or
        call: what the library did, {"algorithm": {"split_k": 3}, "kernels": [{"name": ...}]}, as ``mmaudit gemm
            compare --json`` writes it. One of both.
        threads: 0: one per core.
    Returns: D, (M, N) or (batch, M, N).
    Raises: ValueError, in one line "field: found X, allowed: Y", also for kernels without a known plan.
    """
    given = _mapping("problem", {} if problem is None else problem)
    if "api" in given and given["api"] != like:
        raise refused("problem api", given['api'], f"{like}, as `like` is")
    kind = str(given.get("type", "f16"))
    output = str(given.get("d", _OUTPUTS.get(kind, kind)))
    how = _arrays.Casting()
    a, b = _arrays.operand("a", a, kind, how), _arrays.operand("b", b, "e4m3" if kind == "e5m2" else kind, how)
    shape = _batch(given, a, b)
    for name, size in (("m", a.shape[-2]), ("n", b.shape[-1]), ("k", a.shape[-1])):
        if given.get(name, size) != size:
            raise refused(f"problem {name}", given[name], f"{size}, as A and B have")
    of_bias = "bf16" if kind in ("e4m3", "e5m2") and output == "f32" else output
    if c is not None:
        c = _arrays.operand("c", c, output, how)
        _arrays.require_shape("c", c, shape, "as D")
    if bias is not None:
        bias = _arrays.operand("bias", bias, of_bias, how)
        _arrays.require_shape("bias", bias, shape[-1:], "n")
    for name, array, reads in (("c", c, given.get("beta", 0) != 0), ("bias", bias, bool(given.get("bias", False)))):
        if (array is not None) != reads:
            field = {"c": "beta"}.get(name, name)
            found, allowed = ("none", "one") if reads else ("one", "none")
            raise refused(name, found, f"{allowed} where the problem has {'a' if reads else 'no'} {field}")
    d = np.empty(shape, _arrays.value_dtype(output, _arrays.is_ml(a)))
    work = _arrays.filled(
        _library.Gemm(), like=like, type=kind, d_format=output, layout=str(given.get("layout", "nn")), m=shape[-2],
        n=shape[-1], k=a.shape[-1], threads=threads_of(threads), a=a, b=b, c=c, bias=bias, d=d,
        problem=_words("problem", {name: value for name, value in given.items() if name not in _OWN}),
        plan=None if plan is None else _words("plan", _mapping("plan", plan)))
    if call is not None:
        _take_call(work, call)
    _library.check(lib.mmaudit_gemm_predict(byref(work), c_void_p()))
    return d
