"""The rules of operators that compute products: what emulate() runs in their place."""
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Optional, Tuple

import torch
from torch import Tensor

from .._refuse import refused
from ._convolution import Once, convolution, convolution_backward
from ._operator import find_path, matmul
from ._recipes import Recipe
from ._tensors import NUMBERS

if TYPE_CHECKING:
    from ._emulate import Emulation

aten = torch.ops.aten
Rule = Callable[..., Any]


def given(func: Any, args: Any, kwargs: Dict[str, Any]) -> Dict[str, Any]:
    """Arguments of an operator by their names."""
    names = [one.name for one in func._schema.arguments]
    defaults = {one.name: one.default_value for one in func._schema.arguments if one.has_default_value()}
    return {**defaults, **dict(zip(names, args)), **kwargs}


def _plus(self: "Emulation", func: Any, args: Any, kwargs: Dict[str, Any]) -> Tensor:
    """addmm, baddbmm and addmv: beta * C + alpha * (A B), the sum in binary32 or the tensors' own wider type."""
    c, a, b = args[0], args[1], args[2]
    beta, alpha = kwargs.get("beta", 1), kwargs.get("alpha", 1)

    def finish(d: Tensor) -> Tensor:
        wide = torch.promote_types(d.dtype, torch.float32)
        total = d.to(wide) * alpha if alpha != 1 else d.to(wide)
        if beta != 0:
            total = total + (c.to(wide) * beta if beta != 1 else c.to(wide))
        return total.to(c.dtype)

    def native() -> Tensor:
        result: Tensor = func(*args, **kwargs)
        return result

    marker: List[bool] = []

    def remembered() -> Tensor:
        marker.append(True)
        return native()

    shape = [*a.shape[:-1], *b.shape[b.dim() - 1:]] if b.dim() > 1 else [a.shape[0]]
    x = a if a.dim() == 3 else a.unsqueeze(0)
    y = b if b.dim() == 3 else b.reshape(1, -1, 1) if b.dim() == 1 else b.unsqueeze(0)
    d = self.run(func, x, y, remembered, wide=True, factor=float(alpha))
    return d if marker else finish(d.reshape(shape))


def _mm(self: "Emulation", func: Any, args: Any, kwargs: Dict[str, Any]) -> Tensor:
    a, b = args[0], args[1]
    return self.run(func, a.unsqueeze(0), b.unsqueeze(0), lambda: func(*args, **kwargs).unsqueeze(0)).squeeze(0)


def _bmm(self: "Emulation", func: Any, args: Any, kwargs: Dict[str, Any]) -> Tensor:
    return self.run(func, args[0], args[1], lambda: func(*args, **kwargs))


def _mv(self: "Emulation", func: Any, args: Any, kwargs: Dict[str, Any]) -> Tensor:
    """mv, dot and vdot: a column on the right, and a row on the left."""
    a, v = args[0], args[1]
    d = self.run(func, a.reshape(1, -1, v.numel()), v.reshape(1, -1, 1), lambda: func(*args, **kwargs).reshape(1, -1, 1))
    return d.reshape(a.shape[:-1])


def _addbmm(self: "Emulation", func: Any, args: Any, kwargs: Dict[str, Any]) -> Tensor:
    """One addmm after the other, as torch's own."""
    c, a, b = args[0], args[1], args[2]
    how = dict(kwargs)
    for x, y in zip(a, b):
        c, how = _plus(self, aten.addmm.default, (c, x, y), how), {**how, "beta": 1}
    found: Tensor = c if len(a) else func(*args, **kwargs)
    return found


def _trilinear(self: "Emulation", func: Any, args: Any, kwargs: Dict[str, Any]) -> Tensor:
    """nn.Bilinear and its gradients: products of pairs, as einsum has them."""
    x = given(func, args, kwargs)
    dims = range(x["i1"].dim() + len(x["expand1"]))
    of = ["".join(chr(97 + one) for one in dims if one not in x[field]) for field in ("expand1", "expand2", "expand3", "sumdim")]
    with self.mode:
        found: Tensor = torch.einsum("{},{},{}->{}".format(*of), x["i1"], x["i2"], x["i3"])
    return found


def _euclidean_dist(self: "Emulation", func: Any, args: Any, kwargs: Dict[str, Any]) -> Tensor:
    """torch.cdist where torch takes it as a product: (-2 x, |x|^2, 1) (y, 1, |y|^2)."""
    x, y = args
    squares, ones = [one.pow(2).sum(-1, True) for one in (x, y)], [torch.ones_like(one[..., :1]) for one in (x, y)]
    with self.mode:
        found = torch.matmul(torch.cat([x * -2, squares[0], ones[0]], -1), torch.cat([y, ones[1], squares[1]], -1).mT)
    return found.clamp_min_(0).sqrt_()


def flex_attention(*args: Any, **kwargs: Any) -> Any:
    """torch's own eager form: two products, a softmax and what is done to the scores."""
    return import_module("torch._higher_order_ops.flex_attention").sdpa_dense(*args, **kwargs)


# ---- groups of rows, as a mixture of experts has them ------------------------------------------------------------------

def _groups(a: Tensor, b: Tensor, offs: Optional[Tensor]) -> Iterator[Tuple[Any, Any, Any]]:
    """Where the products of a grouped one are in A, in B and in D; `offs` are the ends along the axis in groups."""
    if offs is None:
        yield ..., ..., ...
        return
    start, every = 0, slice(None)
    for number, end in enumerate(offs.tolist()):
        part, start = slice(start, end), end
        if a.dim() == 2 and b.dim() == 2:
            yield (every, part), part, number
        elif a.dim() == 2:
            yield part, number, part
        else:
            yield number, (every, part), (every, part)


def _d_of_groups(a: Tensor, b: Tensor, offs: Optional[Tensor], dtype: torch.dtype) -> Tensor:
    """Zeros; rows that are in no group stay zero."""
    several = [] if (a.dim() == 2) != (b.dim() == 2) else [a.shape[0] if offs is None else offs.numel()]
    return a.new_zeros([*several, a.shape[-2], b.shape[-1]], dtype=dtype)


def _matrices(x: Tensor) -> Tensor:
    return x if x.dim() == 3 else x.unsqueeze(0)


def _part(whole: Once, at: Any, shape: Callable[[Tensor], Tensor] = lambda x: x) -> Tensor:
    """A view of what an operator gives by itself."""
    return shape(whole()[at])


def _in_groups(self: "Emulation", func: Any, a: Tensor, b: Tensor, offs: Optional[Tensor], dtype: torch.dtype,
               native: Callable[[], Tensor]) -> Tensor:
    whole, d = Once(native), _d_of_groups(a, b, offs, dtype)
    for at_a, at_b, at_d in _groups(a, b, offs):
        x, y = _matrices(a[at_a]), _matrices(b[at_b])
        if x.numel() and y.numel():
            found = self.run(func, x, y, partial(_part, whole, at_d, _matrices), of=(a, b))
            d[at_d] = found.reshape(d[at_d].shape)
    return whole() if whole.ran else d


def _grouped_mm(self: "Emulation", func: Any, args: Any, kwargs: Dict[str, Any]) -> Tensor:
    x = given(func, args, kwargs)
    a, b, offs = (x[one.name] for one in func._schema.arguments[:3])
    return _in_groups(self, func, a, b, offs, x.get("out_dtype") or a.dtype, lambda: func(*args, **kwargs))


def _grouped_backward(self: "Emulation", func: Any, args: Any, kwargs: Dict[str, Any]) -> Tuple[Tensor, Tensor]:
    """Gradients of both operands, by transformers' operator."""
    a, b, offs, gradient = args
    whole = Once(lambda: func(*args, **kwargs))
    return (_in_groups(self, func, gradient, b.mT, offs, a.dtype, lambda: whole()[0]),
            _in_groups(self, func, a.t(), gradient, offs, b.dtype, lambda: whole()[1]))


# ---- elements that come with their scales ------------------------------------------------------------------------------

_ELEMENTS = {torch.float8_e4m3fn: "e4m3", torch.float8_e5m2: "e5m2"}
_TENSOR, _ROW = 0, 1  #: of torch.nn.functional.ScalingType


def _of_elements(recipe: Recipe, a: Tensor, b: Tensor, of_a: Tensor, of_b: Tensor, bias: Optional[Tensor],
                 out: torch.dtype) -> Tensor:
    if a.dtype not in _ELEMENTS or b.dtype not in _ELEMENTS or of_a.dtype != torch.float32 or of_b.dtype != torch.float32:
        raise refused(
            "torch._scaled_mm", f"{a.dtype} with {of_a.dtype} scales",
            "in emulate(): float8_e4m3fn and float8_e5m2 with binary32 scales of a tensor, or of rows and columns")
    pair = [_ELEMENTS[a.dtype], _ELEMENTS[b.dtype]]
    dtype = pair[0] if pair[0] == pair[1] else "-".join(pair)
    row = of_a.numel() != 1 or of_b.numel() != 1
    path = find_path(recipe.arch, dtype, "row" if row else "tensor", recipe.policy)
    if out not in NUMBERS or out == torch.float64:
        raise refused("torch._scaled_mm", f"D in {out}", "in emulate(): out_dtype of float32, bfloat16, float16")
    d = matmul(a, b, inst=path.inst, arch=recipe.arch, promote=path.promote, split_k=path.split_k,
               d_format=NUMBERS[out] if bias is None else "f32", factor_a=of_a.reshape(-1), factor_b=of_b.reshape(-1),
               factor_order=path.factor_order)
    return d if bias is None else (d + bias.to(torch.float32)).to(out)


def _scaled_mm(self: "Emulation", func: Any, args: Any, kwargs: Dict[str, Any]) -> Tensor:
    """torch._scaled_mm, and F.scaled_mm with scales of tensors or of rows and columns."""
    x = given(func, args, kwargs)
    a, b, scales = x["self"], x["mat2"], (x["scale_a"], x["scale_b"])
    if "recipe_a" in x:  # _scaled_mm_v2, of torch 2.10
        if [x["recipe_a"], x["recipe_b"]] not in ([[_TENSOR]] * 2, [[_ROW]] * 2) or any(x["swizzle_a"] + x["swizzle_b"]):
            found: Tensor = func(*args, **kwargs)
            self.missed(func, (a, b), {}, found, a.shape[0] * found.shape[1] * a.shape[1])
            return found
        scales = x["scale_a"][0], x["scale_b"][0]
    out = x["out_dtype"] or a.dtype
    return self.run_elements(func, a, b, scales, lambda: func(*args, **kwargs),
                             lambda recipe: _of_elements(recipe, a, b, *scales, x["bias"], out))


def _scaled_grouped_mm(self: "Emulation", func: Any, args: Any, kwargs: Dict[str, Any]) -> Tensor:
    """Scales of rows and columns, of each group its own: (M) and (groups, N) where rows are in groups, (groups M) and
    (groups N) where k is, (groups, M) and (groups, N) else."""
    x = given(func, args, kwargs)
    a, b, offs, of_a, of_b = (x[name] for name in ("self", "mat2", "offs", "scale_a", "scale_b"))
    whole, d = Once(lambda: func(*args, **kwargs)), _d_of_groups(a, b, offs, x["out_dtype"] or torch.bfloat16)
    count = of_a.numel() // a.shape[-2] if offs is None else offs.numel()
    for number, (at_a, at_b, at_d) in enumerate([(one, one, one) for one in range(count)] if offs is None
                                                else _groups(a, b, offs)):
        rows = of_a[at_a] if a.dim() == 2 and b.dim() == 3 else of_a.reshape(count, -1)[number]
        columns = of_b[at_b[1]] if a.dim() == 3 and b.dim() == 2 else of_b.reshape(count, -1)[number]
        left, right, scales = a[at_a], b[at_b], (rows.reshape(-1, 1), columns.reshape(1, -1))
        if left.numel() and right.numel():
            d[at_d] = self.run_elements(
                func, left, right, scales, partial(_part, whole, at_d),
                partial(_of_elements, a=left, b=right, of_a=scales[0], of_b=scales[1], bias=None, out=d.dtype))
    return whole() if whole.ran else d


def _int_mm(self: "Emulation", func: Any, args: Any, kwargs: Dict[str, Any]) -> Tensor:
    return self.run_exact(func, args[0], args[1], lambda: func(*args, **kwargs))


# ---- the table ---------------------------------------------------------------------------------------------------------

def _into(rule: Rule, plain: Any) -> Rule:
    """The rule of an operator that writes to `out`, or to its first operand."""
    def written(self: "Emulation", func: Any, args: Any, kwargs: Dict[str, Any]) -> Tensor:
        given = dict(kwargs)
        out: Tensor = given.pop("out", args[0])
        found = rule(self, plain, args, given)
        if "out" in kwargs and out.shape != found.shape:
            out.resize_(found.shape)
        return out.copy_(found)
    return written


_PRODUCTS: Dict[Any, Rule] = {
    aten.mm.default: _mm,
    aten.bmm.default: _bmm,
    aten.mv.default: _mv,
    aten.dot.default: _mv,
    aten.vdot.default: _mv,
    aten.addmm.default: _plus,
    aten.baddbmm.default: _plus,
    aten.addmv.default: _plus,
    aten.addbmm.default: _addbmm,
    aten._trilinear.default: _trilinear,
    aten._euclidean_dist.default: _euclidean_dist,
    aten.convolution.default: convolution,
    aten.convolution_backward.default: convolution_backward,
    aten._scaled_mm.default: _scaled_mm,
    aten._int_mm.default: _int_mm,
}
_PRODUCTS.update({
    **{getattr(aten, name).out: _into(_PRODUCTS[getattr(aten, name).default], getattr(aten, name).default)
       for name in ("mm", "bmm", "mv", "dot", "vdot", "addmm", "baddbmm", "addmv", "addbmm")},
    **{getattr(aten, name + "_").default: _into(_PRODUCTS[getattr(aten, name).default], getattr(aten, name).default)
       for name in ("addmm", "baddbmm", "addmv", "addbmm")},
})
#: Of operators that not every torch has, and of other packages' operators.
_NAMED: Dict[str, Rule] = {
    "aten::_grouped_mm": _grouped_mm,
    "aten::_scaled_mm_v2": _scaled_mm,
    "aten::_scaled_grouped_mm": _scaled_grouped_mm,
    "transformers::grouped_mm_fallback": _grouped_mm,
    "transformers::grouped_mm_fallback_backward": _grouped_backward,
}


@cache
def rule_of(func: Any) -> Optional[Rule]:
    """What runs in an operator's place, None for those without a rule."""
    return _PRODUCTS.get(func) or _NAMED.get(func.name())
