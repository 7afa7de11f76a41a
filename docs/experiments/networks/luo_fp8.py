"""What luo.py stands on: times on a GPU, FP8 linear layers by torch._scaled_mm, and a check of their scaling."""
import statistics
import time
from typing import Any, Callable, Dict, List, Tuple

import torch
from torch import Tensor, nn

E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2
LEAST = 1e-30  #: amax below it counts as it: a scale of 448 / 0 has no use


# ---- times -----------------------------------------------------------------------------------------------------------

def on_gpu(x: torch.device) -> bool:
    return x.type == "cuda"


def _between(calls: int, call: Callable[[], Any]) -> float:
    """Milliseconds per call of so many calls, by CUDA events."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(calls):
        call()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / calls


def spread(samples: List[float]) -> Dict[str, Any]:
    """Median and quartiles."""
    ordered = sorted(samples)
    low, high = ordered[len(ordered) // 4], ordered[(3 * len(ordered) - 1) // 4]
    return {"ms": statistics.median(ordered), "low": low, "high": max(low, high), "runs": len(ordered)}


def captured(call: Callable[[], Any], calls: int = 1) -> "torch.cuda.CUDAGraph":
    """So many calls as one CUDA graph; the call has run before."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(2):
            call()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(calls):
            call()
    return graph


def clocked(call: Callable[[], Any], place: torch.device) -> Tuple[float, Any]:
    """Seconds, the device waited for, and what the call gave."""
    if on_gpu(place):
        torch.cuda.synchronize()
    begin = time.perf_counter()
    found = call()
    if on_gpu(place):
        torch.cuda.synchronize()
    return time.perf_counter() - begin, found


def timed(call: Callable[[], Any], place: torch.device, seconds: float) -> Dict[str, Any]:
    """Time of a call on the GPU: median and quartiles over replays of a CUDA graph, so without what Python and the
    launches cost; "eager_ms" is the time of a call among calls from Python."""
    if not on_gpu(place):
        samples = [clocked(call, place)[0] * 1e3 for _ in range(3)]
        return {**spread(samples), "eager_ms": min(samples), "graph": False}
    call()
    torch.cuda.synchronize()
    _between(1, call)
    once = _between(2, call)
    eager = _between(max(2, min(50, int(20 / once))), call)
    calls = max(1, min(20, int(1 / once)))
    graph = captured(call, calls)
    graph.replay()
    torch.cuda.synchronize()
    count = max(5, min(40, int(seconds * 1e3 / (eager * calls))))
    samples = [_between(1, graph.replay) / calls for _ in range(count)]
    return {**spread(samples), "eager_ms": eager, "graph": True}


# ---- FP8 -------------------------------------------------------------------------------------------------------------

def largest(x: Tensor) -> Tensor:
    """amax: the largest magnitude, binary32."""
    return torch.linalg.vector_norm(x, float("inf"), dtype=torch.float32)


def pack(x: Tensor, amax: Tensor, dtype: torch.dtype = E4M3) -> Tuple[Tensor, Tensor]:
    """x times scale, rounded to FP8, and 1 / scale; scale = the format's largest number / amax. No clamp is needed:
    amax times scale is off by its roundings, far less than half a step of FP8."""
    top, bounded = torch.finfo(dtype).max, amax.clamp(min=LEAST)
    return (x.float() * (top / bounded)).to(dtype), bounded / top


def rescale(d: Tensor, of_a: Tensor, of_b: Tensor) -> Tensor:
    return (d * (of_a * of_b)).to(torch.bfloat16)


class Kernels:
    """pack and rescale as they run: compiled into one kernel each, or (eager) as torch's operators."""

    def __init__(self, compiled: bool) -> None:
        self.note = "torch's operators"
        self.pack, self.rescale = pack, rescale
        if compiled:
            try:
                self._compile()
                self.note = "torch.compile"
            except Exception as error:  # no compiler of the kind that torch.compile needs
                self.note = f"torch's operators: torch.compile failed ({type(error).__name__})"

    def _compile(self) -> None:
        packed, rescaled = torch.compile(pack, dynamic=True), torch.compile(rescale, dynamic=True)
        x = torch.randn(64, 64, device="cuda", dtype=torch.bfloat16)
        q, inverse = packed(x.reshape(-1), largest(x))
        wanted, _ = pack(x, largest(x))
        if float((q.float() - wanted.float().reshape(-1)).abs().max()) > 32:  # a step of the largest
            raise ValueError("another result")
        rescaled(x.float().reshape(-1), inverse, inverse)
        self.pack = lambda x, amax, dtype=E4M3: self._whole(packed, x, amax, dtype)
        self.rescale = lambda d, of_a, of_b: rescaled(d.reshape(-1), of_a, of_b).reshape(d.shape)

    @staticmethod
    def _whole(packed: Any, x: Tensor, amax: Tensor, dtype: torch.dtype) -> Tuple[Tensor, Tensor]:
        q, inverse = packed(x.reshape(-1), amax, dtype)
        return q.reshape(x.shape), inverse

    def quantised(self, x: Tensor) -> Tuple[Tensor, Tensor]:
        return self.pack(x, largest(x))


def product(a: Tensor, b: Tensor, of_a: Tensor, of_b: Tensor, out: torch.dtype) -> Tensor:
    """A * B^T of E4M3, sums in the tensor core (fast accumulation), times both inverse scales."""
    return torch._scaled_mm(a, b.t(), scale_a=of_a, scale_b=of_b, out_dtype=out, use_fast_accum=True)


class Fp8Linear(nn.Module):
    """A linear layer in E4M3, a scale per tensor: of x from this x; weights cast once, or at every call."""

    def __init__(self, weight: Tensor, kernels: Kernels, every_call: bool = False) -> None:
        super().__init__()
        self.kernels, self.out = kernels, weight.dtype
        self.weight = weight if every_call else None
        self.packed = None if every_call else kernels.quantised(weight)

    def forward(self, x: Tensor) -> Tensor:
        q, of_x = self.kernels.quantised(x.reshape(-1, x.shape[-1]))
        w, of_w = self.kernels.quantised(self.weight) if self.packed is None else self.packed
        return product(q, w, of_x, of_w, self.out).reshape(*x.shape[:-1], -1)


# ---- the scaling, against its formula ---------------------------------------------------------------------------

def magnitudes(dtype: torch.dtype) -> Tensor:
    """Finite numbers from 0 of an FP8 format by their codes, from its definition."""
    bits, bias, count = (3, 7, 127) if dtype == E4M3 else (2, 15, 124)
    code = torch.arange(count, dtype=torch.float64)
    exponent, fraction = (code / 2**bits).floor(), code % 2**bits
    normal = (1 + fraction / 2**bits) * 2 ** (exponent - bias)
    return torch.where(exponent > 0, normal, fraction / 2**bits * 2.0 ** (1 - bias))


def nearest(y: Tensor, dtype: torch.dtype) -> Tensor:
    """Codes of |y| by a search of the table, ties to the even code."""
    table, size = magnitudes(dtype), y.double().abs()
    high = torch.searchsorted(table, size).clamp(1, len(table) - 1)
    below, above = size - table[high - 1], table[high] - size
    take_low = (below < above) | ((below == above) & (high % 2 == 1))
    return torch.where(take_low, high - 1, high)


def data(count: int) -> Dict[str, Tensor]:
    draw = torch.Generator().manual_seed(32)
    normal = torch.randn(count, generator=draw)
    uniform = torch.rand(count, generator=draw)
    chi = torch.randn(2, count, generator=draw).square().sum(0)
    return {"N(0, 1)": normal, "N(0, 1) 1e-5": normal * 1e-5, "N(0, 1) 1e4": normal * 1e4,
            "t, 2 degrees": normal / (chi / 2).sqrt(), "2^U(-20, 20)": 2 ** (uniform * 40 - 20), "zeros": normal * 0}


def recipe(place: torch.device, count: int) -> List[Dict[str, Any]]:
    """Casts every data set to both formats on the device and checks, on the host in binary64: bits, the largest, errors
    within the bound of the format, nothing lost where there is no scale of FP8 too large or too small."""
    rows = []
    for name, x in data(count).items():
        for dtype, bits, label in ((E4M3, 3, "E4M3"), (E5M2, 2, "E5M2")):
            there = x.to(place)
            q, inverse = (one.cpu() for one in pack(there, largest(there), dtype))
            top, amax = torch.finfo(dtype).max, float(x.abs().max())
            scaled = x * (torch.tensor(top) / torch.tensor(amax).clamp(min=LEAST))
            back = q.double() * inverse.double()
            error, least = (back - x.double()).abs(), float(magnitudes(dtype)[1]) / 2
            bound = torch.maximum(x.double().abs() * 2.0 ** -(bits + 1), least * inverse.double()) * (1 + 2.0**-20)
            unscaled = x.to(place).to(dtype).float().cpu()
            lost = (x != 0) & ((unscaled == 0) | ~unscaled.isfinite() | (x.abs() > top))
            rows.append({
                "data": name, "format": label, "amax": amax, "inverse_scale": float(inverse),
                "largest_element": float(q.float().abs().max()), "largest_of_format": top,
                "wrong_codes": int(((q.view(torch.uint8) & 127) != nearest(scaled, dtype)).sum()),
                "error_over_bound": float((error / bound).max()),
                "relative_rms": float(error.norm() / x.double().norm()) if amax else 0.0,
                "lost_without_scale": float(lost.double().mean())})
    return rows
