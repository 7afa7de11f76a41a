"""A checkpoint from a folder to an answer: what is there, how it is quantized and by whom, and the errors of its products."""
import json
import os
import sys
from os import PathLike
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Union

from . import _report, _tool
from ._refuse import refused

_Path = Union[str, "PathLike[str]"]
_OWN_NAMES = {"--list": "audit=False", "--original": "original"}
_FILES = {"json": "model.json", "html": "model.html", "md": "model.md"}


class Model(_report.Pages):
    """What model() gives: the dictionary of ``mmaudit model --json``, and the pages that the same run wrote."""

    def __init__(self, data: Dict[str, Any], pages: Dict[str, str], passes: bool) -> None:
        super().__init__(data, pages, "A checkpoint")
        self.passes = passes  #: the program found nothing wrong; without max_rel_fro and original it judges no product

    @property
    def checkpoint(self) -> Dict[str, Any]:
        """What is there: schema ``mmaudit.checkpoint/1``."""
        found: Dict[str, Any] = self.get("checkpoint", self)
        return found

    @property
    def layers(self) -> List[Dict[str, Any]]:
        """A dictionary per layer in network order, as the checkpoint has it."""
        return list(self.checkpoint["layers"])

    @property
    def plan(self) -> Optional[Dict[str, Any]]:
        """Layer recipes as mmaudit.torch.emulate() takes them; None without an audit."""
        return json.loads(self._pages["plan"]) if "plan" in self._pages else None


def model(
    path: _Path, *, audit: bool = True, convention: Optional[str] = None, original: Optional[_Path] = None,
    activations: Optional[str] = None, layers: Optional[str] = None, recipe: Union[str, Sequence[str], None] = None,
    max_rel_fro: Optional[float] = None, strict: bool = False, sample: Optional[int] = None, seed: Optional[int] = None,
    threads: int = 0, progress: Optional[bool] = None,
) -> Model:
    """What a checkpoint holds, and the relative error of each layer's product on a GPU.

    Runs ``mmaudit model``: quantized layers are audited with their own codes and scales, the others in each recipe.

    Args:
        path: a folder of a hub, an index, a .safetensors or a .gguf file. audit: False: only say what is there.
        convention: how codes and scales are kept (docs/model.md), where the files leave a choice.
        original: the checkpoint that this one was quantized from: errors of the weights, and what is wrong with them.
        activations: A of every product: a distribution as ``mmaudit model --help`` lists them, or a file of
            mmaudit.torch.capture(); None: a guess, which the result states.
        layers: a glob over names of layers. recipe: of layers without scales, one name or several.
        max_rel_fro: the largest relative Frobenius error that passes. strict: a suspicion fails too.
        sample: rows of every weight. seed, threads: as there.
        progress: a line on sys.stderr every 5 seconds, in a notebook too; None: where that is a terminal.
    Returns: a Model, which a notebook shows as a page.
    Raises: ValueError with the line of the command line in the names of these arguments; RuntimeError where the
        program mmaudit is not found.
    """
    places = [None if one is None else os.path.abspath(os.path.expanduser(os.fsdecode(one)))
              for one in (path, original)]
    for name, place in zip(("path", "original"), places):
        if place is not None and not os.path.exists(place):
            raise refused(name, f"nothing at {place!r}", "a folder of a hub, an index, a .safetensors or a .gguf")
    if activations is not None and os.path.exists(activations):
        activations = os.path.abspath(activations)
    arguments = ["model", str(places[0]), *_tool.options_of(
        convention=convention, original=places[1], activations=activations,
        layers=layers, recipe=recipe, max_rel_fro=max_rel_fro, sample=sample, seed=seed, threads=threads, **_FILES)]
    arguments += ["--strict"] if strict else []
    arguments.append("--plan=plan.json" if audit else "--list")
    with _tool.scratch() as folder:
        done = _tool.run(arguments, folder, _OWN_NAMES, sys.stderr.isatty() if progress is None else progress)
        pages = {name: (Path(folder) / file).read_text(encoding="utf-8")
                 for name, file in {**_FILES, **({"plan": "plan.json"} if audit else {})}.items()}
    pages["text"] = done.stdout
    return Model(json.loads(pages["json"]), pages, done.returncode == 0)
