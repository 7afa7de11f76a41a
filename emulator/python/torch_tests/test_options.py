"""Weights in other formats, static scales, SmoothQuant and Hadamard rotations, against numpy; choose_plan() with them."""
import os

import numpy as np
import pytest
import torch
from torch import nn

import mmaudit.torch as mt
from common import same_bits
from mmaudit.torch._calibrate import prepared
from mmaudit.torch._mixed import INTEGERS, Prepared, dequantized, numbers_of, rotated
from mmaudit.torch._operator import product, quantize
from mmaudit.torch._seen import Site

F = np.float32
needs_tool = pytest.mark.skipif("MMAUDIT_TOOL" not in os.environ, reason="MMAUDIT_TOOL names no mmaudit")
INF, NAN = float("inf"), float("nan")


def integers(w, bits, group):
    """(k, n), one column and group after the other."""
    out, most = np.empty_like(w), 2 ** (bits - 1)
    with np.errstate(all="ignore"):
        for n in range(w.shape[1]):
            for start in range(0, w.shape[0], group):
                part = w[start:start + group, n]
                scale = F(np.max(np.abs(part))) / F((2**bits - 1) / 2)
                scale = np.finfo(F).eps if scale == 0 else scale
                out[start:start + group, n] = np.clip(np.rint(part / scale), -most, most - 1) * scale
    return out


def weights(k=256, n=7, seed=0):
    w = torch.randn(k, n, generator=torch.Generator().manual_seed(seed))
    w[:, 1] = 0  # a zero channel
    w[5, 2], w[6, 3], w[130, 4] = INF, NAN, -INF
    w[:, 5] *= 1e-44  # a scale of 0
    w[:, 6] = torch.arange(k) % 16 - 7.5  # ties
    return w


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_are_those_of_numpy(name):
    w, row = weights(), INTEGERS[name]
    found = dequantized(w[None], name)[0].numpy()
    expected = integers(w.numpy(), row.bits, row.group or len(w))
    np.testing.assert_array_equal(found, expected)
    assert np.isnan(found[:128, 2]).all() and not np.isnan(found[:, [0, 1, 5, 6]]).any() and not found[:, 1].any()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", INTEGERS)
def test_integers_are_those_of_compressed_tensors(name, dtype):
    pytest.importorskip("compressed_tensors", reason="compressed_tensors is not installed")
    from compressed_tensors.quantization import QuantizationArgs
    from compressed_tensors.quantization.lifecycle.forward import fake_quantize
    from compressed_tensors.quantization.utils import calculate_qparams
    row, w = INTEGERS[name], torch.randn(256, 4096, generator=torch.Generator().manual_seed(1)).to(dtype)
    w[:128, ::7] *= 2.0 ** -20
    args = QuantizationArgs(num_bits=row.bits, type="int", symmetric=True, group_size=row.group or None,
                            strategy="group" if row.group else "channel")
    by_group = w.t().reshape(4096, -1, row.group or 256)
    scale, zero = calculate_qparams(by_group.amin(-1), by_group.amax(-1), args)
    expected = fake_quantize(w.t().contiguous(), scale, zero, args).t()
    assert same_bits(dequantized(w[None], name)[0], expected)


def of_e2m1(code):
    return (-1 if code & 8 else 1) * (0, 0.5, 1, 1.5, 2, 3, 4, 6)[code & 7]


def test_numbers_of_a_recipe_are_what_codes_say():
    x = torch.randn(1, 40, 3, generator=torch.Generator().manual_seed(2))
    q = quantize(x, "nvf4", "mx", arch="blackwell", of_b=True)
    found = numbers_of(q, True)
    for k in range(40):
        for n in range(3):
            code, scale = int(q.elements[0, k, n]), int(q.scales.view(torch.uint8)[0, k // 16, n])
            e, m = scale >> 3, scale & 7
            size = F(2.0 ** (e - 7) * (1 + m / 8) if e else 2.0 ** -6 * m / 8)
            assert found[0, k, n] == F(of_e2m1(code)) * size * F(q.factors[0])
    rows = quantize(x.mT, "e4m3", "row", arch="hopper")
    expected = rows.elements.float().numpy() * rows.factors.reshape(1, 3, 1).numpy()
    np.testing.assert_array_equal(numbers_of(rows, False).numpy(), expected)


@pytest.mark.parametrize("name", ["w4a16", "w8a16", "nvfp4-a16", "mxfp4-a16", "fp8-a16", "w4a8", "mxfp4-a8"])
def test_a_layer_multiplies_its_dequantized_weights(name):
    layer, x, recipe = nn.Linear(256, 24, bias=False), torch.randn(5, 256), mt.RECIPES[name]
    with mt.emulate(layer, name), torch.no_grad():
        y = layer(x)
    w = dequantized(layer.weight.detach().t()[None], recipe.weights)
    assert same_bits(y, product(x[None], w, torch.float32, arch="hopper", dtype=recipe.dtype, scaling_a=recipe.scaling,
                                scaling_b=recipe.scaling, policy="plain")[0])
    if recipe.dtype == "bf16":  # a coarse look that does not pass through the package at all
        assert float((y.double() - x.bfloat16().double() @ w[0].bfloat16().double()).abs().max()) < 1e-4
    with mt.emulate(layer, name), torch.no_grad():
        assert same_bits(x @ x.t(), torch.matmul(x, x.t()))


def test_hadamard_is_sylvesters_and_neutral_in_binary64():
    h = np.ones((1, 1))
    while len(h) < 64:
        h = np.block([[h, h], [h, -h]])
    draw = np.random.default_rng(0)
    x, w = draw.normal(size=(9, 64)), draw.normal(size=(64, 5))
    for block in (2, 16, 64):
        of = np.kron(np.eye(64 // block), h[:block, :block] / np.sqrt(block))
        np.testing.assert_allclose(rotated(torch.from_numpy(x), block).numpy(), x @ of, rtol=0, atol=1e-14)
        both = Prepared(hadamard=block)
        a, b = both.of(torch.from_numpy(x)[None], False)[0], both.of(torch.from_numpy(w)[None], True)[0]
        np.testing.assert_allclose((a @ b).numpy(), x @ w, rtol=0, atol=1e-13)


def seen_by(layer, x):
    return mt.calibrate(layer, [x[:4], x[4:]])


def named(recipe, **options):
    return mt.Plan.of({"recipe": recipe, **options}).default


def test_smoothquant_is_its_formula_and_neutral_in_binary64():
    layer, x = nn.Linear(40, 6, bias=False).double(), torch.randn(9, 40, dtype=torch.float64)
    x[:, 3] *= 100
    x[:, 7] = 0  # channels without a size
    layer.weight.data[:, 9] = 0
    x[2, 11], x[7, 12] = INF, NAN
    got = prepared(seen_by(layer, x), Site("", "Linear", False), named("nvfp4", smooth=0.25), 40, True)
    sizes = np.where(np.isfinite(x.numpy()), np.abs(x.numpy()), 0).astype(F).max(0).astype(np.float64)
    of_w = np.abs(layer.weight.detach().numpy()).astype(F).max(0).astype(np.float64)
    with np.errstate(all="ignore"):
        s = (sizes ** 0.25 / of_w ** 0.75).astype(F)
    s[[7, 9]] = 1
    np.testing.assert_allclose(np.frombuffer(got.smooth, F), s, rtol=2e-7)
    x[2, 11], x[7, 12] = 1, 1
    w = layer.weight.detach().t()
    a, b = got.of(x[None], False)[0], got.of(w[None], True)[0]
    np.testing.assert_allclose((a @ b).numpy(), (x @ w).numpy(), rtol=0, atol=1e-11)
    used = np.frombuffer(got.smooth, F).astype(np.float64)
    np.testing.assert_array_equal(a.numpy(), x.numpy() / used)
    np.testing.assert_array_equal(b.numpy(), w.numpy() * used[:, None])


def test_static_scales_are_max_percentile_and_least_squares():
    layer, x = nn.Linear(64, 8, bias=False), torch.randn(200, 64)
    x[0, 0], x[1, 1], x[2, 2] = 40, INF, NAN
    x[3] = 0
    sizes = np.abs(x.numpy())
    sizes = sizes[np.isfinite(sizes) & (sizes > 0)].astype(F)

    def largest(how):
        return prepared(seen_by(layer, x), Site("", "Linear", False), named("fp8-tensor", static=how), 64, True).largest

    assert largest("max") == 40 == largest("percentile:100")
    for share in (50, 99.9):
        exact = np.sort(sizes)[int(np.ceil(len(sizes) * share / 100)) - 1]
        assert exact <= largest(f"percentile:{share}") <= exact * (1 + 1 / 64)
    middles = np.minimum(((sizes.view(np.uint32) >> 16 << 16) + 0x8000).view(F), F(40))

    def squares(most):
        scale = F(most) / F(448)
        return ((torch.from_numpy(np.minimum(middles / scale, F(448))).to(torch.float8_e4m3fn).float().numpy() * scale
                 - middles).astype(np.float64) ** 2).sum()
    tries = [squares(40 * (100 - one) / 100) for one in range(81)]
    assert squares(largest("mse")) <= min(tries) * (1 + 1e-6)
    with mt.emulate(layer, named("fp8-tensor", static="max"), calibration=seen_by(layer, x)), torch.no_grad():
        y = layer(x[4:9])
    path = {"arch": "hopper", "dtype": "e4m3", "scaling_a": "tensor-inverse", "scaling_b": "tensor-inverse", "policy": "plain"}
    assert same_bits(y, product(x[None, 4:9], layer.weight.detach().t()[None], torch.float32, largest_a=torch.tensor([40.0]), **path)[0])


def test_calibration_of_batches_is_the_one_of_all():
    layer, x = nn.Linear(64, 8), torch.randn(12, 64)
    for how in ("max", "mse", "percentile:90"):
        both = [mt.calibrate(layer, some).largest("", 64, named("fp8-tensor", static=how)) for some in (x, [x[:5], x[5:]])]
        assert both[0] == both[1]


@pytest.mark.parametrize("options, message", [
    ({"weights": "int5"}, "weights: found 'int5', allowed: int4-g128, int8-channel"),
    ({"weights": "bf16"}, "weights: found 'bf16', allowed: int4-g128"),
    ({"hadamard": 12}, "hadamard: found 12, allowed: 0, a power of two such as 16, 'whole'"),
    ({"hadamard": True}, "hadamard: found True, allowed"), ({"hadamard": "half"}, "hadamard: found 'half', allowed"),
    ({"smooth": 1.5}, "smooth: found 1.5, allowed: a number from 0 to 1"), ({"smooth": NAN}, "smooth: found nan, allowed"),
    ({"smooth": "x"}, "smooth: found 'x', allowed: a number"),
    ({"static": "median"}, "static: found 'median', allowed: max, mse, percentile:SHARE"),
    ({"static": "percentile:0"}, "static: found 'percentile:0', allowed"), ({"static": 3}, "static: found 3, allowed: a str"),
    ({"static": "mse"}, "static: found mse with scales per 16 of k, allowed: max, percentile:SHARE"),
    ({"static": "max", "smooth": 0.5}, "static: found max with smooth, allowed: alone"),
])
def test_refusals_of_a_recipe(options, message):
    with pytest.raises(ValueError) as error:
        named("nvfp4", **options)
    assert str(error.value).startswith(message) and "\n" not in str(error.value)


@pytest.mark.parametrize("plan, message", [
    ({"recipe": "nvfp4", "hadamard": 16}, "layer '' hadamard: found 16 with k = 40, allowed: a power of two that divides k: up to 8"),
    ({"recipe": "nvfp4", "hadamard": "whole"}, "layer '' hadamard: found whole with k = 40, allowed: k a power of two"),
    ("w4a16", "layer '' weights: found int4-g128 with k = 40, allowed: k a multiple of 128"),
    ({"recipe": "nvfp4", "smooth": 0.5}, "calibration: found None, where layer '' takes"),
    ({"recipe": "fp8-tensor", "static": "max"}, "calibration: found None, where layer '' takes"),
])
def test_refusals_of_a_layer(plan, message):
    layer = nn.Linear(40, 8)
    with pytest.raises(ValueError) as error, torch.no_grad(), mt.emulate(layer, plan):
        layer(torch.randn(2, 40))
    assert str(error.value).startswith(message) and "\n" not in str(error.value)


def test_other_refusals():
    layer, x = nn.Linear(128, 8), torch.randn(2, 128, requires_grad=True)
    with pytest.raises(ValueError, match="layer '' *: found a backward product"), mt.emulate(layer, "w4a16"):
        layer(x).sum().backward()
    with pytest.raises(ValueError, match="calibration: found no activations of '' with k = 128"), torch.no_grad(), mt.emulate(
            layer, named("nvfp4", smooth=0.5), calibration=mt.Calibration()):
        layer(x)
    with pytest.raises(ValueError, match="calibration: found a str, allowed: what calibrate"):
        mt.emulate(layer, "nvfp4", calibration="x")
    with pytest.raises(ValueError, match="options: found 'smoth:1', allowed: smooth:ALPHA"):
        mt.choose_plan(layer, x, max_output_error=0.1, options="smoth:1")


def test_a_plan_keeps_its_options_in_a_file(tmp_path):
    plan = mt.Plan.of({"layers": {"a": {"recipe": "nvfp4", "smooth": 0.0, "hadamard": 16}, "b": "w4a16"}})
    plan.write(tmp_path / "p.json")
    again = mt.Plan.of(tmp_path / "p.json")
    assert again.layers == plan.layers and again.layers[0][1].smooth == 0 and again.layers[1][1] == mt.RECIPES["w4a16"]
    assert '"static"' not in plan.to_json()


def network():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 40), nn.Linear(40, 16))
    x = torch.randn(32, 256)
    x[:, 3] *= 50
    return model.eval(), x


@needs_tool
def test_choose_plan_takes_an_option_where_the_plain_type_fails():
    model, x = network()
    found = mt.choose_plan(model, x, max_output_error=0.17, dtype="nvf4,mxf8", options="smooth:0.5,hadamard:16")
    plain = mt.choose_plan(model, x, max_output_error=0.17, dtype="nvf4,mxf8")
    assert found.best.cost < plain.best.cost and any(one is not None and one.smooth == 0.5 for one in found.by_name.values())
    assert all(one is None or not one.hadamard for name, one in found.by_name.items() if name == "5")  # k = 40
    page = mt.compare(model, x, {"plan": found.plan}, calibration=found.calibration)
    assert page["plans"]["plan"]["relative_error"] == pytest.approx(found.best.found.error, rel=1e-12)
    assert "nvf4 smooth:0.5" in str(found)


@needs_tool
def test_weights_alone_save_bytes_at_the_rate_of_bf16():
    model, x = network()
    found = mt.choose_plan(model, x, max_output_error=0.06, arch="h200", dtype="w4a16,w8a16,bf16")
    names = [one.name for one in found.search.costs.candidates]
    assert names == ["w4a16", "w8a16", "bf16", "kept"]
    cost = [found.search.costs.of(found.search.layers[0], one) for one in found.search.costs.candidates]
    assert cost[0].clocks == cost[1].clocks == cost[2].clocks and [one.bytes for one in cost[:3]] == [
        256 * 128 * bits / 8 for bits in (4.125, 8, 16)]
    taken = {one and one.weights for one in found.by_name.values()}
    assert "int8-channel" in taken and found.best.found.error <= 0.06 and found.best.cost.bytes < 2 * 256 * 128
    assert "5" in found.by_name and found.by_name["5"].weights != "int4-g128"  # k = 40


def test_export_says_what_it_does_not_carry():
    model, x = network()
    with pytest.warns(UserWarning, match="does not carry smooth:0.5 of 0: apply it"):
        found = mt.Plan.of({"layers": {"0": {"recipe": "nvfp4-compressed-tensors", "smooth": 0.5}, "2": "w4a16"}}).export(
            "compressed-tensors", model)
    assert found.layers["2"] == ("w4a16", "W4A16", True) and any("does not carry" in one for one in found.notes)
