"""Which operand takes which type, scale and factor. What is expected comes from torch's own conversions and exact sums:
numbers are small, and the largest of an operand makes its scale a power of two."""
import math

import pytest
import torch
from safetensors.torch import load_file
from torch import nn

import mmaudit.torch as mt
from mmaudit.torch import _compare, _tighten

E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2
#: 448 / 57344 = 2^-7: under the scale of a tensor whose largest is 448, both types round as a cast does.
LARGEST = 448.0


def cast(x, dtype):
    return x.to(dtype).float()


def eighths(seed, *shape):
    """1 to 1.875 in eighths, of either sign: numbers of E4M3, of which E5M2 has every other one."""
    draw = torch.Generator().manual_seed(seed)
    sign = 1 - 2.0 * torch.randint(0, 2, shape, generator=draw)
    return sign * (1 + torch.randint(0, 8, shape, generator=draw) / 8)


def trained(module, x, g, plan):
    """y, the gradients of x and of the one parameter."""
    x = x.clone().requires_grad_()
    with mt.emulate(module, plan):
        y = module(x)
        y.backward(g)
    [parameter] = module.parameters()
    return y.detach(), x.grad, parameter.grad


class Second(nn.Module):
    """x @ w: the gradient is the second operand of the product that gives w's."""

    def __init__(self, w):
        super().__init__()
        self.w = nn.Parameter(w)

    def forward(self, x):
        return x @ self.w


def first(w):
    layer = nn.Linear(w.shape[0], w.shape[1], bias=False)
    layer.weight.data = w.t().clone()
    return layer


@pytest.mark.parametrize("made", [first, Second])
def test_gradients_are_e5m2_whichever_operand_they_are(made):
    x, g, w = eighths(1, 32, 32), eighths(2, 32, 32), eighths(3, 32, 32)  # x (row, k), g (row, n), w (k, n)
    # The largest of each meets zeros in all three products.
    x[0], x[1], x[:, 1] = 0, 0, 0
    g[0], g[1], g[:, 1] = 0, 0, 0
    w[0], w[1], w[:, 0] = 0, 0, 0
    x[0, 0], g[1, 0], w[1, 1] = LARGEST, LARGEST, LARGEST
    y, of_x, of_w = trained(made(w), x, g, "fp8-tensor")
    assert not torch.equal(cast(g, E5M2), g) and torch.equal(cast(x, E4M3), x)
    assert torch.equal(y, x @ w)  # all three have exact sums of 13 bits
    assert torch.equal(of_x, cast(g, E5M2) @ w.t())
    expected = x.t() @ cast(g, E5M2)
    assert torch.equal(of_w if made is Second else of_w.t(), expected)
    assert not torch.equal(expected, cast(x, E5M2).t() @ g)


def test_tiles_are_of_weights_alone():
    """Columns of B far apart in size: each has its own scale as an activation, one for all as a weight."""
    recipe = "fp8-1x128"

    class Between(nn.Module):
        def forward(self, x, y):
            return x @ y

    a, b = torch.zeros(4, 128), torch.zeros(128, 16)
    a[:, 0], b[1] = LARGEST, LARGEST  # meet zeros
    a[:, 2:5], b[2:5] = eighths(1, 4, 3), eighths(2, 3, 16)
    b[:, 8:] *= 2.0**-16  # what the recipe takes as its least scale is smaller still
    with mt.emulate(Between(), recipe):
        d = Between()(a, b)
    exact = a @ b
    assert torch.count_nonzero(exact[:, 8:]) and torch.equal(d, exact)
    layer = first(b)
    with mt.emulate(layer, recipe), torch.no_grad():
        d = layer(a)
    assert torch.equal(d[:, :8], exact[:, :8]) and not torch.count_nonzero(d[:, 8:])


def test_the_factor_of_delayed_scaling_is_of_the_largest_before():
    recipe = mt.Recipe(arch="hopper", dtype="e4m3", scaling="tensor", history=2)
    layer = first(torch.eye(32) * LARGEST)
    tiny, seen = 2.0**-9, []
    with mt.emulate(layer, recipe), torch.no_grad():
        for largest in (LARGEST, 4 * LARGEST, LARGEST, LARGEST, LARGEST):
            x = torch.zeros(2, 32)
            x[0, 0], x[1, 1] = largest, tiny
            seen.append(float(layer(x)[1, 1]) / LARGEST)
    # By the largest of two before: 448, 448, 4 * 448 twice, under which a quarter of 2^-9 is none, and 448.
    assert seen == [tiny, tiny, 0, 0, tiny]


def test_the_first_and_the_last_layer_are_kept():
    net, seen = nn.Sequential(*(nn.Linear(32, 32) for _ in range(4))), {}
    plan = {"default": "fp8-tensor", "keep_first_last": True}
    with mt.emulate(net, plan, watch=lambda one: seen.update({one.site.layer: one.recipe})) as emulation:
        net(torch.randn(4, 32))
    assert [seen[str(layer)] is None for layer in range(4)] == [True, False, False, True]
    assert emulation.products == {"emulated": 2, "kept": 2}


class Plus(nn.Module):
    def forward(self, c, a, b):
        return torch.addmm(c, a, b, beta=0.5, alpha=4)


def test_addmm_has_its_beta_and_alpha():
    c, a, b = (torch.randint(-4, 5, (16, 16)).float() for _ in range(3))
    with mt.emulate(Plus(), "bf16"):
        d = Plus()(c, a, b)
    assert torch.equal(d, c / 2 + 4 * (a @ b))
    seen = []
    with mt.emulate(Plus(), "keep", watch=seen.append):
        Plus()(torch.zeros(16, 16), a, b)
    [one] = seen
    assert one.factor == 4 and torch.equal(one.d.reshape(16, 16), one.factor * (a @ b))


@pytest.mark.parametrize("types", [(E4M3, E4M3), (E4M3, E5M2), (E5M2, E4M3)])
def test_scaled_mm_takes_pairs_of_types(types):
    a, b = (eighths(seed, 32, 32).to(dtype) for seed, dtype in zip((1, 2), types))

    class Scaled(nn.Module):
        def forward(self, a, b):
            of_a, of_b = torch.tensor(0.5), torch.tensor(4.0)
            return torch._scaled_mm(a, b, of_a, of_b, out_dtype=torch.float32)

    with mt.emulate(Scaled(), "fp8-tensor"):
        d = Scaled()(a, b.t().contiguous().t())
    assert torch.equal(d, 2 * (a.float() @ b.float()))


def test_alpha_and_factors_of_tensors_are_multiplied():
    a, b = (torch.randint(-4, 5, (16, 16)).to(torch.bfloat16) for _ in range(2))
    d = mt.matmul(a, b, inst="wgmma.m64n16k16.f32.bf16.bf16", alpha=3, factor_a=0.5, factor_b=0.25)
    assert torch.equal(d, 0.375 * (a.float() @ b.float()))


# ---- what is not a number -------------------------------------------------------------------------------------------

def plan_with_limit():
    return {"layers": {"Linear": "fp8-tensor"}, "estimate": {"output_error": 0.1, "limit": 0.2}}


def test_an_error_that_is_no_number_exceeds_the_limit(monkeypatch):
    monkeypatch.setattr(_compare, "relative_error", lambda x, y: math.nan)
    found = mt.compare(nn.Linear(32, 32), torch.randn(4, 32), {"p": plan_with_limit()})["plans"]["p"]
    assert math.isnan(found["relative_error"]) and found["exceeds_limit"] is True


def test_tighten_goes_on_where_the_error_is_no_number(monkeypatch):
    errors = iter([math.nan, 0.0])
    monkeypatch.setattr(_tighten, "relative_error", lambda x, y: next(errors))
    found = mt.tighten(nn.Linear(32, 32), torch.randn(4, 32), plan_with_limit())
    assert len(found.tries) == 2 and [recipe for _, recipe in found.plan.layers] == [None]


# ---- what a capture keeps -------------------------------------------------------------------------------------------

@pytest.mark.parametrize("seed", range(4))
def test_a_row_with_a_nan_is_kept(tmp_path, seed):
    x = torch.randn(500, 32)
    x[37, 3] = math.nan
    mt.capture(nn.Linear(32, 32), x, tmp_path / "c.safetensors", rows=4, columns=4, seed=seed)
    [a] = [one for name, one in load_file(tmp_path / "c.safetensors").items() if name.endswith(".a")]
    assert a.shape == (4, 32) and bool(a.isnan().any())


def test_heads_that_are_kept_stand_for_all_of_them(tmp_path):
    class Heads(nn.Module):
        def forward(self, x):
            return x @ x.mT

    mt.capture(Heads(), torch.randn(8, 6, 32), tmp_path / "c.safetensors", matrices=2, gains=True)
    gains = [one for name, one in load_file(tmp_path / "c.safetensors").items() if name.endswith(".gain")]
    assert len(gains) == 2 and sum(float(one[1]) for one in gains) == 8 * 6 * 6 * 32
