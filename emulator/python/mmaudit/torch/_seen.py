"""A product, and where it is."""
from typing import NamedTuple, Optional

from torch import Tensor

from ._recipes import Recipe


class Site(NamedTuple):
    """Where a product is: the module, its class, and whether it is a product of the backward pass."""

    layer: str
    kind: str
    backward: bool
    by_weight: bool = False  #: in the backward pass: of a forward product by a weight


class Seen(NamedTuple):
    """A product as watchers see it: A and B with a batch axis, before they are quantized, and D."""

    site: Site
    op: str
    a: Tensor
    b: Tensor
    d: Tensor
    recipe: Optional[Recipe]
    factor: float = 1.0  #: D has A B so many times: the alpha of a kept addmm or baddbmm
    weight: bool = False  #: whether B is a parameter, or made of one
