"""What emulate() has seen of a module: operators that compute products, and the multiply-adds of each."""
import re
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Dict, List, Optional, Tuple

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

HARDWARE, MODEL = "hardware", "model"  #: what computed an emulated product
EMULATED, KEPT, MISSED = "emulated", "kept", "not emulated"


@dataclass(frozen=True)
class CoverageRow:
    """The products of one operator in one layer."""

    operator: str  #: such as "aten.mm"
    layer: str  #: the name of the module, "" for the module itself
    state: str  #: "emulated", "kept" (by the plan) or "not emulated" (there is no rule)
    multiply_adds: int
    products: int  #: calls of an operator without a rule
    backward: bool  #: of the backward pass
    estimate: bool  #: multiply_adds follows from the shapes of an operator that nothing is known about
    by: str = ""  #: of emulated products: "hardware", the GPU's own instructions, or "model"
    checked: int = 0  #: elements of D by the hardware that the model checks


class Coverage:
    """Multiply-adds of a module by what became of them: `Emulation.coverage`.

    `emulated`, `kept`, `missed` and `share_missed` are of the forward pass. `rows` has the backward pass too.
    What does not reach torch's dispatcher (a Triton kernel called directly, numpy) is in none of them.
    """

    def __init__(self) -> None:
        self._all: Dict[Tuple[str, str, str, bool, bool, str], List[int]] = {}

    def add(self, operator: str, layer: str, state: str, multiply_adds: int, backward: bool = False,
            estimate: bool = False, products: int = 1, by: str = "", checked: int = 0) -> None:
        of = self._all.setdefault((operator, layer, state, backward, estimate, by), [0, 0, 0])
        for at, more in enumerate((multiply_adds, products, checked)):
            of[at] += more

    @property
    def rows(self) -> List[CoverageRow]:
        """In the order in which they were seen first."""
        return [CoverageRow(operator, layer, state, of[0], of[1], backward, estimate, by, of[2])
                for (operator, layer, state, backward, estimate, by), of in self._all.items()]

    def multiply_adds(self, state: Optional[str] = None, backward: bool = False) -> int:
        """Of a state, or of all."""
        return sum(one.multiply_adds for one in self.rows if one.backward == backward and state in (None, one.state))

    @property
    def emulated(self) -> int:
        return self.multiply_adds(EMULATED)

    @property
    def kept(self) -> int:
        return self.multiply_adds(KEPT)

    @property
    def missed(self) -> int:
        return self.multiply_adds(MISSED)

    @property
    def share_missed(self) -> float:
        """Of the forward pass's multiply-adds those that are not emulated, from 0 to 1."""
        return self.missed / max(1, self.multiply_adds())

    def missed_operators(self) -> Dict[str, int]:
        """Multiply-adds of the forward pass by operator, most first; of both passes where the forward pass has none."""
        backward = not any(one.state == MISSED and not one.backward for one in self.rows)
        found: Dict[str, int] = {}
        for one in self.rows:
            if one.state == MISSED and one.backward == backward:
                found[one.operator] = found.get(one.operator, 0) + one.multiply_adds
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    def line(self, what: str = "are not emulated", most: int = 4) -> str:
        """What is missed, in one line; "" where nothing is."""
        found = self.missed_operators()
        if not found:
            return ""
        backward = all(one.backward for one in self.rows if one.state == MISSED)
        of, total = "backward multiply-adds" if backward else "multiply-adds", max(1, self.multiply_adds(None, backward))
        named = [f"{name} ({count / total:.1%})" for name, count in list(found.items())[:most]]
        named += ["..."] if len(found) > most else []
        guess = ", estimated from shapes" if any(one.estimate and one.state == MISSED for one in self.rows) else ""
        return (f"{len(found)} operator{'' if len(found) == 1 else 's'}, {sum(found.values()) / total:.1%} of the {of}"
                f"{guess}, {what}: {', '.join(named)}")

    def to_json(self) -> Dict[str, Any]:
        """{"emulated", "kept", "not_emulated": multiply-adds of the forward pass, "share_missed", "rows"}."""
        return {"emulated": self.emulated, "kept": self.kept, "not_emulated": self.missed,
                "share_missed": self.share_missed, "rows": [asdict(one) for one in self.rows]}

    def __str__(self) -> str:
        lines = [f"{'multiply-adds':>15}  {'products':>8}  {'what became':<12}  operator, layer"]
        for one in sorted(self.rows, key=lambda row: (row.backward, -row.multiply_adds)):
            note = " (backward)" * one.backward + " (estimate)" * one.estimate + f" (by the {one.by})" * bool(one.by)
            note += f" ({one.checked:,} elements checked by the model)" * (one.by == HARDWARE)
            lines.append(f"{one.multiply_adds:>15,}  {one.products:>8}  {one.state:<12}  {one.operator}, "
                         f"{one.layer or 'module'}{note}")
        total = max(1, self.multiply_adds())
        shares = ", ".join(f"{self.multiply_adds(state) / total:.1%} {state}" for state in (EMULATED, KEPT, MISSED))
        return "\n".join([*lines, f"forward: {shares}"])


def operator_name(func: Any) -> str:
    """aten.mm of aten.mm.default."""
    return str(func).removesuffix(".default")


# ---- operators without a rule ------------------------------------------------------------------------------------------

#: Parts of the names of operators that compute products.
_PRODUCT = re.compile(r"(?<!cu)(?<!sy)mm(_|v|$)|matmul|linear|conv(?!ert)|attention|attn|rnn|lstm|gru|einsum|trilinear|addr|ger$|"
                      r"v?dot$|gemm|mha|moe|experts|solve")
#: Names of torch's own that compute none although their operands are matrices whose shape D does not have.
_NONE = re.compile(r"^_foreach_|^_fused_|^_thnn_fused|flatten_weight|cat$|stack$|index|gather|scatter|pool|sampler|loss|norm|copy|"
                   r"pad|embedding|nested|put|take|set_|resize|diag|dist|cdist|segment|quantize|histogram|searchsorted|bucketize|"
                   r"same|equal|allclose|where|masked|view|lerp|expand|upsample|is_|linear_combination|_unsafe|sort|topk|new_")
_SPACES = {"mmaudit", "c10d", "_c10d_functional", "c10d_functional", "_dtensor", "prims", "profiler", "debugprims"}


@cache
def _named(func: Any) -> Optional[bool]:
    """Whether an operator is a product by its name; None: its shapes say."""
    space, name = (*func.name().split("::"), "")[:2]
    name = name.split(".")[0]
    tensors = [one for one in func._schema.arguments if "Tensor" in str(one.type)]
    if space in _SPACES or not tensors or torch.Tag.pointwise in func.tags or torch.Tag.view_copy in func.tags:
        return False
    if space == "aten" and (len(tensors) < 2 and "List" not in str(tensors[0].type) or _NONE.search(name)):
        return False
    return True if _PRODUCT.search(name) else None


def _contracted(x: Tensor, y: Tensor, d: Tensor) -> int:
    """k of X (m, k) and Y (k, n), or Y (n, k), where D has m and n; 0: they are no such matrices."""
    for i in (-1, -2):
        for j in (-2, -1):
            m, n = x.shape[-3 - i], y.shape[-3 - j]
            if x.shape[i] == y.shape[j] and sorted((m, n)) == sorted(d.shape[-2:]):
                return x.shape[i]
    return 0


def _of_kernel(x: Tensor, y: Tensor, d: Tensor) -> int:
    """k of an image (batch, channels, places) and a kernel (filters, channels of a group, taps); 0: they are none."""
    fits = x.dim() == y.dim() == d.dim() >= 3 and d.shape[:2] == (x.shape[0], y.shape[0]) and y.shape[1] > 0
    return y[0].numel() if fits and x.shape[1] % y.shape[1] == 0 else 0


def _broadcast(some: List[Tensor], d: Tensor) -> bool:
    try:
        return bool(torch.broadcast_shapes(*(one.shape for one in some)) == d.shape)  # type: ignore[no-untyped-call, unused-ignore]
    except RuntimeError:
        return d.shape in [one.shape for one in some]


def unlisted(func: Any, args: Any, kwargs: Dict[str, Any], out: Any) -> Optional[int]:
    """Multiply-adds of an operator that no rule is for, estimated from its shapes; None: it computes no product.

    A product by its name is one. Of other operators two floating matrices with one extent in common, or an image and a
    kernel, are, where D's shape is not the operands' own by broadcasting; of an operator that is not torch's, also where
    all are square, or query, key and value of one shape and four dimensions, and nothing can be told from shapes.
    """
    named = _named(func)
    if named is False:
        return None
    tensors = [one for one in tree_leaves((args, kwargs)) if isinstance(one, Tensor)]
    outputs = [one for one in tree_leaves(out) if isinstance(one, Tensor)]
    matrices = [one for one in tensors if one.dim() >= 2 and one.is_floating_point()]
    if not outputs:
        return None
    d, name = outputs[0], func.name()
    if named:
        some = matrices or [one for one in tensors if one.dim()]
        if not some or not (d.is_floating_point() or d.is_complex() or d.is_quantized):
            return None
        return _estimated(name, some, d)
    if len(matrices) < 2 or d.dim() < 2 or not d.is_floating_point():
        return None
    pairs = [(x, y) for at, x in enumerate(matrices) for y in matrices[at + 1:]]
    depth = max(max(_contracted(x, y, d), _of_kernel(x, y, d)) for x, y in pairs)
    foreign, alike = not name.startswith("aten::"), [one for one in matrices if one.shape == d.shape]
    if foreign and d.dim() == 4 and len(alike) >= 3:
        return _estimated("attention", alike, d)
    if not depth or (_broadcast(matrices, d) and not (foreign and d.shape[-1] == d.shape[-2] and len(alike) >= 2)):
        return None
    return d.numel() * depth


def _estimated(name: str, some: List[Tensor], d: Tensor) -> int:
    x = some[0]
    if "addr" in name or x.dim() < 2:
        return max(d.numel(), x.numel())
    if re.search("rnn|lstm|gru", name):
        return x.numel() // max(1, x.shape[-1]) * sum(one.numel() for one in some[1:] if one.dim() == 2)
    if re.search("attention|attn|mha", name) and len(some) > 2 and some[1].dim() >= 3:
        return (x.numel() + d.numel()) * max(some[1].shape[1:-1])
    pairs = [(x, y) for y in some[1:]]
    depth = max((_of_kernel(*pair, d) for pair in pairs), default=0) if "conv" in name else 0
    return d.numel() * (depth or max((_contracted(*pair, d) for pair in pairs if d.dim() > 1), default=0) or x.shape[-1])
