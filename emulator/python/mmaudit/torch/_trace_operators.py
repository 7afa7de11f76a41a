"""What torch's operators say of themselves, and the switches that they obey."""
from functools import partial
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Tuple

import torch
from torch import Tensor
from torch._ops import HigherOrderOperator, OpOverload

from ._trace_gemm import PRODUCTS

aten = torch.ops.aten
_VIEWS = {aten._unsafe_view.default, aten.lift_fresh.default}  #: whose schemas don't say it
#: Beside torch's pointwise operators: a row of the result needs the same row of the tensors that have rows.
_BY_ROWS = ("mm", "addmm", "linear", "_scaled_mm", "_grouped_mm", "embedding", "_softmax", "_log_softmax", "native_layer_norm",
            "_fused_rms_norm", "rms_norm", "mean", "sum", "amax", "cat", "clone", "_to_copy", "copy_", "pow", "silu")
#: Operators that reduce rows, by a plan of docs/row-reductions.md where the last axis is reduced.
REDUCTIONS = ("mean", "sum", "amax", "_softmax", "_log_softmax", "native_layer_norm", "_fused_rms_norm")
_OVERWRITE = ("aten.copy_", "aten.fill_.Scalar", "aten.fill_.Tensor", "aten.zero_")


class Facts(NamedTuple):
    """What is asked of an operator each time that it runs."""

    func: Any  #: so that its id stays its own
    run: Any  #: what it calls
    name: str
    names: Tuple[str, ...]  #: of arguments
    view: bool
    written: Tuple[str, ...]  #: arguments that it changes
    unread: Tuple[str, ...]  #: arguments whose numbers it does not read: what it only writes
    by_rows: bool
    gemm: bool
    reduction: bool  #: of rows, each by itself
    attention: bool
    empty: bool  #: gives memory that nothing has written
    flags: Tuple[Callable[[], Any], ...]  #: what is asked of torch each time: where one changed all are
    apart: Any = None  #: torch's own code of an operator that is others together, which inference_mode() shows as one


FACTS: Dict[int, Facts] = {}
PLAIN = frozenset((bool, int, float, str, torch.dtype, torch.device, torch.layout))  #: types of arguments that are kept as they are


def facts_of(func: Any) -> Facts:
    named = isinstance(func, HigherOrderOperator)
    name = str(func.name()) if named else str(func).replace(".default", "")  # type: ignore[no-untyped-call, unused-ignore]
    schema = getattr(func, "_schema", None)
    arguments, returns = ([], []) if schema is None else (schema.arguments, schema.returns)
    aliases = [one.alias_info for one in returns]
    short, tags = name.split(".")[1] if "." in name else name, getattr(func, "tags", ())
    draws = torch.Tag.nondeterministic_seeded in tags and short.endswith("_") and not short.startswith("rrelu")
    composite = torch._C.DispatchKey.CompositeImplicitAutograd
    apart = type(func) is OpOverload and func.namespace != "prim" and torch._C._dispatch_has_kernel_for_dispatch_key(
        func.name(), composite)  # type: ignore[no-untyped-call, unused-ignore]
    FACTS[id(func)] = found = Facts(
        func, func._op if type(func) is OpOverload else func, name, tuple(one.name for one in arguments),
        func in _VIEWS or bool(aliases) and all(one is not None and not one.is_write for one in aliases),
        tuple(one.name for one in arguments if one.alias_info is not None and one.alias_info.is_write),
        (*(one.name for one in arguments if one.is_out), *(("self",) if draws or name in _OVERWRITE else ())),
        torch.Tag.pointwise in tags or short in _BY_ROWS, func in PRODUCTS, short in REDUCTIONS, "attention" in name,
        "empty" in name or short == "resize_",
        tuple(FLAGS[one] for one in (_OF_PRODUCTS if func in PRODUCTS else _OF_ATTENTION if "attention" in name else ())),
        partial(func._op_dk, composite) if apart else None)
    return found


def tensors_of(values: Iterable[Any], out: List[Tensor]) -> List[Tensor]:
    """The tensors in arguments or results, into `out`."""
    for one in values:
        if isinstance(one, Tensor):
            out.append(one)
        elif isinstance(one, (list, tuple)):
            tensors_of(one, out)
        elif isinstance(one, dict):
            tensors_of(one.values(), out)
    return out


def parts_of(x: Tensor) -> List[Tensor]:
    """The numbers of a tensor that has no strides, in dense tensors."""
    if x.is_nested:
        return list(x.unbind())
    if x.layout == torch.sparse_coo:
        return [x._indices(), x._values()]
    if x.layout in (torch.sparse_csr, torch.sparse_bsr):
        return [x.crow_indices(), x.col_indices(), x.values()]
    if x.layout in (torch.sparse_csc, torch.sparse_bsc):
        return [x.ccol_indices(), x.row_indices(), x.values()]
    return [x.to_dense()]


def results(facts: Facts, out: Any) -> List[Tensor]:
    """What an operator computes: neither unwritten memory, nor the state of random numbers behind attention."""
    found = [] if facts.empty else tensors_of((out,), [])
    return found[:1] if facts.attention else found


def plain(x: Any) -> Any:
    """An argument that is no tensor, as JSON; None where it says nothing."""
    if isinstance(x, (bool, int, float, str)):
        return x if not isinstance(x, float) or abs(x) < float("inf") else str(x)
    if isinstance(x, (torch.dtype, torch.layout, torch.device)):
        return str(x).replace("torch.", "")
    if isinstance(x, (list, tuple)):
        return [plain(one) for one in x if not isinstance(one, Tensor)]
    return None


_asked = torch._C
#: What is asked in each call of the module, and before products and attention in part; flags_said() says it.
FLAGS: Dict[str, Callable[[], Any]] = {
    "deterministic": _asked._get_deterministic_algorithms, "allow_tf32": _asked._get_cublas_allow_tf32,
    "reduced_precision_bf16": _asked._get_cublas_allow_bf16_reduced_precision_reduction,
    "reduced_precision_fp16": _asked._get_cublas_allow_fp16_reduced_precision_reduction,
    "cudnn_allow_tf32": _asked._get_cudnn_allow_tf32, "cudnn_benchmark": _asked._get_cudnn_benchmark,
    "flash": _asked._get_flash_sdp_enabled, "efficient": _asked._get_mem_efficient_sdp_enabled, "math": _asked._get_math_sdp_enabled,
    "blas": _asked._get_blas_preferred_backend, "mkldnn": _asked._get_mkldnn_enabled, "threads": torch.get_num_threads,
}
_ASKED = tuple(FLAGS.values())
_OF_PRODUCTS = ("allow_tf32", "reduced_precision_bf16", "reduced_precision_fp16", "deterministic")
_OF_ATTENTION = ("flash", "efficient", "math", "deterministic")


def flags_now() -> Tuple[Any, ...]:
    return tuple([one() for one in _ASKED])


def flags_said(flags: Tuple[Any, ...]) -> Dict[str, Any]:
    found = {name: one[0] if isinstance(one, tuple) else one for name, one in zip(FLAGS, flags)}
    return {**found, "blas": str(found["blas"]).rpartition(".")[2] if torch.cuda.is_available() else ""}
