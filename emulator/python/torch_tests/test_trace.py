"""Traces of runs, and what a diff says of planted causes."""
import copy
import gc
import os
import threading
import time
import warnings

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode

import mmaudit
import mmaudit.torch as mt
from common import cut
from mmaudit.torch import _trace
from mmaudit.torch import _trace_hash as rows
from mmaudit.torch._trace_kernels import Kernels, kernels_of

TOOL = os.environ.get("MMAUDIT_TOOL")
needs_tool = pytest.mark.skipif(not TOOL, reason="MMAUDIT_TOOL names no mmaudit")
TOKENS, WIDTH, HEADS = 12, 64, 2


class Norm(nn.Module):
    def __init__(self, epsilon=1e-6, how="steps"):
        super().__init__()
        self.weight = nn.Parameter(torch.linspace(0.5, 1.5, WIDTH))
        self.epsilon, self.how = epsilon, how

    def forward(self, x):
        if self.how == "fused":
            return fused_norm(x, self.weight, self.epsilon)
        wide = x.float()
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.epsilon)
        if self.how == "twice":
            wide = wide.to(torch.float16).float()
        return self.weight * wide.to(x.dtype)


@torch.library.custom_op("trace_test::rms_norm", mutates_args=())
def fused_norm(x: torch.Tensor, weight: torch.Tensor, epsilon: float) -> torch.Tensor:
    """One rounding at the end."""
    wide = x.float()
    return (weight.float() * wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + epsilon)).to(x.dtype)


class Rope(nn.Module):
    dtype = torch.float32

    def forward(self, x):
        positions = torch.arange(x.shape[-2], dtype=self.dtype)[:, None]
        angles = positions * (10000 ** (-torch.arange(0, 1, 2 / x.shape[-1], dtype=torch.float32))).to(self.dtype)
        angles = torch.cat([angles, angles], -1)
        left, right = x.chunk(2, -1)
        return x * angles.cos().to(x.dtype) + torch.cat([-right, left], -1) * angles.sin().to(x.dtype)


class Scaled(nn.Linear):
    def __init__(self, *sizes):
        super().__init__(*sizes, bias=False)
        self.register_buffer("scale", torch.tensor(0.25))

    def forward(self, x):
        return super().forward(x) * self.scale


@torch.library.custom_op("trace_test::sum", mutates_args=())
def unordered_sum(x: torch.Tensor) -> torch.Tensor:
    """A sum of the last axis in an order that no run repeats."""
    total = torch.zeros_like(x[..., :1])
    for i in torch.randperm(x.shape[-1], generator=unordered_sum.draw).tolist():
        total = total + x[..., i:i + 1]
    return total


unordered_sum.draw = torch.Generator().manual_seed(0)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.after, self.rope = Norm(), Norm(), Rope()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH, bias=False), nn.Linear(WIDTH, WIDTH, bias=False)
        self.up, self.down = nn.Linear(WIDTH, 160, bias=False), Scaled(160, WIDTH)
        self.order = False

    def forward(self, x):
        batch, tokens, _ = x.shape
        q, k, v = self.qkv(self.norm(x)).view(batch, tokens, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        found = F.scaled_dot_product_attention(self.rope(q), self.rope(k), v, is_causal=True)
        x = x + self.out(found.transpose(1, 2).reshape(batch, tokens, WIDTH))
        h = self.after(x)
        if self.order:
            h = h + unordered_sum(h)
        return x + self.down(F.silu(self.up(h)))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.blocks = nn.Embedding(128, WIDTH), nn.ModuleList(Block() for _ in range(3))
        self.head = nn.Linear(WIDTH, 128, bias=False)

    def forward(self, tokens):
        x = self.embed(tokens)
        for one in self.blocks:
            x = one(x)
        return self.head(x)


@pytest.fixture
def net():
    torch.manual_seed(0)
    return Net().to(torch.bfloat16).eval()


@pytest.fixture
def tokens():
    return torch.randint(0, 128, (3, TOKENS), generator=torch.Generator().manual_seed(1))


def diff_of(folder, before, after, tokens, tokens_after=None, keep="*:aten.mm", **how):
    mt.trace(before, tokens, folder / "a.trace", keep)
    mt.trace(after, tokens if tokens_after is None else tokens_after, folder / "b.trace", keep)
    return mt.trace_diff(folder / "a.trace", folder / "b.trace", **how)


def changed(net, change):
    after = copy.deepcopy(net)
    change(after)
    return after


def only(found):
    """The one finding: what a diff blames where one thing was planted in block 1."""
    assert not found.same and found.first is not None, found.text()
    assert len(found["findings"]) == 1, found.text()
    return found.first


# ---- no difference ---------------------------------------------------------------------------------------------------------


@needs_tool
def test_equal_runs_do_not_differ(net, tokens, tmp_path):
    found = diff_of(tmp_path, net, copy.deepcopy(net), tokens)
    assert found.same and found.first is None and found["tokens"] == 3 * TOKENS
    assert found["operations"] > 100 and found["only_a"] == found["only_b"] == 0
    assert found.text().startswith("no difference")


@needs_tool
def test_rows_are_found_in_another_batch_and_behind_padding(net, tokens, tmp_path):
    with mt.emulate(net, "bf16"):  # whose bits do not depend on the batch
        one = diff_of(tmp_path, net, net, tokens[:1], tokens)
        assert one.same and one["tokens"] == TOKENS
        other = diff_of(tmp_path, net, net, tokens[2:], tokens, rows=[f"0:{TOKENS}=2.0:{TOKENS}"])
        assert other.same and other["tokens"] == TOKENS
        wrong = diff_of(tmp_path, net, net, tokens[2:], tokens)
        assert not wrong.same and wrong.first["cause"] == "tensor"  # other tokens, so other inputs


@needs_tool
def test_calls_with_ever_more_tokens_are_one_text(net, tokens, tmp_path):
    """generate() without a cache, whose tokens operations outside of the module made."""
    def generated(name, tokens):
        with mt.tracing(net, tmp_path / name):
            for end in range(TOKENS - 3, TOKENS + 1):
                net(torch.cat([tokens[:, :2], tokens[:, 2:end]], 1))
        return tmp_path / name
    with mt.emulate(net, "bf16"):
        mt.trace(net, tokens, tmp_path / "whole")
        found = mt.trace_diff(tmp_path / "whole", generated("steps", tokens))
        assert found.same and found["tokens"] == 3 * TOKENS, found.text()
        other = tokens.clone()
        other[:, -1] = (other[:, -1] + 1) % 128
        found = mt.trace_diff(tmp_path / "whole", generated("other", other))
    first = only(found)
    assert (first["tensor"], first["cause"], first["differing"]) == ("an input", "tensor", 3), found.text()


@needs_tool
def test_names_of_modules_are_mapped(net, tokens, tmp_path):
    class Renamed(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.layers, self.head = net.embed, net.blocks, net.head

        def forward(self, tokens):
            x = self.embed(tokens)
            for one in self.layers:
                x = one(x)
            return self.head(x)
    renamed = Renamed()
    with pytest.raises(ValueError, match="tokens that both traces have"):
        diff_of(tmp_path, net, net, tokens, rows=["0=99"])
    found = diff_of(tmp_path, net, renamed, tokens, names={"blocks.": "layers."})
    assert found.same and found["only_a"] == found["only_b"] == 0


# ---- planted causes --------------------------------------------------------------------------------------------------------


def of_block(name):
    return f"blocks.1.{name}" if name else "blocks.1"


def epsilon(net):
    net.blocks[1].norm.epsilon = 1e-3


def rounds_twice(net):
    net.blocks[1].norm.how = "twice"


def fused(net):
    net.blocks[1].after.how = "fused"


def transposed(net):
    with torch.no_grad():
        net.blocks[1].out.weight.copy_(net.blocks[1].out.weight.t().clone())


def stale_scale(net):
    net.blocks[1].down.scale.fill_(0.2490234375)


def rope_cast(net):
    net.blocks[1].rope.dtype = torch.bfloat16


@needs_tool
@pytest.mark.parametrize("plant, module, operator, cause, text", [
    (epsilon, "norm", "aten.add.Tensor", "argument", "other 1e-06 -> 0.001"),
    (rounds_twice, "norm", "module", "operators", "B rounds once more"),
    (fused, "after", "module", "operators", "-> trace_test.rms_norm; one of both is fused"),
    (transposed, "out", "aten.mm", "tensor", "other values: B's matrix is the transpose of A's"),
    (stale_scale, "down", "aten.mul.Tensor", "tensor", "other values: 0.25 -> 0.2490234375"),
    (rope_cast, "rope", "aten.arange", "dtype", "float32 -> bfloat16"),
], ids=lambda one: one.__name__ if callable(one) else "")
def test_a_planted_cause_is_found_and_nothing_else_blamed(plant, module, operator, cause, text, net, tokens, tmp_path):
    found = diff_of(tmp_path, net, changed(net, plant), tokens)
    if plant is rope_cast:  # each of both calls makes its angles anew
        assert {one["module"] for one in found["findings"]} == {of_block("rope")}
        first = found.first
    else:
        first = only(found)
    assert (first["module"], first["operator"], first["cause"]) == (of_block(module), operator, cause), found.text()
    assert text in first["text"] and first["proof"] == "seen"
    blocks = {one["module"]: one for one in found["growth"]}
    assert blocks["blocks.0"]["differing"] == 0 and blocks["blocks.1"]["differing"] > 0
    assert 0 < blocks["blocks.1"]["relative"] < 1 and blocks["blocks.0"]["relative"] == 0


class _Other(TorchDispatchMode):
    """Below a trace: products have other bits."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        return out * 1.01 if func.name() == "aten::mm" else out


@needs_tool
def test_two_gpus_are_said_first_and_decisions_that_are_recorded(tmp_path, monkeypatch):
    """down_proj of Llama-3.2-1B: an H200 cuts K of 64 tokens in three slices, of 512 tokens in one (docs/results/trace.md)."""
    real, layer = _trace.machine, nn.Linear(8192, 2048, bias=False).to(torch.bfloat16)
    x = torch.randn(8, 64, 8192, generator=torch.Generator().manual_seed(0)).to(torch.bfloat16)

    def traced(name, gpu, x):
        monkeypatch.setattr(_trace, "machine", lambda: {**real(), "gpu": gpu, "capability": "90", "cublas": "13.1.0"})
        mt.trace(layer, x, tmp_path / name)
        return tmp_path / name
    a = traced("a", "NVIDIA H200", x[:1])
    with _Other():
        b, other = traced("b", "NVIDIA H200", x), traced("c", "NVIDIA H100 80GB HBM3", x)
    first = only(mt.trace_diff(a, b))
    assert (first["cause"], first["text"], first["proof"]) == ("gemm plan", "tile k 64 -> none; slices 3 -> 1", "suspected")
    found = mt.trace_diff(a, other)
    assert found["gpus"].startswith("Two GPUs: A ran on NVIDIA H200, B on NVIDIA H100 80GB HBM3. What cuBLAS decides on NVIDIA H100")
    said = " ".join(found.text().split())
    assert said.index("Two GPUs") < said.index("Operations with equal inputs") and only(found)["cause"] != "gemm plan"


class _OfTheGpu(TorchDispatchMode):
    """Below a trace: rows are reduced as torch does it on an H200."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        name = {"aten::mean.dim": "mean", "aten::_softmax": "softmax"}.get(func.name())
        if name is None or args[0].dtype != torch.float32:
            return out
        return torch.from_numpy(mmaudit.reduce_rows(name, args[0].numpy())[0]).reshape(out.shape)


class Reduces(nn.Module):
    def forward(self, x):
        return x.mean(-1, keepdim=True) + F.softmax(x, -1)


@needs_tool
@pytest.mark.parametrize("wrong", [False, True])
def test_rows_in_another_order_are_proven(wrong, tmp_path, monkeypatch):
    """One row of 4,096 numbers has more lanes on a GPU than 200 rows have each: decode against prefill."""
    from mmaudit.torch import _trace
    real = _trace.machine
    monkeypatch.setattr(_trace, "machine", lambda: {**real(), "gpu": "NVIDIA H200", "capability": "90"})
    x = torch.randn(1, 200, 4096, generator=torch.Generator().manual_seed(0))

    def traced(keep):
        with _OfTheGpu():
            mt.trace(Reduces(), x, tmp_path / "a.trace", keep)
            if wrong:  # B's rows are not what its plan gives
                usual = mmaudit.reduce_rows
                monkeypatch.setattr(mmaudit, "reduce_rows", lambda name, x: (usual(name, x)[0] * np.float32(1 + 2**-20), ""))
            mt.trace(Reduces(), x[:, :1], tmp_path / "b.trace", keep)
            if wrong:
                monkeypatch.setattr(mmaudit, "reduce_rows", usual)
        return mt.trace_diff(tmp_path / "a.trace", tmp_path / "b.trace")
    before = traced(None)
    first = before.first
    assert (first["operator"], first["cause"], first["proof"]) == ("aten.mean.dim", "row reduction", "suspected"), before.text()
    assert before.keep[0] == ":aten.mean.dim" and 'keep=[":aten.mean.dim"]' in "".join(before.text().split())
    after = traced(before)
    assert (after.first["cause"], after.first["proof"]) == ("row reduction", "suspected" if wrong else "proven"), after.text()
    assert "lanes=32 -> lanes=512" in after.first["text"]
    if wrong:  # a softmax of both sides has one plan
        assert [(one["operator"], one["cause"]) for one in after["findings"][1:]] == [("aten._softmax", "wrong reduction")]


@needs_tool
def test_products_of_a_batch_are_proven(net, tokens, tmp_path):
    plain, promoted = mt.Recipe(arch="hopper", dtype="bf16"), mt.Recipe(arch="hopper", dtype="bf16", policy="promote:64")

    class Batch(nn.Module):
        def forward(self, x):
            return torch.bmm(x, x.transpose(1, 2))
    x = torch.randn(3, 40, 2048, generator=torch.Generator().manual_seed(0)).to(torch.bfloat16)
    keep = None
    for proof in ("suspected", "proven"):
        for name, recipe in (("a", plain), ("b", promoted)):
            with mt.emulate(net := Batch(), mt.Plan.of({"default": recipe})):
                mt.trace(net, x, tmp_path / f"{name}.trace", keep)
        keep = mt.trace_diff(tmp_path / "a.trace", tmp_path / "b.trace")
        first = only(keep)
        assert (first["operator"], first["text"], first["proof"]) == ("aten.bmm", "promote none -> 64", proof), keep.text()


@needs_tool
def test_the_one_token_that_differs_is_kept_and_proves(tmp_path):
    draw = torch.Generator().manual_seed(0)
    layer = nn.Linear(256, 200, bias=False).to(torch.bfloat16)
    with torch.no_grad():
        layer.weight.copy_(torch.randint(-3, 4, layer.weight.shape, generator=draw))
    x = torch.randint(-3, 4, (1, 400, 256), generator=draw).to(torch.bfloat16)  # whose sums are exact by any plan
    x[0, 333] = torch.randn(256, generator=draw) * 2.0**(torch.arange(256) % 24)
    with torch.no_grad():  # here only what is cut off is left
        x[0, 333, 128:], layer.weight[:, 128:] = -x[0, 333, :128], layer.weight[:, :128].clone()
    plain, promoted = mt.Recipe(arch="hopper", dtype="bf16"), mt.Recipe(arch="hopper", dtype="bf16", policy="promote:64")

    def traced(keep):
        for name, recipe in (("a", plain), ("b", promoted)):
            with mt.emulate(layer, mt.Plan.of({"default": recipe})):
                mt.trace(layer, x, tmp_path / name, keep)
        return mt.trace_diff(tmp_path / "a", tmp_path / "b")
    before = traced(None)
    assert (only(before)["differing"], before.first["tokens"], before.first["proof"]) == (1, [[0, 333]], "suspected"), before.text()
    usual = traced(before.keep)  # 32 rows, of which none differs
    assert only(usual)["proof"] == "suspected"
    assert "do not prove it: rows that differ may not be among them" in " ".join(usual.text().split())
    assert only(traced(before))["proof"] == "proven"


class _Grouped(TorchDispatchMode):
    """Below a trace: each group of a product by one chain of an instruction."""

    def __init__(self, instruction):
        super().__init__()
        self.instruction = instruction

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if "_grouped_mm" not in func.name():
            return out
        begin = 0
        for group, end in enumerate(args[2].tolist()):
            a, b = (one.contiguous().view(torch.uint16).numpy() for one in (args[0][begin:end], args[1][group]))
            if end > begin:
                d = mmaudit.gemm(a, b, like="cublas", problem={"type": "bf16", "d": "bf16"}, plan={"instruction": self.instruction})
                out[begin:end] = torch.from_numpy(d.view(np.int16)).view(torch.bfloat16)
            begin = end
        return out


@needs_tool
@pytest.mark.skipif(not hasattr(torch, "_grouped_mm"), reason="this torch has no _grouped_mm")
def test_a_group_is_a_product_and_its_plan_is_found_by_values(tmp_path):
    class Experts(nn.Module):
        def forward(self, x, weights):
            return torch._grouped_mm(x, weights, torch.tensor([0, 24, 40], dtype=torch.int32))
    draw = torch.Generator().manual_seed(0)
    x, weights = (torch.randn(*shape, generator=draw).to(torch.bfloat16) for shape in ((40, 2048), (3, 2048, 64)))
    x[:, 1024:], weights[:, 1024:] = -x[:, :1024], weights[:, :1024] * (1 + 2**-7)  # sums that vanish show what was cut off
    keep = None
    for proof in ("suspected", "proven"):
        for name, instruction in (("a", "wgmma.m64n64k16.f32.bf16.bf16"), ("b", "mma.m16n8k8.f32.bf16.bf16.f32")):
            with _Grouped(instruction):
                mt.trace(Experts(), (x, weights), tmp_path / name, keep)
        keep = mt.trace_diff(tmp_path / "a", tmp_path / "b")
        first = only(keep)
        assert (first["operator"], first["proof"]) == ("aten._grouped_mm", proof), keep.text()
    assert first["cause"] == "gemm plan" and "wgmma.m64n64k16.f32.bf16.bf16 -> mma.m16n8k8.f32.bf16.bf16.f32" in first["text"]


class _Tf32(TorchDispatchMode):
    """Below a trace: products of binary32 as a GPU without and with TF32 gives them."""

    def __init__(self, on):
        super().__init__()
        self.on = on

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func.name() != "aten::mm":
            return func(*args, **(kwargs or {}))
        a, b = (one.numpy() for one in args)
        if self.on:  # rounded to nearest, ties to even, as cuBLAS does
            a, b = (((one.view(np.uint32) + 0xFFF + (one.view(np.uint32) >> 13 & 1)) & 0xFFFFE000).view(np.float32) for one in (a, b))
            return torch.from_numpy(mmaudit.matmul(a, b, arch="hopper", inst="wgmma.m64n64k8.f32.tf32.tf32"))
        d = np.zeros((len(a), b.shape[1]), np.float32)
        for k in range(a.shape[1]):  # products are exact in binary64
            d = (d + a[:, k, None].astype(np.float64) * b[k]).astype(np.float32)
        return torch.from_numpy(d)


@needs_tool
def test_tf32_is_proven_without_names_of_kernels(tmp_path, monkeypatch):
    real, net = _trace.problem_of, nn.Linear(64, 48, bias=False)
    x = torch.randn(1, TOKENS, 64, generator=torch.Generator().manual_seed(0))
    for name, on in (("a", False), ("b", True)):
        monkeypatch.setattr(_trace, "problem_of", lambda *of, on=on: {**real(*of), "type": "tf32" if on else "f32"})
        with _Tf32(on):
            mt.trace(net, x, tmp_path / name, "*")
    first = only(mt.trace_diff(tmp_path / "a", tmp_path / "b"))
    assert (first["operator"], first["text"], first["proof"]) == ("aten.mm", "f32 -> tf32", "proven")


@needs_tool
def test_a_sum_without_an_order(net, tokens, tmp_path):
    net.blocks[1].order = True
    first = only(diff_of(tmp_path, net, net, tokens))
    assert first["cause"] == "non-determinism" and first["operator"] == "trace_test.sum" and first["module"] == "blocks.1"


@needs_tool
def test_other_flags(net, tokens, tmp_path):
    mt.trace(net, tokens, tmp_path / "a.trace")
    with torch.backends.mkldnn.flags(enabled=False):
        mt.trace(net, tokens, tmp_path / "b.trace")
    found = mt.trace_diff(tmp_path / "a.trace", tmp_path / "b.trace")
    assert found.first is not None, "oneDNN gives the bits of torch's own products here: plant another flag"
    assert (found.first["operator"], found.first["cause"]) == ("aten.mm", "flags")
    assert found.first["text"] == "mkldnn true -> false"
    assert {one["cause"] for one in found["findings"]} == {"flags"}


@needs_tool
def test_another_plan_is_proven(net, tokens, tmp_path):
    plain, promoted = mt.Recipe(arch="hopper", dtype="bf16"), mt.Recipe(arch="hopper", dtype="bf16", policy="promote:64")
    with mt.emulate(net, mt.Plan.of({"default": plain})):
        mt.trace(net, tokens, tmp_path / "a.trace", "*:aten.mm")
    with mt.emulate(net, mt.Plan.of({"default": plain, "layers": {"blocks.1.down": promoted}})):
        mt.trace(net, tokens, tmp_path / "b.trace", "*:aten.mm")
    found = mt.trace_diff(tmp_path / "a.trace", tmp_path / "b.trace")
    first = only(found)
    assert (first["module"], first["operator"], first["cause"]) == ("blocks.1.down", "aten.mm", "gemm plan")
    assert first["text"] == "promote none -> 64" and first["proof"] == "proven"
    assert "(proven)" in found.text().partition("\n\n")[0].replace("\n", " ")


@needs_tool
def test_without_values_a_plan_is_suspected(net, tokens, tmp_path):
    plain, promoted = mt.Recipe(arch="hopper", dtype="bf16"), mt.Recipe(arch="hopper", dtype="bf16", policy="promote:64")
    for name, recipe in (("a", plain), ("b", promoted)):
        with mt.emulate(net, mt.Plan.of({"default": recipe})):
            mt.trace(net, tokens, tmp_path / f"{name}.trace")
    found = mt.trace_diff(tmp_path / "a.trace", tmp_path / "b.trace")
    assert {(one["cause"], one["text"], one["proof"]) for one in found["findings"]} == {("gemm plan", "promote none -> 64", "suspected")}
    assert found.first["module"].endswith(".down")  # alone it has more than 64 of K
@needs_tool
def test_what_differs_behind_the_first_difference_is_counted(net, tokens, tmp_path):
    plain, promoted = mt.Recipe(arch="hopper", dtype="bf16"), mt.Recipe(arch="hopper", dtype="bf16", policy="promote:64")
    other = copy.deepcopy(net)
    other.blocks[0].norm.epsilon = 1e-2
    for name, module, recipe in (("a", net, plain), ("b", other, promoted)):
        with mt.emulate(module, mt.Plan.of({"default": recipe})):
            mt.trace(module, tokens, tmp_path / f"{name}.trace")
    found = mt.trace_diff(tmp_path / "a.trace", tmp_path / "b.trace")
    assert found.first["cause"] == "argument"
    assert [(one["cause"], one["text"]) for one in found["further"]] == [("gemm plan", "promote none -> 64")], found.text()
    assert found["further"][0]["operations"] == 19  # six products of each block, two of them of attention, and the head


@needs_tool
def test_a_product_without_the_end_of_k(net, tokens, tmp_path, monkeypatch):
    from mmaudit.torch import _emulate
    whole = _emulate.product
    with mt.emulate(net, "bf16"):
        mt.trace(net, tokens, tmp_path / "a.trace", "*:aten.mm")

    def dropping(a, b, *others, **how):
        if b.data_ptr() == net.blocks[1].up.weight.data_ptr():
            a = a.clone()
            a[..., -8:] = 0
        return whole(a, b, *others, **how)
    monkeypatch.setattr(_emulate, "product", dropping)
    with mt.emulate(net, "bf16"):
        mt.trace(net, tokens, tmp_path / "b.trace", "*:aten.mm")
    first = only(mt.trace_diff(tmp_path / "a.trace", tmp_path / "b.trace"))
    assert first["module"] == "blocks.1.up" and first["proof"] == "proven"
    assert first["text"] == "the last 8 elements of K are in no sum of B"


@needs_tool
def test_attention_of_another_kernel(net, tokens, tmp_path):
    from torch.nn.attention import SDPBackend, sdpa_kernel
    mt.trace(net, tokens, tmp_path / "a.trace")
    with sdpa_kernel(SDPBackend.MATH):
        mt.trace(net, tokens, tmp_path / "b.trace")
    found = mt.trace_diff(tmp_path / "a.trace", tmp_path / "b.trace")
    assert found.first["cause"] == "attention kernel" and found.first["module"] == "blocks.0"
    assert "B takes attention apart" in found.first["text"]


# ---- the trace itself ------------------------------------------------------------------------------------------------------


def test_a_hash_sees_every_bit_and_no_layout():
    draw = torch.Generator().manual_seed(0)
    x = torch.randn(2, 3, 5, 16, generator=draw).to(torch.bfloat16)

    def hashes(x, batch=2, tokens=5):
        (_, found), = rows.hashed([(x, cut(x, batch, tokens), 0)])
        return found[:, 0]
    usual = hashes(x)
    assert torch.equal(usual, hashes(x.transpose(1, 2).contiguous().transpose(1, 2)))
    for at in ((0, 1, 3, 7), (1, 2, 4, 15)):
        other = x.clone()
        other.view(torch.int16)[at] ^= 1
        differs = (hashes(other) != usual).reshape(2, 5)
        assert differs.sum() == 1 and differs[at[0], at[2]]
    zero = torch.zeros(1, 4)
    assert not torch.equal(hashes(zero, 1, 1), hashes(-zero, 1, 1))
    exchanged = x.clone()
    exchanged[0, 0, 0, [0, 1]] = x[0, 0, 0, [1, 0]]
    assert (hashes(exchanged) != usual).sum() == 1


def test_a_whole_tensor_has_one_hash_whatever_its_strides():
    x = torch.randn(48, 64, generator=torch.Generator().manual_seed(0))

    def whole(x):
        one = x, cut(x, 0, 0), 0
        (_, found), = rows.hashed([one])
        return rows.joined(found[:, 0].numpy(), one[1].turned)
    assert whole(x) == whole(x.t().contiguous().t()) != whole(x.t())
    # another computation: sums of products of both streams, in Python's integers
    columns, by_row = rows._weights().view(np.uint64)
    raw = x.view(torch.int32).tolist()
    expected = sum(int(by_row[i]) * int(columns[j]) * raw[i][j] for i in range(48) for j in range(64)) % 2**64
    assert whole(x) == expected


def test_rows_are_found_by_their_sizes():
    assert rows.rows_of((1, 12, 64), 1, 12, 12) == rows.Rows((0, 1), 1, 12)
    assert rows.rows_of((3, 4, 12, 16), 3, 12, 12) == rows.Rows((0, 2), 3, 12)
    assert rows.rows_of((36, 64), 3, 12, 12) == rows.Rows((0,), 3, 12)
    assert rows.rows_of((1, 12, 16), 3, 12, 12) == rows.Rows((0, 1), 1, 12)
    assert rows.rows_of((1, 2, 13, 16), 1, 1, 13) == rows.Rows((0, 2), 1, 13, True)
    assert rows.rows_of((64, 48), 3, 12, 12) is None


def test_a_launch_belongs_to_the_operation_round_it():
    def event(kind, name, at, length=1.0, **arguments):
        return {"ph": "X", "cat": kind, "name": name, "ts": at, "dur": length, "args": arguments}
    ahead = 1000.0  # microseconds of the profile's clock before the host's
    events = [
        event("user_annotation", "mmaudit's clock", ahead + 1.0), event("user_annotation", "mmaudit's clock", ahead + 51.0),
        event("gpu_user_annotation", "mmaudit's clock", 2000.0), event("cuda_runtime", "cudaLaunchKernel", ahead + 12.0, correlation=7),
        event("cuda_driver", "cuLaunchKernelEx", ahead + 21.0, correlation=8),
        event("cuda_runtime", "cudaLaunchKernel", ahead + 17.0, correlation=9),
        event("kernel", "nvjet", 1200.0, correlation=7, grid=[1, 2, 3], block=[4, 1, 1]),
        event("kernel", "reduce", 1210.0, correlation=8, grid=[1, 1, 1]), event("kernel", "of a hash", 1205.0, correlation=9)]
    ran, clock = [(10_000, 15_000, 3), (20_000, 25_000, 4)], [(500, 1_500), (50_500, 51_500)]
    assert kernels_of(events, ran, clock) == {
        3: [{"name": "nvjet", "grid": [1, 2, 3], "block": [4, 1, 1]}], 4: [{"name": "reduce", "grid": [1, 1, 1]}]}
    with pytest.raises(RuntimeError, match="kernels: found a profile with 1 of 2 marks"):
        kernels_of(events[1:], ran, clock)


def test_a_change_in_place_is_another_tensor(net, tmp_path):
    class Adds(nn.Module):
        def forward(self, x):
            y = x * 2
            z = y.view(-1)
            y.add_(1)
            return z * 3
    path = tmp_path / "t.trace"
    done = mt.trace(Adds(), torch.ones(1, 4), path)
    assert not torch.nn.modules.module._global_forward_hooks_with_kwargs
    assert done.operations == 4 and done.bytes == path.stat().st_size


def test_what_is_no_trace_is_refused(net, tokens, tmp_path):
    with pytest.raises(ValueError, match="path: found the folder"):
        mt.trace(net, tokens, tmp_path)
    with pytest.raises(ValueError, match="keep: found a int, allowed: a glob"):
        mt.trace(net, tokens, tmp_path / "a", 3)
    if TOOL:
        from safetensors.torch import save_file
        save_file({"x": torch.zeros(2)}, tmp_path / "x.safetensors")
        with pytest.raises(ValueError, match="found no trace, allowed: a file of mmaudit.torch.trace"):
            mt.trace_diff(tmp_path / "x.safetensors", tmp_path / "x.safetensors")


def test_nothing_is_written_where_the_module_fails(net, tmp_path):
    with pytest.raises(IndexError), mt.tracing(net, tmp_path / "a.trace"):
        net(torch.tensor([[500]]))
    assert not (tmp_path / "a.trace").exists()


@needs_tool
def test_memory_that_nothing_has_written_is_no_input(tmp_path):
    class Writes(nn.Module):
        fill = 1.0

        def forward(self, x):
            out, copy = torch.empty_like(x), torch.empty(3, 5)
            out.fill_(self.fill)  # what such memory may hold; the operators below write over it
            copy.fill_(self.fill)
            torch.mul(x, 2, out=out)
            copy.copy_(x)
            return out + copy
    one, other = Writes(), Writes()
    other.fill = 2.0
    found = diff_of(tmp_path, one, other, torch.ones(3, 5))
    assert [(one["operator"], one["cause"]) for one in found["findings"]] == [("aten.fill_.Scalar", "argument")] * 2


def test_heads_of_a_product_are_no_rows():
    x = torch.randn(6, 12, 5)  # 3 entries of 2 heads, 12 tokens
    found = cut(x, 3, 12)
    assert found.shape == (3, 2, 12, 5) and found.rows == rows.Rows((0, 2), 3, 12)
    assert cut(x.transpose(1, 2), 3, 12).rows == rows.Rows((0, 3), 3, 12)
    assert cut(torch.randn(7, 12, 5), 3, 12).rows is None


@needs_tool
def test_a_weight_that_changes_after_its_use_has_its_old_hash(net, tokens, tmp_path):
    class Steps(nn.Module):
        def __init__(self, step):
            super().__init__()
            self.weight, self.step = nn.Parameter(torch.ones(5, 5)), step

        def forward(self, x):
            y = x @ self.weight
            with torch.no_grad():
                self.weight.add_(self.step)  # as an optimizer does
            return y
    found = diff_of(tmp_path, Steps(0.0), Steps(1.0), torch.ones(3, 5), keep=None)
    assert [(one["operator"], one["cause"]) for one in found["findings"]] == [("aten.add_.Tensor", "argument")]


def of_a_clock():
    """Marks stand for launches: each was made in the middle of an operation of 200 us. The events of the profile."""
    kernels = Kernels(True)
    with kernels:
        for number in range(40):
            begin = time.perf_counter_ns()
            while time.perf_counter_ns() < begin + 100_000:
                pass
            with torch.profiler.record_function(f"launch#{number}"):
                torch.ones(3) + 1  # which no profile of launches has to have
            while time.perf_counter_ns() < begin + 200_000:
                pass
            kernels.ran.append((begin, time.perf_counter_ns(), number))
    events = kernels.events()
    launches = [one for one in events if one.get("cat") == "user_annotation" and one["name"].startswith("launch#")]
    assert len(launches) == 40
    for at, one in enumerate(launches):
        one.update(cat="cuda_runtime", args={"correlation": at})
    events += [{"ph": "X", "cat": "kernel", "name": one["name"], "ts": 0, "dur": 1, "args": one["args"]} for one in launches]
    assert kernels_of(events, kernels.ran, kernels._clock) == {number: [{"name": f"launch#{number}"}] for number in range(40)}
    return events


def test_the_clock_of_a_profile_is_known():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not any(one["name"].startswith("aten::") for one in of_a_clock())


@pytest.mark.parametrize("owner, name", [
    (torch._C._autograd, "_enable_profiler"), (torch._C._autograd, "_disable_profiler"), (torch._C._profiler, "RecordScope"),
    (torch._C._profiler.RecordScope, "USER_SCOPE")])
def test_a_torch_without_a_private_name_has_names_of_kernels(owner, name, monkeypatch):
    monkeypatch.delattr(owner, name)
    with pytest.warns(UserWarning) as said:
        events = of_a_clock()
    assert len(said) == 1 and "has another profiler than this trace knows" in str(said[0].message) and name in str(said[0].message)
    assert any(one["name"].startswith("aten::") for one in events)


def test_a_profile_of_a_gpu_has_kernels(monkeypatch):
    """torch's profiler falls back to timing its own calls by events where it is not asked for Kineto."""
    activity, asked = torch.profiler.ProfilerActivity, []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch.autograd.profiler, "_supported_activities", lambda: {activity.CPU, activity.CUDA})
    monkeypatch.setattr(torch.autograd.profiler, "_prepare_profiler", lambda config, activities, **_: asked.append(activities))
    monkeypatch.setattr(torch._C._autograd, "_enable_profiler", lambda config, activities, scopes: asked.append(activities))
    monkeypatch.setattr(torch._C._autograd, "_disable_profiler", lambda: torch)
    with Kernels(True):
        pass
    assert asked == [{activity.CPU, activity.CUDA}] * 2


def test_a_profiler_that_runs_goes_on():
    with torch.profiler.profile() as outer, pytest.warns(UserWarning, match="another profiler runs"):
        kernels = Kernels(True)
        with kernels:
            torch.ones(3) + 1
    assert kernels.found() == {} and len(outer.events())


class Runs(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.layer, self.function = nn.Linear(5, 5), function

    def forward(self, x):
        return self.function(self, x)


@pytest.mark.parametrize("function", [
    lambda of, x: torch.fft.fft(x).conj().imag + 1,
    lambda of, x: of.layer(x[0].to_sparse_csr() @ torch.ones(5, 5)),
    lambda of, x: torch.sparse.mm(x[0].to_sparse(), torch.ones(5, 3)),
    lambda of, x: torch.nested.nested_tensor([x[0], x[1, :3]]) * 2,
    lambda of, x: torch.quantize_per_tensor(x, 0.1, 0, torch.qint8).dequantize()])
@pytest.mark.parametrize("keep", [None, "*"])
@needs_tool
def test_tensors_of_other_kinds_end_no_trace(function, keep, tmp_path):
    x = torch.randn(2, 7, 5)
    assert diff_of(tmp_path, Runs(function), Runs(function), x, keep=keep)["tokens"]


@needs_tool
def test_a_sparse_input_is_compared_and_no_quantized_one_blamed(tmp_path):
    net = Runs(lambda of, x: torch.sparse.mm(x, torch.ones(5, 3)))
    a = torch.eye(5).to_sparse()
    assert diff_of(tmp_path, net, net, a, a.clone(), keep=None).same
    found = only(diff_of(tmp_path, net, net, a, a * 2, keep=None))
    assert (found["cause"], found["text"]) == ("tensor", "an input that no operation of the trace made is another one")
    net, q = Runs(lambda of, x: x.dequantize()), [torch.quantize_per_tensor(torch.ones(5) * one, 0.1, 0, torch.qint8) for one in (1, 2)]
    assert not diff_of(tmp_path, net, net, *q, keep=None)["findings"]


@needs_tool
def test_random_numbers_are_not_read_from_memory_before(tmp_path):
    """Memory that an operator fills with random numbers is as it was before in one run, and zero in the other one."""
    x = torch.ones(4, 50)
    for draws in ("bernoulli_", "normal_", "uniform_", "exponential_", "random_"):
        before = torch.zeros(4, 50)  # that nothing in a trace made
        net = Runs(lambda of, x, draws=draws, before=before: getattr(before, draws)() + x)
        mt.trace(net, x, tmp_path / "a")
        before.fill_(7)
        mt.trace(net, x, tmp_path / "b")
        assert mt.trace_diff(tmp_path / "a", tmp_path / "b").same, draws


@needs_tool
def test_a_whole_network_that_is_compiled(tmp_path):
    net, x = nn.Sequential(nn.Linear(5, 5), nn.GELU(), nn.Linear(5, 5)).eval(), torch.randn(2, 7, 5)
    compiled = torch.compile(net, backend="aot_eager")
    with torch.no_grad():
        compiled(x)
    found = diff_of(tmp_path, net, compiled, x, keep=None)
    assert all(one["cause"] in ("compiled region", "operators") for one in found["findings"])


@needs_tool
def test_a_module_that_is_compiled_in_place(net, tokens, tmp_path):
    def doubled(x):
        return x * 2 * 1.01
    class Inner(nn.Module):
        def forward(self, x):
            return doubled(x)
    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Inner()

        def forward(self, x):
            return self.inner(x) + 1
    one, other = Outer(), Outer()
    other.inner.compile(backend=lambda graph, _: lambda x: (x * 2.0625,))
    x = torch.randn(1, TOKENS, 5)
    other(x)
    first = only(diff_of(tmp_path, one, other, x, keep=None))
    assert first["cause"] == "compiled region"


class Attends(nn.Module):
    """Attention by one operator, or step by step with a mask that the module around it makes."""

    def __init__(self, steps):
        super().__init__()
        self.steps = steps

    def forward(self, x, mask):
        if not self.steps:
            heads = x.unsqueeze(1)
            return F.scaled_dot_product_attention(heads, heads, heads, is_causal=True).squeeze(1)
        return torch.softmax((x @ x.transpose(-1, -2)).float() / 4 + mask, -1).to(x.dtype) @ x


class Masked(nn.Module):
    def __init__(self, steps):
        super().__init__()
        self.attention, self.steps = Attends(steps), steps

    def forward(self, x):
        size = x.shape[-2]
        mask = torch.full((size, size), float("-inf")).triu(1) if self.steps else None
        return self.attention(x, mask) + x


@needs_tool
def test_a_module_that_takes_a_mask_on_one_side_is_blamed_itself(tmp_path):
    x = torch.randn(1, TOKENS, 16, generator=torch.Generator().manual_seed(0)).to(torch.bfloat16)
    first = only(diff_of(tmp_path, Masked(True), Masked(False), x, keep=None))
    assert (first["module"], first["cause"]) == ("attention", "attention kernel")
    assert "2 aten.bmm" in first["text"] and "A takes attention apart" in first["text"]


@needs_tool
def test_an_argument_that_one_side_lacks_is_named(tmp_path):
    one, other = (Runs(lambda of, x, how=how: F.gelu(x, approximate=how)) for how in ("none", "tanh"))
    first = only(diff_of(tmp_path, one, other, torch.randn(1, TOKENS, 5), keep=None))
    assert (first["cause"], first["text"]) == ("argument", "approximate by default -> tanh")


@needs_tool
def test_a_network_of_another_type_is_a_few_lines(net, tokens, tmp_path):
    found = diff_of(tmp_path, net, copy.deepcopy(net).float(), tokens, keep=None)
    weights = [one for one in found["findings"] if one["tensor"] and one["text"] == "bfloat16 -> float32"]
    rows = [one for one in found.text().split("How the difference")[0].splitlines() if one.rstrip().endswith("bfloat16 -> float32")]
    assert len(weights) > 10 and f" and {len(weights) - 3} more" in found.text() and len(rows) < 8, found.text()


def test_a_trace_searches_for_cycles_as_before_once_it_ended(net, tokens, tmp_path):
    before = gc.get_threshold()
    with pytest.raises(KeyError), mt.tracing(net, tmp_path / "a"):
        assert gc.get_threshold()[0] > before[0]
        raise KeyError
    assert gc.get_threshold() == before


@needs_tool
def test_operations_that_wait_have_the_tensors_of_their_time(net, tokens, tmp_path, monkeypatch):
    """What an operation read is hashed before a later one overwrites it, however many wait."""
    def steps(of, x):
        y = x * 1
        z = y + 1
        y.mul_(0)
        return (z + y).t_()
    for module, given in ((net, tokens), (Runs(steps), torch.randn(TOKENS, 5))):
        monkeypatch.setattr(_trace, "_MOST_RAN", 1)
        one = mt.trace(module, given, tmp_path / "a", "*")
        monkeypatch.setattr(_trace, "_MOST_RAN", 64)
        other = mt.trace(module, given, tmp_path / "b", "*")
        assert mt.trace_diff(tmp_path / "a", tmp_path / "b").same
        assert (one.operations, one._tensors, one._ops) == (other.operations, other._tensors, other._ops)


def test_what_a_trace_lacks_is_said(net, tokens, tmp_path):
    with pytest.warns(UserWarning, match=r"keep: found nix\*, which no module and no module:operator"):
        mt.trace(net, tokens, tmp_path / "a", ["nix*", "*:aten.mm"])
    with pytest.warns(UserWarning, match="trace: found no operation"), mt.tracing(net, tmp_path / "b"):
        thread = threading.Thread(target=net, args=(tokens,))
        thread.start()
        thread.join()
