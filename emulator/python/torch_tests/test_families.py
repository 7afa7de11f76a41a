"""Convolutions, recurrent layers, grouped and scaled products, attention: against the same products written out."""
import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import mmaudit.torch as mt
from common import same_bits
from mmaudit.torch._operator import find_path

RECIPES = ["mxfp8-ceil", "nvfp4", "fp8-1x128", "tf32"]


def times(name, a, b, weight=False, out="f32"):
    """A (m, k) times B (k, n) by quantize() and matmul() alone."""
    recipe = mt.RECIPES[name]
    path = find_path(recipe.arch, recipe.dtype, recipe.scaling, recipe.policy)
    x = mt.quantize(a, recipe.dtype, recipe.scaling, arch=recipe.arch, policy=recipe.policy)
    y = mt.quantize(b, recipe.dtype, path.scaling if weight else path.activations, of_b=True, arch=recipe.arch, policy=recipe.policy)
    return mt.matmul(x.elements, y.elements, inst=path.inst, arch=recipe.arch, promote=path.promote, d_format=out,
                     scale_a=x.scales, scale_b=y.scales, factor_a=x.factors, factor_b=y.factors, factor_block=path.factor_block)


def gradients(module, x, recipe):
    x = x.clone().requires_grad_()
    module.zero_grad()
    with mt.emulate(module, recipe) as emulation:
        y = module(x)
        up = torch.randn(y.shape)
        y.backward(up)
    assert emulation.coverage.missed == 0 and {one.state for one in emulation.coverage.rows} == {"emulated"}
    return y.detach(), up, x.grad, module.weight.grad


def written_out(conv, x, up, name):
    """D, and gradients of the image and the weights, of a convolution of two axes: every place by itself."""
    (kh, kw), (sh, sw), (ph, pw), (dh, dw) = conv.kernel_size, conv.stride, conv.padding, conv.dilation
    images, groups, high, wide = len(x), conv.groups, up.shape[2], up.shape[3]
    deep, filters = x.shape[1] // groups, up.shape[1] // groups
    y, of_x, of_w = torch.empty_like(up), torch.empty_like(x), torch.empty_like(conv.weight)

    def at(image, place, first, count):
        h, w = place
        inside = 0 <= h < image.shape[1] and 0 <= w < image.shape[2]
        return image[first:first + count, h, w] if inside else torch.zeros(count)

    for group in range(groups):
        weight = conv.weight.detach()[group * filters:(group + 1) * filters]
        rows = [torch.cat([at(x[n], (p * sh - ph + r * dh, q * sw - pw + s * dw), group * deep, deep)
                           for r in range(kh) for s in range(kw)])
                for n in range(images) for p in range(high) for q in range(wide)]
        columns = torch.cat([weight[:, :, r, s] for r in range(kh) for s in range(kw)], 1).t()
        d = times(name, torch.stack(rows), columns, True)
        if conv.bias is not None:
            d = d + conv.bias.detach()[group * filters:(group + 1) * filters]
        y[:, group * filters:(group + 1) * filters] = d.reshape(images, high, wide, filters).permute(0, 3, 1, 2)

        def source(n, h, w, group=group):
            """Gradients of D that an element of the image gets, the last tap first; between the strides there are none."""
            for r in reversed(range(kh)):
                for s in reversed(range(kw)):
                    p, q = h + ph - r * dh, w + pw - s * dw
                    place = (p // sh, q // sw) if p % sh == 0 and q % sw == 0 else (-1, -1)
                    yield at(up[n], place, group * filters, filters)

        rows_x = [torch.cat([*source(n, h, w)]) for n in range(images) for h in range(x.shape[2]) for w in range(x.shape[3])]
        turned = torch.cat([weight[:, :, r, s] for r in reversed(range(kh)) for s in reversed(range(kw))], 0)
        found = times(name, torch.stack(rows_x), turned, True).reshape(images, x.shape[2], x.shape[3], deep)
        of_x[:, group * deep:(group + 1) * deep] = found.permute(0, 3, 1, 2)
        left = up[:, group * filters:(group + 1) * filters].permute(1, 0, 2, 3).reshape(filters, -1)
        found = times(name, left, torch.stack(rows)).reshape(filters, kh, kw, deep)
        of_w[group * filters:(group + 1) * filters] = found.permute(0, 3, 1, 2)
    return y, of_x, of_w


@pytest.mark.parametrize("name,how", [
    *((name, how) for name in RECIPES for how in ({"padding": 1}, {"stride": 2, "padding": (1, 0), "dilation": (1, 2)})),
    # the scale of a tensor is that of all groups, here of one alone
    *((name, {"groups": 2, "bias": False, "stride": (1, 3)}) for name in RECIPES if name != "nvfp4")])
def test_a_convolution_is_the_product_of_its_patches(name, how):
    conv, x = nn.Conv2d(12, 8, (3, 2), **how), torch.randn(2, 12, 7, 9)
    y, up, of_x, of_w = gradients(conv, x, name)
    for found, expected in zip((y, of_x, of_w), written_out(conv, x, up, name)):
        assert same_bits(found, expected)


@pytest.mark.parametrize("name", ["mxfp8-ceil", "tf32"])
def test_a_transposed_convolution_is_the_gradient_of_one(name):
    """Its D is the gradient of the image, its own gradient the other convolution's D."""
    how = {"stride": 2, "padding": 1, "dilation": (1, 2), "groups": 2, "bias": False}
    back, x = nn.ConvTranspose2d(8, 12, (3, 2), output_padding=(0, 1), **how), torch.randn(2, 8, 4, 5)
    y, up, of_x, of_w = gradients(back, x, name)
    conv = nn.Conv2d(12, 8, (3, 2), **how)
    conv.weight = back.weight
    d, of_image, _ = written_out(conv, up, x, name)
    assert same_bits(y, of_image) and same_bits(of_x, d)
    exact = torch.nn.grad.conv2d_weight(up, back.weight.shape, x, 2, 1, (1, 2), 2)
    assert float((of_w - exact).norm() / exact.norm()) < {"tf32": 1e-3, "mxfp8-ceil": 0.1}[name]


@pytest.mark.parametrize("conv,shape", [
    (nn.Conv1d(6, 4, 5, padding="same"), (2, 6, 11)), (nn.Conv3d(4, 6, (1, 2, 3), (2, 1, 2)), (2, 4, 5, 6, 7)),
    (nn.Conv2d(6, 6, 3, groups=6, padding=1, padding_mode="reflect"), (2, 6, 5, 5)), (nn.Conv2d(4, 3, 1), (4, 5, 5)),
    (nn.ConvTranspose1d(6, 4, 4, 3, 2, 1), (2, 6, 5)), (nn.ConvTranspose2d(4, 3, 2, 3, 2), (2, 4, 5, 5)),
    (nn.ConvTranspose3d(4, 3, (2, 1, 3), 2), (1, 4, 3, 3, 2)), (nn.Conv2d(4, 3, 2).half(), (2, 4, 5, 5)),
])
def test_convolutions_of_any_kind_are_close_to_torchs(conv, shape):
    x = torch.randn(shape, dtype=conv.weight.dtype)
    y, up, of_x, of_w = gradients(conv, x, "tf32")
    x.requires_grad_()
    conv.zero_grad()
    exact = conv(x)
    exact.backward(up.to(exact.dtype))
    kept = mt.emulate(conv, "keep")
    with kept:
        assert same_bits(conv(x), exact) and kept.products["kept"] == 1
    for found, one in ((y, exact), (of_x, x.grad), (of_w, conv.weight.grad)):
        assert found.dtype == one.dtype and found.shape == one.shape and found.is_contiguous()
        assert float((found.double() - one.double()).norm().detach() / one.double().norm().detach()) < 2e-3


def test_an_error_reaches_the_output_of_a_convolution():
    """Who watches may change a kept D, as capture() with gains does."""
    net, x = nn.Conv2d(4, 6, 3, groups=2), torch.randn(2, 4, 6, 6)

    def double(seen):
        seen.d.add_(torch.matmul(seen.a, seen.b).reshape(seen.d.shape))

    with torch.no_grad(), mt.emulate(net, "keep", watch=double):
        y = net(x)
    torch.testing.assert_close(y, 2 * net(x).detach() - net.bias.detach().reshape(-1, 1, 1))


@pytest.mark.parametrize("name", ["mxfp8-ceil", "nvfp4", "tf32"])
def test_a_recurrent_layer_is_the_products_of_its_steps(name):
    lstm, gru, x = nn.LSTM(24, 16), nn.GRU(24, 16), torch.randn(5, 3, 24)
    lstm_w, gru_w = ([one.detach() for one in module.parameters()] for module in (lstm, gru))
    h = c = g = torch.zeros(3, 16)
    steps, gates = [], []
    of_x = (times(name, x.reshape(15, 24), lstm_w[0].t(), True) + lstm_w[2]).reshape(5, 3, -1)
    of_g = (times(name, x.reshape(15, 24), gru_w[0].t(), True) + gru_w[2]).reshape(5, 3, -1)
    for at in range(5):
        i, f, new, o = (times(name, h, lstm_w[1].t(), True) + lstm_w[3] + of_x[at]).chunk(4, 1)
        c = f.sigmoid() * c + i.sigmoid() * new.tanh()
        h = o.sigmoid() * c.tanh()
        r, z, new = of_g[at].chunk(3, 1)
        r_h, z_h, new_h = (times(name, g, gru_w[1].t(), True) + gru_w[3]).chunk(3, 1)
        new = (new + (r + r_h).sigmoid() * new_h).tanh()
        g = (g - new) * (z + z_h).sigmoid() + new
        steps.append(h)
        gates.append(g)
    for how in (torch.no_grad, torch.inference_mode, torch.enable_grad):
        with how(), mt.emulate(lstm, name), mt.emulate(gru, name):
            y, (last, _) = lstm(x)
            z, _ = gru(x)
        torch.testing.assert_close(y.detach(), torch.stack(steps), rtol=0, atol=1e-6)
        torch.testing.assert_close(z.detach(), torch.stack(gates), rtol=0, atol=1e-6)
    assert torch._C._get_mkldnn_enabled()


def test_packed_sequences_of_several_layers_both_ways():
    lstm, x = nn.LSTM(8, 6, 2, bidirectional=True, proj_size=3), torch.randn(5, 3, 8)
    packed = nn.utils.rnn.pack_padded_sequence(x, [5, 4, 2])
    exact, _ = nn.utils.rnn.pad_packed_sequence(lstm(packed)[0])
    with mt.emulate(lstm, "tf32") as emulation:
        y, _ = nn.utils.rnn.pad_packed_sequence(lstm(packed)[0])
    assert float((y - exact).norm() / exact.norm()) < 2e-3 and emulation.coverage.share_missed == 0
    assert emulation.coverage.emulated == 11 * sum(one.numel() for one in lstm.parameters() if one.dim() == 2)


class Calls(nn.Module):
    def __init__(self, run):
        super().__init__()
        self.run = run

    def forward(self, *given):
        return self.run(*given)


def emulated(run, name, *given, count=None):
    with mt.emulate(Calls(run), name) as emulation:
        y = emulation.module(*given)
    assert emulation.coverage.missed == 0 and count in (None, emulation.products["emulated"])
    return y


ENDS = torch.tensor([5, 5, 16], dtype=torch.int32)


@pytest.mark.parametrize("name", ["mxfp8-ceil", "nvfp4", "fp8-tensor"])
def test_grouped_products_are_the_products_of_their_groups(name):
    grouped = getattr(F, "grouped_mm", None) or torch._grouped_mm
    a, b = torch.randn(16, 32).bfloat16(), torch.randn(3, 32, 24).bfloat16()
    parts = [slice(0, 5), slice(5, 5), slice(5, 16)]
    y = emulated(lambda a, b: grouped(a, b, offs=ENDS), name, a, b, count=2)
    for e, part in enumerate(parts):
        assert e == 1 or same_bits(y[part], times(name, a[part], b[e], out="bf16"))
    y = emulated(lambda a, b: grouped(a.t().contiguous().t(), b, offs=ENDS), name, a.t(), torch.randn(16, 8).bfloat16())
    assert y.shape == (3, 32, 8) and not y[1].any()
    left, right = torch.randn(3, 8, 16).bfloat16(), torch.randn(16, 16).bfloat16()
    y = emulated(lambda a, b: grouped(a, b, offs=ENDS), name, left, right, count=2)
    assert same_bits(y[:, 5:], times(name, left[2], right[:, 5:], out="bf16"))
    y = emulated(grouped, name, left, right.repeat(3, 1, 1), count=1)
    if name == "mxfp8-ceil":
        assert all(same_bits(y[e], times(name, left[e], right, out="bf16")) for e in range(3))


def test_gradients_of_grouped_products_are_grouped_products():
    grouped = getattr(F, "grouped_mm", None) or torch._grouped_mm
    a, b = torch.randn(16, 32).bfloat16().requires_grad_(), torch.randn(3, 32, 24).bfloat16().requires_grad_()
    up = torch.randn(16, 24).bfloat16()
    module = Calls(lambda a, b: grouped(a, b, offs=ENDS))
    with mt.emulate(module, "mxfp8-ceil") as emulation:
        module(a, b).backward(up)
    assert {(one.operator, one.backward, one.products) for one in emulation.coverage.rows} == {
        ("aten._grouped_mm", False, 2), ("aten._grouped_mm", True, 4)}
    assert same_bits(a.grad[5:], times("mxfp8-ceil", up[5:], b[2].detach().t(), out="bf16"))
    assert same_bits(b.grad[2], times("mxfp8-ceil", a.detach()[5:].t(), up[5:], out="bf16"))
    assert not b.grad[1].any()


def test_elements_with_scales_are_added_as_the_recipe_says():
    kind = getattr(F, "ScalingType", None)
    if kind is None:
        pytest.skip("F.scaled_mm comes with torch 2.10")
    a, b = torch.randn(16, 64).to(torch.float8_e4m3fn), torch.randn(32, 64).to(torch.float8_e4m3fn).t()
    rows, columns = torch.rand(16, 1), torch.rand(1, 32)
    inst = "wgmma.m64n64k32.f32.e4m3.e4m3"
    for scales, scaling in (((rows, columns), kind.RowWise), ((torch.tensor(0.5), torch.tensor(0.125)), kind.TensorWise)):
        y = emulated(lambda a, b, s=scales, k=scaling: F.scaled_mm(a, b, s[0], k, s[1], k, output_dtype=torch.bfloat16),
                     "fp8-tensor", a, b, count=1)
        order = "b-first" if scaling == kind.RowWise else "product"
        assert same_bits(y, mt.matmul(a, b, inst=inst, d_format="bf16", factor_a=scales[0].reshape(-1),
                                      factor_b=scales[1].reshape(-1), factor_order=order))
    y = emulated(lambda a, b: torch._scaled_grouped_mm(
        a, b, torch.linspace(1, 2, 16), torch.linspace(1, 2, 96).reshape(3, 32), ENDS, out_dtype=torch.bfloat16),
        "fp8-tensor", a, b.unsqueeze(0).expand(3, 64, 32), count=2)
    assert same_bits(y[5:], mt.matmul(a[5:], b, inst=inst, d_format="bf16", factor_a=torch.linspace(1, 2, 16)[5:],
                                      factor_b=torch.linspace(1, 2, 96)[64:], factor_order="b-first"))


def test_products_of_other_names():
    name, x, v = "mxfp8-ceil", torch.randn(2, 6, 32), torch.randn(32)
    y = emulated(lambda x: torch.addbmm(torch.ones(6, 6), x, x.mT, beta=0.5, alpha=2.0), name, x, count=2)
    assert same_bits(y, times(name, x[1], x[1].t()) * 2 + (times(name, x[0], x[0].t()) * 2 + 0.5))
    for product in (torch.dot, torch.vdot):
        assert same_bits(emulated(product, name, x[0, 0], v, count=1).reshape(1, 1), times(name, x[0, :1], v[:, None]))
    eight = torch.randint(-128, 128, (32, 32), dtype=torch.int8)
    assert (emulated(torch._int_mm, name, eight, eight, count=1) == eight.long() @ eight.long()).all()
    weight = torch.randn(5, 32, 32)
    y = emulated(lambda x: F.bilinear(x[0], x[1], weight), name, x, count=2)
    for n in range(6):  # sums over the first image, then over the second
        first = torch.stack([times(name, x[0, n:n + 1], weight[o])[0] for o in range(5)])
        torch.testing.assert_close(y[n], times(name, first, x[1, n, :, None])[:, 0], rtol=1e-6, atol=1e-6)
    a, b = torch.randn(30, 8), torch.randn(28, 8)
    left = torch.cat([-2 * a, (a * a).sum(1, True), torch.ones(30, 1)], 1)
    right = torch.cat([b, torch.ones(28, 1), (b * b).sum(1, True)], 1)
    assert same_bits(emulated(torch.cdist, "tf32", a, b, count=1), times("tf32", left, right.t()).clamp(min=0).sqrt())


def test_flex_attention_is_two_products_and_a_softmax():
    flex = pytest.importorskip("torch.nn.attention.flex_attention").flex_attention
    q, k, v = (torch.randn(1, 2, 24, 16) for _ in range(3))
    with torch.no_grad():
        y = emulated(lambda q, k, v: flex(q, k, v, score_mod=lambda s, b, h, i, j: s + (i - j)), "mxfp8-ceil", q, k, v, count=2)
    far = torch.arange(24.0)[:, None] - torch.arange(24.0)
    for head in range(2):
        scores = times("mxfp8-ceil", q[0, head], k[0, head].t()) / math.sqrt(16) + far
        assert same_bits(y[0, head], times("mxfp8-ceil", scores.softmax(-1), v[0, head]))
