"""mmaudit.torch.matmul and quantize against the numpy interface and the audit's conversion."""
import os

import numpy as np
import pytest
import torch

import mmaudit
import mmaudit.torch as mt
from common import INSTRUCTIONS, as_numpy, bits, by_command, numbers, operands, same_bits
from mmaudit.torch._operator import find_path, product

FP8 = "wgmma.m64n64k32.f32.e4m3.e4m3"


@pytest.mark.parametrize("draw", [numbers, bits])
@pytest.mark.parametrize("arch,inst", INSTRUCTIONS)
def test_bits_are_those_of_numpy(arch, inst, draw):
    a, b, how = operands(draw, arch, inst, 37, 19, 96)
    mine = mt.matmul(a, b, inst=inst, arch=arch, **how)
    theirs = mmaudit.matmul(as_numpy(a), as_numpy(b), inst=inst, arch=arch, **{k: v.numpy() for k, v in how.items()})
    assert mine.numpy().tobytes() == theirs.tobytes()


def test_c_promotion_epilogue_and_factors_are_those_of_numpy():
    a, b = numbers(1, "e4m3", 9, 200), numbers(2, "e4m3", 200, 7)
    x, y = as_numpy(a), as_numpy(b)
    for how in ({"promote": 64}, {"split_k": 3}, {"alpha": 0.5, "beta": 2.0, "d_format": "f16"},
                {"factor_a": 0.3, "factor_b": 3.0}):
        c = None if "factor_a" in how else torch.randn(9, 7).to(torch.float16 if "d_format" in how else torch.float32)
        theirs = mmaudit.matmul(x, y, None if c is None else c.numpy(), inst=FP8, **how)
        assert mt.matmul(a, b, c, inst=FP8, **how).numpy().tobytes() == theirs.tobytes()
    one = [torch.tensor([0.3]), torch.tensor([3.0])]  # a tensor is the same as a number
    assert same_bits(mt.matmul(a, b, inst=FP8, factor_a=one[0], factor_b=one[1]),
                     mt.matmul(a, b, inst=FP8, factor_a=0.3, factor_b=3.0))


def test_factors_of_rows_multiply_sums_and_factors_of_blocks_join_totals():
    a, b = numbers(1, "e4m3", 5, 256), numbers(2, "e4m3", 256, 6)
    of_a, of_b = torch.rand(1, 5), torch.rand(1, 6)
    sums = mt.matmul(a, b, inst=FP8)
    assert same_bits(mt.matmul(a, b, inst=FP8, factor_a=of_a, factor_b=of_b), (of_a[0, :, None] * of_b) * sums)
    blocks_a, blocks_b = torch.rand(1, 5, 2), torch.rand(1, 6, 2)
    found = mt.matmul(a, b, inst=FP8, factor_a=blocks_a, factor_b=blocks_b, factor_block=128, promote=128)
    total = np.zeros((5, 6), np.float64)
    for block in range(2):
        cut = slice(128 * block, 128 * block + 128)
        part = mt.matmul(a[:, cut], b[cut], inst=FP8).double().numpy()
        factor = (blocks_a[0, :, None, block] * blocks_b[0, None, :, block]).double().numpy()
        total = (factor * part + total).astype(np.float32).astype(np.float64)  # exact in binary64 but for rare ties
    assert np.abs(found.double().numpy() - total).max() <= np.abs(total).max() * 2.0**-23


def test_batches_leading_axes_and_strides():
    a, b = numbers(1, "f16", 2, 3, 8, 32), numbers(2, "f16", 2, 3, 32, 5)
    inst = "wgmma.m64n64k16.f32.f16.f16"
    whole = mt.matmul(a, b, inst=inst)
    assert whole.shape == (2, 3, 8, 5)
    assert same_bits(whole[1, 2], mt.matmul(a[1, 2], b[1, 2], inst=inst))
    assert same_bits(mt.matmul(a, b[0, 0], inst=inst)[1, 2], mt.matmul(a[1, 2], b[0, 0], inst=inst))
    assert same_bits(mt.matmul(a[0, 0].t().contiguous().t(), b[0, 0], inst=inst), whole[0, 0])


@pytest.mark.skipif("MMAUDIT_TOOL" not in os.environ, reason="MMAUDIT_TOOL names no mmaudit")
@pytest.mark.parametrize("arch,inst", INSTRUCTIONS)
def test_the_command_line_prints_the_same_bits(arch, inst, tmp_path):
    for draw in (numbers, bits):
        a, b, how = operands(draw, arch, inst, 37, 19, 96)
        mine = mt.matmul(a, b, inst=inst, arch=arch, **how)
        assert by_command(tmp_path, arch, inst, a, b, **how) == as_numpy(mine).tobytes()


@pytest.mark.parametrize("dynamic", [False, True])
def test_compiles(dynamic):
    def layer(x, w):
        return torch.relu(mt.matmul(x.to(torch.float8_e4m3fn), w, inst=FP8, promote=128)) + 1

    x, w = torch.randn(6, 64), numbers(2, "e4m3", 64, 8)
    compiled = torch.compile(layer, backend="aot_eager", fullgraph=True, dynamic=dynamic)
    assert same_bits(compiled(x, w), layer(x, w))


def test_opcheck():
    a, b = numbers(1, "f16", 4, 16), numbers(2, "f16", 16, 3)
    none = [None] * 6
    torch.library.opcheck(torch.ops.mmaudit.matmul.default, (
        a, b, *none, "wgmma.m64n64k16.f32.f16.f16", "hopper", 0, 1, False, 1.0, 0.0, None, "rows", 0, 0))
    torch.library.opcheck(torch.ops.mmaudit.quantize.default, (
        torch.randn(1, 4, 40), False, "blackwell", "nvf4", None, "plain", None, 0))


@pytest.mark.parametrize("name", mt.RECIPES)
def test_conversion_and_product_are_those_of_the_audit(name, tmp_path):
    """D of a recipe has the errors that mmaudit audit prints for the same operands, to the last digit of its JSON."""
    recipe = mt.RECIPES[name]
    x, w = torch.randn(32, 192), torch.randn(192, 24)
    x[3] *= 1e-3
    report = mmaudit.audit(x, w, dtype=recipe.dtype, scale=recipe.scaling, policy=recipe.policy, arch=recipe.arch,
                           d_format="f32")
    [row] = report.rows
    d = product(x[None], w[None], torch.float32, arch=recipe.arch, dtype=recipe.dtype, scaling_a=recipe.scaling,
                scaling_b=recipe.scaling, policy=recipe.policy)[0].double()
    exact = x.double() @ w.double()
    assert float((d - exact).norm() / exact.norm()) == pytest.approx(row["relative_frobenius"]["total"], rel=1e-9)


def test_quantized_operands_spell_the_numbers():
    x = torch.randn(8, 64)
    for dtype, scaling, limit in (("e4m3", "row", 2**-4), ("bf16", None, 2**-8), ("e4m3", "tensor", 2**-4)):
        q = mt.quantize(x, dtype, scaling)
        factors = 1.0 if q.factors is None else q.factors.reshape(-1, 1)
        assert float((q.elements.float() * factors - x).abs().max() / x.abs().max()) <= limit
    transposed = mt.quantize(x.t(), "e4m3", "row", of_b=True)
    assert same_bits(transposed.elements.t(), mt.quantize(x, "e4m3", "row").elements)


def test_a_given_largest_magnitude_takes_the_place_of_the_tensors():
    x = torch.randn(8, 64)
    late = mt.quantize(x, "e4m3", "tensor", tensor_largest=torch.tensor(896.0))
    assert late.factors.item() == 2.0
    early = mt.quantize(100 * x, "e4m3", "tensor", tensor_largest=torch.tensor(1.0))
    assert float(early.elements.float().abs().max()) == 448


@pytest.mark.parametrize("call,line", [
    (lambda a, b: mt.matmul(a.float(), b, inst=FP8), "a dtype: found torch.float32, allowed: torch.float8_e4m3fn"),
    (lambda a, b: mt.matmul(a, b[:32], inst=FP8), "b shape: found \\[32, 8\\], allowed: 64 rows"),
    (lambda a, b: mt.matmul(a, b, inst="wgmma.m64n64k32.f32.e4m3"), "inst"),
    (lambda a, b: mt.matmul(a, b, inst=FP8, promote=33), "promote: found 33"),
    (lambda a, b: mt.matmul(a.float().to_sparse(), b, inst=FP8), "a layout: found torch.sparse_coo"),
    (lambda a, b: mt.matmul(a, b, inst=FP8, scale_a=torch.ones(4, 2, dtype=torch.uint8)), "scale_a: found with"),
    (lambda a, b: mt.matmul(a, b, inst=FP8, factor_a=torch.ones(3)), r"factor_a shape: found \[3\], allowed: "),
    (lambda a, b: mt.quantize(a, "e4m3"), "x dtype: found torch.float8_e4m3fn"),
    (lambda a, b: mt.quantize(a.float(), "e4m4"), r"dtype: found e4m4 \(did you mean e4m3\?\), allowed: e4m3, "),
    (lambda a, b: mt.quantize(a.float(), "e4m3", "1x128"),
     "dtype, scaling, policy: found e4m3, 1x128, plain, which can't be computed: scales of 1x128"),
    (lambda a, b: mt.quantize(a.float(), "nvf4", arch="volta"), "which can't be computed: volta has no instruction"),
])
def test_refusals_are_one_line(call, line):
    with pytest.raises(ValueError, match=line) as refused:
        call(numbers(1, "e4m3", 4, 64), numbers(2, "e4m3", 64, 8))
    assert "\n" not in str(refused.value)


def test_formats_and_paths():
    assert find_path("blackwell", "nvfp4", None, "plain").scale_block == 16
    path = find_path("hopper", "e4m3", "128x128", "promote:128")
    assert (path.factor_block, path.factor_per_lane, path.promote) == (128, True, 128)


@pytest.mark.parametrize("threads", [2**40, 2**70, -1, 4097, 1.5, True])
def test_threads_are_a_count(threads):
    a = torch.ones(16, 16, dtype=torch.bfloat16)
    for call in (lambda: mt.matmul(a, a, inst="wgmma.m64n64k16.f32.bf16.bf16", threads=threads),
                 lambda: mt.quantize(a, "e4m3", threads=threads)):
        with pytest.raises(ValueError, match="^threads: found .*, allowed: a whole number from 0 to 4096$"):
            call()
