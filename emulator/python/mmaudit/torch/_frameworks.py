"""What frameworks call a recipe: frameworks.json has a row per framework and way of scaling."""
import json
from pathlib import Path as File
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from ._operator import Path, find_path
from ._recipes import RECIPES, Recipe


class Row(NamedTuple):
    """A layer's configuration in a framework."""

    framework: str
    name: str  #: the framework's own word
    config: Dict[str, Any]  #: all fields, as the framework writes them
    exact: Sequence[str]  #: recipes with the bytes of the framework
    nearest: Sequence[str]  #: recipes that it comes next to; the first one that RECIPES has is what it is read as
    source: str  #: the version that it was read from
    multiple: Sequence[int] = (1, 1)  #: n and k of a weight that the framework quantizes are multiples of these
    written: bool = True  #: else only read
    note: str = ""


ROWS: List[Row] = [Row(**one) for one in json.loads(File(__file__).with_name("frameworks.json").read_text(encoding="utf-8"))]
FRAMEWORKS = tuple(dict.fromkeys(row.framework for row in ROWS))


def path_of(recipe: Recipe) -> Path:
    return find_path(recipe.arch, recipe.dtype, recipe.scaling, recipe.policy)


def unscaled(recipe: Recipe) -> bool:
    """Whether its elements are the numbers themselves, in a narrower type (bf16): nothing that frameworks quantize."""
    path = path_of(recipe)
    return not (path.scale or path.factor_per_lane or path.factor_per_tensor)


def names_of(recipe: Recipe) -> List[str]:
    """Names in RECIPES under which a layer gets the same elements, scales and order of sums, that recipe's GPU first."""
    def arithmetic(one: Recipe) -> Tuple[Any, ...]:
        return one.dtype, path_of(one).scaling, one.policy, one.history
    same = [name for name, one in RECIPES.items() if arithmetic(one) == arithmetic(recipe)]
    return sorted(same, key=lambda name: RECIPES[name].arch != recipe.arch)


def row_for(framework: str, recipe: Recipe) -> Optional[Tuple[Row, bool]]:
    """The row of a recipe, and whether it has the recipe's bytes."""
    names, rows = names_of(recipe), [row for row in ROWS if row.framework == framework and row.written]
    return next(((row, exact) for exact in (True, False) for row in rows
                 if any(name in (row.exact if exact else row.nearest) for name in names)), None)


def read_as(row: Row) -> Optional[Tuple[str, bool]]:
    """The recipe that a row is read as, and whether it has the row's bytes; None while RECIPES has none."""
    return next(((name, name in row.exact) for name in (*row.exact, *row.nearest) if name in RECIPES), None)
