"""May these tensors go to FP8? The audit of the command line."""
import json
from pathlib import Path
from typing import Any, Optional, Sequence, Union

from . import _arrays, _tool
from ._views import Audit, SliceAudit

Names = Union[str, Sequence[str]]


_OWN_NAMES = {
    "--a": "x", "--b": "w", "--c": "c", "--b-transposed": "w_transposed=True",
    "--no-b-transposed": "w_transposed=False", "--dtype-a": "dtype_x", "--dtype-b": "dtype_w",
    "--allow-missing": "allow_missing=True",
}


def audit(
    x: Any, w: Any, c: Optional[Any] = None, *, dtype: Optional[Names] = None, dtype_x: Optional[str] = None,
    dtype_w: Optional[str] = None, scale: Optional[Names] = None, policy: Optional[Names] = None,
    arch: Optional[Names] = None, d_format: Optional[str] = None, unit: Optional[str] = None,
    max_rel_fro: Optional[float] = None, max_row_error: Optional[float] = None,
    max_element_error: Optional[float] = None, allow_missing: bool = False,
    sample: Union[int, str, None] = None, seed: Optional[int] = None,
    w_transposed: Optional[bool] = None, threads: int = 0,
) -> Audit:
    """The error of D = X W (+ C) in each type, scaling and accumulation, split into its causes, with a verdict.

    Runs ``mmaudit audit --a --b`` on temporary files and gives its JSON: the program has the numerics of the audit,
    libmmaudit.so has not.

    Args:
        x: (..., M, K), floats of numpy, ml_dtypes or torch; leading dimensions are rows. w: (K, N), or (N, K) with
            w_transposed=True; a square W needs w_transposed. c: (..., M, N).
        dtype, scale, policy: one name or several, as ``mmaudit audit --help`` lists them; None: what is usual. "f64" or
            "f32": how many slices of smaller formats the product needs.
        dtype_x, dtype_w: instead of dtype, where the two operands differ. d_format, unit, sample: as there.
        arch: one or several architectures; None: "hopper".
        max_rel_fro: the largest relative Frobenius error that passes; without it nothing is judged.
        max_row_error: with max_rel_fro, the largest relative error of a row or of a column of D that passes.
        max_element_error: of "f64" and "f32", the largest |D - exact| of an element over its sum of all |x w|.
        allow_missing: leave out a dtype, scale or policy that an architecture has no combination with; else
            .passes is false and "missing" names it.
        threads: 0: one per core; the result does not depend on it.
    Returns: a dictionary (schema ``mmaudit.audit.gemm/1``, of "f64" and "f32" ``mmaudit.audit.slices/1``) with .passes
        and .rows, which a notebook shows as a table.
    Raises: ValueError with the line of the command line in the names of these arguments; RuntimeError where the
        program mmaudit is not found.
    """
    tensors = {"x": _tool.tensor_of("x", x), "w": _tool.tensor_of("w", w)}
    if c is not None:
        tensors["c"] = _tool.tensor_of("c", c)
    for field in ("x", "c"):
        if field in tensors:
            tensors[field] = (tensors[field][0], _arrays.flattened(field, tensors[field][1]))
    arguments = ["audit", "--json=-", *_tool.options_of(
        threads=threads, dtype=dtype, dtype_a=dtype_x, dtype_b=dtype_w, scale=scale, policy=policy, arch=arch,
        d_format=d_format, unit=unit, max_rel_fro=max_rel_fro, max_row_error=max_row_error,
        max_element_error=max_element_error,
        sample=sample, seed=seed)]
    if allow_missing:
        arguments.append("--allow-missing")
    if w_transposed is not None:
        arguments.append("--b-transposed" if w_transposed else "--no-b-transposed")
    with _tool.scratch() as folder:
        for option, (field, tensor) in zip("abc", tensors.items()):
            _tool.write(Path(folder) / f"{field}.safetensors", {field: tensor})
            arguments.append(f"--{option}={field}.safetensors")
        found = json.loads(_tool.run(arguments, folder, _OWN_NAMES).stdout)
        return (SliceAudit if found["schema"].startswith("mmaudit.audit.slices/") else Audit)(found)
