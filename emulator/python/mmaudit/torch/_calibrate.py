"""What activations of layers are over batches: for static scales, and for SmoothQuant's factors."""
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import torch
from torch import Tensor, nn

from .._refuse import refused
from . import _checked
from ._checked import unchanged
from ._mixed import Prepared, misfit, numbers_of
from ._operator import largest_finite, quantize
from ._recipes import LayerRecipes, Recipe, label
from ._seen import Seen, Site

_BINS = 0x7F80  #: of finite binary32 magnitudes by their upper 16 bits: 128 per power of two
_SHRUNK = 80  #: percent that the search of least squares takes off the largest magnitude, one by one


class _Row(NamedTuple):
    """Of the products of a layer by weights with as many rows; what is not finite does not count."""

    channels: Tensor  #: largest magnitudes of A per k, binary32
    weights: Tensor  #: of B per k
    counts: Tensor  #: of magnitudes of A that are not 0, per bin


class Calibration:
    """calibrate() returns it: for emulate() and compare() of plans with static scales or SmoothQuant."""

    def __init__(self) -> None:
        self._rows: Dict[Tuple[str, int], _Row] = {}
        self._largest: Dict[Any, float] = {}
        self._smooth: Dict[Any, bytes] = {}

    @property
    def layers(self) -> List[str]:
        return list(dict.fromkeys(name for name, _ in self._rows))

    def see(self, seen: Seen) -> None:
        """Adds a product, if it is one by a weight in the forward pass."""
        if not seen.weight or seen.site.backward:
            return
        self._largest.clear()
        self._smooth.clear()
        a, k = seen.a.detach().reshape(-1, seen.a.shape[-1]), seen.a.shape[-1]
        sizes = largest_finite(a).to(torch.float32).cpu()
        channels = sizes.amax(0) if len(sizes) else sizes.new_zeros(k)
        weights = largest_finite(seen.b.detach()).to(torch.float32).amax((0, 2)).cpu()
        counts = torch.bincount((sizes[sizes > 0].view(torch.int32) >> 16).reshape(-1), minlength=_BINS)
        known = self._rows.get((seen.site.layer, k))
        if known is not None:
            channels, weights = torch.maximum(channels, known.channels), torch.maximum(weights, known.weights)
            counts = counts + known.counts
        self._rows[seen.site.layer, k] = _Row(channels, weights, counts)

    def _row(self, layer: str, k: int) -> _Row:
        if (layer, k) not in self._rows:
            raise refused("calibration", f"no activations of {layer!r} with k = {k}", "batches that reach the layer")
        return self._rows[layer, k]

    def smooth(self, layer: str, k: int, recipe: Recipe) -> bytes:
        """binary32 per k: |A|^alpha / |B|^(1 - alpha) of the largest magnitudes (SmoothQuant, arXiv 2211.10438, equation 4),
        1 where either is 0 or the quotient is 0 or not finite."""
        key = layer, k, recipe.smooth
        if key not in self._smooth:
            row, alpha = self._row(layer, k), float(recipe.smooth or 0)
            s = (row.channels.double().pow(alpha) / row.weights.double().pow(1 - alpha)).to(torch.float32)
            good = (row.channels > 0) & (row.weights > 0) & s.isfinite() & (s > 0)
            self._smooth[key] = torch.where(good, s, torch.ones_like(s)).numpy().tobytes()
        return self._smooth[key]

    def largest(self, layer: str, k: int, recipe: Recipe) -> float:
        """What takes the place of the largest magnitude of A. percentile: the upper end of the first bin, 1/128 of a power
        of two wide, up to which so many percent of the numbers that are not 0 are, at most the largest. mse: of the
        largest times 1, 0.99 to 0.2 the one by which the middles of the bins, counted, err least in squares."""
        key = layer, k, recipe
        if key not in self._largest:
            row, (how, _, share) = self._row(layer, k), str(recipe.static).partition(":")
            most = float(row.channels.max()) if k else 0.0
            bins = row.counts.nonzero().reshape(-1)
            if how == "percentile" and most:
                upto = row.counts[bins].cumsum(0).double() >= float(share) / 100 * float(row.counts.sum())
                end = (bins[upto][:1] + 1).to(torch.int32) << 16
                most = min(most, float(end.view(torch.float32)))
            elif how == "mse" and most:
                middles = ((bins.to(torch.int32) << 16) + 0x8000).view(torch.float32).clamp(max=most).reshape(1, 1, -1)
                tries = [most * (100 - one) / 100 for one in range(_SHRUNK + 1)]
                most = min(tries, key=lambda one: self._squares(middles, row.counts[bins], one, recipe))
            self._largest[key] = most
        return self._largest[key]

    @staticmethod
    def _squares(x: Tensor, counts: Tensor, largest: float, recipe: Recipe) -> float:
        found = quantize(x, recipe.dtype, recipe.scaling, arch=recipe.arch, policy=recipe.policy,
                         tensor_largest=torch.tensor([largest], dtype=torch.float32))
        return float(((numbers_of(found, False) - x).double().square().reshape(-1) * counts).sum())


def prepared(calibration: Optional[Calibration], site: Site, recipe: Recipe, k: int, whole: bool) -> Prepared:
    """What the options of a recipe do to the operands of a product by a weight of k rows; `whole`: of no part of it."""
    where = f"layer {site.layer!r}"
    if site.backward or not whole:
        found = "a backward product" if site.backward else "a part of a tensor-parallel product"
        raise refused(where, f"{found} in {label(recipe)}", "forward products of whole tensors, or a recipe without options")
    why = misfit(recipe, k)
    if why is not None:
        raise refused(f"{where} {why[0]}", *why[1:])
    smooth, largest = b"", None
    if recipe.smooth is not None or recipe.static:
        if calibration is None:
            raise refused("calibration", f"None, where {where} takes {label(recipe)}", "calibrate(module, batches)")
        smooth = b"" if recipe.smooth is None else calibration.smooth(site.layer, k, recipe)
        largest = calibration.largest(site.layer, k, recipe) if recipe.static else None
    return Prepared(recipe.weights, smooth, k if recipe.hadamard == "whole" else int(recipe.hadamard), largest)


def calibrate(module: nn.Module, batch: Any, *, batches: Optional[int] = None, seed: int = 0) -> Calibration:
    """Runs batches through a module as it is and keeps what activations of its weights' products are.

    Args: as choose_plan() takes them: batch is a tensor, a tuple, a mapping, or several in a list or DataLoader, of which
        the first `batches` are taken.
    Returns: what emulate() and compare() take as `calibration`; 255 KiB and the largest magnitudes per k for each layer.
    Raises: ValueError in one line, for a batch that the module does not take.
    """
    from ._emulate import Emulation
    from ._limits import batches_of, first_call
    _checked.module(module)
    found = Calibration()
    for number, one in enumerate(batches_of(module, batch, batches)):
        with unchanged(module, seed), torch.no_grad(), Emulation(module, LayerRecipes(), found.see, tell=False):
            first_call(module, one, number)
    return found
