"""torch's own products and attentions, asked for what is known exactly: one row per operator."""
import functools
import time
import warnings
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Union

import torch

from .._exact import ProductCheck, Refused, _seconds, check_gemm, refusal
from .._exact_attention import AttentionCheck, check_attention
from .._refuse import listed, refused

_SIXTEENS = [(64, 64, 512), (32, 48, 16), (128, 96, 1040), (16, 16, 4096), (256, 128, 272), (48, 16, 65536)]


class Operator(NamedTuple):
    """An operator of torch as check_gemm() or check_attention() asks for it."""

    name: str
    function: Callable[..., Any]
    dtypes: Sequence[str]
    options: Dict[str, Any] = {}
    attention: bool = False


def _refusing(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same, where what torch refuses is Refused."""
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except RuntimeError as error:
            raise Refused(refusal(error)) from error

    return call


def _scaled(fast: bool, row: bool) -> Callable[..., Any]:
    def call(a: Any, b: Any, scale_a: Any, scale_b: Any) -> Any:
        if not row:
            scale_a, scale_b = scale_a.reshape(()), scale_b.reshape(())
        return torch._scaled_mm(a, b, scale_a, scale_b, out_dtype=torch.bfloat16, use_fast_accum=fast)

    return call


def _attention(backend: str) -> Callable[..., Any]:
    def call(q: Any, k: Any, v: Any, causal: bool) -> Any:
        from torch.nn.attention import SDPBackend, sdpa_kernel
        from torch.nn.attention.bias import causal_lower_right

        mask = causal_lower_right(q.shape[2], k.shape[2]) if causal and q.shape[2] != k.shape[2] else None
        group = q.shape[1] // k.shape[1]
        if group != 1 and backend == "EFFICIENT_ATTENTION":  # it takes as many heads of K as of Q
            k, v, group = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1), 1
        with sdpa_kernel(getattr(SDPBackend, backend)), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # why a backend is refused; it raises, too
            return torch.nn.functional.scaled_dot_product_attention(
                q, k, v, mask, is_causal=causal and mask is None, enable_gqa=group != 1)

    return call


_FLOATS = ("bf16", "f16", "f32")
_TWO = ("bf16", "f16")
OPERATORS = (
    Operator("mm", torch.mm, _FLOATS),
    Operator("mm transposed", torch.mm, _FLOATS, {"layout": "nt"}),
    Operator("addmm", lambda a, b, c, alpha, beta: torch.addmm(c, a, b, alpha=alpha, beta=beta), _FLOATS),
    Operator("linear", lambda a, b, bias: torch.nn.functional.linear(a, b.t(), bias), _FLOATS, {"layout": "nt"}),
    Operator("bmm", torch.bmm, _FLOATS, {"batches": True}),
    Operator("baddbmm", lambda a, b, c, alpha, beta: torch.baddbmm(c, a, b, alpha=alpha, beta=beta), _FLOATS, {"batches": True}),
    Operator("_int_mm", torch._int_mm, ("s8",), {"shapes": [(32, 32, 64), (64, 48, 1024), (128, 8, 4096), (24, 16, 16)], "padded": False}),
    Operator("_grouped_mm", lambda a, b: torch._grouped_mm(a, b), ("bf16",),
             {"shapes": [(2, 64, 64, 128), (3, 32, 48, 512), (4, 128, 16, 4096)], "padded": False}),
    *(Operator(f"_scaled_mm {'row-wise' if row else 'tensor-wise'}{', fast' if fast else ''}", _scaled(fast, row), ("e4m3",),
               {"shapes": _SIXTEENS, "d": "bf16", "layout": "nt", "padded": False, "scales": "row" if row else "tensor"})
      for row in (False, True) for fast in (False, True)),
    Operator("attention, flash", _attention("FLASH_ATTENTION"), _TWO, attention=True),
    Operator("attention, memory-efficient", _attention("EFFICIENT_ATTENTION"), _TWO, attention=True),
    Operator("attention, cuDNN", _attention("CUDNN_ATTENTION"), _TWO, attention=True),
    Operator("attention, math", _attention("MATH"), _FLOATS, attention=True),
)


@dataclass
class OperatorsCheck:
    """What check_operators() found, by operator and dtype. True where all that ran is right, and something ran."""

    found: Dict[str, Union[ProductCheck, AttentionCheck]] = field(default_factory=dict)
    refused: Dict[str, str] = field(default_factory=dict)  #: operators that torch refuses here, and why
    failed: Dict[str, str] = field(default_factory=dict)  #: operators that raised because the device failed, and how
    torch: str = torch.__version__
    device: str = ""
    seconds: float = 0.0

    def __bool__(self) -> bool:
        return bool(self.found) and all(self.found.values()) and not self.failed

    def __str__(self) -> str:
        lines = [f"torch {self.torch} on {self.device}"]
        for name, one in self.found.items():
            lines.append(f"  {name}: " + str(one).replace("\n", "\n  "))
        lines += [f"  {name}: refused: {why}" for name, why in self.refused.items()]
        lines += [f"  {name}: failed: {why}" for name, why in self.failed.items()]
        wrong = [name for name, one in self.found.items() if not one] + list(self.failed)
        lines.append(f"wrong: {', '.join(wrong)}" if wrong else f"{len(self.found)} operators are right" if self.found else "nothing ran")
        return "\n".join(lines)


def check_operators(
    device: str = "cuda", *, names: Optional[Sequence[str]] = None, count: int = 40, repeat: int = 2,
    budget: Union[None, str, float] = None, seed: int = 1,
) -> OperatorsCheck:
    """Asks torch's own products and attentions for what is known exactly: check_gemm() and check_attention().

    Args:
        device: "cuda", "cuda:1", "cpu".
        names: of OPERATORS; None: all of them.
        count, repeat, seed: of each operator and dtype, as check_gemm() has them.
        budget: of all: "60s", "10m"; each operator and dtype has the same share.
    Returns: what was found; False where one is wrong, the device failed or nothing ran.
    Raises: ValueError for a name that there is not.
    """
    known = [one.name for one in OPERATORS]
    if names is not None and not names:
        raise refused("names", "none", listed(known))
    if unknown := [name for name in names or () if name not in known]:
        raise refused("names", listed(unknown), listed(known))
    start = time.monotonic()
    place = torch.device(device)
    result = OperatorsCheck(device=torch.cuda.get_device_name(place) if place.type == "cuda" else str(place))
    chosen: List[Operator] = [one for one in OPERATORS if names is None or one.name in names]
    share = _seconds(budget) / sum(len(one.dtypes) for one in chosen)
    for one in chosen:
        for dtype in one.dtypes:
            name = f"{one.name} {dtype}"
            check: Callable[..., Any] = check_attention if one.attention else check_gemm
            function = one.function if one.attention else _refusing(one.function)  # the other one counts refusals itself
            try:
                found = check(function, dtype=dtype, device=device, repeat=repeat, seed=seed, **{"count": count, **one.options},
                              budget=None if budget is None else share)
            except RuntimeError as error:
                result.failed[name] = str(error).split("\n", 1)[0][:160]
                continue
            if found.refused and not found.runs:
                result.refused[name] = next(iter(found.refused))
            else:
                result.found[name] = found
    result.seconds = time.monotonic() - start
    return result
