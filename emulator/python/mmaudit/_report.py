"""Results as reports: data of the schema mmaudit.report/1, which the library draws as text, Markdown, a page, a figure."""
import html
import json
import math
import os
import re
import threading
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from os import PathLike
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from . import _library
from ._refuse import refused

SCHEMA = "mmaudit.report/1"
_COLOURS = 7  #: curves that the library tells apart by colour; the next ones are dashed

def finite(value: Any) -> Any:
    """A value as JSON holds it: numbers that are not finite, which JSON lacks, are null; text is UTF-8."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, Mapping):
        return {str(key): finite(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def drawn(report: Mapping[str, Any], form: str) -> str:
    """A report as "html", "text", "markdown", "svg" (its first figure). RuntimeError where the library can't draw."""
    text = json.dumps({"schema": SCHEMA, **finite(report)}, ensure_ascii=True, allow_nan=False)
    return _library.text_from(_library.lib.mmaudit_render_report, text.encode(), form.encode())


def natural(name: str) -> List[Tuple[bool, int, str]]:
    """A key that sorts layers 0, 1, 2, 10."""
    return [(part.isdigit(), int(part) if part.isdigit() else 0, part) for part in re.split(r"(\d+)", name)]


def cell(text: str, tone: str = "plain", hint: str = "") -> Any:
    """A cell of a table; tone: good, note or bad."""
    return text if tone == "plain" and not hint else {"text": text, "tone": tone, **({"hint": hint} if hint else {})}


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]], numbers: Iterable[str] = (), **more: Any) -> Dict[str, Any]:
    """`numbers`: the columns that hold numbers."""
    aligned = set(numbers)
    return {"columns": [{"header": one, "number": one in aligned} for one in columns], "rows": [list(row) for row in rows],
            **more}


def curves(title: str, x_title: str, labels: Sequence[str], of: Mapping[str, Sequence[Optional[float]]]) -> Dict[str, Any]:
    """A line per name over the labels, on a logarithmic axis."""
    lines = [{"name": name, "values": list(values), "hollow": index // _COLOURS % 2 == 1}
             for index, (name, values) in enumerate(of.items())]
    return {"kind": "curves", "title": title, "x_title": x_title, "labels": list(labels), "curves": lines}


def now() -> str:
    """The time as reports print it."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


@contextmanager
def written(path: str) -> Iterator[str]:
    """Where to write what becomes the file `path` at the end; where that fails, `path` stays as it was."""
    if os.path.exists(path) and not os.path.isfile(path):
        yield path  # a pipe or a device
        return
    whole_path = os.path.realpath(path)
    part = f"{whole_path}.{os.getpid()}-{threading.get_ident()}.part"
    try:
        yield part
        os.replace(part, whole_path)
    except OSError as error:
        error.filename = error.filename or path  # a full disk does not say whose
        raise
    finally:
        with suppress(FileNotFoundError):
            os.remove(part)


class Drawn:
    """What results have that are reports: they say in report() what they are."""

    def report(self) -> Dict[str, Any]:
        """Title, headline, sections: the fields of mmaudit.report/1."""
        raise NotImplementedError

    def text(self) -> str:
        return drawn(self.report(), "text").rstrip("\n")

    def markdown(self) -> str:
        return drawn(self.report(), "markdown")

    def html(self) -> str:
        """One self-contained page, in light and dark."""
        return drawn(self.report(), "html")

    def svg(self) -> str:
        """The figure alone. ValueError where there is none."""
        return drawn(self.report(), "svg")

    def json(self) -> str:
        return json.dumps({"schema": SCHEMA, **finite(self.report())}, indent=1, allow_nan=False) + "\n"

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        """The page in a frame of its own, so that its style and the notebook's don't meet."""
        title = html.escape(str(self.report()["title"]))
        return (f'<iframe title="{title}" sandbox="allow-scripts" style="width:100%;height:36em;border:0" '
                f'srcdoc="{html.escape(self.html())}"></iframe>')

    def write(self, path: "Union[str, PathLike[str]]") -> None:
        """As the name ends: .html, .svg, .json, .md or .txt. ValueError for another end."""
        kinds: Dict[str, Callable[[], str]] = {
            ".html": self.html, ".svg": self.svg, ".json": self.json, ".md": self.markdown,
            ".txt": lambda: self.text() + "\n"}
        end = Path(path).suffix
        if end not in kinds:
            raise refused("path", repr(str(path)), f"names that end in {', '.join(kinds)}")
        text = kinds[end]()
        with written(str(path)) as file:
            Path(file).write_text(text, encoding="utf-8")


class Pages(Drawn, Dict[str, Any]):
    """The dictionary that a command wrote as JSON, and the pages of the same run: "json", "html", "md", "text"."""

    def __init__(self, data: Dict[str, Any], pages: Dict[str, str], title: str) -> None:
        super().__init__(data)
        self._pages, self._title = pages, title

    def __repr__(self) -> str:
        return self.text()

    def report(self) -> Dict[str, Any]:
        return {"title": self._title, "headline": "", "sections": []}

    def json(self) -> str:
        return self._pages["json"]

    def html(self) -> str:
        return self._pages["html"]

    def markdown(self) -> str:
        return self._pages["md"]

    def text(self) -> str:
        return self._pages["text"].rstrip("\n")
