"""Which bits does a tensor-core instruction produce? mmaudit's model on numpy arrays.

>>> import numpy as np, mmaudit
>>> a = np.ones((16, 16), np.float16); b = np.ones((16, 8), np.float16)
>>> mmaudit.emulate("mma.m16n8k16.f32.f16.f16.f32", a, b)[0, 0]
16.0
"""
from ._arrays import load
from ._attention import attention
from ._audit import audit
from ._callable import probe, reveal
from ._collective import collective
from ._elements import rope, swiglu
from ._exact import ProductCheck, WrongProduct, check_gemm
from ._exact_attention import AttentionCheck, WrongAttention, check_attention
from ._functions import cos, ex2, function, lg2, rcp, rsqrt, sin, sqrt, tanh
from ._gemm import gemm
from ._law import Batch, Failure, Law, Result, law
from ._library import lib as _lib
from ._model import Model, model
from ._operations import architectures, convert, cvt, emulate, explain, instructions, list
from ._products import Check, Closeness, Tolerance, assert_gemm_close, close, matmul, tolerance, within
from ._reveal_attention import reveal_attention
from ._rows import reduce_rows
from ._views import Audit, Trace

__version__ = _lib.mmaudit_version().decode()
__all__ = [
    "AttentionCheck", "Audit", "Batch", "Check", "Closeness", "Failure", "Law", "Model", "ProductCheck", "Result",
    "Tolerance", "Trace", "WrongAttention", "WrongProduct", "architectures", "assert_gemm_close", "attention",
    "audit", "check_attention", "check_gemm", "close", "collective", "convert", "cos", "cvt", "emulate", "ex2", "explain",
    "function", "gemm", "instructions", "law", "lg2", "list", "load", "matmul", "model", "probe", "rcp",
    "reduce_rows", "reveal", "reveal_attention", "rope", "rsqrt", "sin", "sqrt", "swiglu", "tanh", "tolerance",
    "within",
]
