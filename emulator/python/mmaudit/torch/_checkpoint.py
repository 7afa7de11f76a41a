"""The weights of a checkpoint with drawn activations, for mmaudit audit --capture: when there is no batch to run."""
import os
import warnings
from contextlib import contextmanager
from fnmatch import fnmatchcase
from os import PathLike
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Sequence, Tuple, Union

import torch
from torch import Tensor

from .._refuse import refused
from ._capture import product_layer, sampled, saver
from ._checked import of_kind, output_file, patterns, seed_of, whole
from ._operator import largest_finite
from ._tensors import NUMBERS

_PLACE: Dict[str, Any] = {"dtype": torch.float32, "device": "cpu"}  #: whatever torch's defaults are
Draw = Callable[[int, int, torch.Generator], Tensor]  #: rows, k

_ALLOWED = "normal, uniform, student:NU with NU above 0, outliers:CHANNELS:FACTOR with both above 0"
_NAMED = 8  #: tensors that the warning names; the file's metadata has all of them
#: Tables that tokens and places are looked up in, which no product has; weights of norms have one dimension.
TABLES = ("*embed*", "*wte*", "*wpe*", "*position*")


def _normal(rows: int, k: int, draw: torch.Generator) -> Tensor:
    return torch.randn(rows, k, generator=draw, **_PLACE)


def _student(freedom: float) -> Draw:
    def drawn(rows: int, k: int, draw: torch.Generator) -> Tensor:
        # chi squared with `freedom` degrees is Gamma(freedom / 2) times 2
        shape = torch.full((rows, k), freedom / 2, dtype=torch.float64, device="cpu")
        chi = 2 * torch._standard_gamma(shape, generator=draw)
        return (torch.randn(rows, k, generator=draw, dtype=torch.float64, device="cpu") / (chi / freedom).sqrt()).float()
    return drawn


def _outliers(channels: int, factor: float) -> Draw:
    def drawn(rows: int, k: int, draw: torch.Generator) -> Tensor:
        x = torch.randn(rows, k, generator=draw, **_PLACE)
        x[:, torch.randperm(k, generator=draw, device="cpu")[:channels]] *= factor
        return x
    return drawn


def distribution(text: str) -> Draw:
    """Draws activations: normal N(0, 1), uniform in (-1, 1), Student's t, or N(0, 1) of which some channels (indices of
    k, the same in every row) are larger by a factor."""
    of_kind("activations", text, str, _ALLOWED)
    name, *numbers = text.split(":")
    try:
        values = [float(one) for one in numbers]
    except ValueError:
        values = [-1.0]
    good = all(0 < one < float("inf") for one in values)
    if name == "normal" and not values:
        return _normal
    if name == "uniform" and not values:
        return lambda rows, k, draw: torch.rand(rows, k, generator=draw, **_PLACE) * 2 - 1
    if name == "student" and len(values) == 1 and good:
        return _student(values[0])
    if name == "outliers" and len(values) == 2 and good and values[0].is_integer():
        return _outliers(int(values[0]), values[1])
    raise refused("activations", repr(text), _ALLOWED)


def _files(checkpoint: "Union[str, PathLike[str]]") -> List[Path]:
    path = Path(checkpoint)
    found = sorted(path.glob("*.safetensors")) if path.is_dir() else [path]
    if not found:
        raise refused("checkpoint", f"no .safetensors in {path}", "a file, or a folder that has some")
    return found


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    from safetensors import SafetensorError, safe_open
    try:
        file = safe_open(str(path), framework="pt")
    except SafetensorError as error:
        found = f"no safetensors in {str(path)!r} ({error})"
        raise refused("checkpoint", found, "a .safetensors file, or a folder of some") from None
    with file as opened:
        yield opened


def capture_checkpoint(
    checkpoint: "Union[str, PathLike[str]]", out: "Union[str, PathLike[str]]", *, activations: str = "normal",
    rows: int = 256, columns: int = 256, include: Sequence[str] = ("*",), exclude: Sequence[str] = TABLES,
    transposed: Sequence[str] = (), seed: int = 0,
) -> List[Dict[str, Any]]:
    """Writes the weights of a checkpoint as products, with activations from a distribution that you state.

    Every product's A is drawn, so its errors hold for these weights under that distribution and nothing else:
    outliers of the real activations are what FP8 and FP4 suffer from most. capture() has the real ones.

    Args:
        checkpoint: a .safetensors file, or a folder of them. Its tensors NAME.weight of two dimensions are weights of
            layers NAME, (outputs, inputs) as nn.Linear has them.
        activations: "normal", "uniform", "student:NU" or "outliers:CHANNELS:FACTOR".
        out, rows, columns, seed: as in capture(); B has at most so many columns, at random.
        include, exclude: globs over names of layers; embeddings look like weights, and are left out by their names.
        transposed: globs of layers whose weights are (inputs, outputs), as GPT-2's Conv1D has them.
    Returns: as capture(). Raises: ValueError where no weight is left; ImportError without safetensors.
    Warns: of tensors of two dimensions or more that include takes and exclude leaves and that are no such weights;
        "left_out" in the metadata has all of them.
    """
    save = saver("capture_checkpoint")
    include, exclude = patterns("include", include), patterns("exclude", exclude)
    transposed = patterns("transposed", transposed)
    rows, columns = whole("rows", rows, 1, 2**63 - 1), whole("columns", columns, 1, 2**63 - 1)
    drawn, draw = distribution(activations), torch.Generator("cpu").manual_seed(seed_of(seed))
    file_out = output_file("out", out)

    def matches(layer: str, globs: Sequence[str]) -> bool:
        return any(fnmatchcase(layer, one) for one in globs)

    tensors: Dict[str, Tensor] = {}
    products: List[Dict[str, Any]] = []
    others: List[str] = []
    left_out: List[str] = []  # of those and of tensors with other names, what has more than one dimension
    files = _files(checkpoint)
    if any(os.path.exists(file_out) and os.path.exists(one) and os.path.samefile(file_out, one) for one in files):
        raise refused("out", f"{file_out!r}, a file of the checkpoint", "another file")
    for path in files:
        with _opened(path) as file:
            for name in sorted(file.keys()):
                layer = name[:-len(".weight")] if name.endswith(".weight") else ""
                if not matches(layer or name, include) or matches(layer or name, exclude):
                    continue
                if not layer:
                    shape = file.get_slice(name).get_shape()
                    if len(shape) > 1:  # as in_proj_weight of nn.MultiheadAttention
                        left_out.append(f"{name} ({shape}, not a NAME.weight)")
                    continue
                weight = file.get_tensor(name)
                if weight.dim() != 2 or weight.dtype not in NUMBERS or 0 in weight.shape:
                    others.append(f"{name} ({weight.dtype}, {list(weight.shape)})")
                    if weight.dim() > 1:
                        left_out.append(others[-1])
                    continue
                b = weight if matches(layer, transposed) else weight.t()
                made = _product(layer, b, drawn, (rows, columns), draw)
                if made[0]["name"] + ".a" in tensors:
                    raise refused("checkpoint", f"{name} in two files", "in one")
                products.append(made[0])
                tensors.update(made[1])
    if not products:
        found = f"only {', '.join(others[:3])}" if others else "no NAME.weight"
        raise refused(
            "checkpoint", found,
            f"two-dimensional weights of {', '.join(NUMBERS.values())} that include takes and exclude leaves")
    save(file_out, tensors, {"seed": seed, "activations": activations, "products": products, "left_out": left_out},
         activations=activations)
    if left_out:
        more = f" and {len(left_out) - _NAMED} more" if len(left_out) > _NAMED else ""
        warnings.warn(f"checkpoint: left out {len(left_out)} tensors that may be weights: "
                      f"{', '.join(left_out[:_NAMED])}{more}; allowed: NAME.weight of two dimensions in "
                      f"{', '.join(NUMBERS.values())}", stacklevel=2)
    return products


def _product(layer: str, b: Tensor, drawn: Draw, most: Tuple[int, int],
             draw: torch.Generator) -> Tuple[Dict[str, Any], Dict[str, Tensor]]:
    """What capture() says of a product, and its tensors."""
    k, n = b.shape
    a = drawn(most[0], k, draw)
    largest = [float(largest_finite(one).amax()) for one in (a, b)]
    name = product_layer(layer) + "#0"
    facts = {"name": name, "layer": layer, "kind": "weight", "op": "drawn", "m": most[0], "n": n, "k": k,
             "largest_a": largest[0], "largest_b": largest[1]}
    some = b[:, sampled(n, most[1], draw)].clone(memory_format=torch.contiguous_format)
    return facts, {name + ".a": a, name + ".b": some, name + ".largest": torch.tensor(largest, **_PLACE)}
