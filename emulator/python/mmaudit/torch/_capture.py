"""Operands of every product of a module in one file, for mmaudit audit --capture."""
import glob
import json
import math
import warnings
from os import PathLike
from typing import Any, Callable, Collection, Dict, List, Optional, Set, Union

import torch
from torch import Tensor, nn

from .._refuse import refused
from . import _attention, _checked
from ._checked import output_file, seed_of, unchanged, whole, written
from ._compare import NO_PRODUCTS, called, logits_of, relative_error
from ._coverage import Coverage
from ._emulate import Emulation, Seen
from ._operator import largest_finite
from ._recipes import LayerRecipes

SCHEMA = "mmaudit.capture/1"


def sampled(count: int, most: int, draw: torch.Generator) -> Tensor:
    """`most` of `count` indices at random, ascending; all of them where there are no more."""
    if count <= most:
        return torch.arange(count, device="cpu")
    return torch.randperm(count, generator=draw, device="cpu")[:most].sort().values


def sampled_with(odd: Tensor, most: int, draw: torch.Generator) -> Tensor:
    """sampled() of odd.numel() indices, one with `odd` true among them where there is one: what no product can be judged
    with is never left out."""
    kept = sampled(odd.numel(), most, draw)
    if bool(odd.any()) and not bool(odd[kept].any()):
        kept[-1] = int(odd.nonzero()[0])
    return kept.sort().values


def saver(function: str) -> Callable[..., None]:
    """What writes a capture; ImportError, in the name of a function, without safetensors."""
    try:
        from safetensors.torch import save_file
    except ImportError as error:
        raise refused(f"mmaudit.torch.{function}", "no safetensors", "pip install safetensors", ImportError) from error

    def save(file: str, tensors: Dict[str, Tensor], head: Dict[str, Any], **more: str) -> None:
        with written(file) as part:
            save_file(tensors, part, metadata={"mmaudit": json.dumps({"schema": SCHEMA, **head}), **more})
    return save


#: Relative error that layer_gains() gives products: as large as errors of FP8 are, so BF16 does not round it away.
_ERROR = 1 / 32


def product_layer(layer: str, kinds: Collection[str] = ()) -> str:
    """What a product's name says of its layer, which the audit takes as a key of the plan: "module" is the module
    itself. A key is a glob or the name of a class (`kinds`): a layer whose name would be taken for one of these is
    the glob that it alone matches."""
    if not layer:
        return "module"
    if layer == "module" or layer in kinds:
        return f"[{layer[0]}]{layer[1:]}"
    return glob.escape(layer)


def rounded(x: Tensor, factor: float) -> Tensor:
    """x in binary32 with 4 significant bits of x times `factor`, to nearest even: equal numbers err equally, as they do
    in FP8. Numbers above 2^100 stay as they are."""
    x = x.to(torch.float32)
    scaled = x * factor
    wide = scaled * (2.0**20 + 1)
    found = (wide - (wide - scaled)) / factor
    return torch.where(x.abs() < 2.0**100, found, x)


def norm_of(x: Tensor) -> Tensor:
    """The root of the sum of squares, in binary64: squares of 1e20 are no binary32."""
    found: Tensor = torch.linalg.vector_norm(x, dtype=torch.float64)
    return found


def layer_gains(module: nn.Module, batch: Any, layers: Set[str], seed: int) -> Dict[str, float]:
    """The relative error of the output per relative error of a layer's products, with rounded operands.

    One run per layer, in which operands of its products are rounded, and one in which operands of all layers are: where
    its error is larger than the root of the sum of squares, because layers err alike, all gains are larger by as much.

    Raises: ValueError for an output that is zero or not finite, or becomes so.
    """
    def run(disturbed: Collection[str], size: float, number: int) -> Tensor:
        draw = torch.Generator("cpu").manual_seed(seed + number)
        factor = 1 + float(torch.rand((), generator=draw, dtype=torch.float32, device="cpu"))

        def disturb(seen: Seen) -> None:
            if seen.site.layer not in disturbed or not seen.d.numel():
                return
            exact = torch.matmul(seen.a.float(), seen.b.float())
            error = torch.matmul(rounded(seen.a, factor), rounded(seen.b, factor)) - exact
            # zeros make no error, and there is nothing to scale
            scale = size * seen.factor * torch.nan_to_num(norm_of(exact) / norm_of(error), posinf=0.0)
            seen.d.add_((error * scale).reshape(seen.d.shape).to(seen.d.dtype))

        with unchanged(module, seed), torch.no_grad(), Emulation(module, LayerRecipes(), disturb, tell=False):
            return logits_of(called(module, batch)).clone()

    exact, out = run((), 0, 0), {}
    for number, layer in enumerate(sorted(layers)):
        out[layer] = relative_error(run({layer}, _ERROR, number), exact) / _ERROR
    independent = math.sqrt(sum(one**2 for one in out.values()))
    size = _ERROR / max(1.0, independent)  # so that the output errs by about as much as one layer
    together = relative_error(run(layers, size, 0), exact) / size
    for layer, gain in out.items():
        if not math.isfinite(gain) or not math.isfinite(together):
            error = gain if math.isfinite(together) else together
            found = f"a relative error of the output of {error} by errors of {layer!r}"
            raise refused("gains", found, "finite numbers")
    alike = max(1.0, together / independent) if independent else 1.0
    return {layer: gain * alike for layer, gain in out.items()}


class Captured(List[Dict[str, Any]]):
    """What the file says of every product, the `coverage` of the run (what the file has is "kept" there), and calls of
    scaled_dot_product_attention."""

    def __init__(self) -> None:
        super().__init__()
        self.coverage = Coverage()
        self.attentions: List[Dict[str, Any]] = []  #: {"name", "layer", "why": no plan takes it, or ""}


#: Which corner the diagonal of a captured attention ends in, as its tensor says it; the last: no plan takes the call.
_CORNERS = ("none", "top_left", "bottom_right", "")


def _of_attention(call: _attention.Call, rows: int, matrices: int, draw: torch.Generator) -> Dict[str, Tensor]:
    """Some heads of K with theirs of Q, and the last rows of Q, as one batch."""
    group, corner = call.q.shape[1] // call.k.shape[1], call.causal
    if call.q.shape[2] == call.k.shape[2] and corner == "top_left":
        corner = "bottom_right"  # which the last rows have too
    kept = sampled(call.k.shape[0] * call.k.shape[1], matrices, draw).to(call.k.device)
    q = call.q.reshape(-1, group, *call.q.shape[2:])[kept]
    first = 0 if corner == "top_left" else max(0, q.shape[2] - rows)
    found = {"q": q[:, :, first:], **{name: x.reshape(-1, 1, *x.shape[2:])[kept] for name, x in (("k", call.k), ("v", call.v))}}
    out = {name: one.detach().cpu().clone(memory_format=torch.contiguous_format) for name, one in found.items()}
    return {**out, "attention": _said(corner, call.scale)}


def _said(corner: str, scale: float = 0.0) -> Tensor:
    return torch.tensor([_CORNERS.index(corner), scale], dtype=torch.float32, device="cpu")


def capture(
    module: nn.Module, batch: Any, out: "Union[str, PathLike[str]]", *, rows: int = 256, columns: int = 256,
    matrices: int = 4, seed: int = 0, gains: bool = False,
) -> Captured:
    """Runs a batch and writes A and B of every forward product to a safetensors file.

    Args:
        module, batch: as in compare(); the module computes as it is.
        out: the file. rows, columns: at most so many rows of A and columns of B are kept, at random, with all of K, one
            with a NaN or an infinity among them where there is one; matrices: at most so many products of a batched one
            (the heads of attention), likewise. seed: of what is drawn.
        gains: also measure what an error of a layer does to the output, for --max-output-error: one more run as it
            is, one per layer, and one with errors in all of them.
    Returns: what the file says of every product: {"name", "layer", "kind", "op", "m", "n", "k", "largest_a",
        "largest_b"}; tensors are "<name>.a", (rows, k), and "<name>.b", (k, columns), in their own dtype, and
        "<name>.largest", the largest magnitudes of the whole A and B; with gains "<name>.gain", the relative error of
        the output per relative error of the layer's products, and the multiplications that this product stands for.
        Of calls of scaled_dot_product_attention the file also has `matrices` heads and the last `rows` queries of Q, K and V,
        for mmaudit attention audit --capture; `.attentions` of the list names them.
        `.coverage` of the list has the multiply-adds of operators that the file lacks, as has "coverage" in the file.
    Warns: of operators that compute products and are not in the file.
    Raises: ValueError for a module without products; ImportError without safetensors.
    """
    save = saver("capture")
    _checked.module(module)
    file, most = output_file("out", out), 2**63 - 1
    rows, columns, matrices = (whole("rows", rows, 1, most), whole("columns", columns, 1, most),
                               whole("matrices", matrices, 1, most))
    draw = torch.Generator("cpu").manual_seed(seed_of(seed))
    tensors: Dict[str, Tensor] = {}
    products = Captured()
    counted: Dict[str, int] = {}
    multiplications: Dict[str, float] = {}
    kinds = {type(one).__name__ for one in module.modules()}

    def keep(seen: Seen) -> None:
        if seen.a.is_meta or seen.b.is_meta:
            raise refused("module", "operands on the device meta", "operands with numbers")
        batches, m, k = seen.a.shape
        n = seen.b.shape[2]
        number = counted[seen.site.layer] = counted.get(seen.site.layer, -1) + 1
        odd_a, odd_b = (~torch.isfinite(one).all(of_k).cpu() for one, of_k in ((seen.a, 2), (seen.b, 1)))  # (batches, m or n)
        kept = sampled_with(odd_a.any(1) | odd_b.any(1), matrices, draw).tolist()
        for matrix in kept:
            name = f"{product_layer(seen.site.layer, kinds)}#{number}" + (f"[{matrix}]" if batches > 1 else "")
            a, b = seen.a[matrix], seen.b[matrix]
            largest = [float(largest_finite(one).amax()) if one.numel() else 0.0 for one in (seen.a, seen.b)]
            tensors[name + ".largest"] = torch.tensor(largest, dtype=torch.float32, device="cpu")
            some_rows, some_columns = sampled_with(odd_a[matrix], rows, draw), sampled_with(odd_b[matrix], columns, draw)
            for of, one in ((".a", a[some_rows.to(a.device)]), (".b", b[:, some_columns.to(b.device)])):
                tensors[name + of] = one.detach().cpu().clone(memory_format=torch.contiguous_format)
            products.append({
                "name": name, "layer": seen.site.layer, "kind": seen.site.kind, "op": seen.op, "m": m, "n": n, "k": k,
                "largest_a": largest[0], "largest_b": largest[1]})
            multiplications[name] = batches / len(kept) * m * n * k

    def keep_attention(layer: str, call: Optional[_attention.Call], why: str) -> None:
        number = attended[layer] = attended.get(layer, -1) + 1
        name = f"{product_layer(layer, kinds)}#attention{number}"
        why = "a mask" if call is not None and call.mask is not None else why
        products.attentions.append({"name": name, "layer": layer, "why": why})
        some = {"attention": _said("")} if call is None or why else _of_attention(call, rows, matrices, draw)
        tensors.update({f"{name}.{of}": one for of, one in some.items()})

    attended: Dict[str, int] = {}
    with unchanged(module, seed), torch.no_grad(), Emulation(
            module, LayerRecipes(), keep, tell=False) as emulation, _attention.recorder(
                lambda: emulation.here().layer, keep_attention):
        called(module, batch)
    if not products:
        raise ValueError(NO_PRODUCTS)
    products.coverage = emulation.coverage
    if products.coverage.line():
        warnings.warn(f"capture: {products.coverage.line('are not in the file')}", stacklevel=2)
    if gains:
        found = layer_gains(module, batch, {one["layer"] for one in products}, seed)
        for one in products:
            pair = [found[one["layer"]], multiplications[one["name"]]]
            tensors[one["name"] + ".gain"] = torch.tensor(pair, dtype=torch.float32, device="cpu")
    save(file, tensors, {"seed": seed, "products": products, "attentions": products.attentions, "coverage": products.coverage.to_json()})
    return products
