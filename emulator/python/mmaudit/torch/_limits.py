"""Batches as users have them, and one limit in their terms, measured on every batch."""
import inspect
from itertools import islice
from typing import Any, Callable, Dict, Iterable, List, Mapping, NamedTuple, Optional, Tuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .._refuse import refused
from . import _checked
from ._compare import logits_of, same_largest, tensor_of

Metric = Callable[[nn.Module], Any]
Loss = Callable[[Any, Any], Any]

_ONE = "one of max_output_error, max_kl, max_loss_increase, min_top1, min_metric, max_drop"


class Batch(NamedTuple):
    """What the module is called with."""

    arguments: Tuple[Any, ...]
    keywords: Dict[str, Any]
    whole: Any  #: as it was given, for a loss


def _batch_of(number: int, given: Any, parameters: Optional[inspect.Signature]) -> Batch:
    """Of an entry of a loader: a tuple may end with labels, which the module does not take."""
    def fits(*arguments: Any, **keywords: Any) -> bool:
        try:
            if parameters is not None:
                parameters.bind(*arguments, **keywords)
            return True
        except TypeError:
            return False

    if isinstance(given, Mapping):
        if all(isinstance(one, str) for one in given) and fits(**given):
            return Batch((), dict(given), given)
        found = f"the entries {', '.join(map(str, given))}"
    elif isinstance(given, (tuple, list)):
        for taken in range(len(given), 0, -1):
            if fits(*given[:taken]):
                return Batch(tuple(given[:taken]), {}, given)
        found = f"a {type(given).__name__} of {len(given)}"
    else:
        if fits(given):
            return Batch((given,), {}, given)
        found = f"a {type(given).__name__}"
    raise refused(f"batch {number}", found, f"what forward{parameters} takes; a list is a list of batches, a tuple the "
                  "arguments of one")


def batches_of(module: nn.Module, batch: Any, most: Optional[int]) -> List[Batch]:
    """A tensor, a tuple of arguments and a mapping of keywords are one batch; a list, and what else can be gone through,
    such as a DataLoader, holds several, of which the first `most` are taken.

    Raises: ValueError for none, and for one that the module's forward does not take.
    """
    if most is not None:
        most = _checked.whole("batches", most, 1, 2**31)
    try:
        parameters: Optional[inspect.Signature] = inspect.signature(module.forward)
    except (TypeError, ValueError):
        parameters = None
    if isinstance(batch, (Tensor, tuple, Mapping)) or not isinstance(batch, Iterable):
        return [_batch_of(0, batch, parameters)]
    if isinstance(batch, (str, bytes)):
        raise refused("batch", f"a {type(batch).__name__}", "a tensor, a tuple, a mapping, a list of these, or a DataLoader")
    found = [_batch_of(number, one, parameters) for number, one in enumerate(islice(batch, most))]
    if not found:
        raise refused("batch", "none in it", "one or more")
    return found


def first_call(module: nn.Module, batch: Batch, number: int) -> Any:
    """The module's output; ValueError where it can't be called so."""
    try:
        return module(*batch.arguments, **batch.keywords)
    except TypeError as error:
        what = ", ".join(type(one).__name__ for one in (*batch.arguments, *batch.keywords.values()))
        line = str(error).strip().partition("\n")[0]
        raise refused(f"batch {number}", f"{what} ({line})", "what the module can be called with") from error


def _loss_of(output: Any, batch: Any, loss: Optional[Loss]) -> float:
    if loss is not None:
        return _checked.number("loss", loss(output, batch))
    found = output.get("loss") if isinstance(output, Mapping) else getattr(output, "loss", None)
    if found is None and isinstance(output, Tensor) and output.numel() == 1:
        found = output
    if found is None:
        raise refused("max_loss_increase", "an output without a loss", "loss=a function of an output and its batch, or a "
                      "module that returns one")
    return _checked.number("loss", found)


def _kl(output: Any, exact: Any) -> float:
    """Mean over positions of KL(as it is || under the plan), in nats, computed in binary64."""
    log_p, log_q = (F.log_softmax(logits_of(one).double(), -1) for one in (exact, output))
    each = F.kl_div(log_q, log_p, reduction="none", log_target=True)
    return float(each.where(log_p != -torch.inf, torch.zeros_like(log_p)).sum(-1).mean())


class Limit(NamedTuple):
    """What a plan has to hold."""

    field: str  #: the argument
    bound: float
    title: str
    least: bool = False  #: values must be at least the bound
    mean: bool = False  #: of the mean over batches, not the worst
    loss: Optional[Loss] = None
    metric: Optional[Metric] = None

    def value(self, output: Any, exact: Any, batch: Any) -> float:
        """Of a batch: what is limited, but for the error of the output, of one under a plan and the one as it is."""
        if self.field == "max_loss_increase":
            return _loss_of(output, batch, self.loss) - _loss_of(exact, batch, self.loss)
        if not tensor_of(exact)[2]:
            raise refused(self.field, f"an output without logits ({tensor_of(exact)[1]})", "a module that returns logits")
        if self.field == "max_kl":
            return _kl(output, exact)
        return float(same_largest(logits_of(output), logits_of(exact)).double().mean())

    def worst(self, values: List[float]) -> float:
        bad = [one for one in values if one != one]
        return bad[0] if bad else min(values) if self.least else max(values)

    def within(self, value: float) -> bool:
        """False for NaN."""
        return value >= self.bound if self.least else value <= self.bound

    def shown(self, value: float) -> str:
        if self.field == "min_top1":
            return f"{value:.2%}"
        return f"{value:.4g}" if self.metric is not None else f"{value:.2e}"


def limit_of(given: Mapping[str, Any], over: str, loss: Optional[Loss], metric: Optional[Metric]) -> Limit:
    """Of the arguments of choose_plan(), of which exactly one limit is given."""
    said = [name for name, value in given.items() if value is not None]
    if len(said) != 1:
        raise refused("limit", " and ".join(said) or "none", f"exactly {_ONE}")
    field = said[0]
    bound = _checked.number(field, given[field])
    low, high, example = {
        "max_output_error": (0.0, float("inf"), "a number above 0, such as 0.12"),
        "max_kl": (0.0, float("inf"), "a number of nats above 0, such as 0.01"),
        "max_loss_increase": (0.0, float("inf"), "a number above 0, such as 0.01"),
        "min_top1": (0.0, 1.0, "a share above 0, at most 1, such as 0.99"),
        "max_drop": (-1e-300, float("inf"), "a number from 0, such as 0.005"),
        "min_metric": (-float("inf"), float("inf"), "a number that is finite")}[field]
    if not (low < bound and (bound <= high if high == 1 else bound < high)):
        raise refused(field, repr(given[field]), example)
    if over not in ("worst", "mean"):
        raise refused("over", repr(over), "worst, mean")
    takes_metric = field in ("min_metric", "max_drop")
    for name, one, needed in (("metric", metric, takes_metric), ("loss", loss, False)):
        if one is not None and not callable(one):
            raise refused(name, f"a {type(one).__name__}", "a function")
        if needed and one is None:
            raise refused(name, "none", f"a function of the module, with {field}")
    if metric is not None and not takes_metric:
        raise refused("metric", f"one with {field}", "with min_metric or max_drop")
    if loss is not None and field != "max_loss_increase":
        raise refused("loss", f"one with {field}", "with max_loss_increase")
    titles = {"max_output_error": "Error of the output", "max_kl": "KL, nats", "max_loss_increase": "Loss - as it is",
              "min_top1": "Same largest logit", "min_metric": "Metric", "max_drop": "Drop of the metric"}
    return Limit(field, bound, titles[field], field.startswith("min"), over == "mean", loss, metric)
