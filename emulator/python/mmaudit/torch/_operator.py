"""Two operators of torch: products with the bits of an instruction, and what their operands become under a scaling."""
import math
from ctypes import byref
from functools import cache
from typing import Callable, Dict, List, NamedTuple, Optional, Tuple

import numpy as np
import torch
from torch import Tensor

from .. import _arrays, _library
from .._library import Instruction, lib
from .._refuse import listed, refused
from . import _checked, _cuda, _hardware
from ._checked import whole
from ._tensors import NUMBERS, dtype_of, formats_of, require_dtype, require_place, taken, written

MOST_THREADS = 4096  #: as mmaudit.matmul() has it


class Path(NamedTuple):
    """The instruction of a dtype, scaling and accumulation on an architecture, and what scales it takes."""

    inst: str
    scaling: str
    a: str
    b: str
    d: str
    scale: Optional[str]
    output: str
    scale_block: int
    factor_block: int
    factor_per_lane: bool
    factor_per_tensor: bool
    promote: int
    split_k: int
    factor_order: str
    activations: str  #: the scaling of a B that is no weight


@cache
def find_path(arch: str, dtype: str, scaling: Optional[str], policy: str) -> Path:
    """ValueError, in one line, where the architecture has no instruction for it. Source: mmaudit audit's own search."""
    work = _library.GemmPath()
    work.arch, work.dtype = _library.encoded(arch), _library.encoded(dtype)
    work.scaling, work.policy = _library.encoded(scaling), _library.encoded(policy)
    _library.check(lib.mmaudit_find_path(byref(work)))
    scale = work.scale.decode() if work.scale else None
    taken_scaling = work.taken_scaling.decode()
    activations = work.activations.decode() if work.activations else taken_scaling
    return Path(work.inst.decode(), taken_scaling, work.a.decode(), work.b.decode(), work.d.decode(), scale,
                work.output.decode(), work.scale_block, work.factor_block, bool(work.factor_per_lane),
                bool(work.factor_per_tensor), work.promote, work.split_k, work.factor_order.decode(), activations)


def _shape(a: Tensor, b: Tensor, spec: Instruction) -> List[int]:
    require_dtype("a", a, spec.a)
    require_dtype("b", b, spec.b)
    for field, x in (("a", a), ("b", b)):
        if x.dim() < 2:
            raise refused(f"{field} shape", list(x.shape), "two dimensions or more")
    if b.dim() > 2 and a.shape[:-2] != b.shape[:-2]:
        raise refused("b shape", list(b.shape), f"{[*a.shape[:-2], a.shape[-1]]} and n, or k and n")
    k = a.shape[-1] * (2 if spec.sparse else 1)
    if b.shape[-2] != k:
        hint = "; with its last two axes exchanged it fits" if b.shape[-1] == k else ""
        raise refused("b shape", list(b.shape), f"{k} rows, as A has columns{hint}")
    return [*a.shape[:-1], b.shape[-1]]


def _require_sides(spec: Instruction, blocked: bool, factor_block: int, a: Tensor, b: Tensor,
                   x: Dict[str, Optional[Tensor]]) -> None:
    """Scales, factors and metadata by their shapes: as many elements of another shape are others."""
    batch = 1 if b.dim() == 2 else math.prod(a.shape[:-2])
    m, (k, n) = math.prod(a.shape[:-1]) if b.dim() == 2 else a.shape[-2], b.shape[-2:]
    lead, blocks, shapes = tuple(a.shape[:-1]), spec.blocks(k), _arrays.side_shapes
    if blocked:
        allowed = {"scale_a": (_arrays.blocked_shapes(batch, m, blocks), "blocked"),
                   "scale_b": (_arrays.blocked_shapes(batch, n, blocks), "blocked")}
    else:
        allowed = {"scale_a": (shapes(batch, m, blocks, (*lead, blocks)), "batch, m, k / block"),
                   "scale_b": (shapes(batch, blocks, n, (*b.shape[:-2], blocks, n)), "batch, k / block, n")}
    allowed["metadata"] = (shapes(batch, m, a.shape[-1], tuple(a.shape)), "batch, m, k / 2")
    parts = -(-k // factor_block) if factor_block else 1
    for field, lanes, own in (("factor_a", m, lead), ("factor_b", n, (*b.shape[:-2], n))):
        found = shapes(batch, lanes, parts, (*own, parts))
        if not factor_block:
            found += [(batch, lanes), own, *([(lanes,)] if batch == 1 else []), (), (1,), (1, 1), (1, 1, 1)]
        allowed[field] = found, f"batch, {'m' if field == 'factor_a' else 'n'}, blocks"
    for field, (some, axes) in allowed.items():
        one = x[field]
        if one is not None and (spec.scale_block or not field.startswith("scale")):  # the library refuses scales of the rest
            _arrays.require_shape(field, one, some[0], axes, *some[1:])
    if x["metadata"] is not None and x["metadata"].dtype != torch.uint8:
        raise refused("metadata dtype", x["metadata"].dtype, "torch.uint8")


def _result(spec: Instruction, d_format: Optional[str], scale_layout: str, factor_block: int, a: Tensor, b: Tensor,
            **others: Optional[Tensor]) -> Tensor:
    """D without its numbers; ValueError for places of the tensors that nothing computes in."""
    place = require_place(a=a, b=b, **others)
    if place.type == "cuda" and spec.sparse:
        raise refused("inst", f"the sparse {spec.name} on {place}", "a dense one, or tensors on the CPU")
    if place.type == "cuda" and scale_layout == "blocked":
        raise refused("scale_layout", f"blocked on {place}", "rows, or tensors on the CPU")
    shape = _shape(a, b, spec)
    _require_sides(spec, scale_layout == "blocked", factor_block, a, b, others)
    return torch.empty(shape, dtype=dtype_of(spec.d if d_format is None else d_format), device=place)


def _alone(*tensors: Optional[Tensor]) -> bool:
    """Whether nothing of torch's has a say in an operator on these: no mode, subclass, gradient, transform, compiler or
    sign that is still to be changed. Then its function is called as it is, which takes less time than the operator."""
    if torch.compiler.is_compiling():
        return False
    grad = torch.is_grad_enabled()
    return (torch._C._len_torch_dispatch_stack() == 0
            and torch._C._functorch.peek_interpreter_stack() is None
            and all(x is None or (type(x) is Tensor and x.device.type != "meta" and not (grad and x.requires_grad)
                                  and not x.is_neg() and not x._is_zerotensor()) for x in tensors))


def _matmul_now(
    a: Tensor, b: Tensor, c: Optional[Tensor], scale_a: Optional[Tensor], scale_b: Optional[Tensor],
    factor_a: Optional[Tensor], factor_b: Optional[Tensor], metadata: Optional[Tensor], inst: str, arch: str,
    promote: int, split_k: int, epilogue: bool, alpha: float, beta: float, d_format: Optional[str], scale_layout: str,
    factor_block: int, threads: int, factor_order: str = "product", hardware: bool = False,
) -> Tensor:
    spec = formats_of(arch, inst)
    d = _result(spec, d_format, scale_layout, factor_block, a, b, c=c, scale_a=scale_a, scale_b=scale_b, factor_a=factor_a,
                factor_b=factor_b, metadata=metadata)
    batch = 1 if b.dim() == 2 else math.prod(a.shape[:-2])
    n, k = b.shape[-1], b.shape[-2]
    m = math.prod(a.shape[:-1]) if b.dim() == 2 else a.shape[-2]
    work = _library.Product()
    work.arch, work.inst = _library.encoded(arch), _library.encoded(inst)
    work.batch, work.m, work.n, work.k = batch, m, n, k
    if c is not None:
        _arrays.require_shape("c", c, tuple(d.shape), "as D")
        require_dtype("c", c, d_format if d_format is not None else spec.d)
    for field, scale in (("scale_a", scale_a), ("scale_b", scale_b)):
        if scale is None:
            continue
        if spec.scale is None:
            raise refused(field, f"with {spec.name}", "with block-scaled instructions only (kind_mx...)")
        require_dtype(field, scale, spec.scale)
    for field, factor in (("factor_a", factor_a), ("factor_b", factor_b)):
        if factor is not None and factor.dtype != torch.float32:
            raise refused(f"{field} dtype", factor.dtype, "torch.float32")
    if hardware and a.is_contiguous() and a.data_ptr() % 16:  # a view, of which the copy engine can't read
        a = a.clone()
    kept = [None if x is None else x.contiguous() for x in (a, b, c, scale_a, scale_b, factor_a, factor_b, metadata)]
    work.a, work.b, work.c, work.scale_a, work.scale_b, work.factor_a, work.factor_b, work.metadata = map(taken, kept)
    work.d = written(d)
    work.promote, work.split_k, work.threads = promote, split_k, threads
    work.epilogue, work.alpha, work.beta = int(epilogue), alpha, beta
    work.d_format = _library.encoded(d_format) if epilogue else None
    work.scale_layout, work.factor_block = _library.encoded(scale_layout), factor_block
    work.factor_order = _library.encoded(factor_order)
    if d.is_cuda:
        _cuda.matmul(work, d.device, hardware)
    else:
        _library.check(lib.mmaudit_matmul(byref(work)))
    return d


_matmul = torch.library.custom_op("mmaudit::matmul", _matmul_now, mutates_args=())


@_matmul.register_fake
def _(
    a: Tensor, b: Tensor, c: Optional[Tensor], scale_a: Optional[Tensor], scale_b: Optional[Tensor],
    factor_a: Optional[Tensor], factor_b: Optional[Tensor], metadata: Optional[Tensor], inst: str, arch: str,
    promote: int, split_k: int, epilogue: bool, alpha: float, beta: float, d_format: Optional[str], scale_layout: str,
    factor_block: int, threads: int, factor_order: str = "product", hardware: bool = False,
) -> Tensor:
    return _result(formats_of(arch, inst), d_format, scale_layout, factor_block, a, b, c=c, scale_a=scale_a, scale_b=scale_b,
                   factor_a=factor_a, factor_b=factor_b, metadata=metadata)


def matmul(
    a: Tensor, b: Tensor, c: Optional[Tensor] = None, *, inst: str, arch: str = "hopper", promote: Optional[int] = None,
    split_k: int = 1, alpha: Optional[float] = None, beta: Optional[float] = None, d_format: Optional[str] = None,
    scale_a: Optional[Tensor] = None, scale_b: Optional[Tensor] = None, scale_layout: str = "rows",
    factor_a: "Tensor | float | None" = None, factor_b: "Tensor | float | None" = None, factor_block: int = 0,
    metadata: Optional[Tensor] = None, threads: int = 0, factor_order: str = "product",
) -> Tensor:
    """D = A * B + C of any sizes with the bits of mmaudit.matmul(), on the CPU or on the GPU that the tensors are on.

    Args:
        a: (..., M, K); b: (K, N), or (..., K, N) with the leading dimensions of A; c: (..., M, N) in D's dtype, or None
            for +0. dtypes: of the instruction's formats (bfloat16, float8_e4m3fn, float8_e5m2, float16, float32
            for f32 and tf32, int8), or uint8 with one element per byte for e2m1, e2m3, e3m2, u8 and raw bits; of
            float4_e2m1fn_x2 two per byte, along the axis of stride 1. Nothing
            is converted: quantize() does that. Contiguous tensors are not copied.
        inst, arch, promote, split_k, alpha, beta, d_format, scale_a, scale_b, scale_layout, metadata: as in
            mmaudit.matmul(); scales as float8_e8m0fnu, or uint8.
        factor_a, factor_b: binary32 factors of software. A number, or a tensor of one, (batch, M) or (batch, N): D =
            fl32(factor_a factor_b) * sum. With factor_block, (batch, M or N, blocks of k): every `promote` of k total =
            fma(fl32(factor_a factor_b), sum, total) in binary32.
        factor_order: of tensors without factor_block, "product" as above, "a-first": D = fl32(sum factor_a) factor_b,
            or "b-first".
        threads: on the CPU, up to 4096; 0: one per core. No influence on the result.
    Returns: D, (..., M, N), on the device of A and, on a GPU, on its current stream.
    Raises: ValueError, in one line "field: found X, allowed: Y"; RuntimeError where CUDA or memory fails.
    """
    for field, x in (("a", a), ("b", b), ("c", c), ("scale_a", scale_a), ("scale_b", scale_b), ("metadata", metadata)):
        if x is not None or field in ("a", "b"):
            _checked.tensor(field, x)
    a, b = (_arrays.unpacked(field, x) if x.dim() > 1 else x for field, x in (("a", a), ("b", b)))
    for field, text in (("inst", inst), ("arch", arch), ("d_format", d_format or ""), ("scale_layout", scale_layout),
                        ("factor_order", factor_order)):
        _checked.of_kind(field, text, str, "a str")
    alpha, beta = (None if x is None else _checked.number(field, x) for field, x in (("alpha", alpha), ("beta", beta)))
    for field, factor in (("factor_a", factor_a), ("factor_b", factor_b)):
        if isinstance(factor, Tensor):
            _checked.tensor(field, factor)
        elif factor is not None:
            _checked.number(field, factor)
    if not isinstance(factor_a, Tensor) and not isinstance(factor_b, Tensor):
        if factor_a is not None or factor_b is not None:
            factors = np.float32(1 if factor_a is None else factor_a) * np.float32(1 if factor_b is None else factor_b)
            alpha = float(np.float32(1 if alpha is None else alpha) * factors)
        factor_a = factor_b = None
    of_a = _factor(factor_a, a)
    of_b = _factor(factor_b, a)
    epilogue = any(x is not None for x in (alpha, beta, d_format, of_a, of_b))
    counts = (("promote", promote or 0, 0), ("split_k", split_k, 1), ("factor_block", factor_block, 0))
    for field, value, least in counts:
        whole(field, value, least, 2**63 - 1)
    threads = whole("threads", threads, 0, MOST_THREADS)
    how = {"inst": inst, "arch": arch, "promote": promote or 0, "split_k": split_k, "epilogue": epilogue,
           "alpha": 1.0 if alpha is None else alpha, "beta": 0.0 if beta is None else beta,
           "d_format": (d_format or "f32") if epilogue else None, "factor_block": factor_block, "factor_order": factor_order}
    by = _hardware.current()
    hardware = by is not None and by.takes(a, b, how, dense=scale_a is None and scale_b is None and metadata is None)
    given = (a, b, c, scale_a, scale_b, of_a, of_b, metadata)
    call: Callable[..., Tensor] = _matmul_now if _alone(*given) else _matmul
    result = call(*given, scale_layout=scale_layout, threads=threads, hardware=hardware, **how)
    if by is not None and hardware:
        by.sample(a, b, c, of_a, of_b, result, how)
    return result


def _factor(factor: "Tensor | float | None", like: Tensor) -> Optional[Tensor]:
    if factor is None or isinstance(factor, Tensor):
        return factor
    return torch.tensor([factor], dtype=torch.float32, device=like.device)


def largest_finite(x: Tensor) -> Tensor:
    """|x|, 0 where it is not finite."""
    return torch.nan_to_num(x.abs(), nan=0.0, posinf=0.0, neginf=0.0)


def _outputs(x: Tensor, path: Path, of_b: bool) -> Tuple[Tensor, Tensor, Tensor]:
    batch, rows, columns = x.shape
    k, lanes = (rows, columns) if of_b else (columns, rows)
    elements = x.new_empty((batch, rows, columns), dtype=dtype_of(path.b if of_b else path.a))
    blocks = -(-k // path.scale_block) if path.scale_block else 0
    scale_dtype = dtype_of(path.scale) if path.scale else torch.uint8
    scales = x.new_empty((batch, blocks, lanes) if of_b else (batch, lanes, blocks), dtype=scale_dtype)
    factors = 1 if path.factor_per_tensor else 0
    of_lanes = (batch, lanes, -(-k // path.factor_block) if path.factor_block else 1)
    shape = of_lanes if path.factor_per_lane else (factors,)
    return elements, scales, x.new_empty(shape, dtype=torch.float32)


def _quantize_now(
    x: Tensor, of_b: bool, arch: str, dtype: str, scaling: Optional[str], policy: str, tensor_largest: Optional[Tensor],
    threads: int,
) -> Tuple[Tensor, Tensor, Tensor]:
    path = find_path(arch, dtype, scaling, policy)
    place = require_place(x=x, tensor_largest=tensor_largest)
    elements, scales, factors = _outputs(x, path, of_b)
    lanes_first = x.transpose(1, 2) if of_b else x
    work = _library.Quantization()
    work.dtype, work.scaling = _library.encoded(dtype), _library.encoded(path.scaling)
    work.of_b, work.threads = int(of_b), threads
    work.batch, work.lanes, work.k = lanes_first.shape
    work.from_ = NUMBERS[x.dtype].encode()
    work.batch_stride, work.lane_stride, work.k_stride = lanes_first.stride()
    span = 1 + sum((count - 1) * stride for count, stride in zip(x.shape, x.stride())) if x.numel() else 0
    work.x = _library.In(x.data_ptr(), span * x.element_size())
    if tensor_largest is not None:
        tensor_largest = tensor_largest.to(torch.float32)
    work.tensor_largest, work.find_largest = taken(tensor_largest), 1
    work.elements, work.scales, work.factors = written(elements), written(scales), written(factors)
    if place.type == "cuda":
        _cuda.quantize(work, place)
    else:
        _library.check(lib.mmaudit_quantize(byref(work)))
    return elements, scales, factors


_quantize = torch.library.custom_op("mmaudit::quantize", _quantize_now, mutates_args=())


@_quantize.register_fake
def _(
    x: Tensor, of_b: bool, arch: str, dtype: str, scaling: Optional[str], policy: str, tensor_largest: Optional[Tensor],
    threads: int,
) -> Tuple[Tensor, Tensor, Tensor]:
    return _outputs(x, find_path(arch, dtype, scaling, policy), of_b)


class Quantized(NamedTuple):
    """One operand as matmul() takes it."""

    elements: Tensor
    scales: Optional[Tensor]  #: of the instruction
    factors: Optional[Tensor]  #: of software
    path: Path


def quantize(
    x: Tensor, dtype: str, scaling: Optional[str] = None, *, of_b: bool = False, arch: str = "hopper",
    policy: str = "plain", tensor_largest: Optional[Tensor] = None, threads: int = 0,
) -> Quantized:
    """Elements, scales and factors of one operand, as `mmaudit audit` converts it (docs/audit.md).

    Args:
        x: (rows, columns) or (batch, rows, columns) of float32, float16, bfloat16 or float64; any strides. Rows of A
            and columns of B (of_b) have the scales.
        dtype, scaling, policy: as --dtype, --scale and --policy of mmaudit audit; scaling None: the usual one.
        tensor_largest: a tensor of one number that takes the place of the largest magnitude (delayed scaling); with
            scalings of whole tensors and nvf4.
    Returns: Quantized; elements of x's shape, scales and factors of its rows or columns with a batch axis.
    Range and rounding: mmaudit audit's; the scaling says whether infinities and NaN count. Raises: ValueError.
    """
    _checked.tensor("x", x)
    _checked.of_kind("of_b", of_b, bool, "true, false")
    for field, text in (("dtype", dtype), ("scaling", scaling or ""), ("arch", arch), ("policy", policy)):
        _checked.of_kind(field, text, str, "a str")
    if x.dtype not in NUMBERS:
        raise refused("x dtype", x.dtype, listed(NUMBERS))
    if x.dim() not in (2, 3):
        raise refused("x shape", list(x.shape), "two or three dimensions")
    whole("threads", threads, 0, MOST_THREADS)
    path = find_path(arch, dtype, scaling, policy)
    if tensor_largest is not None:
        _checked.tensor("tensor_largest", tensor_largest)
        if not path.factor_per_tensor:
            raise refused("tensor_largest", f"with scaling {path.scaling}", "with a factor per tensor")
    call: Callable[..., Tuple[Tensor, Tensor, Tensor]] = _quantize_now if _alone(x, tensor_largest) else _quantize
    elements, scales, factors = call(
        x if x.dim() == 3 else x.unsqueeze(0), of_b, arch, dtype, scaling, policy, tensor_largest, threads)
    return Quantized(elements.reshape(x.shape), scales if path.scale else None,
                     factors if factors.numel() else None, path)


#: In the place of quantize().
Quantizer = Callable[..., Quantized]


def product(
    a: Tensor, b: Tensor, out: torch.dtype, *, arch: str, dtype: str, scaling_a: Optional[str],
    scaling_b: Optional[str], policy: str, largest_a: Optional[Tensor] = None, largest_b: Optional[Tensor] = None,
    quantizer: Optional[Quantizer] = None,
) -> Tensor:
    """A * B, both (batch, rows, columns), quantized and multiplied, in dtype `out` by one rounding."""
    quantizer = quantize if quantizer is None else quantizer
    x = quantizer(a, dtype, scaling_a, arch=arch, policy=policy, tensor_largest=largest_a)
    y = quantizer(b, dtype, scaling_b, of_b=True, arch=arch, policy=policy, tensor_largest=largest_b)
    path = y.path
    name = NUMBERS[out] if out != torch.float64 else "f32"
    d_format = None if x.factors is None and y.factors is None and name == path.d else name
    return matmul(
        x.elements, y.elements, inst=path.inst, arch=arch, promote=path.promote, split_k=path.split_k,
        d_format=d_format, scale_a=x.scales, scale_b=y.scales, factor_a=x.factors, factor_b=y.factors,
        factor_block=path.factor_block, factor_order=path.factor_order,
    ).to(out)
