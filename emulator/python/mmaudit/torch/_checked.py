"""Arguments that are refused in one line before anything runs, and what is as before after it ran."""
import operator
import os
import reprlib
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, Iterator, Sequence, Tuple

import torch
from torch import Tensor, nn

from .._refuse import refused
from .._report import written as written


def patterns(field: str, given: Any) -> "Sequence[str]":
    """Globs. One str would be taken letter by letter."""
    if isinstance(given, (str, bytes)) or not isinstance(given, (list, tuple, set, frozenset)):
        raise refused(field, f"a {type(given).__name__}", "a list of patterns")
    for one in given:
        if not isinstance(one, str):
            raise refused(field, f"{one!r} in the list", "patterns, each a str")
    return tuple(given)


def whole(field: str, given: Any, least: int, most: int) -> int:
    try:
        number = least - 1 if isinstance(given, bool) else operator.index(given)
    except TypeError:
        number = least - 1
    if not least <= number <= most:
        raise refused(field, repr(given), f"a whole number from {least} to {most}")
    return number


def of_kind(field: str, given: Any, kind: Any, allowed: str) -> None:
    if not isinstance(given, kind):
        raise refused(field, f"a {type(given).__name__}", allowed)


def tensor(field: str, given: Any) -> None:
    of_kind(field, given, Tensor, "a tensor of torch")
    if given.is_nested:
        raise refused(f"{field} layout", "a nested tensor", "torch.strided")
    if given.layout != torch.strided:  # before torch's dispatcher, which tells all that it knows of the layout
        raise refused(f"{field} layout", given.layout, "torch.strided")


def number(field: str, given: Any) -> float:
    """A float of a number, or of a tensor of one."""
    try:
        if not isinstance(given, (str, bytes, bool)):
            return float(given)
    except (TypeError, ValueError, RuntimeError):
        pass
    raise refused(field, reprlib.repr(given), "a number")


def module(given: Any) -> None:
    of_kind("module", given, nn.Module, "an nn.Module of torch")


def named_modules(of: nn.Module) -> Iterator[Tuple[str, nn.Module]]:
    """Modules by name, the same names before and after torch.compile(), which puts each into another one."""
    for name, one in of.named_modules():
        yield ".".join(part for part in name.split(".") if part != "_orig_mod"), one


def seed_of(given: Any) -> int:
    whole("seed", given, -2**63, 2**63 - 1)
    return operator.index(given)


def output_file(field: str, given: "str | PathLike[str]") -> str:
    """The path of a file that can be written, before there is work to lose."""
    of_kind(field, given, (str, os.PathLike), "a path")
    path = Path(os.fspath(given))
    if path.is_dir():
        raise refused(field, f"the folder {str(path)!r}", "a file")
    if not path.parent.is_dir():
        raise refused(field, f"no folder {str(path.parent)!r}", "a file in a folder that is there")
    return os.path.abspath(path)  # wherever the program goes meanwhile


@contextmanager
def unchanged(of: nn.Module, seed: int) -> Iterator[None]:
    """Draws from `seed` inside; afterwards torch's random numbers and the module's buffers (statistics of
    nn.BatchNorm) are as they were."""
    tensors = [*of.parameters(), *of.buffers()]
    devices = sorted({one.device.index for one in tensors if one.device.type == "cuda"})
    buffers = [(one, one.detach().clone()) for one in of.buffers() if not one.is_inference()]
    with torch.random.fork_rng(devices):
        torch.manual_seed(seed_of(seed))
        try:
            yield
        finally:
            with torch.no_grad():
                for one, before in buffers:
                    one.copy_(before)
