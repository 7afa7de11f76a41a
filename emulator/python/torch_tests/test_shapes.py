"""matmul and quantize over any shape, strides and format: bits don't depend on how a tensor lies in memory."""
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import mmaudit
import mmaudit.torch as mt
from common import INSTRUCTIONS, as_numpy, numbers, operands, same_bits

SIZES = st.integers(0, 70)
#: The same values with other strides.
VIEWS = {
    "as it is": lambda x: x,
    "transposed": lambda x: x.mT.contiguous().mT,
    "every second column": lambda x: torch.stack((x, x), -1).flatten(-2)[..., ::2],
    "part of a larger one": lambda x: torch.cat((x, x), -2)[..., :x.shape[-2], :],
    "expanded": lambda x: x[None].expand(3, *x.shape)[1],
}
PLAIN = [(arch, inst) for arch, inst in INSTRUCTIONS if "mx" not in inst]


@settings(max_examples=150, deadline=None, derandomize=True)
@given(which=st.sampled_from(INSTRUCTIONS), m=SIZES, n=SIZES, blocks=st.integers(0, 3), of_a=st.sampled_from(sorted(VIEWS)),
       of_b=st.sampled_from(sorted(VIEWS)))
def test_products_do_not_depend_on_strides(which, m, n, blocks, of_a, of_b):
    arch, inst = which
    a, b, how = operands(numbers, arch, inst, m, n, 64 * blocks)
    d = mt.matmul(VIEWS[of_a](a), VIEWS[of_b](b), inst=inst, arch=arch, **how)
    theirs = mmaudit.matmul(as_numpy(a), as_numpy(b), inst=inst, arch=arch, **{k: v.numpy() for k, v in how.items()})
    assert d.shape == (m, n)
    assert d.numpy().tobytes() == theirs.tobytes()


@settings(max_examples=80, deadline=None, derandomize=True)
@given(which=st.sampled_from(PLAIN), m=SIZES, n=SIZES, k=SIZES, batch=st.lists(st.integers(0, 3), max_size=2))
def test_every_depth_and_batch(which, m, n, k, batch):
    arch, inst = which
    a, b, _ = operands(numbers, arch, inst, m, n, k)
    many_a, many_b = (x.expand(*batch, *x.shape) for x in (a, b))
    d, one = mt.matmul(many_a, many_b, inst=inst, arch=arch), mt.matmul(a, b, inst=inst, arch=arch)
    assert d.shape == (*batch, m, n)
    assert same_bits(d, one.expand(*batch, m, n))


@settings(max_examples=80, deadline=None, derandomize=True)
@given(rows=st.integers(1, 40), k=st.integers(1, 300), dtype=st.sampled_from([torch.float32, torch.bfloat16, torch.float16]),
       recipe=st.sampled_from(sorted(mt.RECIPES)), of_b=st.booleans(), view=st.sampled_from(sorted(VIEWS)),
       seed=st.integers(0, 1000))
def test_quantization_does_not_depend_on_strides(rows, k, dtype, recipe, of_b, view, seed):
    how = mt.RECIPES[recipe]
    x = torch.randn(rows, k, generator=torch.Generator().manual_seed(seed)).to(dtype)
    here, there = (mt.quantize(one, how.dtype, how.scaling, arch=how.arch, policy=how.policy, of_b=of_b)
                   for one in (x, VIEWS[view](x)))
    for mine, theirs in zip(here[:3], there[:3]):
        assert mine is theirs is None or same_bits(mine, theirs)
