"""emulate(attention=...): scaled_dot_product_attention by the plan of a fused kernel."""
import json
import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.attention.bias import causal_lower_right, causal_upper_left
from transformers import LlamaConfig, LlamaForCausalLM

import mmaudit
import mmaudit.torch as mt

needs_tool = pytest.mark.skipif("MMAUDIT_TOOL" not in os.environ, reason="MMAUDIT_TOOL names no mmaudit")
SIZES = {"hidden_size": 128, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "vocab_size": 101,
         "max_position_embeddings": 256, "attention_dropout": 0.0}


class Attend(nn.Module):
    def forward(self, *args, **kwargs):
        return F.scaled_dot_product_attention(*args, **kwargs)


def operands(*sizes, dtype=torch.bfloat16, seed=0):
    draw = torch.Generator().manual_seed(seed)
    batch, heads, kv_heads, queries, keys, depth = sizes
    return [torch.randn(batch, h, n, depth, generator=draw).to(dtype)
            for h, n in ((heads, queries), (kv_heads, keys), (kv_heads, keys))]


def emulated(attention, *args, plan="bf16", **kwargs):
    net = Attend()
    with torch.no_grad(), mt.emulate(net, plan, attention=attention) as emulation:
        found = net(*args, **kwargs)
    return found, emulation


def bits(x):
    x = x if isinstance(x, torch.Tensor) else torch.from_numpy(np.asarray(x).view(np.int16))
    return x if x.dtype == torch.int16 else x.view(torch.int16)


def same(found, *args, **how):
    """Whether a tensor has the bits of mmaudit.attention()."""
    return torch.equal(bits(found), bits(mmaudit.attention(*args, **how)))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", ["torch-flash", "torch-efficient", "torch-cudnn", "fa3", "fa4"])
def test_bits_are_the_plans(name, dtype):
    q, k, v = operands(2, 3, 3, 70, 200, 72, dtype=dtype)
    found, emulation = emulated(name, q, k, v, scale=0.25)
    assert found.dtype == dtype and same(found, q, k, v, like=name, scale=0.25)
    assert not torch.equal(found, emulated("products", q, k, v, scale=0.25)[0])
    assert [(one.operator, one.multiply_adds) for one in emulation.coverage.rows] == [
        (f"attention {name}", 2 * 2 * 3 * 70 * 200 * 72)]


def test_causal_corners_masks_and_groups():
    q, k, v = operands(2, 4, 2, 30, 30, 64)
    assert same(emulated("torch-flash", q, k, v, is_causal=True, enable_gqa=True)[0], q, k, v, causal="top_left")
    q, k, v = operands(2, 4, 4, 30, 50, 64)
    for made, name in ((causal_lower_right, "bottom_right"), (causal_upper_left, "top_left")):
        found, _ = emulated("torch-efficient", q, k, v, attn_mask=made(30, 50))
        assert same(found, q, k, v, like="torch-efficient", causal=name)
    for shape in ((30, 50), (2, 1, 30, 50), (1, 4, 30, 50), (1, 50)):
        mask = torch.randn(shape, generator=torch.Generator().manual_seed(1)) > -0.5
        found, _ = emulated("torch-efficient", q, k, v, attn_mask=mask)
        assert same(found, q, k, v, like="torch-efficient", mask=mask.expand(*shape[:-2], 30, 50).numpy())
        added = torch.randn(shape, generator=torch.Generator().manual_seed(2)).bfloat16()
        found, _ = emulated("torch-efficient", q, k, v, attn_mask=added)
        assert same(found, q, k, v, like="torch-efficient", mask=added.expand(*shape[:-2], 30, 50))
    nothing = torch.ones(30, 50, dtype=torch.bool)
    nothing[7] = False
    found, _ = emulated("torch-efficient", q, k, v, attn_mask=nothing)
    assert bool((found[:, :, 7] == 0).all()) and not bool((found[:, :, 6] == 0).any())


def test_the_first_name_with_a_plan_runs():
    q, k, v = operands(1, 2, 2, 9, 9, 64)
    mask = torch.zeros(9, 9, dtype=torch.bfloat16)
    both = "torch-flash,torch-efficient"
    assert emulated(both, q, k, v)[1].coverage.rows[0].operator == "attention torch-flash"
    assert emulated(both, q, k, v, attn_mask=mask)[1].coverage.rows[0].operator == "attention torch-efficient"
    assert {one.operator for one in emulated("torch-flash,products", q, k, v, attn_mask=mask)[1].coverage.rows} == {"aten.bmm"}
    for names in ("products", "torch-flash,products"):
        torch.manual_seed(0)
        found, emulation = emulated(names, q, k, v, dropout_p=0.5)
        assert {one.operator for one in emulation.coverage.rows} == {"aten.bmm"} and found.shape == q.shape
        assert emulated(names, q[0], k[0], v[0])[0].shape == (2, 9, 64)


@pytest.mark.parametrize("name", ["bf16", "bf16-efficient", "kv-e4m3", "kv-e4m3-tensor", "fa3-tensor", "fa3-head", "fa3-head-two-level",
                                  "fa4-e4m3-mended", "fa4-e5m2", "sage2", "sage2-warp", "nvfp4"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_recipes_convert(name, dtype):
    q, k, v = operands(2, 4, 4, 20, 150, 64, dtype=dtype, seed=3)
    found, _ = emulated(name, q, k, v)
    assert found.dtype == dtype
    # O is bf16, so float32 has nothing below its 16 high bits.
    assert same(found.bfloat16(), q, k, v, like=name) and torch.equal(found.bfloat16().to(dtype), found)


def test_fp8_operands_are_those_of_descales():
    """The recipe against elements and descales that are made here."""
    q, k, v = operands(1, 4, 2, 40, 300, 64, dtype=torch.float32, seed=4)
    scales = [x.reshape(2, -1).abs().amax(1) / 448 for x in (q, k, v)]
    elements = [(x.reshape(2, -1) / s[:, None]).to(torch.float8_e4m3fn).reshape(x.shape)
                for x, s in zip((q, k, v), scales)]
    o = mmaudit.attention(*elements, like="fa3", descale_q=scales[0], descale_k=scales[1], descale_v=scales[2])
    assert torch.equal(bits(emulated("fa3-head", q, k, v, enable_gqa=True)[0].bfloat16()), bits(o))


@pytest.mark.parametrize("keys", [1, 2, 129])
def test_infinities_and_nan(keys):
    q, k, v = operands(1, 1, 1, 5, keys, 64)
    q[0, 0, 0], k[0, 0, 0, 0], v[0, 0, -1, 3] = torch.inf, torch.nan, -torch.inf
    found, _ = emulated("torch-flash", q, k, v)
    assert same(found, q, k, v, like="torch-flash")
    q, k, v = operands(1, 1, 1, 5, keys, 64, dtype=torch.float32)
    v[0, 0, 0, 0] = torch.inf  # its scale is infinite
    assert not bool(emulated("fa3-head", q, k, v)[0].isfinite().any())


def test_what_nobody_multiplies_is_torchs():
    q, k, v = operands(1, 2, 2, 3, 1, 64)
    for one in ((q, k[:, :, :0], v[:, :, :0]), (q[:, :, :0], k, v), (q[:0], k[:0], v[:0])):
        expected = F.scaled_dot_product_attention(*one)
        assert torch.equal(emulated("torch-flash", *one)[0], expected)


@pytest.mark.parametrize("how,words", [
    ({"sizes": (1, 1, 1, 4, 4, 264)}, "depth: found 264, allowed: 1 to 256"),
    ({"dtype": torch.float32}, "type: found f32, allowed: f16, bf16"),
    ({"dropout_p": 0.1}, "found dropout_p 0.1"),
    ({"scale": 0.0}, "found scale 0.0"),
    ({"attn_mask": torch.zeros(4, 4, dtype=torch.bfloat16)}, "bias: found a mask"),
    ({"sizes": (1, 1, 1, 4, 5, 64), "is_causal": True}, "found top_left with 4 queries and 5 keys"),
    ({"flat": True}, "operands of 3 dimensions"),
    ({"short": True}, "Q, K, V of [1, 1, 4, 64]"),
])
def test_refusals_name_layer_and_reason(how, words):
    how = dict(how)
    q, k, v = operands(*how.pop("sizes", (1, 1, 1, 4, 4, 64)), dtype=how.pop("dtype", torch.bfloat16))
    if how.pop("flat", False):
        q, k, v = q[0], k[0], v[0]
    v = v[..., :32] if how.pop("short", False) else v
    with pytest.raises(ValueError) as caught:
        emulated("torch-flash", q, k, v, **how)
    assert words in str(caught.value) and "attention in layer ''" in str(caught.value) and "\n" not in str(caught.value)


def test_other_refusals():
    with pytest.raises(ValueError, match="attention: found 'flash'"):
        mt.emulate(Attend(), "bf16", attention="flash")
    with pytest.raises(ValueError, match="attention: found 'sage'"):
        mt.emulate(Attend(), {"default": {"recipe": "bf16", "attention": "sage"}})
    q, k, v = operands(1, 1, 1, 4, 4, 64)
    with mt.emulate(net := Attend(), "bf16", attention="torch-flash"):
        o = net(q.requires_grad_(), k, v)
        with pytest.raises(NotImplementedError, match="attention: found a backward pass"):
            o.float().sum().backward()
    with pytest.raises(ValueError, match="hardware: found always"), mt.emulate(
            net, "bf16", attention="torch-flash", hardware="always"):
        net(q.detach(), k, v)


def test_sequences_of_different_lengths():
    varlen = pytest.importorskip("torch.nn.attention.varlen")

    class Packed(nn.Module):
        def forward(self, q, k, v, of_q, of_k, **how):
            return varlen.varlen_attn(q, k, v, of_q, of_k, 9, 40, **how)

    gen = torch.Generator().manual_seed(2)
    q, k, v = (torch.randn(n, 2, 64, generator=gen).bfloat16() for n in (12, 52, 52))
    of_q, of_k = [0, 5, 12], [0, 40, 52]
    net, ends = Packed(), [torch.tensor(x, dtype=torch.int32) for x in (of_q, of_k)]
    for name, how in (("torch-flash", {}), ("torch-efficient,fa3", {}), ("fa3-head", {}), ("torch-flash", {"window_size": (20, 0)})):
        with torch.no_grad(), mt.emulate(net, "keep", attention=name) as e:
            o = net(q, k, v, *ends, **how)
        taken = name.split(",")[-1]
        assert [(row.operator, row.multiply_adds) for row in e.coverage.rows] == [(f"attention {taken}", 2 * 2 * 64 * (5 * 40 + 7 * 12))]
        for i in range(2):  # each sequence is an attention of its own
            parts = [x[a[i]:a[i + 1]].transpose(0, 1)[None].contiguous() for x, a in ((q, of_q), (k, of_k), (v, of_k))]
            window = how.get("window_size", (None, None))
            want = mmaudit.attention(*parts, like=taken, window=window, plan=None) if taken != "torch-flash" else mmaudit.attention(
                *parts, kernels=["flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4>"], window=window)
            bits = torch.from_numpy(np.ascontiguousarray(want).view(np.int16))[0]
            assert torch.equal(o[of_q[i]:of_q[i + 1]].transpose(0, 1).view(torch.int16), bits)
    for name, how, said in (("torch-cudnn", {}, "torch-cudnn: cu_seqlens: found it"),
                            ("torch-flash", {"seqused_k": ends[0][1:]}, "seqused_k: found it")):
        with pytest.raises(ValueError, match=said), torch.no_grad(), mt.emulate(net, "keep", attention=name):
            net(q, k, v, *ends, **how)


def test_flex_attention_has_no_plan():
    from torch.nn.attention.flex_attention import flex_attention

    class Flex(nn.Module):
        def forward(self, q, k, v):
            return flex_attention(q, k, v)
    q, k, v = operands(1, 1, 1, 16, 16, 64, dtype=torch.float32)
    with torch.no_grad(), mt.emulate(net := Flex(), "bf16", attention="bf16,products"):
        net(q, k, v)
    with pytest.raises(ValueError, match="layer '': found flex_attention with bf16"), torch.no_grad(), mt.emulate(
            net, "bf16", attention="bf16"):
        net(q, k, v)


def llama():
    torch.manual_seed(1)
    return LlamaForCausalLM(LlamaConfig(**SIZES)).eval().bfloat16()


def operators(net, plan, **how):
    with torch.no_grad(), mt.emulate(net, plan, **how) as emulation:
        out = net(torch.arange(60).reshape(2, 30)).logits
    return {one.layer: one.operator for one in emulation.coverage.rows if one.layer.endswith("attn")}, out


def test_layers_choose_in_a_network():
    net = llama()
    first, second = (f"model.layers.{i}.self_attn" for i in (0, 1))
    assert operators(net, "bf16", attention="torch-flash")[0] == {
        first: "attention torch-flash", second: "attention torch-flash"}
    plan = {"default": "bf16", "layers": {first: {"attention": "fa3-head"}, second: "keep"}}
    assert operators(net, plan, attention="torch-flash")[0] == {first: "attention fa3-head", second: "aten.bmm"}
    plan["layers"][second] = {"recipe": "bf16", "attention": "products"}
    found, out = operators(net, plan, attention="torch-flash")
    assert found == {first: "attention fa3-head", second: "aten.bmm"}
    again = mt.Plan.of(json.loads(mt.Plan.of(plan).to_json()))
    assert torch.equal(operators(net, again)[1], out)
    assert operators(net, "keep", attention="fa3-head")[0] == {first: "attention fa3-head", second: "attention fa3-head"}
    del plan["layers"][second]
    with torch.no_grad(), mt.emulate(net, plan) as outer, mt.emulate(net, {"layers": {second: {"attention": "fa4"}}}) as inner:
        net(torch.arange(30).reshape(1, 30))
    assert {one.operator for one in outer.coverage.rows if one.layer == first} == {"attention fa3-head"}
    assert {one.operator for one in inner.coverage.rows if one.layer == second} == {"attention fa4"}


def test_compare_names_the_attention_and_its_error():
    found = mt.compare(llama(), torch.arange(30).reshape(1, 30), {
        "fp8": {"default": "keep", "layers": {"*.self_attn": {"attention": "fa3-head"}}}})["plans"]["fp8"]
    assert found["dtypes"]["model.layers.0.self_attn"] == "e4m3 attention fa3-head"
    assert found["dtypes"]["lm_head"] == "kept" and 1e-4 < found["relative_error"] < 0.3


def test_what_watchers_see_is_a_product():
    seen = []
    q, k, v = operands(1, 4, 2, 20, 20, 64, dtype=torch.float32)
    net = Attend()
    with torch.no_grad(), mt.emulate(net, "bf16", watch=seen.append, attention="fa3-head"):
        net(q, k, v, is_causal=True, enable_gqa=True)
    (one,) = seen
    exact = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)[0]
    torch.testing.assert_close(torch.matmul(one.a, one.b), exact)
    error = float((one.d - exact).norm() / exact.norm())
    assert 0.01 < error < 0.1


@needs_tool
def test_choose_plan_tries_attention():
    net, tokens = llama(), torch.arange(60).reshape(2, 30)
    found = mt.choose_plan(net, tokens, max_output_error=0.05, arch="hopper", dtype="bf16", attention="fa3-head,fa3,fa4")
    assert {one: recipe.attention for one, recipe in found.by_name.items() if one.endswith("attn")} == {
        f"model.layers.{i}.self_attn": "fa3-head" for i in (0, 1)}
    assert all(recipe is None or recipe.attention is None for one, recipe in found.by_name.items() if not one.endswith("attn"))
    assert json.loads(found.plan.to_json())["layers"]["model.layers.*.self_attn"] == {"attention": "fa3-head"}
    assert "hopper lacks fa4, which is left out: it is blackwell's" in str(found)
    assert "verify --live --inst attention" not in str(found)
    error = mt.compare(net, tokens, {"p": found.plan})["plans"]["p"]["relative_error"]
    assert error == found.plan.estimate and 0 < error <= 0.05


@needs_tool
def test_layers_without_attention_take_types_where_one_kernel_runs_all_attention():
    net, tokens, limit = llama(), torch.arange(60).reshape(2, 30), 0.05
    found = mt.choose_plan(net, tokens, max_output_error=limit, arch="hopper", dtype="e4m3,bf16", attention="fa3-head")
    uniform = {one.name: one.found.within for one in found.search.uniform}
    assert uniform["all fa3-head"] and not uniform["all e4m3"]
    taken = {name: recipe for name, recipe in found.by_name.items() if recipe is not None and recipe.dtype == "e4m3"}
    assert any(not name.endswith("attn") for name in taken) and "No change of one layer" in str(found)
    for name in found.by_name.keys() - taken.keys():
        change = {"attention": "fa3-head"} if name.endswith("attn") else {"arch": "hopper", "dtype": "e4m3"}
        layers = {one: "keep" if recipe is None else {"attention": recipe.attention} if recipe.attention else recipe
                  for one, recipe in found.by_name.items()}
        measured = mt.compare(net, tokens, {"p": {"layers": {**layers, name: change}}})["plans"]["p"]["relative_error"]
        assert measured > limit, name


class Masked(nn.Module):
    def __init__(self):
        super().__init__()
        self.attend, self.out = Attend(), nn.Linear(64, 8, dtype=torch.bfloat16)

    def forward(self, x):
        return self.out(self.attend(x, x, x, attn_mask=torch.ones(9, 9, dtype=torch.bool)))


@needs_tool
def test_choose_plan_names_layers_that_no_kernel_takes():
    torch.manual_seed(0)
    found = mt.choose_plan(Masked(), torch.randn(1, 2, 9, 64).bfloat16(), max_output_error=0.1, arch="hopper", dtype="bf16",
                           attention="fa3")
    assert found.by_name["attend"] is None and "attend is kept from fa3: " in str(found) and "found a mask" in str(found)


def traced(path, net, attention, keep="*:mmaudit.attention", change=None):
    with mt.emulate(net, "keep", attention=attention):
        mt.trace(net, torch.arange(160).reshape(1, 160) % 101, path, keep)
    return path


@needs_tool
def test_a_trace_proves_the_plan_that_differs(tmp_path):
    net = llama()
    files = [traced(tmp_path / f"{one}.trace", net, one) for one in ("torch-flash", "torch-efficient")]
    first = mt.trace_diff(*files).first
    assert first["cause"] == "attention plan" and first["proof"] == "proven" and first["module"] == "model.layers.0.self_attn"
    assert "order descending -> ascending" in first["text"] and "block q 128 -> 64" in first["text"]
    files = [traced(tmp_path / f"{one}.none", net, one, None) for one in ("torch-flash", "torch-efficient")]
    first = mt.trace_diff(*files).first
    assert first["cause"] == "attention plan" and first["proof"] == "suspected"


@needs_tool
def test_a_trace_suspects_an_attention_that_is_not_its_plans(tmp_path, monkeypatch):
    from mmaudit.torch import _attention
    net, whole = llama(), _attention.attended
    a = traced(tmp_path / "a.trace", net, "torch-flash")
    monkeypatch.setattr(_attention, "attended", lambda call, like: whole(call._replace(v=call.v * 1.01), like))
    # V is another one: what the trace sees of the operator is consistent.
    assert mt.trace_diff(a, traced(tmp_path / "b.trace", net, "torch-flash")).first["cause"] != "wrong attention"
    monkeypatch.setattr(_attention, "attended", whole)
    work = _attention._work
    monkeypatch.setattr(_attention, "_work", lambda like, *rest: work("torch-cudnn", *rest))
    first = mt.trace_diff(a, traced(tmp_path / "c.trace", net, "torch-flash")).first
    assert first["cause"] == "wrong attention" and first["proof"] == "suspected" and first["text"].startswith("B's O is not")


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.plain, self.masked = Attend(), Attend()

    def forward(self, q, k, v, mask):
        return self.plain(q, k, v, is_causal=True, enable_gqa=True) + self.masked(q, k, v, attn_mask=mask, enable_gqa=True)


@needs_tool
def test_attentions_of_a_capture_are_audited(tmp_path):
    q, k, v = operands(2, 4, 2, 50, 50, 64, dtype=torch.float32, seed=9)
    file = tmp_path / "net.safetensors"
    found = mt.capture(Two(), (q, k, v, torch.ones(50, 50, dtype=torch.bool)), file, matrices=4, rows=64)
    assert [(one["layer"], one["why"]) for one in found.attentions] == [("plain", ""), ("masked", "a mask")]
    done = subprocess.run([os.environ["MMAUDIT_TOOL"], "attention", "audit", f"--capture={file}", "--recipe=fa3-head,bf16",
                           "--limit=0.04", "--rows=64", "--json=-"], capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr  # nobody knows what the masked one errs by
    rows = json.loads(done.stdout)["recipes"]
    assert [(one["layer"], one["recipe"]) for one in rows] == [
        (layer, recipe) for layer in ("masked", "plain") for recipe in ("fa3-head", "bf16")]
    assert all("no plan takes its mask" in one["why"] and not one["causes"] for one in rows[:2])
    exact = F.scaled_dot_product_attention(q.double(), k.double(), v.double(), is_causal=True, enable_gqa=True)
    for one in rows[2:]:
        o, _ = emulated(one["recipe"], q, k, v, is_causal=True, enable_gqa=True)
        assert one["error"] == pytest.approx(float((o.double() - exact).norm() / exact.norm()), rel=1e-3) and not one["why"]
        assert sum(cause["share"] for cause in one["causes"]) == pytest.approx(1)
    mt.capture(Two(), (q, k, v, torch.ones(50, 50, dtype=torch.bool)), file, matrices=1, rows=7)
    from safetensors.torch import load_file
    saved = load_file(file)
    (head,) = (i for i in range(4) if torch.equal(saved["plain#attention0.k"][0, 0], k.reshape(4, 50, 64)[i]))
    assert torch.equal(saved["plain#attention0.q"][0], q.reshape(4, 2, 50, 64)[head, :, 43:])


def tool(*words, code=0):
    done = subprocess.run([os.environ["MMAUDIT_TOOL"], "-q", "attention", *words, "--python", sys.executable],
                          capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return " ".join((done.stdout + done.stderr).split())


@needs_tool
def test_torch_is_compared_with_a_plan(tmp_path):
    """On a CPU torch's own kernel: with one key O is V by any plan, with many of them it is another plan's."""
    def saved(queries, keys, heads=2):
        files = []
        for name, x in zip("qkv", operands(2, heads, 2, queries, keys, 64, dtype=torch.float16, seed=3)):
            np.save(tmp_path / f"{name}.npy", x.numpy())
            files += [f"--{name}", str(tmp_path / f"{name}.npy")]
        return files
    here = ("--device", "cpu")
    assert tool("compare", *saved(5, 1, 4), *here).startswith("0 of 2560 elements have other bits than predicted, torch ")
    many = saved(40, 70)
    assert "Plan: qk mma.m16n8k16.f32.f16.f16.f32" in tool("compare", *many, *here, code=1)
    assert "No viable backend" in tool("compare", *many, *here, "--like", "torch-efficient", code=3)
    said = tool("compare", *many, "--like", "fa3", code=2)
    assert "--like: found fa3, allowed: torch-flash, torch-efficient, torch-cudnn, or --o" in said
    if not torch.cuda.is_available():
        assert "torch-flash by torch of" in tool("compare", *many, code=3)


@needs_tool
def test_a_callable_of_a_file_is_revealed(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    file = tmp_path / "kernel.py"
    file.write_text("""
import mmaudit
def attention(q, k, v):
    return mmaudit.attention(q, k, v, like="torch-efficient")
def other(q, k, v):
    return attention(q, k, v) * 2
def fails(q, k, v):
    raise RuntimeError("no such GPU")
""")
    how = ("--device", "numpy", "--keys", "96", "--queries", "32")
    said = tool("reveal", f"{file}:attention", *how)
    assert said.startswith("the plan gives each of 16384 elements of") and "qk mma.m16n8k8.f32.f16.f16.f32" in said
    assert tool("reveal", f"{file}:other", *how, code=1).startswith("no plan fits")
    assert "function: found RuntimeError: no such GPU" in tool("reveal", f"{file}:fails", *how, code=2)
    assert "function: found no nix in" in tool("reveal", f"{file}:nix", *how, code=2)
    assert "allowed: FILE.py:FUNCTION" in tool("reveal", f"{tmp_path}:attention", *how, code=2)
