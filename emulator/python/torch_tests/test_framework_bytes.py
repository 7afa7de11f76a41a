"""Recipes named after a framework give its bytes: elements, scales and factors against its formulas, written again here
in binary32 of numpy, and against torchao's own functions where it is installed (pip install torchao==0.18.0)."""
import ml_dtypes
import numpy as np
import pytest
import torch

import mmaudit.torch as mt
from mmaudit.torch._operator import find_path

F = np.float32
GREATEST = np.finfo(F).max
FP8 = {"e4m3": (ml_dtypes.float8_e4m3fn, F(448)), "e5m2": (ml_dtypes.float8_e5m2, F(57344))}
NAN = {"e4m3": 0x7F, "e5m2": 0x7F}
#: Halfway between neighbours of the format: where a wrong last bit of a quotient changes the element.
HALF4 = np.array([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5], F)


@pytest.fixture(autouse=True)
def quietly():
    with np.errstate(all="ignore"):
        yield


def halves(dtype):
    """Midpoints of the positive numbers of an element."""
    if dtype == "e2m1":
        return HALF4
    if dtype == "s8":
        return np.arange(0.5, 127, dtype=F)
    kind, most = FP8[dtype]
    values = np.arange(127, dtype=np.uint8).view(kind).astype(F)
    values = values[np.isfinite(values) & (values <= most)]
    return (values[1:] + values[:-1]) / F(2)


def ties(seed, rows, k, dtype, most, spread=12):
    """Rows of numbers at and one unit beside the midpoints of elements, under a largest magnitude of any bits."""
    draw = np.random.default_rng(seed)
    largest = np.exp2(draw.uniform(-spread, spread, (rows, 1))).astype(F)
    x = (draw.choice(halves(dtype), (rows, k)) * (largest / F(most))).astype(F)
    x = (x.view(np.int32) + draw.integers(-1, 2, x.shape, dtype=np.int32)).view(F)
    x[np.arange(rows), draw.integers(0, k, rows)] = largest[:, 0]
    return x * draw.choice([F(-1), F(1)], x.shape)


def hostile(k):
    """Rows that frameworks seldom see: zeros, subnormals, one number alone, the largest ones, infinities, NaN."""
    x = np.zeros((11, k), F)
    x[1] = -0.0
    x[2] = np.arange(k) * F(1e-45)
    x[3, 1] = 3
    x[4] = GREATEST
    x[5] = np.linspace(-1, 1, k, dtype=F) * F(1e-38)
    x[6] = np.exp2(np.linspace(-149, 127, k)).astype(F)
    x[7] = np.linspace(-5, 5, k, dtype=F) * F(1e-5)
    x[8] = np.linspace(1, 2, k, dtype=F)
    x[8, 2], x[8, 3] = np.inf, -np.inf
    x[9] = np.linspace(1, 2, k, dtype=F)
    x[9, 2] = np.nan
    x[10] = x[8]
    x[10, 5] = np.nan
    return x


def cast8(x, dtype):
    kind, most = FP8[dtype]
    bits = np.clip(x, -most, most).astype(kind).view(np.uint8)
    return np.where(np.isnan(x), np.uint8(NAN[dtype]), bits)


def cast4(x):
    """To nearest even; NaN becomes the largest number, as cvt has it."""
    size = np.abs(x)
    code = np.zeros(x.shape, np.uint8)
    for i, half in enumerate(HALF4):
        code += (size > half) | ((size == half) & (i % 2 == 1))
    return np.where(np.isnan(x), np.uint8(7), code | (np.signbit(x).astype(np.uint8) << 3))


def without_nan(x):
    """Largest magnitude of the last axis among all that is no NaN, as fmaxf finds it."""
    return np.nan_to_num(np.abs(x), nan=0.0, posinf=np.inf).max(-1, initial=0).astype(F)


# ---- formulas ------------------------------------------------------------------------------------------------------


def current_scaling(x, dtype):
    """Transformer Engine d0067d0, common/recipe/recipe_common.cuh and common/cast/fp8/quantize_fp8.cuh."""
    largest, most = without_nan(x.reshape(-1)), FP8[dtype][1]
    scale = F(1) if largest == 0 or np.isinf(largest) else min(most / largest, GREATEST)
    return cast8(x * scale, dtype), None, np.array([F(1) / scale])


def deepgemm(x, group=1):
    """DeepGEMM 54e2261, deep_gemm/utils/math.py; `group` rows share a factor."""
    rows, k = x.shape
    blocks = x.reshape(rows // group, group, k // 128, 128)
    factor = np.maximum(np.abs(blocks).max((1, 3), keepdims=True), F(1e-4)) / F(448)
    elements = cast8((blocks * (F(1) / factor)).reshape(rows, k), "e4m3")
    return elements, None, np.repeat(factor.reshape(rows // group, -1), group, 0)


def te_nvfp4(x):
    """Transformer Engine d0067d0, common/cast/nvfp4/core_nvfp4.cuh and quantize_transpose_nvfp4.cuh."""
    blocks = x.reshape(len(x), -1, 16)
    largest = without_nan(x.reshape(-1))
    encode = F(1) if largest == 0 else min(F(2688) / largest, GREATEST)
    encode = F(1) if encode == 0 else encode
    wanted = np.minimum(without_nan(blocks) * (encode * (F(1) / F(6))), GREATEST)
    scales = cast8(wanted, "e4m3")
    decode = F(1) / encode
    inverse = np.minimum(F(1) / (scales.view(FP8["e4m3"][0]).astype(F) * decode), GREATEST)
    return cast4(blocks * inverse[..., None]).reshape(x.shape), scales, np.array([decode])


def torchao_nvfp4(x):
    """torchao 0.18.0, prototype/mx_formats/nvfp4_tensor.py."""
    blocks = x.reshape(len(x), -1, 16)
    factor = np.abs(x).max() / F(2688)
    scales = cast8(np.clip(np.abs(blocks).max(-1) / F(6) / factor, F(2**-6), F(448)), "e4m3")
    times = (F(1) / factor) / scales.view(FP8["e4m3"][0]).astype(F)
    return cast4(blocks * times[..., None]).reshape(x.shape), scales, np.array([factor])


def torchao_int8(x):
    """torchao 0.18.0, quantization/quantize_/workflows/int8/int8_tensor.py."""
    factor = np.maximum(np.abs(x).max(-1, keepdims=True) / F(127.5), F(2**-23))
    return np.clip(np.nan_to_num(np.rint(x * (F(1) / factor))), -128, 127).astype(np.int8), None, factor


# ---- ours ----------------------------------------------------------------------------------------------------------


def ours(x, recipe, dtype=None, scaling=None, of_b=False):
    one = mt.RECIPES[recipe]
    x = x if isinstance(x, torch.Tensor) else torch.from_numpy(np.ascontiguousarray(x.T if of_b else x))
    found = mt.quantize(x, dtype or one.dtype, scaling or one.scaling, arch=one.arch, policy=one.policy, of_b=of_b)
    turn = (lambda y: np.moveaxis(y, -1, -2)) if of_b else (lambda y: y)
    elements = turn(found.elements.view(torch.uint8).numpy())
    scales = None if found.scales is None else turn(found.scales.view(torch.uint8).numpy()[0])
    return elements, scales, None if found.factors is None else found.factors.numpy()


def same(found, expected, what):
    for name, x, y in zip(("elements", "scales", "factors"), found, expected):
        if y is None:
            assert x is None
            continue
        y = np.asarray(y)
        if y.dtype == F:
            x = x.reshape(y.shape)
            differ = (x.view(np.uint32) != y.view(np.uint32)) & ~(np.isnan(x) & np.isnan(y))
        else:
            differ = x.reshape(y.shape) != y.view(np.uint8)
        assert not differ.any(), f"{what}: {int(differ.sum())} of {differ.size} {name} differ"


@pytest.mark.parametrize("recipe", ["fp8-tensor", "fp8-tensor-promoted", "fp8-delayed"])
@pytest.mark.parametrize("dtype", ["e4m3", "e5m2"])
def test_a_factor_of_the_tensor(recipe, dtype):
    for seed in range(24):
        x = ties(seed, 1, 1 << 16, dtype, FP8[dtype][1]).reshape(256, 256)
        same(ours(x, recipe, dtype, of_b=seed % 2 == 1), current_scaling(x, dtype), seed)
    for i, row in enumerate(hostile(64)):
        same(ours(row[None], recipe, dtype), current_scaling(row[None], dtype), f"hostile {i}")


def test_blocks_and_tiles_of_128():
    recipe = "fp8-1x128"
    x = np.concatenate([ties(1, 8192, 128, "e4m3", 448), hostile(128), ties(2, 245, 128, "e4m3", 448, 60)])
    x = x.reshape(-1, 256)
    for of_b, scaling in ((False, "128x128"), (False, "1x128"), (True, "1x128")):
        same(ours(x, recipe, scaling=scaling, of_b=of_b), deepgemm(x), scaling)
    w = ties(3, 1 << 13, 128, "e4m3", 448, 0).reshape(-1, 1024)
    w[:11, :128] = hostile(128)
    same(ours(w, recipe, of_b=True), deepgemm(w, 128), "128x128 of weights")


@pytest.mark.parametrize("recipe,formula", [("nvfp4", te_nvfp4), ("nvfp4-torchao", torchao_nvfp4)])
def test_two_levels_of_nvfp4(recipe, formula):
    for seed in range(16):
        x = ties(seed, 1 << 12, 16, "e2m1", 6, (0, 3, 8, 30)[seed % 4]).reshape(-1, 128)
        same(ours(x, recipe, of_b=seed % 2 == 1), formula(x), seed)
    x = ties(20, 1 << 13, 16, "e2m1", 6, 1).reshape(-1, 64)
    for i, row in enumerate(hostile(64)):
        if recipe == "nvfp4" or np.isfinite(row).all() and row.any():
            same(ours(row[None], recipe), formula(row[None]), f"hostile {i}")
            both = np.concatenate([x[:99], row[None]])
            same(ours(both, recipe), formula(both), f"hostile {i} among others")
        else:  # a NaN scale: what the elements are does not matter
            scales = ours(row[None], recipe)[1]
            assert np.array_equal(scales & 0x7F, formula(row[None])[1]), i


def test_bf16_numbers_are_widened_first():
    x = torch.from_numpy(ties(1, 1 << 13, 128, "e4m3", 448, 4).reshape(-1, 256)).to(torch.bfloat16)
    for recipe, formula in (("fp8-tensor", lambda y: current_scaling(y, "e4m3")), ("fp8-1x128", deepgemm),
                            ("nvfp4", te_nvfp4), ("nvfp4-torchao", torchao_nvfp4)):
        same(ours(x, recipe), formula(x.float().numpy()), recipe)


def test_int8():
    x = np.concatenate([ties(1, 8192, 128, "s8", 127.5), hostile(128), ties(2, 100, 128, "s8", 127.5, 60)])
    for of_b in (False, True):
        same(ours(x, "int8-w8a8", of_b=of_b), torchao_int8(x), of_b)


# ---- order of the factors ------------------------------------------------------------------------------------------


def test_orders_of_two_factors():
    """torch._scaled_mm: cuBLASLt multiplies the factors of tensors, kernels of rows take B's first."""
    a, b = torch.zeros(16, 32), torch.zeros(32, 16)
    a[0, :5] = torch.tensor([448, 448, 256, 416, 4])
    b[:5, 0] = -torch.tensor([448.0, 448, 448, 14, 8])
    of_a, of_b = F(0.010811942629516125), F(9.863717423286289e-05)
    d = scaled_mm(a, b, torch.tensor(of_a), torch.tensor(of_b))
    assert d[0, 0].view(torch.int16).item() & 0xFFFF == 0xBF0F  # of a sum of -521952; one after the other: 0xBF0E
    draw = np.random.default_rng(1)
    a, b = (torch.from_numpy(draw.standard_normal(shape, F)) for shape in ((64, 128), (128, 96)))
    sums = scaled_mm(a, b, torch.tensor(1.0), torch.tensor(1.0), torch.float32).numpy()
    x, y = (torch.from_numpy(draw.uniform(0.01, 1, shape).astype(F)) for shape in ((64, 1), (1, 96)))
    rows = scaled_mm(a, b, x, y, torch.float32).numpy()
    orders = {"product": sums * (x.numpy() * y.numpy()), "a-first": (sums * x.numpy()) * y.numpy(),
              "b-first": (sums * y.numpy()) * x.numpy()}
    assert np.array_equal(rows, orders["b-first"])
    inst = find_path("hopper", "e4m3", "row", "plain").inst
    for order, expected in orders.items():
        assert (order == "b-first") == np.array_equal(rows, expected)
        d = mt.matmul(a.to(torch.float8_e4m3fn), b.to(torch.float8_e4m3fn), inst=inst, factor_a=x.reshape(-1),
                      factor_b=y.reshape(-1), factor_order=order)
        assert np.array_equal(d.numpy(), expected), order


def scaled_mm(a, b, of_a, of_b, out=torch.bfloat16):
    with mt.emulate(torch.nn.Identity(), "fp8-tensor"):
        return torch._scaled_mm(a.to(torch.float8_e4m3fn), b.t().contiguous().t().to(torch.float8_e4m3fn),
                                scale_a=of_a, scale_b=of_b, out_dtype=out)


@pytest.mark.parametrize("recipe,order", [
    ("fp8-tensor", "product"), ("fp8-tensor-promoted", "product"), ("fp8-delayed", "product"),
    ("int8-w8a8", "a-first"), ("nvfp4", "product"), ("fp8-1x128", "product")])
def test_a_recipe_says_the_order(recipe, order):
    one = mt.RECIPES[recipe]
    assert find_path(one.arch, one.dtype, one.scaling, one.policy).factor_order == order


# ---- torchao's own functions ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["e4m3", "e5m2"])
def test_torchao_float8(dtype):
    utils = pytest.importorskip("torchao.float8.float8_utils")
    kind = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}[dtype]
    for seed in range(20):
        x = ties(seed, 1, 1 << 16, dtype, FP8[dtype][1]).reshape(256, 256)
        scale = utils.tensor_to_scale(torch.from_numpy(x), kind)
        elements = utils.to_fp8_saturated(torch.from_numpy(x) * scale, kind).view(torch.uint8).numpy()
        same(ours(x, "fp8-tensor", dtype), (elements, None, scale.reciprocal().reshape(1).numpy()), seed)


def test_torchao_nvfp4():
    nvfp4 = pytest.importorskip("torchao.prototype.mx_formats.nvfp4_tensor")
    for seed in range(16):
        x = ties(seed, 1 << 12, 16, "e2m1", 6, (0, 3, 8, 30)[seed % 4]).reshape(-1, 128)
        x[:7] = hostile(128)[[0, 1, 3, 6, 7, 2, 5]]
        factor = nvfp4.per_tensor_amax_to_scale(torch.tensor(np.abs(x).max()))
        scales, packed = nvfp4.nvfp4_quantize(torch.from_numpy(x), 16, factor)
        codes = torch.stack([packed & 15, packed >> 4], -1).reshape(x.shape).numpy()
        same(ours(x, "nvfp4-torchao"), (codes, scales.view(torch.uint8).numpy(), factor.reshape(1).numpy()), seed)


def test_torchao_int8():
    int8 = pytest.importorskip("torchao.quantization.quantize_.workflows.int8.int8_tensor")
    from torchao.quantization.granularity import PerRow
    x = np.concatenate([ties(1, 8192, 128, "s8", 127.5), hostile(128)])
    found = int8.Int8Tensor.from_hp(torch.from_numpy(x), PerRow())
    same(ours(x, "int8-w8a8"), (found.qdata.numpy(), None, found.scale.numpy()), "rows")
