"""Does a callable compute the product that it is asked for? Products whose every element is known in any order."""
import ctypes
import inspect
import json
import re
import time
from ctypes import byref
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from . import _arrays, _library
from ._dtypes import NAMES
from ._library import lib
from ._products import whole
from ._refuse import listed, refused

_OUTPUTS = {"tf32": "f32", "s8": "s32", "e4m3": "bf16", "e5m2": "bf16"}  #: D where nothing else is said
_OPTIONAL = ("c", "bias", "scale_a", "scale_b", "alpha", "beta", "relu", "out")
_GUARD = 64  #: elements round D, and of padding round A and B
_UNTOUCHED = 77.0  #: what lies round D and in `out`; every format has it or a neighbour that it becomes


class _Scales(NamedTuple):
    """Rows of A and columns of B per factor (0: all), elements of K per factor (0: all), and the factors' format."""

    a: int
    b: int
    block: int
    format: str = "f32"


_SCALES = {"tensor": _Scales(0, 0, 0), "row": _Scales(1, 1, 0), "1x128": _Scales(1, 1, 128), "128x128": _Scales(1, 128, 128),
           "mx": _Scales(1, 1, 32, "ue8m0"), "nvfp4": _Scales(1, 1, 16, "e4m3")}

Shape = Tuple[int, ...]

#: What CUDA, Triton and the libraries say of a kernel that failed, other than of one that they do not have.
_FAILED = re.compile(r"^(?!.*_STATUS_(NOT_SUPPORTED|INVALID_VALUE|ARCH_MISMATCH))"
                     r".*(CUDA (driver )?error|Triton Error|CU(BLAS|DNN)_STATUS_)", re.S)


class Refused(Exception):
    """A callable has no answer to one product: it is counted, and neither right nor wrong."""


def refusal(error: RuntimeError) -> str:
    """Why a callable refuses what it was asked. Raises: the error, where a device failed: that is no refusal."""
    if _FAILED.search(str(error)):
        raise error
    return str(error).split("\n", 1)[0][:160]


class WrongProduct(NamedTuple):
    """A shape whose D is wrong: (m, n, k) or (batch, m, n, k); what is wrong, in words; what was seen."""

    shape: Shape
    faults: Tuple[str, ...]
    detail: Dict[str, Any]


@dataclass
class ProductCheck:
    """What check_gemm() found. True where every product is right."""

    products: int = 0
    runs: int = 0
    wrong: List[WrongProduct] = field(default_factory=list)
    refused: Dict[str, int] = field(default_factory=dict)  #: why the callable raised Refused, and how often
    condition: str = ""  #: the rule over shapes that holds for the wrong products alone; empty: none is known
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        return self.products > 0 and not self.wrong

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        left = refusals(self.refused)
        if not self.wrong:
            return (f"{self.products} products are right, in {self.runs} runs" if self.passed else "no product was run") + left
        first = self.wrong[0]
        lines = [f"{len(self.wrong)} of {self.products} products are wrong"]
        lines += [f"  {' x '.join(map(str, one.shape))}: {'; '.join(one.faults)}" for one in self.wrong[:5]]
        seen = first.detail["first"]
        if seen["found"] != seen["expected"]:  # equal where D's dtype alone is wrong
            lines.append(f"  first wrong element ({seen['row']}, {seen['column']}): found {seen['found']}, right: {seen['expected']}")
        return "\n".join(lines + ([f"  wrong: {self.condition}"] if self.condition else [])) + left


def refusals(found: Dict[str, int]) -> str:
    return "".join(f"\n  refused {count} times: {why}" for why, count in found.items())


def _seconds(budget: Union[None, str, float]) -> float:
    if budget is None:
        return float("inf")
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(s|m|h|)\s*", str(budget))
    if not found:
        raise refused("budget", repr(budget), "seconds, \"60s\", \"10m\", \"1h\"")
    return float(found[1]) * {"s": 1, "": 1, "m": 60, "h": 3600}[found[2]]


def usual_shapes(seed: int, count: int, batches: bool = False) -> List[Shape]:
    """Sizes drawn on a logarithmic scale, half of them multiples of 16: M and N to 64, K to 512. Every fourth is deep,
    K to 4096, and every eighth has a K of 2048 or more, so that a sum of ones passes what f16 counts. Of the others one of
    three has M and N from 64 to 512, since kernels have tiles of 128 and 256, and K to 128."""
    rng = np.random.default_rng(seed)
    shapes: List[Shape] = []
    for index in range(count):
        least, most = ([6, 6, 0], [9, 9, 7]) if index % 3 == 2 else ([0, 0, 0], [6, 6, 9])
        if index % 4 == 0:
            least, most = [0, 0, 11 if index % 8 == 4 else 0], [6, 6, 12]
        sizes = np.exp2(rng.uniform(least, most)).astype(int)
        if index % 2 == 0:
            sizes = -(-sizes // 16) * 16
        shapes.append(((int(rng.integers(2, 5)),) if batches else ()) + tuple(int(one) for one in sizes))
    return shapes


def _parameters(function: Callable[..., Any]) -> List[str]:
    """Which of the optional operands the callable takes by name."""
    try:
        return [name for name in inspect.signature(function).parameters if name in _OPTIONAL]
    except (TypeError, ValueError):  # built in
        return []


class _Maker:
    """Arrays of numpy, or of torch on a device, from exact numbers."""

    def __init__(self, device: Optional[str]) -> None:
        self.device = device
        self.torch: Any = None if device is None else import_module("torch")

    def of(self, values: np.ndarray, name: str) -> Any:
        if name == "e2m1":  # two per byte, the first in the low half
            codes = np.where(values < 0, 8, 0) + np.array([0, 2, 4, 5, 6, 0, 7])[np.abs(values).astype(int)]
            packed = (codes[..., ::2] | codes[..., 1::2] << 4).astype(np.uint8)
            if self.device is None:
                return packed
            return self.torch.from_numpy(packed).to(self.device).view(self.torch.float4_e2m1fn_x2)
        if self.device is None:
            dtype = _arrays.value_dtype(name, True)
            if name not in ("f16", "f32", "tf32", "f64", "s8", "s32") and dtype.kind == "u":
                raise refused("dtype", f"{name}, which numpy lacks", "device=\"cpu\" (torch), or ml_dtypes installed")
            with np.errstate(invalid="ignore"):
                return values.astype(dtype)
        return self.torch.from_numpy(np.ascontiguousarray(values)).to(getattr(self.torch, str(NAMES[name].torch))).to(self.device)

    def padded(self, values: np.ndarray, name: str, fill: float, transposed: bool, guard: int) -> Tuple[Any, Any]:
        """The whole memory, and the matrix inside it; `guard` elements lie round it on every side."""
        stored = values.swapaxes(-1, -2) if transposed else values
        widths = [(0, 0)] * (stored.ndim - 2) + [(1 if guard else 0, 1 if guard else 0), (guard, guard)]
        whole = self.of(np.pad(stored, widths, constant_values=fill), name)
        wide = guard // 2 if name == "e2m1" else guard
        inside = whole[..., 1:-1, wide:-wide] if guard else whole
        return whole, inside.swapaxes(-1, -2) if transposed else inside

    def same(self, x: Any, y: Any) -> bool:
        """Bit for bit, NaN too."""
        raw = np.uint8 if self.device is None else self.torch.uint8
        return bool((x.view(raw) == y.view(raw)).all())

    @staticmethod
    def numbers(array: Any) -> np.ndarray:
        if not hasattr(array, "dtype"):
            raise refused("result", f"a {type(array).__name__}", "an array of numpy or a tensor of torch")
        if _arrays.is_tensor(array):
            array = array.detach().double().cpu().numpy()
        return np.asarray(array, np.float64)


def _scales(given: Union[str, int]) -> _Scales:
    if isinstance(given, int) and given > 0:
        return _Scales(1, 1, given)
    if given not in _SCALES:
        raise refused("scales", repr(given), listed([*_SCALES, "elements of K per factor"]))
    return _SCALES[str(given)]


def asked(function: Callable[..., Any], repeat: Any, count: Any, seed: Any) -> Tuple[int, int, int]:
    """The arguments that both checks have."""
    if not callable(function):
        raise refused("function", repr(function), "a callable")
    return (whole("repeat", repeat, 0, (1 << 20) - 1, "0 (as usual) to 1048575"), whole("count", count, 0, 1 << 30, "0 to 2**30"),
            whole("seed", seed, 0, 2**63 - 1, "0 to 2**63 - 1"))


def check_gemm(
    function: Callable[..., Any], *, dtype: str = "bf16", d: Optional[str] = None,
    shapes: Optional[Iterable[Sequence[int]]] = None, count: int = 40, batches: bool = False, repeat: int = 2,
    budget: Union[None, str, float] = None, seed: int = 1, device: Optional[str] = None, layout: str = "nn",
    padded: bool = True, takes: Optional[Sequence[str]] = None, scales: Union[str, int] = "tensor",
) -> ProductCheck:
    """Whether a callable computes D = relu(alpha * scale_a * scale_b * A B + beta * C + bias), and what it does instead.

    No element of these products rounds, in any order and any format of partial sums, so one wrong number is a fault.

    Args:
        function: takes a (m, k), b (k, n), or of a batch (batch, m, k), (batch, k, n), and by name those of c, bias,
            scale_a, scale_b, alpha, beta, relu, out that its signature has; returns D (m, n), or fills `out`.
        dtype, d: formats of A and B, and of D, C and bias.
        shapes: (m, n, k) or (batch, m, n, k) of each product; None: `count` usual ones, of `batches` or not.
        repeat: runs of each product; a fault that shows in one of r runs is missed with (1 - 1/r)^repeat.
        budget: seconds, "60s", "10m": no product is begun later.
        device: None: arrays of numpy; "cpu", "cuda", ...: tensors of torch there.
        layout: "nn", "nt", "tn", "tt": A, B as they are, or transposed views.
        padded: A, B and `out` are views of larger memory: NaN lies round A and B, and what lies round `out` must stay.
        takes: names that `function` takes, where its signature does not say them.
        scales: "tensor": one factor each; "row": scale_a (m, 1), scale_b (1, n); "1x128", or another number of elements of
            K per factor: (m, blocks), (blocks, n); "128x128": of B (blocks, n / 128, rounded up). Powers of two in f32;
            "mx": 32 per factor, in ue8m0; "nvfp4": 16 per factor, in e4m3, and alpha is the factor of the tensor.
            Of dtype e2m1 bytes hold two elements, the first in the low half: A (m, k / 2), B (k / 2, n), layout "nt".
    Returns: what was found; False where a product is wrong or none was run.
    Raises: what `function` raises; ValueError, in one line "field: found X, allowed: Y".
    """
    if layout not in ("nn", "nt", "tn", "tt"):
        raise refused("layout", repr(layout), "nn, nt, tn, tt")
    if unknown := [name for name in takes or () if name not in _OPTIONAL]:
        raise refused("takes", listed(unknown), listed(_OPTIONAL))
    repeat, count, seed = asked(function, repeat, count, seed)
    names = list(takes) if takes is not None else _parameters(function)
    if scales != "tensor" and not {"scale_a", "scale_b"}.intersection(names):
        raise refused("scales", repr(scales), "a callable that takes scale_a or scale_b; else tensor")
    output = d or _OUTPUTS.get(dtype, dtype)
    if shapes is not None and not isinstance(shapes, Iterable):
        raise refused("shapes", repr(shapes), "a list of (m, n, k) or (batch, m, n, k)")
    given = usual_shapes(seed, count, batches) if shapes is None else [
        tuple(whole("shapes", size, 0, 2**31 - 1, "0 to 2**31 - 1") for size in np.atleast_1d(one).tolist()) for one in shapes]
    for what, name in (("dtype", dtype), ("d", output)):
        if name not in NAMES:  # a torch.dtype too
            raise refused(what, name, listed(NAMES))
    start, limit, result = time.monotonic(), _seconds(budget), ProductCheck()
    trials: List[int] = []
    for index, shape in enumerate(given):
        if time.monotonic() - start > limit:
            break
        if len(shape) not in (3, 4):
            raise refused("shapes", list(shape), "a list of (m, n, k) or (batch, m, n, k)")
        try:
            one = _check_one(function, shape, names, dtype, output, repeat, seed + index, _Maker(device), layout, padded, scales)
        except Refused as error:
            result.refused[str(error)] = result.refused.get(str(error), 0) + 1
            continue
        result.products += 1
        result.runs += one["runs"]
        if one["faults"]:
            result.wrong.append(WrongProduct(shape, tuple(one["faults"]), one))
        trials += [*((1,) if len(shape) == 3 else ()), *shape, 0, int(bool(one["faults"]))]
    result.condition = _library.text_from(lib.mmaudit_exact_condition, (ctypes.c_uint64 * len(trials))(*trials), len(trials) // 6)
    result.seconds = time.monotonic() - start
    return result


def _check_one(
    function: Callable[..., Any], shape: Shape, names: List[str], dtype: str, output: str, repeat: int, seed: int,
    make: _Maker, layout: str, padded: bool, scales: Union[str, int],
) -> Dict[str, Any]:
    m, n, k = shape[-3:]
    lead = shape[:-3]
    scaled = [name for name in ("scale_a", "scale_b") if name in names]
    relu = "relu" in names
    work = _library.Exact()
    work.type, work.d_format = dtype.encode(), output.encode()
    work.batch, work.m, work.n, work.k = (lead or (1,))[0], m, n, k
    work.alpha = (1 if "alpha" not in names else 0.125 if len(scaled) == 2 else 2) * (1 if relu or "alpha" not in names else -1)
    work.beta = 0 if "c" not in names else 2 if "beta" in names else 1
    work.bias, work.relu, work.repeat, work.seed = "bias" in names, relu, repeat, seed
    how = _scales(scales)
    for name, lanes in (("scale_a", how.a), ("scale_b", how.b)):
        if name in scaled:
            setattr(work, name, _library.ExactScale(1, lanes, how.block))
    blocks = -(-k // how.block) if how.block else 1
    raised: List[BaseException] = []
    dtypes: List[Any] = []
    written: List[bool] = []
    changed: Dict[str, None] = {}
    guard = _GUARD if padded else 0
    nan = dtype not in ("s8", "e2m1")  #: whether A and B have one
    if dtype == "e2m1" and (k % 2 or layout != "nt"):
        raise refused("layout", f"{layout} with K {k}", "nt and an even K, of e2m1")

    def ask(given: Dict[str, np.ndarray], padding: int) -> Tuple[np.ndarray, bool]:
        """D, and whether memory outside of it is written."""
        pad = float("nan") if nan else 6.0 if dtype == "e2m1" else 99.0
        whole_a, a = make.padded(given["a"], dtype, pad if padding & 1 else 0.0, layout[0] == "t", guard)
        whole_b, b = make.padded(given["b"], dtype, pad if padding & 2 else 0.0, layout[1] == "t", guard)
        before = [(name, one, one.clone() if hasattr(one, "clone") else one.copy()) for name, one in (("A", whole_a), ("B", whole_b))]
        more: Dict[str, Any] = {"alpha": work.alpha, "beta": work.beta, "relu": True}
        for name, kind in (("c", output), ("bias", output), ("scale_a", how.format), ("scale_b", how.format)):
            if name in names:
                more[name] = make.of(given[name], kind)
        whole = None
        if "out" in names:
            whole, more["out"] = make.padded(np.full((*lead, m, n), _UNTOUCHED, np.float32), output, _UNTOUCHED, False, guard)
        found = function(a, b, **{name: value for name, value in more.items() if name in names})
        changed.update((f"{name} is written", None) for name, one, old in before if not make.same(one, old))
        dtypes.append(None if "out" in names else getattr(found, "dtype", None))
        found = make.numbers(more["out"] if "out" in names else found)
        if found.shape != (*lead, m, n):
            raise refused("D shape", list(found.shape), [*lead, m, n])
        untouched = make.numbers(make.of(np.full(1, _UNTOUCHED, np.float32), output))[0]
        written.append(whole is None or bool((found != untouched).any()))
        if whole is None or not guard:
            return found, False
        around = make.numbers(whole).copy()
        around[..., 1:-1, guard:-guard] = untouched
        return found, not (around == untouched).all()

    sizes = {"a": (*lead, m, k), "b": (*lead, k, n), "c": (*lead, m, n), "bias": (n,),
             "scale_a": (-(-m // how.a) if how.a else 1, blocks), "scale_b": (blocks, -(-n // how.b) if how.b else 1)}

    def run(_user: Any, operands: Any, d: Any) -> int:
        at = operands.contents
        try:
            given = {name: np.array(np.ctypeslib.as_array(getattr(at, name), extents))
                     for name, extents in sizes.items() if name in ("a", "b", *names)}
            found, outside = ask(given, at.padding)
            np.ctypeslib.as_array(d, found.shape)[...] = found
            return int(outside)
        except BaseException as error:  # pylint: disable=broad-except  # it must not go through C
            raised.append(error)
            return -1

    try:
        text = _library.text_from(lib.mmaudit_check_exact, byref(work), _library.ExactRun(run), None)
    except ValueError:
        if raised:
            raise raised[0] from None
        raise
    result: Dict[str, Any] = json.loads(text)
    faults = result["faults"]
    if faults and not any(written):
        faults[:] = ["nothing is written to `out`"]
    elif "out" in names and faults and faults[0].endswith(f", each by {_UNTOUCHED:g}"):
        faults[0] += ", which is what `out` held before"
    wanted = make.of(np.zeros(2, np.float32), output).dtype
    faults += changed
    if dtypes[0] is not None and dtypes[0] != wanted:
        faults.append(f"D is {dtypes[0]}, not {wanted}")
    if not faults and nan and not relu and output not in ("s32", "s8"):
        faults += _hidden_nan(ask, sizes, np.random.default_rng(seed))
        result["runs"] += 1
    return result


def _hidden_nan(ask: Callable[..., Tuple[np.ndarray, bool]], sizes: Dict[str, Shape], rng: np.random.Generator) -> List[str]:
    """Whether a NaN in one row of A and in one column of B becomes this row and column of D, and no more."""
    given = {name: np.ones(extents, np.float32) for name, extents in sizes.items()}
    for name in ("a", "b"):
        given[name][tuple(int(rng.integers(size)) for size in sizes[name])] = np.nan
    should = np.isnan(given["a"] @ given["b"])
    found = np.isnan(ask(given, 0)[0])
    lost, more = int((should & ~found).sum()), int((found & ~should).sum())
    faults = [f"a NaN in A or B is hidden: {lost} of {int(should.sum())} elements of D that it is summed in are numbers"] if lost else []
    return faults + ([f"a NaN in A or B reaches {more} elements of D that it is not summed in"] if more else [])
