"""Tensors are what their dtype and shape say, or refused in one line; expected numbers by torch or by hand."""
import pytest
import torch
from torch import nn

import mmaudit
import mmaudit.torch as mt

FP8 = "wgmma.m64n64k32.f32.e4m3.e4m3"
F16 = "mma.m16n8k16.f32.f16.f16.f32"
FP4 = {"inst": "tcgen05.m128n64k64.kind_mxf4nvf4.scale_vec_4X.f32.e2m1.e2m1.ue4m3", "arch": "blackwell"}
DTYPES = sorted({one for one in vars(torch).values() if isinstance(one, torch.dtype)}, key=str)
OWN = {F16: torch.float16, FP8: torch.float8_e4m3fn, "mma.m16n8k32.s32.s8.s8.s32": torch.int8}


def refused(pattern, function, *arguments, **how):
    with pytest.raises(ValueError, match=pattern) as raised:
        function(*arguments, **how)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("inst", OWN)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype(inst, dtype):
    """Only the format's own type gives numbers, uint8 gives FP8's and INT8's raw bits, all others one line."""
    try:
        x = torch.ones(32, 32).to(dtype)
    except (RuntimeError, NotImplementedError, TypeError):
        try:
            x = torch.empty(32, 32, dtype=dtype)
        except (RuntimeError, NotImplementedError, TypeError):
            pytest.skip("torch makes no tensor of it")
    raw = dtype == torch.uint8 and inst != F16
    for matmul in (mt.matmul, mmaudit.matmul):
        if dtype == OWN[inst]:
            assert (torch.as_tensor(matmul(x, x, inst=inst)) == 32).all()
        elif not raw and not (matmul is mmaudit.matmul and dtype == torch.uint16):  # raw bits of f16 in numpy
            refused("^(a( dtype| strides)?|b shape): found .*, allowed: ", matmul, x, x, inst=inst)


def test_packed_fp4_has_two_elements_per_byte():
    values = torch.tensor([0, .5, 1, 1.5, 2, 3, 4, 6, -0., -.5, -1, -1.5, -2, -3, -4, -6])
    codes = torch.randint(16, (2, 5, 64), generator=torch.Generator().manual_seed(1))
    packed = (codes[..., ::2] | codes[..., 1::2] << 4).to(torch.uint8).view(torch.float4_e2m1fn_x2)
    want = values[codes[0]] @ values[codes[1]].T
    for matmul in (mt.matmul, mmaudit.matmul):
        assert torch.equal(torch.as_tensor(matmul(packed[0], packed[1].t(), **FP4)), want)
        raw = packed.view(torch.uint8)
        refused("^a: found the byte 0x.., allowed: e2m1|^a: found the byte", matmul, raw[0], raw[1].t(), **FP4)
    refused("^a dtype: found", mmaudit.matmul, packed[0], packed[1].t(), inst=FP8)


def test_factors_have_the_shape_of_their_operand():
    m, n, k = 4, 3, 256
    a, b = torch.ones(m, k).to(torch.float8_e4m3fn), torch.ones(k, n).to(torch.float8_e4m3fn)
    how = {"inst": FP8, "promote": 128, "factor_block": 128}
    of_b = torch.tensor([[1., 8.], [2., 16.], [4., 32.]])  # (n, blocks)
    want = 128 * of_b.sum(1).expand(m, n)
    for good in (of_b, of_b[None], of_b.t().contiguous().t()):
        assert torch.equal(mt.matmul(a, b, factor_a=torch.ones(m, 2), factor_b=good, **how), want)
    refused(r"^factor_b shape: found \[2, 3\], allowed: \[1, 3, 2\] or \[3, 2\] .*exchanged it fits$", mt.matmul, a, b,
            factor_a=torch.ones(m, 2), factor_b=of_b.t().contiguous(), **how)
    for bad in (of_b.flatten(), of_b.reshape(1, 6), of_b.reshape(6, 1)):
        refused("^factor_b shape", mt.matmul, a, b, factor_a=torch.ones(m, 2), factor_b=bad, **how)
    refused(r"^factor_a shape: .*exchanged", mt.matmul, a, b, factor_a=torch.ones(2, m), factor_b=of_b, **how)
    row = torch.tensor([1., 2., 4.])
    for good in (row, row[None], row[:, None], row[None, :, None]):
        assert torch.equal(mt.matmul(a, b, inst=FP8, factor_b=good), 256 * row.expand(m, n))
    refused("^factor_b shape", mt.matmul, a, b, inst=FP8, factor_b=torch.ones(4))


def test_scales_and_metadata_by_shape():
    one, scale = torch.full((3, 64), 2, dtype=torch.uint8), torch.full((3, 4), 0x38, dtype=torch.uint8)
    assert (mt.matmul(one, one.t(), scale_a=scale, scale_b=scale.t(), **FP4) == 64).all()
    refused(r"^scale_a shape: found \[4, 3\].*exchanged", mt.matmul, one, one.t(), scale_a=scale.t().contiguous(), **FP4)
    refused("^scale_b shape", mt.matmul, one, one.t(), scale_b=scale.flatten(), **FP4)
    sparse = "mma.sp.m16n8k32.f32.f16.f16.f32"
    a, b = torch.ones(4, 16, dtype=torch.float16), torch.ones(32, 8, dtype=torch.float16)
    positions = torch.tensor([0, 1], dtype=torch.uint8).repeat(4, 8)
    assert (mt.matmul(a, b, inst=sparse, metadata=positions) == 16).all()
    refused("^metadata shape", mt.matmul, a, b, inst=sparse, metadata=positions.reshape(16, 4))
    refused("^metadata dtype", mt.matmul, a, b, inst=sparse, metadata=positions.to(torch.int8))


class Gives(nn.Module):
    """A product, and what a function makes of it."""

    def __init__(self, make):
        super().__init__()
        self.linear, self.make = nn.Linear(16, 8), make

    def forward(self, x):
        return self.make(self.linear(x))


def compared(make):
    return mt.compare(Gives(make), torch.randn(4, 16, generator=torch.Generator().manual_seed(1)), ["bf16"])


def test_logits_that_are_nan_are_not_the_same():
    def first_row(y):
        y = y.clone()
        y[0] = float("nan")
        return y

    assert compared(lambda y: {"logits": y * float("nan")})["plans"]["bf16"]["top1"] == 0
    assert compared(lambda y: {"logits": first_row(y)})["plans"]["bf16"]["top1"] == 0.75
    masked = compared(lambda y: {"logits": torch.cat((y, torch.full((4, 1), -torch.inf)), -1)})["plans"]["bf16"]
    assert 0 <= masked["kl"] < 1e-3 and masked["top1"] == 1


def test_hidden_states_are_no_logits():
    found = compared(lambda y: {"last_hidden_state": y})
    assert found["measured"] == "last_hidden_state"
    row = found["plans"]["bf16"]
    assert row["kl"] is None and row["top1"] is None and row["relative_error"] > 0
    report = found.report()
    assert "KL, nats" not in str(report["sections"]) and any("last_hidden_state" in line for line in report["lead"])
    assert compared(lambda y: {"loss": y.sum(), "logits": y})["plans"]["bf16"]["kl"] is not None


def test_the_first_of_a_tuple_is_named():
    found = compared(lambda y: (y, y.sum()))
    assert found["measured"] == "the first of 2" and any("the first of 2" in line for line in found.report()["lead"])
    assert compared(lambda y: (y,))["measured"] == "" and compared(lambda y: y)["measured"] == ""


def test_scaled_mm_is_a_product():
    class Scaled(nn.Module):
        def forward(self, x):
            one, w = torch.tensor(.5), torch.eye(16).to(torch.float8_e4m3fn)
            return torch._scaled_mm(x.to(torch.float8_e4m3fn), w.t(), one, one, out_dtype=torch.float32)

    found = mt.compare(Scaled(), torch.ones(16, 16), {"fp8": "fp8-tensor", "kept": "keep"})
    assert found["layers"] == [""] and found["plans"]["fp8"]["products"] == {"emulated": 1, "kept": 0}
    assert found["plans"]["kept"]["products"] == {"emulated": 0, "kept": 1}
    assert found["plans"]["fp8"]["relative_error"] == 0


@pytest.mark.parametrize("plan", [None, {}, {"layers": {}}, {"default": None}, {"schema": "mmaudit.plan/1"}])
def test_a_plan_of_nothing_is_refused(plan, tmp_path):
    import json

    file = tmp_path / "plan.json"
    file.write_text(json.dumps(plan))
    for one in (plan, str(file)):
        refused("^plan: found no.*'keep' keeps everything$", mt.emulate, nn.Linear(4, 4), one)
    with mt.emulate(nn.Linear(4, 4), "keep"):
        pass
