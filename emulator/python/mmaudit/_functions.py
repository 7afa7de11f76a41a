"""Special functions of a GPU on arrays and tensors: what they give, bit for bit."""
import sys
from typing import Any, Callable, Tuple

import numpy as np

from . import _arrays, _library
from ._dtypes import NAMES
from ._library import lib
from ._operations import Values
from ._refuse import refused


def _form_of(name: str) -> str:
    """The type of a row's numbers."""
    return "f16" if name.endswith(".f16") else "bf16" if name.endswith("bf16") else "f32"


def _of_tensors(name: str, x: Any, y: Any) -> Any:
    torch, allowed = sys.modules["torch"], "torch." + str(NAMES[_form_of(name)].torch)
    for field, one in (("x", x), ("y", y)):
        if one is None:
            continue
        if not _arrays.is_tensor(one) or str(one.dtype) != allowed or one.device.type not in ("cpu", "cuda"):
            raise refused(field, f"{one.dtype} on {one.device}" if _arrays.is_tensor(one) else f"a {type(one).__name__}",
                          f"a tensor of {allowed} on cpu or cuda")
        if one.layout != torch.strided or one.is_nested:
            raise refused(field, f"a {'nested' if one.is_nested else one.layout} tensor", "a strided one")
    if y is not None and (y.shape, y.device) != (x.shape, x.device):
        raise refused("y", f"{[*y.shape]} on {y.device}", f"{[*x.shape]} on {x.device}")
    x, y = x.detach().contiguous(), None if y is None else y.detach().contiguous()
    if x.device.type == "cuda":
        from .torch import _cuda  # torch is not needed for anything else here
        return _cuda.function(name, x, y)
    signed = np.dtype(f"i{x.element_size()}")  # an old torch lacks unsigned words
    found = function(name, _arrays.array_of("x", x), None if y is None else _arrays.array_of("y", y))
    return torch.from_numpy(found.view(signed)).view(x.dtype)


def function(name: str, x: Any, y: Any = None) -> Any:
    """What a GPU gives for each number of ``x``, with its bits.

    Args:
        name: "ex2.approx.f32", "expf", "__expf", "expf/fast" (with --use_fast_math), ...: the names of
            `mmaudit list --functions`.
        x: numbers of any shape: float32 or lists of numbers; for the 16-bit functions float16, ml_dtypes.bfloat16. Raw
            bits are uint32 or uint16. A tensor of torch has the function's type; on a GPU the model runs there, on the
            current stream.
        y: the divisor of a quotient, of x's shape.
    Returns: an array of x's shape and dtype, or a tensor on x's device, without a gradient. Range and errors: docs/functions.md.
    Raises: ValueError, in one line "field: found X, allowed: Y".
    """
    form = _form_of(_library.text_of("function", name))
    if _arrays.is_tensor(x):
        return _of_tensors(name, x, y)
    raw = np.uint32 if form == "f32" else np.uint16

    def words(field: str, given: Values) -> np.ndarray:
        how = _arrays.Casting(None if hasattr(given, "dtype") else "rn")
        found = _arrays.operand(field, _arrays.numbers_of(field, given), form, how, "")
        return found if hasattr(given, "dtype") else found.view(_arrays.value_dtype(form, True))

    operand = words("x", x)
    bits = [np.ascontiguousarray(operand.view(raw).astype(np.uint32))]
    if y is not None:
        bits.append(np.ascontiguousarray(words("y", y).view(raw).astype(np.uint32)))
        if bits[1].shape != bits[0].shape:
            raise refused("y shape", bits[1].shape, bits[0].shape)
    result = np.empty(operand.shape, np.uint32)
    divisors = bits[1].ctypes.data if y is not None else None
    _library.check(lib.mmaudit_function(_library.encoded(name), bits[0].ctypes.data, divisors, result.size,
                                        result.ctypes.data))
    return result.astype(raw).view(operand.dtype).reshape(np.shape(x))  # numpy makes a row of a single number


def _named(op: str, value: str, ftz_too: bool = True, narrow: Tuple[str, ...] = ()) -> Callable[..., Any]:
    """The function of a PTX instruction, whose form is the one of x's dtype."""
    def one(x: Any, ftz: bool = False) -> Any:
        if _arrays.is_tensor(x):
            dtype = next((form for form, names in NAMES.items() if f"torch.{names.torch}" == str(x.dtype)), None)
        else:
            dtype = _arrays.format_of(_arrays.array_of("x", x).dtype) if hasattr(x, "dtype") else None
        forms = [form for form in narrow if dtype is not None and form.endswith("." + dtype)]
        return function(op + ".approx" + (forms[0] if forms else ".ftz.f32" if ftz and ftz_too else ".f32"), x)

    one.__name__ = op
    forms = ", ".join((".f32 (with ``ftz`` .ftz.f32)" if ftz_too else ".f32",) + narrow)
    one.__doc__ = f"""{value} as {op}.approx gives it, by x's dtype: {forms}; see function()."""
    return one


ex2 = _named("ex2", "2 ** x", narrow=(".f16", ".ftz.bf16"))
lg2 = _named("lg2", "log2(x)")
rcp = _named("rcp", "1 / x")
rsqrt = _named("rsqrt", "1 / sqrt(x)")
sqrt = _named("sqrt", "sqrt(x)")
sin = _named("sin", "sin(x)")
cos = _named("cos", "cos(x)")
tanh = _named("tanh", "tanh(x)", ftz_too=False, narrow=(".f16", ".bf16"))
