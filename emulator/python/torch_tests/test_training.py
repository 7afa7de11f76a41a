"""Transformer Engine's NVFP4 of the backward pass: stochastic rounding and the random Hadamard transform."""
import math

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import mmaudit.torch as mt
from mmaudit.torch._mixed import numbers_of
from mmaudit.torch._operator import quantize
from mmaudit.torch._training import SIGNS, stochastic, transformed

E2M1 = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]


def scaled(x):
    """x over its scale by Transformer Engine's formula: its NVFP4QuantizerRef, for blocks of 1 x 16."""
    x, most = x.float(), torch.tensor(torch.finfo(torch.float32).max)
    encode = torch.min(torch.tensor(448.0) * 6 / x.abs().max(), most)
    blocks = x.reshape(-1, 16)
    scale = (blocks.abs().amax(1) * (encode * (torch.tensor(1.0) / 6))).to(torch.float8_e4m3fn).float()
    return (blocks * torch.min(1 / (scale * (1 / encode)), most)[:, None]).reshape(x.shape)


def drawn(*shape, seed=0):
    draw = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=draw) * torch.rand(*shape, generator=draw) ** 3


def rounded(x, seed):
    q = quantize(x, "nvfp4-te", "mx", arch="blackwell")
    return stochastic(x[None], q._replace(elements=q.elements[None]), False, torch.Generator().manual_seed(seed))


def test_elements_are_one_of_the_two_next_to_the_scaled_number_and_on_average_the_number():
    x = drawn(64, 256)
    y, grid, counts = scaled(x), torch.tensor(E2M1), 400
    values = torch.stack([grid[(q := rounded(x, seed).elements[0].int()) & 7] * (1 - (q >> 3) * 2.0) for seed in range(counts)])
    size = y.abs().clamp(max=6)
    below = grid[(grid[:, None, None] <= size).sum(0) - 1]
    above = grid[((grid[:, None, None] < size).sum(0)).clamp(max=7)]
    assert ((values.abs() == below) | (values.abs() == above)).all()
    assert ((values.sign() == y.sign()) | (values == 0)).all()
    gap = (above - below).double()
    share = ((size - below) / gap.clamp(min=0.5)).double()
    error = values.double().mean(0) - y.clamp(-6, 6).double()
    # of each element within 6 standard errors and 8 rare events, of the whole within 4; 16 bits may be off by 2^-16 of a step
    deviation = gap * (share * (1 - share)).clamp(min=0).sqrt() / math.sqrt(counts)
    assert (error.abs() <= 6 * deviation + gap * 8 / counts).all()
    assert abs(float(error.sum())) < 4 * float(deviation.square().sum().sqrt()) + float(gap.sum()) * 2**-16
    nearest = grid[quantize(x, "nvfp4-te", "mx", arch="blackwell").elements.int() & 7]
    biased = (nearest * x.sign()).double() - y.clamp(-6, 6).double()
    assert biased.abs().mean() > 4 * error.abs().mean()


def test_a_seed_gives_the_same_bytes_and_scales_stay():
    x = drawn(16, 64)
    one, again, other = rounded(x, 1), rounded(x, 1), rounded(x, 2)
    assert one.elements.equal(again.elements) and not one.elements.equal(other.elements)
    q = quantize(x, "nvfp4-te", "mx", arch="blackwell")
    assert one.scales.equal(q.scales) and one.factors.equal(q.factors)
    odd = torch.zeros(1, 32)
    odd[0, :3] = torch.tensor([float("inf"), float("nan"), -1.0])
    assert rounded(odd, 0).elements.shape == (1, 1, 32) and rounded(torch.zeros(2, 32), 0).elements.eq(0).all()


def test_the_transform_is_the_matrix_of_transformer_engine():
    """Its words: diag(signs) times Hadamard's matrix over 4, from the right."""
    hadamard = torch.tensor([[(-1) ** bin(i & j).count("1") for j in range(16)] for i in range(16)]).double() / 4
    matrix, x = torch.diag(torch.tensor(SIGNS).double()) @ hadamard, drawn(5, 48)
    expected = torch.cat([part.double() @ matrix for part in x.split(16, 1)], 1)
    assert torch.allclose(transformed(x).double(), expected, atol=1e-6) and SIGNS.count(-1) == 10
    a, b = drawn(4, 32, seed=1).double(), drawn(6, 32, seed=2).double()
    assert torch.allclose(transformed(a) @ transformed(b).T, a @ b.T)


def gradients(recipe, x, seed=0, width=64):
    torch.manual_seed(seed)
    net = nn.Sequential(nn.Linear(width, 96), nn.ReLU(), nn.Linear(96, 32))
    with mt.emulate(net, recipe):
        y = net(x)
        y.square().mean().backward()
    return y.detach(), [one.grad for one in net.parameters() if one.dim() > 1]


def test_the_backward_pass_of_training():
    x = drawn(128, 64)
    exact, plain, trains = (gradients(one, x) for one in ("keep", "nvfp4-te", "nvfp4-te-training"))
    assert plain[0].equal(trains[0])  # forward products are the same
    assert trains[1][0].equal(gradients("nvfp4-te-training", x)[1][0])
    for given in ({"stochastic": 7}, {"stochastic": None}, {"rht": False}):
        assert not gradients({"recipe": "nvfp4-te-training", **given}, x)[1][0].equal(trains[1][0])

    def of_last(seed):
        return gradients({"recipe": "nvfp4-te", "stochastic": seed}, x)[1][1].double()

    torch.manual_seed(0)
    first = nn.Linear(64, 96)
    with torch.no_grad(), mt.emulate(first, "nvfp4-te"):
        hidden = first(x).relu()
    taken = numbers_of(quantize(hidden[None], "nvfp4-te", "mx", of_b=True, arch="blackwell"), True)[0].double()
    expected = (2 * plain[0] / plain[0].numel()).double().T @ taken
    alone, together = of_last(0), torch.stack([of_last(seed) for seed in range(64)]).mean(0)
    assert (together - expected).norm() < (alone - expected).norm() / 6


@pytest.mark.parametrize("recipe", ["fp8-tensor", "nvfp4-te-training"])
@pytest.mark.parametrize("reentrant", [False, True])
def test_what_checkpoint_runs_again_has_the_same_gradients(recipe, reentrant):
    def found(run):
        torch.manual_seed(0)
        net, x = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 32)), drawn(128, 64).requires_grad_()
        with mt.emulate(net, recipe):
            run(net, x).square().mean().backward()
        return [x.grad, *[one.grad for one in net.parameters()]]

    for one, again in zip(found(lambda net, x: net(x)), found(lambda net, x: checkpoint(net, x, use_reentrant=reentrant))):
        assert one.equal(again)


def test_what_no_framework_does_is_refused_in_one_line():
    for given, line in (({"recipe": "nvfp4", "stochastic": 0}, "^stochastic: found 0 with dtype nvf4, allowed: with dtype nvfp4-te"),
                        ({"recipe": "nvfp4-te", "stochastic": -1}, "^stochastic: found -1, allowed: None, a seed from 0"),
                        ({"recipe": "nvfp4-te", "rht": 1}, "^rht: found 1, allowed: True, False")):
        with pytest.raises(ValueError, match=line):
            mt.Plan.of(given)
    with pytest.raises(ValueError, match="^layer '.' rht: found k = 24, allowed: a multiple of 16 tokens"):
        gradients("nvfp4-te-training", drawn(24, 64))
    plan = mt.Plan.of({"recipe": "nvfp4-te", "stochastic": 0})
    assert mt.Plan.of(__import__("json").loads(plan.to_json())) == plan


def test_the_recipe_is_transformer_engine_s_own():
    net = nn.Sequential(nn.Linear(64, 96), nn.Linear(96, 32))
    exported = mt.Plan.of("nvfp4-te-training").export("transformer-engine", net)
    assert "NVFP4BlockScaling()" in exported.config and all(one[2] for one in exported.layers.values())
    assert "disable_rht=True" in mt.Plan.of("nvfp4-te").export("transformer-engine", net).config
