"""The model on a GPU: libmmaudit_cuda.so, loaded when the first tensor on a GPU comes."""
import ctypes
import os
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_uint64, c_void_p
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, List, Optional

import torch

from .. import _library


def _candidates() -> List[str]:
    given = os.environ.get("MMAUDIT_CUDA_LIBRARY")
    if given:
        return [given]
    here = [str(Path(__file__).parents[1] / "libmmaudit_cuda.so")]
    package = find_spec("mmaudit_cuda")  # the wheel mmaudit-cuda: a folder with the library
    here += [str(Path(folder) / "libmmaudit_cuda.so") for folder in (package and package.submodule_search_locations) or []]
    beside = os.environ.get("MMAUDIT_LIBRARY")
    return here + ([str(Path(beside).with_name("libmmaudit_cuda.so"))] if beside else []) + ["libmmaudit_cuda.so.0"]


@lru_cache(maxsize=1)
def _lib() -> ctypes.CDLL:
    reasons = []
    for candidate in _candidates():
        try:
            lib = ctypes.CDLL(candidate)
            lib.mmaudit_cuda_last_error.restype = c_char_p
            lib.mmaudit_cuda_workspace.argtypes = [POINTER(_library.Product), POINTER(c_uint64)]
            lib.mmaudit_cuda_matmul.argtypes = [POINTER(_library.Product), c_void_p, _library.Out]
            lib.mmaudit_cuda_quantize.argtypes = [POINTER(_library.Quantization), c_void_p]
            lib.mmaudit_cuda_hardware_workspace.argtypes = lib.mmaudit_cuda_workspace.argtypes
            lib.mmaudit_cuda_hardware_matmul.argtypes = lib.mmaudit_cuda_matmul.argtypes
            lib.mmaudit_cuda_function.argtypes = [c_char_p, c_void_p, c_void_p, c_size_t, c_void_p, c_void_p]
            lib.mmaudit_cuda_attention_workspace.argtypes = [POINTER(_library.Attention), POINTER(c_uint64)]
            lib.mmaudit_cuda_attention.argtypes = [POINTER(_library.Attention), c_void_p, _library.Out]
            for name in ("workspace", "matmul", "hardware_workspace", "hardware_matmul", "attention_workspace", "attention",
                         "quantize", "function"):
                getattr(lib, "mmaudit_cuda_" + name).restype = c_int
            return lib
        except (OSError, AttributeError) as error:  # no file, no library, or another library
            reasons.append(" ".join(str(error).split()))
    raise RuntimeError(
        "a device: found cuda without libmmaudit_cuda.so (" + "; ".join(reasons) + "), allowed: tensors on the CPU, "
        "mmaudit-cuda of the same version, or the library of a build with CUDA, beside libmmaudit.so or as $MMAUDIT_CUDA_LIBRARY")


def _check(status: int) -> None:
    if status == 0:
        return
    line = _lib().mmaudit_cuda_last_error().decode()
    raise ValueError(line) if status == 2 else RuntimeError(line or "cuda: found a failure without a reason")


def _launch(what: str, needs: str, work: Any, place: torch.device) -> None:
    """On the current stream, with work space from torch's allocator."""
    with torch.cuda.device(place):
        needed = c_uint64()
        _check(getattr(_lib(), "mmaudit_cuda_" + needs)(byref(work), byref(needed)))
        space = torch.empty(needed.value, dtype=torch.uint8, device=place)
        out = _library.Out(space.data_ptr(), needed.value)
        _check(getattr(_lib(), "mmaudit_cuda_" + what)(byref(work), torch.cuda.current_stream(place).cuda_stream, out))


def matmul(work: _library.Product, place: torch.device, hardware: bool = False) -> None:
    """mmaudit_matmul() on device pointers, by the model or by the GPU's own instructions."""
    _launch(*(("hardware_matmul", "hardware_workspace") if hardware else ("matmul", "workspace")), work, place)


def attention(work: _library.Attention, place: torch.device) -> None:
    """mmaudit_attention_predict() on device pointers: O and lse of a kernel's plan."""
    _launch("attention", "attention_workspace", work, place)


def why_no_hardware(work: _library.Product, place: torch.device) -> str:
    """Why the GPU's own instructions can't compute this product, whose pointers are not read; "" when they can."""
    with torch.cuda.device(place):
        status = _lib().mmaudit_cuda_hardware_workspace(byref(work), byref(c_uint64()))
    if status == 2:
        return str(_lib().mmaudit_cuda_last_error().decode())
    _check(status)
    return ""


def quantize(work: _library.Quantization, place: torch.device) -> None:
    """mmaudit_quantize() on device pointers, on the current stream."""
    with torch.cuda.device(place):
        _check(_lib().mmaudit_cuda_quantize(byref(work), torch.cuda.current_stream(place).cuda_stream))


def function(name: str, x: torch.Tensor, y: Optional[torch.Tensor]) -> torch.Tensor:
    """mmaudit_function() on contiguous tensors of the function's type, on the current stream."""
    result = torch.empty_like(x)
    with torch.cuda.device(x.device):
        _check(_lib().mmaudit_cuda_function(_library.encoded(name), x.data_ptr(), None if y is None else y.data_ptr(),
                                            x.numel(), result.data_ptr(), torch.cuda.current_stream(x.device).cuda_stream))
    return result
