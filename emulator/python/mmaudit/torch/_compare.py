"""The same batch through the same module under several plans: how errors grow from layer to layer, logits, loss."""
import json
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Set, Tuple, Union

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .. import _report
from .._refuse import refused
from . import _checked, _compare_report
from ._calibrate import Calibration
from ._checked import named_modules, unchanged
from ._emulate import Emulation, Seen
from ._recipes import Choice, LayerRecipes, Plan, label
from ._storages import Storages

SCHEMA = "mmaudit.compare/1"
Loss = Callable[[Any], Tensor]


def called(module: nn.Module, batch: Any) -> Any:
    """module(batch): a mapping as keywords, a tuple or list as arguments, anything else as the one argument."""
    if isinstance(batch, Mapping):
        return module(**batch)
    if isinstance(batch, (tuple, list)):
        return module(*batch)
    return module(batch)


def tensor_of(output: Any) -> Tuple[Any, str, bool]:
    """The tensor of an output: itself, its field or entry `logits`, or the first of a tuple or mapping; which one that
    is, "" for the only one; and whether its last axis may be logits: of named fields `logits` alone."""
    if not isinstance(output, Tensor) and getattr(output, "logits", None) is not None:
        return output.logits, "logits", True
    if isinstance(output, Mapping):
        name = "logits" if "logits" in output else next(iter(output), "")
        return output.get(name, output), str(name), name == "logits"
    if isinstance(output, (tuple, list)) and output:
        return output[0], "" if len(output) == 1 else f"the first of {len(output)}", True
    return output, "", True


def logits_of(output: Any) -> Tensor:
    """That tensor, with real numbers in it."""
    found = tensor_of(output)[0]
    found = found[0] if isinstance(found, (tuple, list)) and found else found
    if isinstance(found, Tensor) and found.is_meta:
        raise refused("module", "an output on the device meta", "one with numbers")
    if not isinstance(found, Tensor):
        raise refused(
            "module", f"an output of {type(output).__name__}", "a tensor, a tuple, a mapping, or one with logits")
    if found.is_complex():
        raise refused("module", f"an output of {found.dtype}", "real numbers")
    return found.detach()


def relative_error(x: Tensor, reference: Tensor) -> float:
    """Norm of x - reference over the norm of reference, Frobenius, in binary64."""
    exact = reference.double()
    return float((x.double() - exact).norm() / exact.norm())


def same_largest(x: Tensor, reference: Tensor) -> Tensor:
    """Where the largest numbers of the last axis are at one place; NaN is no number, so none is the largest then."""
    return (x.argmax(-1) == reference.argmax(-1)) & ~(x.isnan().any(-1) | reference.isnan().any(-1))


def _of_head(logits: Tensor, products: Storages) -> bool:
    """Whether an output without a name is logits: a product's D as it is, as a head gives it, or log probabilities."""
    if logits in products:
        return True
    total = logits.double().logsumexp(-1) if logits.dim() and logits.shape[-1] > 1 else logits.new_ones(())
    return bool((total.abs() < 1e-3).all())


class Comparison(_report.Drawn, Dict[str, Any]):
    """What compare() found, as JSON holds it; printed, a notebook and files show it as a report."""

    date = ""  #: when, in UTC

    def report(self) -> Dict[str, Any]:
        return _compare_report.report(self, self.date)

    def json(self) -> str:
        """Itself; numbers that are not finite, which JSON lacks, as null."""
        return json.dumps(_report.finite(self), indent=1, allow_nan=False) + "\n"


def _run(module: nn.Module, batch: Any, plan: "Plan | Choice", seed: int, watch: Optional[Callable[[Seen], None]],
         outputs: Dict[str, Tensor], names: Optional[Sequence[str]], calibration: Optional[Calibration] = None) -> Any:
    hooks = []

    def keep(name: str) -> Callable[..., None]:
        def hook(_: nn.Module, __: Any, output: Any) -> None:
            found = output[0] if isinstance(output, (tuple, list)) and output else output
            if isinstance(found, Tensor) and found.is_floating_point():
                outputs[name] = found.detach()
        return hook

    try:
        for name, one in named_modules(module):
            if (names is None or name in names) and not isinstance(one, torch.jit.ScriptModule):  # takes no hooks
                hooks.append(one.register_forward_hook(keep(name)))
        with unchanged(module, seed), torch.no_grad(), Emulation(
                module, LayerRecipes.of(plan, module), watch, tell=False, calibration=calibration) as emulation:
            return called(module, batch), emulation
    finally:
        for handle in hooks:
            handle.remove()


def named_plans(plans: Any) -> "Mapping[str, Plan | Choice]":
    """Plans by names. One str would be taken letter by letter."""
    if isinstance(plans, Mapping):
        for name in plans:
            _checked.of_kind("plans name", name, str, "a str")
        return plans
    if isinstance(plans, (str, bytes, LayerRecipes)) or not isinstance(plans, Iterable):
        raise refused(
            "plans", f"a {type(plans).__name__}",
            "a list of names of recipes, or an object of plans by names of your own")
    out: Dict[str, Plan | Choice] = {}
    for one in plans:
        if not isinstance(one, str):
            raise refused(
                "plans", f"a {type(one).__name__} in the list",
                "names of recipes; an object gives plans names of your own")
        out[one] = one
    return out


#: What a comparison of a module that runs no product says.
NO_PRODUCTS = "module: found no matrix products, allowed: a module that runs some"


def measured_output(module: nn.Module, batch: Any, plan: "Plan | Choice", seed: int) -> Any:
    """What the module gives under a plan, as compare() runs it."""
    found, emulation = _run(module, batch, plan, seed, None, {}, ())
    if not any(emulation.products.values()):
        raise ValueError(NO_PRODUCTS)
    return found


def compare(
    module: nn.Module, batch: Any, plans: "Union[Sequence[str], Mapping[str, Plan | Choice]]", *,
    loss: Optional[Loss] = None, seed: int = 0, calibration: Optional[Calibration] = None,
) -> Comparison:
    """Runs a batch through a module as it is, and under every plan.

    Args:
        module: as it is to be measured: call module.eval() first, or dropout is drawn, the same for every plan.
        batch: the argument of the module; a tuple of them, or a mapping of keywords.
        plans: names of recipes, or plans by a name of your own.
        loss: gives the loss of an output of the module.
        seed: of torch, before every run. calibration: of calibrate(), for plans with static scales or SmoothQuant.
    Returns: {"schema", "seed", "loss", "measured": which tensor of an output with several, "layers": names of
    modules that run products, in that order, "coverage": of the module as it is, as Coverage.to_json() has it, "plans":
    {name:
        {"products", "coverage": that under the plan, with "missed" (multiply-adds by operator) in place of rows,
        "architectures": of the GPUs whose bits they are, "unmatched": keys of the plan's layers that decided on no
        product, "layers": {name: relative error of its output}, "dtypes": {name: what its products are computed in},
        "relative_error", "estimated_error", "limit", "limit_field", "limit_value", "exceeds_limit", "kl", "top1", "loss",
        "all_reduced": layers of which tensor parallelism splits k}}}. limit is the plan's own and limit_field what it is on,
    as choose_plan() names it; limit_value is that, measured on this batch, and exceeds_limit whether it is beyond the limit,
    or not a number; None where the plan has no limit, or it can't be measured here (without `loss`, or a metric).
    KL is the mean over positions of KL(as it is || under the plan), in nats,
    and top1 the share of positions with the same largest logit (none where one is NaN); both over the last axis of the
    output, computed in binary64, and None where that is no logits. Logits are a field or entry of that name, an output
    that is a product as it is (the D of a last nn.Linear), and log probabilities.
    Raises: ValueError for a plan that is none, and for a module that runs no matrix product.
    """
    _checked.module(module)
    if loss is not None and not callable(loss):
        raise refused("loss", f"a {type(loss).__name__}", "a function of an output of the module")
    named = named_plans(plans)
    chosen = {name: LayerRecipes.of(one, module) for name, one in named.items()}
    layers: List[str] = []
    reference: Dict[str, Tensor] = {}

    heads = Storages()

    def note(seen: Seen) -> None:
        heads.add(seen.d)
        if seen.site.layer not in layers:
            layers.append(seen.site.layer)

    exact, survey = _run(module, batch, LayerRecipes(), seed, note, reference, None)
    if not layers:
        raise ValueError(NO_PRODUCTS)
    logits, (_, measured, is_logits) = logits_of(exact), tensor_of(exact)
    is_logits = is_logits and (measured == "logits" or _of_head(logits, heads))
    log_p = F.log_softmax(logits.double(), -1)
    of_loss = None if loss is None else _checked.number("loss", loss(exact))
    result = Comparison(schema=SCHEMA, seed=seed, loss=of_loss, measured=measured, layers=layers,
                        coverage=survey.coverage.to_json(), plans={})
    result.date = _report.now()
    for name, plan in chosen.items():
        outputs: Dict[str, Tensor] = {}
        dtypes: Dict[str, List[str]] = {}
        where: Set[str] = set()

        def note_dtype(seen: Seen, dtypes: Dict[str, List[str]] = dtypes, where: Set[str] = where) -> None:
            where.update([] if seen.recipe is None else [seen.recipe.arch])
            of_layer, one = dtypes.setdefault(seen.site.layer, []), label(seen.recipe)
            if one not in of_layer:
                of_layer.append(one)

        found, emulation = _run(module, batch, plan, seed, note_dtype, outputs, layers, calibration)
        mine = logits_of(found)
        log_q = F.log_softmax(mine.double(), -1)
        divergence = F.kl_div(log_q, log_p, reduction="none", log_target=True)
        error = relative_error(mine, logits)
        kl = float(divergence.where(log_p != -torch.inf, torch.zeros_like(log_p)).sum(-1).mean()) if is_logits else None
        top1 = float(same_largest(mine, logits).double().mean()) if is_logits else None
        lost = None if loss is None else float(loss(found))
        field, bound = ("max_output_error", plan.limit) if plan.limit is not None else plan.bound or (None, None)
        value = {"max_output_error": error, "max_kl": kl, "min_top1": top1, "max_loss_increase":
                 None if lost is None or of_loss is None else lost - of_loss}.get(field or "")
        within = value is not None and bound is not None and (value >= bound if field == "min_top1" else value <= bound)
        result["plans"][name] = {
            "products": emulation.products,
            "coverage": {**{key: one for key, one in emulation.coverage.to_json().items() if key != "rows"},
                         "missed": emulation.coverage.missed_operators(), "line": emulation.coverage.line()},
            "architectures": sorted(where),
            "unmatched": emulation.unmatched,
            "layers": {layer: relative_error(outputs[layer], reference[layer]) for layer in layers if layer in outputs},
            "dtypes": {layer: " and ".join(dtypes.get(layer, [label(None)])) for layer in layers},
            "relative_error": error,
            "estimated_error": plan.estimate,
            "limit": bound,
            "limit_field": field,
            "limit_value": value,
            "exceeds_limit": None if value is None else not within,
            "kl": kl,
            "top1": top1,
            "loss": lost,
            "all_reduced": sorted(emulation.split),
        }
    return result
