"""From a module and a batch to a plan in one call: capture(), mmaudit audit, tighten()."""
from os import PathLike
from pathlib import Path
from typing import Any, Optional, Union

from torch import nn

from .. import _tool
from .._audit import Names
from .._refuse import refused
from . import _checked
from ._capture import capture
from ._tighten import Tightened, tighten


def choose_plan(
    module: nn.Module, batch: Any, *, max_output_error: float, arch: Names = "b200", dtype: Names = "nvf4,mxf8,bf16",
    scale: Optional[Names] = None, policy: Optional[Names] = None, html: "Union[str, PathLike[str], None]" = None,
    seed: int = 0,
) -> Tightened:
    """The cheapest dtype for each layer under which the output errs by at most so much, measured by emulate().

    Runs capture() with gains, ``mmaudit audit --capture`` on a temporary file, and tighten().

    Args:
        module, batch, seed: as in compare().
        max_output_error: the largest relative error of the output, such as 0.12.
        arch, dtype, scale, policy: one name or several, as ``mmaudit audit --help`` lists them; None: what is usual.
        html: the audit's page, every layer in every dtype; a file.
    Returns: as tighten(): `.plan` for emulate(), compare() and .plan.write("plan.json"); printed, which layer takes what.
    Raises: ValueError in one line; RuntimeError where the program mmaudit is not found; ImportError without safetensors.
    """
    _checked.module(module)
    limit = _checked.number("max_output_error", max_output_error)
    if not 0 < limit < float("inf"):
        raise refused("max_output_error", repr(max_output_error), "a number above 0, such as 0.12")
    _tool.program()  # before there is work to lose
    page = None if html is None else Path(_checked.output_file("html", html)).resolve()
    arguments = _tool.options_of(arch=arch, dtype=dtype, scale=scale, policy=policy, html=page)
    with _tool.scratch() as folder:
        capture(module, batch, Path(folder) / "c.safetensors", gains=True, seed=seed)
        _tool.run(["audit", "--capture=c.safetensors", f"--max-output-error={limit!r}", "--plan=plan.json", *arguments],
                  folder)
        return tighten(module, batch, Path(folder) / "plan.json", seed=seed)
