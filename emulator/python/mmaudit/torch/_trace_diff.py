"""Two traces compared by the program."""
import json
import os
from os import PathLike
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from .. import _report, _tool
from . import _checked

_Path = Union[str, "PathLike[str]"]
_FILES = {"json": "diff.json", "html": "diff.html", "md": "diff.md"}


class TraceDiff(_report.Pages):
    """What trace_diff() gives: the dictionary of ``mmaudit trace diff --json``, and the pages of the same run."""

    @property
    def same(self) -> bool:
        return bool(self["same"])

    @property
    def first(self) -> Optional[Dict[str, Any]]:
        """The first operation whose inputs are equal and whose results are not; None where there is none."""
        findings: List[Dict[str, Any]] = self["findings"]
        return findings[0] if findings else None

    @property
    def keep(self) -> List[str]:
        """For trace(keep=...) of both runs again: the first operation of each cause, whose values then prove it."""
        found: Dict[Any, Dict[str, Any]] = {}
        for one in self["findings"]:
            if not one["tensor"] and one["operator"] != "module":
                found.setdefault((one["operator"], one["cause"], one["text"]), one)
        return list(dict.fromkeys(f"{one['module' + side]}:{one['operator' + side]}" for one in found.values() for side in ("", "_b")))

    @property
    def _tokens(self) -> Dict[str, List[List[int]]]:
        """Of what `keep` has: entry and position of tokens that differ."""
        found: Dict[str, List[List[int]]] = {}
        for one in self["findings"]:
            for side in ("", "_b"):
                name = f"{one['module' + side]}:{one['operator' + side]}"
                found[name] = found.get(name, []) + one["tokens" + side]
        return found


def trace_diff(a: _Path, b: _Path, *, rows: Sequence[str] = (), names: Optional[Mapping[str, str]] = None) -> TraceDiff:
    """The first operation that gives other bits from equal inputs in trace `b` than in `a`, every further one, and why.

    Args:
        a, b: files of trace(). rows: tokens of `a` and the same ones of `b`, "0:16=4:20"; without any those of the same
            place. names: how names of modules begin in `a`, and in `b` instead.
    Returns: a TraceDiff; ``.same`` is true where nothing differs.
    Raises: ValueError with the line of the program; RuntimeError where there is no program mmaudit.
    """
    for field, given, kind, allowed in (("a", a, (str, bytes, os.PathLike), "a path"), ("b", b, (str, bytes, os.PathLike), "a path"),
                                        ("names", names or {}, Mapping, "beginnings of names in a, with those in b")):
        _checked.of_kind(field, given, kind, allowed)
    rows = [rows] if isinstance(rows, str) else rows
    arguments = ["trace", "diff", *(os.path.abspath(os.fsdecode(one)) for one in (a, b)), *_tool.options_of(**_FILES)]
    arguments += [f"--row={one}" for one in rows] + [f"--map={one}={other}" for one, other in (names or {}).items()]
    with _tool.scratch() as folder:
        done = _tool.run(arguments, folder, {"--row": "rows", "--map": "names"})
        pages = {name: (Path(folder) / file).read_text(encoding="utf-8") for name, file in _FILES.items()}
    pages["text"] = done.stdout
    return TraceDiff(json.loads(pages["json"]), pages, "Where two runs part")
