"""Recipes against the packages whose bytes they give: elements, scales and factors of 10^6 numbers each, with ties, zeros,
subnormals, infinities, NaN and blocks below every clamp. What a package computes only on a GPU is written again here.

The sign of a NaN that an operation makes differs from CPU to GPU, so it is not compared. Under a scale that is NaN the
elements of FP4 have no meaning, and packages leave there what their casts make of a NaN: there scales alone are compared.
"""
import ml_dtypes
import numpy as np
import pytest
import torch
from test_framework_bytes import GREATEST, F, cast4, cast8, hostile, ours, quietly, ties, without_nan  # noqa: F401

import mmaudit.torch as mt

E4M3 = ml_dtypes.float8_e4m3fn


def numbers(seed, dtype, most, block, count=1 << 20):
    """(rows, 256): ties under any largest magnitude, in a tenth of the blocks numbers that packages seldom see."""
    x = np.concatenate([ties(seed, count // block // 2, block, dtype, most, spread) for spread in (6, 120)])
    draw = np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        x[::40] *= F(2) ** draw.integers(-149, -100, (len(x[::40]), 1)).astype(F)  # below clamps
        rare = hostile(block)
        x[3::40] = rare[draw.integers(0, len(rare), len(x[3::40]))]
        powers = np.exp2(draw.integers(-126, 127, (len(x[5::40]), 1))).astype(F)
        x[5::40] = np.where(np.abs(x[5::40]) < 1e38, powers * draw.choice([-1, 0, 0.5, 1], x[5::40].shape), 0)
        x[7::40, 1:] = 0
    return x.astype(F).reshape(-1, 256)


def finite(x):
    """The same without infinities and NaN, and no larger than 2^100: one would decide over a whole tensor."""
    return np.clip(np.nan_to_num(x, nan=0, posinf=0, neginf=0), -F(2) ** 100, F(2) ** 100).astype(F)


def unpacked(packed):
    packed = packed.view(torch.uint8)
    return torch.stack([packed & 15, packed >> 4], -1).flatten(-2).numpy()


def alike(found, expected, what, block, element, judged=None):
    """Bytes equal, but for signs of NaN and elements of FP4 under NaN; `judged`: only these blocks."""
    (elements, scales, factors), (of_elements, of_scales, of_factors) = found, expected
    judged = np.ones((elements.shape[0], elements.shape[1] // block), bool) if judged is None else judged
    if of_scales is not None:
        of_scales = np.asarray(of_scales).view(np.uint8).reshape(scales.shape)
        if block == 16:
            of_scales = of_scales & 0x7F
        differ = (scales != of_scales) & judged
        assert not differ.any(), f"{what}: {differ.sum()} of {differ.size} scales, {scales[differ][:4]} for " \
                                 f"{of_scales[differ][:4]}"
    if of_factors is not None:
        of_factors = np.asarray(of_factors, F).reshape(-1)
        factors = factors.reshape(-1)
        same = (factors.view(np.uint32) == of_factors.view(np.uint32)) | (np.isnan(factors) & np.isnan(of_factors))
        assert same.all(), f"{what}: factors {factors[~same][:3]} for {of_factors[~same][:3]}"
    of_elements = np.asarray(of_elements).view(np.uint8).reshape(elements.shape)
    if element == "e4m3":
        of_elements = np.where(of_elements & 0x7F == 0x7F, 0x7F, of_elements)
        elements = np.where(elements & 0x7F == 0x7F, 0x7F, elements)
    elif scales is not None:
        judged = judged & (scales & 0x7F != 0x7F if block == 16 else scales != 0xFF)
    differ = (elements != of_elements) & np.repeat(judged, block, 1)
    assert not differ.any(), f"{what}: {differ.sum()} of {differ.size} elements, {elements[differ][:4]} for " \
                             f"{of_elements[differ][:4]}"
    assert judged.mean() > 0.9 or "hostile" in str(what)


def exact_logarithm(x, most, block):
    """Blocks whose logarithm of base 2 does not depend on its last bits: eager torch rounds it before it rounds up."""
    largest = np.abs(x.reshape(len(x), -1, block)).max(-1).astype(F) / F(most)
    fraction = largest.view(np.int32) & 0x7FFFFF
    return (fraction == 0) | (fraction > 64) | ~np.isfinite(largest)


@pytest.mark.parametrize("element,most", [("e4m3", 448), ("e2m1", 6)])
@pytest.mark.parametrize("mode", ["FLOOR", "RCEIL"])
def test_torchao_mx(element, most, mode):
    mx = pytest.importorskip("torchao.prototype.mx_formats.mx_tensor")
    x = numbers(1, element, most, 32)
    kind = {"e4m3": torch.float8_e4m3fn, "e2m1": torch.float4_e2m1fn_x2}[element]
    scales, data = mx.to_mx(torch.from_numpy(x), kind, 32, mx.ScaleCalculationMode[mode])
    elements = data.view(torch.uint8).numpy() if element == "e4m3" else unpacked(data)
    recipe = f"mxfp{8 if element == 'e4m3' else 4}-torchao{'-floor' if mode == 'FLOOR' else ''}"
    judged = exact_logarithm(x, most, 32) if mode == "RCEIL" else None
    for of_b in (False, True):
        alike(ours(x, recipe, of_b=of_b), (elements, scales.view(torch.uint8).numpy(), None), recipe, 32, element, judged)


def test_torchao_nvfp4_of_one_level():
    nvfp4 = pytest.importorskip("torchao.prototype.mx_formats.nvfp4_tensor")
    x = numbers(2, "e2m1", 6, 16)
    scales, packed = nvfp4.nvfp4_quantize(torch.from_numpy(x), 16)
    alike(ours(x, "nvfp4-torchao-1"), (unpacked(packed), scales.view(torch.uint8).numpy(), None), "one level", 16, "e2m1")


def test_torchao_rows():
    primitives = pytest.importorskip("torchao.quantization.quant_primitives")
    x = numbers(3, "e4m3", 448, 256)
    scale = primitives._choose_scale_float8(torch.from_numpy(x), [1, 256])
    elements = primitives._quantize_affine_float8(torch.from_numpy(x), scale).view(torch.uint8).numpy()
    alike(ours(x, "fp8-row-torchao"), (elements, None, scale.numpy()), "rows", 256, "e4m3")


@pytest.mark.parametrize("kind", ["nvfp4", "mxfp8"])
def test_modelopt(kind):
    tensors = pytest.importorskip("modelopt.torch.quantization.qtensor")
    if kind == "mxfp8":
        x = numbers(4, "e4m3", 448, 32)
        found, scales = tensors.MXFP8QTensor.quantize(torch.from_numpy(x))
        alike(ours(x, "mxfp8-modelopt"), (found._quantized_data.view(torch.uint8).numpy(), scales.numpy(), None), kind, 32,
              "e4m3", exact_logarithm(x, 448, 32))
        return
    for what, x in whole_tensors(5):
        found, scales, factor = tensors.NVFP4QTensor.quantize(torch.from_numpy(x.copy()), 16)
        alike(ours(x, "nvfp4-modelopt"), (unpacked(found._quantized_data), scales.view(torch.uint8).numpy(), factor), what,
              16, "e2m1")


def whole_tensors(seed):
    """For two levels: many, and small ones with each number that decides over all."""
    for spread in range(4):
        yield f"spread {spread}", finite(numbers(seed + spread, "e2m1", 6, 16, 1 << 18)) * F((1, 2**-60, 2**-100, 1)[spread])
    yield "few", ties(seed, 4096, 16, "e2m1", 6, 3).reshape(-1, 256)
    for i, row in enumerate(hostile(256)):
        both = np.concatenate([ties(seed, 160, 16, "e2m1", 6, 1).reshape(-1, 256), row[None]])
        yield f"hostile {i}", row[None]
        yield f"hostile {i} among others", both


def test_compressed_tensors_nvfp4():
    arguments = pytest.importorskip("compressed_tensors.quantization.quant_args")
    from compressed_tensors.quantization.lifecycle import forward
    from compressed_tensors.quantization.utils import helpers
    args = arguments.QuantizationArgs(num_bits=4, type="float", strategy="tensor_group", group_size=16, symmetric=True,
                                      scale_dtype=torch.float8_e4m3fn, zp_dtype=torch.float8_e4m3fn)
    from compressed_tensors.compressors.nvfp4 import helpers as packing
    for what, x in whole_tensors(6):
        w = torch.from_numpy(x)
        whole = helpers.generate_gparam(w.amin(), w.amax())
        blocks = w.unflatten(-1, (-1, 16))
        scale, zero = helpers.calculate_qparams(blocks.amin(-1), blocks.amax(-1), args, whole)
        data = forward.quantize(x=w, scale=scale, zero_point=zero, args=args, global_scale=whole)
        alike(ours(x, "nvfp4-compressed-tensors"),
              (unpacked(packing.pack_fp4_to_uint8(data)), scale.to(torch.float8_e4m3fn).view(torch.uint8).numpy(),
               1 / whole.numpy()), what, 16, "e2m1")


def test_compressed_tensors_mxfp4():
    arguments = pytest.importorskip("compressed_tensors.quantization.quant_args")
    from compressed_tensors.compressors.nvfp4 import helpers as packing
    from compressed_tensors.quantization.lifecycle import forward
    from compressed_tensors.quantization.utils import helpers, mxfp_utils
    args = arguments.QuantizationArgs(num_bits=4, type="float", strategy="group", group_size=32, symmetric=True,
                                      scale_dtype=torch.uint8, zp_dtype=torch.uint8)
    x = numbers(7, "e2m1", 6, 32)
    w = torch.from_numpy(x)
    blocks = w.unflatten(-1, (-1, 32))
    scale, zero = helpers.calculate_qparams(blocks.amin(-1), blocks.amax(-1), args)
    data = forward.quantize(x=w, scale=scale, zero_point=zero, args=args)
    codes = arguments.round_to_quantized_type_dtype(mxfp_utils.generate_mx_scales(blocks.abs().amax(-1)), torch.uint8, False)
    alike(ours(x, "mxfp4-compressed-tensors"), (unpacked(packing.pack_fp4_to_uint8(data)), codes.numpy(), None), "mxfp4", 32,
          "e2m1")


def test_transformers_tiles():
    fp8 = pytest.importorskip("transformers.integrations.finegrained_fp8")

    class Quantizer:
        quantization_config = type("", (), {"weight_block_size": (128, 128), "scale_fmt": "float"})()

    x = numbers(8, "e4m3", 448, 128)
    found = fp8.Fp8Quantize(Quantizer())._quantize_one("a.weight", torch.from_numpy(x))
    scale = found["a.weight_scale_inv"].numpy()
    alike(ours(x, "fp8-1x128-transformers", of_b=True),
          (found["a.weight"].view(torch.uint8).numpy(), None, np.repeat(scale, 128, 0)), "tiles", 128, "e4m3")
    for seed in range(4):
        y = ties(seed, 1 << 11, 128, "e4m3", 448, (0, 4, 30, 120)[seed]).reshape(-1, 256)
        y[:128 * (seed % 3), :128] = (0, 0, np.nan, np.inf)[seed]
        found = fp8.Fp8Quantize(Quantizer())._quantize_one("a.weight", torch.from_numpy(y))
        alike(ours(y, "fp8-1x128-transformers", of_b=True),
              (found["a.weight"].view(torch.uint8).numpy(), None, np.repeat(found["a.weight_scale_inv"].numpy(), 128, 0)),
              seed, 128, "e4m3")


# ---- formulas of what runs on a GPU, and of packages that no index has ---------------------------------------------


def powers_up(wanted, least):
    """Bytes of cvt.rp.satfinite.ue8m0x2.f32."""
    bits = wanted.view(np.uint32).astype(np.int64)
    return np.where(bits <= least, 0, np.minimum((bits + 0x7FFFFF) >> 23, 254))


def test_transformer_engine_mxfp8():
    """quantize_mxfp8.cuh:446; a NaN does not count (fmaxf), an infinity gives 0xfe."""
    x = numbers(9, "e4m3", 448, 32)
    blocks = x.reshape(len(x), -1, 32)
    scales = powers_up(without_nan(blocks) * (F(1) / F(448)), 0x400000)
    times = np.exp2(127.0 - scales).astype(F)
    expected = cast8(blocks * times[..., None], "e4m3").reshape(x.shape), scales.astype(np.uint8), None
    alike(ours(x, "mxfp8-te"), expected, "mxfp8-te", 32, "e4m3")


def test_transformer_engine_nvfp4_of_weights():
    """quantize_transpose_nvfp4.cuh:856: one scale per 16 x 16 of weights; activations as recipe nvfp4."""
    for what, x in whole_tensors(10):
        x = np.resize(x, (max(len(x) // 16 * 16, 16), 256))
        largest = without_nan(x.reshape(-1))
        encode = F(1) if largest == 0 else min(F(2688) / largest, GREATEST)
        encode = F(1) if encode == 0 else encode
        tiles = x.reshape(-1, 16, 16, 16)
        size = np.nan_to_num(np.abs(tiles), nan=0, posinf=np.inf).max((1, 3))
        scales = cast8(np.minimum(size * (encode * (F(1) / F(6))), GREATEST), "e4m3")
        decode = F(1) / encode
        inverse = np.minimum(F(1) / (scales.view(E4M3).astype(F) * decode), GREATEST)
        elements = cast4(tiles * inverse[:, None, :, None]).reshape(x.shape)
        alike(ours(x, "nvfp4-te", of_b=True), (elements, np.repeat(scales, 16, 0), [decode]), what, 16, "e2m1")
        found, plain = ours(x, "nvfp4-te"), ours(x, "nvfp4")
        assert all(np.array_equal(one, other, equal_nan=one.dtype == F) for one, other in zip(found, plain)), what


def test_transformer_engine_blocks():
    """recipe_common.cuh:14 with powers of two; of weights tiles of 128 x 128."""
    x = numbers(11, "e4m3", 448, 128)
    for of_b, group in ((False, 1), (True, 128)):
        blocks = x.reshape(len(x) // group, group, -1, 128)
        largest = np.nan_to_num(np.abs(blocks), nan=0, posinf=np.inf).max((1, 3), keepdims=True)
        scale = np.where((largest == 0) | np.isinf(largest), F(1), np.minimum(F(448) / largest, GREATEST)).astype(F)
        scale = (scale.view(np.uint32) & 0xFF800000).view(F)
        expected = cast8(blocks * scale, "e4m3").reshape(x.shape), None, np.repeat(F(1) / scale[:, 0, :, 0], group, 0)
        alike(ours(x, "fp8-1x128-te", of_b=of_b), expected, group, 128, "e4m3")


def gpt_oss(x):
    """downcast_to_mxfp_torch of triton_kernels: the quotient's exponent up, ties of elements away from zero."""
    blocks = x.reshape(len(x), -1, 32)
    bits = (np.abs(blocks).max(-1) / F(6)).astype(F).view(np.uint32).astype(np.int64)
    byte = np.where(bits > 0x7F800000, 0, (bits + 0x7FFFFF) >> 23)  # the sum of a NaN leaves int32
    times = np.where((byte == 0) | (byte == 255), 0, np.exp2(127.0 - byte)).astype(F)
    scaled = blocks * times[..., None]
    size = np.abs(scaled)
    code = sum((size >= half).astype(np.uint8) for half in (0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5))
    code = np.where(np.isnan(scaled), 7, code | np.where(np.signbit(scaled), 8, 0))
    return code.astype(np.uint8).reshape(x.shape), byte.astype(np.uint8), None


def test_gpt_oss():
    x = numbers(12, "e2m1", 6, 32)
    for y in (x, torch.from_numpy(x).to(torch.bfloat16).float().numpy()):
        alike(ours(y, "mxfp4-gpt-oss"), gpt_oss(y), "gpt-oss", 32, "e2m1")


# ---- no named framework --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("recipe", ["mxfp8-floor", "mxfp8-ceil", "mxfp4"])
def test_mx_hides_no_infinity_and_no_nan(recipe):
    """A block with one has the scale 0xff, which makes it NaN: elements of MXFP4 have neither."""
    x = torch.randn(64, 256)
    x[3, 7], x[9, 40], x[9, 41] = float("nan"), float("inf"), float("nan")
    x[20, 255] = -float("inf")
    scales = ours(x, recipe)[1]
    expected = np.zeros(scales.shape, bool)
    expected[3, 0] = expected[9, 1] = expected[20, 7] = True
    assert np.array_equal(scales == 0xFF, expected)
    layer = torch.nn.Linear(256, 8, bias=False)
    with mt.emulate(layer, recipe):
        d = layer(x)
    assert torch.equal(d.isnan().any(1), torch.from_numpy(expected.any(1)))
