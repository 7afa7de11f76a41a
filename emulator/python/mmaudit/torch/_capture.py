"""Operands of every product of a module in one file, for mmaudit audit --capture."""
import json
import math
from os import PathLike
from typing import Any, Dict, List, Set, Union

import torch
from torch import Tensor, nn

from ._checked import whole
from ._compare import called, logits_of, relative_error
from ._emulate import Seen, emulate
from ._operator import largest_finite

SCHEMA = "mmaudit.capture/1"


def sampled(count: int, most: int, draw: torch.Generator) -> Tensor:
    """`most` of `count` indices at random, ascending; all of them where there are no more."""
    if count <= most:
        return torch.arange(count)
    return torch.randperm(count, generator=draw)[:most].sort().values


#: Relative size of the noise that layer_gains() adds: as large as errors of FP8 are, so BF16 does not round it away.
_NOISE = 1 / 32


def product_layer(layer: str) -> str:
    """What a product's name says of its layer, which the audit takes as a key of the plan: "module" is the module
    itself, and a child of that name is the glob that it alone matches."""
    return "[m]odule" if layer == "module" else layer or "module"


def layer_gains(module: nn.Module, batch: Any, layers: Set[str], seed: int) -> Dict[str, float]:
    """The relative error of the output per relative error of a layer's products, by running with noise on them.

    Raises: ValueError for an output that is zero or not finite, or becomes so.
    """
    def run(layer: "str | None") -> Tensor:
        draw = torch.Generator().manual_seed(seed)

        def disturb(seen: Seen) -> None:
            if layer is None or seen.site.layer != layer or not seen.d.numel():
                return
            noise = torch.randn(seen.d.shape, generator=draw).to(seen.d.device, torch.float32)
            size = torch.matmul(seen.a.float(), seen.b.float()).norm() / math.sqrt(seen.d.numel())
            seen.d.add_((noise * (size * (_NOISE * seen.factor))).to(seen.d.dtype))

        torch.manual_seed(seed)
        with torch.no_grad(), emulate(module, None, watch=disturb):
            return logits_of(called(module, batch)).clone()

    exact, out = run(None), {}
    for layer in sorted(layers):
        gain = relative_error(run(layer), exact) / _NOISE
        if not math.isfinite(gain):
            raise ValueError(f"gains: found a relative error of the output of {gain} by noise on {layer!r}, allowed: "
                             "finite numbers")
        out[layer] = gain
    return out


def capture(
    module: nn.Module, batch: Any, out: "Union[str, PathLike[str]]", *, rows: int = 256, columns: int = 256,
    matrices: int = 4, seed: int = 0, gains: bool = False,
) -> List[Dict[str, Any]]:
    """Runs a batch and writes A and B of every forward product to a safetensors file.

    Args:
        module, batch: as in compare(); the module computes as it is.
        out: the file. rows, columns: at most so many rows of A and columns of B are kept, at random, with all of K;
            matrices: at most so many products of a batched one (the heads of attention). seed: of what is drawn.
        gains: also measure what an error of a layer does to the output, for --max-output-error: one more run as it
            is, and one per layer.
    Returns: what the file says of every product: {"name", "layer", "kind", "op", "m", "n", "k", "largest_a",
        "largest_b"}; tensors are "<name>.a", (rows, k), and "<name>.b", (k, columns), in their own dtype, and
        "<name>.largest", the largest magnitudes of the whole A and B; with gains "<name>.gain", the relative error of
        the output per relative error of the layer's products, and the multiplications that this product stands for.
    Raises: ValueError for a module without products; ImportError without safetensors.
    """
    try:
        from safetensors.torch import save_file
    except ImportError as error:
        raise ImportError("mmaudit.torch.capture: found no safetensors, allowed: pip install safetensors") from error
    most = 2**63 - 1
    rows, columns, matrices = (whole("rows", rows, 1, most), whole("columns", columns, 1, most),
                               whole("matrices", matrices, 1, most))
    draw = torch.Generator().manual_seed(seed)
    tensors: Dict[str, Tensor] = {}
    products: List[Dict[str, Any]] = []
    counted: Dict[str, int] = {}
    multiplications: Dict[str, float] = {}

    def keep(seen: Seen) -> None:
        batches, m, k = seen.a.shape
        n = seen.b.shape[2]
        number = counted[seen.site.layer] = counted.get(seen.site.layer, -1) + 1
        kept = sampled(batches, matrices, draw).tolist()
        for matrix in kept:
            name = f"{product_layer(seen.site.layer)}#{number}" + (f"[{matrix}]" if batches > 1 else "")
            a, b = seen.a[matrix], seen.b[matrix]
            largest = [float(largest_finite(one).amax()) if one.numel() else 0.0 for one in (seen.a, seen.b)]
            tensors[name + ".largest"] = torch.tensor(largest)
            some_rows, some_columns = sampled(m, rows, draw), sampled(n, columns, draw)
            for of, one in ((".a", a[some_rows.to(a.device)]), (".b", b[:, some_columns.to(b.device)])):
                tensors[name + of] = one.detach().cpu().clone(memory_format=torch.contiguous_format)
            products.append({
                "name": name, "layer": seen.site.layer, "kind": seen.site.kind, "op": seen.op, "m": m, "n": n, "k": k,
                "largest_a": largest[0], "largest_b": largest[1]})
            multiplications[name] = batches / len(kept) * m * n * k

    torch.manual_seed(seed)
    with torch.no_grad(), emulate(module, None, watch=keep):
        called(module, batch)
    if not products:
        raise ValueError("module: found no matrix products, allowed: a module that runs some")
    if gains:
        found = layer_gains(module, batch, {one["layer"] for one in products}, seed)
        for one in products:
            pair = [found[one["layer"]], multiplications[one["name"]]]
            tensors[one["name"] + ".gain"] = torch.tensor(pair, dtype=torch.float32)
    head = json.dumps({"schema": SCHEMA, "seed": seed, "products": products})
    save_file(tensors, str(out), metadata={"mmaudit": head})
    return products
