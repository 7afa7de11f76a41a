"""What torch's operators say of themselves, and the switches that they obey."""
from functools import cache
from typing import Any, Dict, List, Tuple

from torch._ops import HigherOrderOperator
from torch.utils._pytree import tree_leaves

import torch
from torch import Tensor

aten = torch.ops.aten
_VIEWS = {aten._unsafe_view.default, aten.lift_fresh.default}  #: whose schemas don't say it
#: Beside torch's pointwise operators: a row of the result needs the same row of the tensors that have rows.
_BY_ROWS = ("mm", "addmm", "linear", "_scaled_mm", "embedding", "_softmax", "_log_softmax", "native_layer_norm", "_fused_rms_norm",
            "rms_norm", "mean", "sum", "amax", "cat", "clone", "_to_copy", "copy_", "pow", "silu")

_OVERWRITE = ("aten.copy_", "aten.fill_.Scalar", "aten.fill_.Tensor", "aten.zero_")


@cache
def is_view(func: Any) -> bool:
    schema = getattr(func, "_schema", None)
    if schema is None:
        return False
    aliases = [one.alias_info for one in schema.returns]
    return func in _VIEWS or bool(aliases) and all(one is not None and not one.is_write for one in aliases)


@cache
def written_by(func: Any) -> Tuple[str, ...]:
    """Names of arguments that an operator changes."""
    schema = getattr(func, "_schema", None)
    return () if schema is None else tuple(one.name for one in schema.arguments if one.alias_info is not None and one.alias_info.is_write)


@cache
def unread(func: Any) -> Tuple[str, ...]:
    """Names of arguments whose numbers an operator does not read: what it only writes."""
    schema = getattr(func, "_schema", None)
    if schema is None:
        return ()
    return tuple(one.name for one in schema.arguments if one.is_out) + (("self",) if name_of(func) in _OVERWRITE else ())


def results(func: Any, out: Any) -> List[Tensor]:
    """What an operator computes: not memory that nobody has written, nor the state of random numbers behind attention."""
    name = name_of(func)
    if any(part in name for part in ("empty", "aten.resize_")):
        return []
    found = [one for one in tree_leaves(out) if isinstance(one, Tensor)]
    return found[:1] if "attention" in name else found


@cache
def names_of(func: Any) -> Tuple[str, ...]:
    schema = getattr(func, "_schema", None)
    return () if schema is None else tuple(one.name for one in schema.arguments)


@cache
def name_of(func: Any) -> str:
    if isinstance(func, HigherOrderOperator):
        return str(func.name())  # type: ignore[no-untyped-call, unused-ignore]
    return str(func).replace(".default", "")


@cache
def by_rows(func: Any) -> bool:
    plain = name_of(func).split(".")[1] if "." in name_of(func) else name_of(func)
    return torch.Tag.pointwise in getattr(func, "tags", ()) or plain in _BY_ROWS


def plain(x: Any) -> Any:
    """An argument that is no tensor, as JSON; None where it says nothing."""
    if isinstance(x, (bool, int, float, str)):
        return x if not isinstance(x, float) or abs(x) < float("inf") else str(x)
    if isinstance(x, (torch.dtype, torch.layout, torch.device)):
        return str(x).replace("torch.", "")
    if isinstance(x, (list, tuple)):
        return [plain(one) for one in x if not isinstance(one, Tensor)]
    return None


def flags_now() -> Dict[str, Any]:
    cuda, back = torch.backends.cuda, torch.backends
    found = {
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "allow_tf32": cuda.matmul.allow_tf32,
        "reduced_precision_bf16": cuda.matmul.allow_bf16_reduced_precision_reduction,
        "reduced_precision_fp16": cuda.matmul.allow_fp16_reduced_precision_reduction,
        "cudnn_allow_tf32": back.cudnn.allow_tf32, "cudnn_benchmark": back.cudnn.benchmark,
        "flash": cuda.flash_sdp_enabled(),  # type: ignore[no-untyped-call, unused-ignore]
        "efficient": cuda.mem_efficient_sdp_enabled(),  # type: ignore[no-untyped-call, unused-ignore]
        "math": cuda.math_sdp_enabled(),  # type: ignore[no-untyped-call, unused-ignore]
        "blas": str(cuda.preferred_blas_library()).rpartition(".")[2] if torch.cuda.is_available() else "",
        "mkldnn": torch._C._get_mkldnn_enabled(), "threads": torch.get_num_threads(),
    }
    return found
