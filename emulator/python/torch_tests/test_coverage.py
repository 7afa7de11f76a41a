"""Coverage: multiply-adds against a count by shapes, and what is named although no rule knows it."""
import json
import math
import warnings

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

import mmaudit.torch as mt


class Digits(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 10))


class Images(nn.Module):
    """Plain, strided, in groups, dilated, transposed; a pool, a norm, a head."""

    def __init__(self, groups=4):
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 16, 3, stride=2, groups=groups, bias=False)
        self.c, self.d = nn.Conv2d(16, 16, 3, padding=2, dilation=2), nn.ConvTranspose2d(16, 4, 3, stride=2)
        self.norm, self.head = nn.BatchNorm2d(8), nn.Linear(4, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.a(x))), 2)
        return self.head(self.d(F.gelu(self.c(self.b(x)))).mean((2, 3)))


class Steps(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.gru = nn.LSTM(12, 16, 2, batch_first=True, bidirectional=True), nn.GRU(32, 8)
        self.rnn, self.head = nn.RNN(8, 8), nn.Linear(8, 5)

    def forward(self, x):
        return self.head(self.rnn(self.gru(self.lstm(x)[0])[0])[0])


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(31, 32), nn.Linear(32, 31)
        self.block = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True, norm_first=True)

    def forward(self, tokens):
        return self.head(self.block(self.embed(tokens)))


def counted(module, *batch):
    """Multiply-adds of the layers of a module, from the shapes that its modules see."""
    total = [0]

    def count(one, given, out):
        x, out = given[0], out[0] if isinstance(out, tuple) else out
        if isinstance(one, nn.Linear):
            total[0] += x.numel() // one.in_features * one.in_features * one.out_features
        elif isinstance(one, nn.modules.conv._ConvTransposeNd):
            total[0] += x.numel() * one.out_channels // one.groups * math.prod(one.kernel_size)
        elif isinstance(one, nn.modules.conv._ConvNd):
            total[0] += out.numel() * one.in_channels // one.groups * math.prod(one.kernel_size)
        elif isinstance(one, nn.RNNBase):
            total[0] += x.shape[0] * x.shape[1] * sum(weight.numel() for weight in one.parameters() if weight.dim() == 2)
        elif isinstance(one, nn.MultiheadAttention):
            images, length, width = x.shape
            total[0] += images * length * (4 * width * width + 2 * length * width)

    # inside attention the module of the last projection is not called
    hooks = [one.register_forward_hook(count) for one in module.modules() if type(one).__name__ != "NonDynamicallyQuantizableLinear"]
    with torch.no_grad():
        module(*batch)
    for one in hooks:
        one.remove()
    return total[0]


NETS = [(Digits, lambda: torch.randn(32, 64)), (Images, lambda: torch.randn(2, 3, 20, 24)),
        (Steps, lambda: torch.randn(3, 7, 12)), (Words, lambda: torch.randint(0, 31, (2, 9)))]


@pytest.mark.parametrize("net,batch", NETS)
@pytest.mark.parametrize("how", [torch.no_grad, torch.inference_mode, torch.enable_grad])
def test_all_of_a_network_is_seen_and_counted(net, batch, how):
    net, batch = net().eval(), batch()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with how(), mt.emulate(net, "bf16") as emulation:
            net(batch)
    found = emulation.coverage
    assert found.emulated == counted(net, batch) > 0
    assert found.missed == found.kept == 0 == found.share_missed and "100.0% emulated" in str(found)
    assert all(one.state == "emulated" and not one.backward for one in found.rows)
    with how(), mt.emulate(net, "keep") as kept:
        net(batch)
    assert kept.coverage.kept == found.emulated and kept.coverage.missed == 0


# Torch counts the gradient of weights in groups as if there were none.
@pytest.mark.parametrize("net,batch", [NETS[0], (lambda: Images(1), NETS[1][1]), NETS[3]])
def test_torchs_own_counter_agrees_forward_and_backward(net, batch):
    net, batch = net(), batch()
    with FlopCounterMode(display=False) as torchs, torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        net(batch).square().sum().backward()
    with mt.emulate(net, "bf16") as emulation:
        net(batch).square().sum().backward()
    found = emulation.coverage
    total = found.emulated + found.multiply_adds(backward=True)
    assert abs(total - torchs.get_total_flops() / 2) <= 0.01 * total
    assert found.emulated < found.multiply_adds("emulated", backward=True) == found.multiply_adds(backward=True)


def test_a_plan_keeps_on_purpose():
    net = Digits()
    with mt.emulate(net, {"default": "bf16", "layers": {"0": "keep"}}) as emulation:
        net(torch.randn(2, 64))
    found = emulation.coverage
    assert (found.kept, found.emulated) == (2 * 64 * 48, 2 * 48 * (48 + 10)) and found.missed == 0


# ---- what no rule is for ------------------------------------------------------------------------------------------------

@torch.library.custom_op("coverage_test::product", mutates_args=())
def product(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x @ y


@torch.library.custom_op("coverage_test::product_nt", mutates_args=())
def product_nt(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x @ y.mT


@torch.library.custom_op("coverage_test::filtered", mutates_args=())
def filtered(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return F.conv2d(x, y)


@torch.library.custom_op("coverage_test::gated", mutates_args=())
def gated(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x * y.sigmoid()


@torch.library.custom_op("coverage_test::mixed", mutates_args=())
def mixed(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return torch.softmax(q @ k.mT, -1) @ v


@torch.library.custom_op("coverage_test::packed_gemm", mutates_args=())
def packed_gemm(x: torch.Tensor, packed: torch.Tensor) -> torch.Tensor:
    return x @ packed.float()


class Runs(nn.Module):
    """A linear layer, and what a test asks for."""

    def __init__(self, run):
        super().__init__()
        self.run, self.layer = run, nn.Linear(16, 16)

    def forward(self, x):
        return self.layer(x), self.run()


def coverage(run, plan="bf16"):
    net = Runs(run)
    with warnings.catch_warnings(record=True) as said, mt.emulate(net, plan) as emulation:
        warnings.simplefilter("always")
        net(torch.randn(4, 16))
    return emulation.coverage, [str(one.message) for one in said if str(one.message).startswith("emulate")]


def draw(*shape):
    return torch.randn(*shape)


@pytest.mark.parametrize("run,name,count", [
    (lambda: product(draw(6, 32), draw(32, 10)), "coverage_test.product", 6 * 32 * 10),
    (lambda: product(draw(3, 6, 32), draw(3, 32, 10)), "coverage_test.product", 3 * 6 * 32 * 10),
    (lambda: product(draw(8, 8), draw(8, 8)), "coverage_test.product", 8 * 8 * 8),
    (lambda: product_nt(draw(6, 32), draw(10, 32)), "coverage_test.product_nt", 6 * 32 * 10),
    (lambda: filtered(draw(2, 3, 9, 9), draw(5, 3, 2, 2)), "coverage_test.filtered", 2 * 5 * 64 * 12),
    (lambda: mixed(draw(2, 4, 6, 8), draw(2, 4, 6, 8), draw(2, 4, 6, 8)), "coverage_test.mixed", 2 * 2 * 4 * 6 * 6 * 8),
    (lambda: packed_gemm(draw(6, 32), torch.ones(32, 10, dtype=torch.int8)), "coverage_test.packed_gemm", 6 * 32 * 10),
    (lambda: torch.addr(draw(3, 5), draw(3), draw(5)), "aten.addr", 15),
    (lambda: torch.mm(draw(4, 5).cfloat(), draw(5, 6).cfloat()), "aten.mm", 4 * 5 * 6),
    (lambda: torch.linalg.solve(torch.eye(5) * 2, draw(5, 3)), "aten._linalg_solve_ex", 5 * 5 * 3),
    (lambda: torch.mm(torch.eye(6).to_sparse(), draw(6, 4)), "aten.mm", 6 * 6 * 4),
    (lambda: torch._weight_int8pack_mm(draw(4, 32).bfloat16(), torch.ones(16, 32, dtype=torch.int8),
                                       torch.ones(16).bfloat16()), "aten._weight_int8pack_mm", 4 * 32 * 16),
])
def test_what_no_rule_is_for_is_named(run, name, count):
    found, said = coverage(run)
    [row] = [one for one in found.rows if one.state == "not emulated"]
    assert (row.operator, row.layer, row.multiply_adds, row.products) == (name, "", count, 1)
    assert found.emulated == 4 * 16 * 16 and found.share_missed == count / (count + 4 * 16 * 16)
    share = f"{found.share_missed:.1%}"
    [line] = said
    assert line.startswith(f"emulate: 1 operator, {share} of the multiply-adds") and line.endswith(f"are not emulated: {name} ({share})")
    kept, said = coverage(run, {"default": "bf16", "layers": {"": "keep"}})
    assert kept.missed == 0 and kept.kept == count and not said
    assert coverage(run, "keep")[0].share_missed == found.share_missed and not coverage(run, "keep")[1]


def elementwise_and_moved():
    x, y, image = (draw(*shape).requires_grad_() for shape in ((6, 8), (6, 8), (2, 4, 8, 8)))
    index = torch.randint(0, 6, (5,))
    z = x * y + torch.lerp(x, y, 0.5) + torch.where(x > 0, x, y) + torch.addcmul(x, x, y) + torch.maximum(x, y) + x.atan2(y)
    z = torch.cat([z, x[index], torch.stack([x, y]).sum(0)]).softmax(-1).cumsum(0).sort(0)[0]
    z = F.layer_norm(z, z.shape, torch.ones(z.shape), torch.zeros(z.shape)) + F.embedding(index, y)[:1] + z.gather(0, z.argsort(0))
    loss = F.mse_loss(x, y) + F.smooth_l1_loss(x, y) + F.kl_div(x, y.softmax(-1)) + F.cross_entropy(x, y.softmax(-1))
    loss = loss + F.cross_entropy(x, torch.randint(0, 8, (6,))) + F.binary_cross_entropy_with_logits(x, y.sigmoid())
    loss = loss + F.cosine_similarity(x, y).sum() + torch.dist(x, y) + F.pairwise_distance(x, y).sum() + torch.cdist(x, y).sum()
    image = F.interpolate(F.avg_pool2d(F.pad(F.group_norm(image, 2), (1, 1)), 2), scale_factor=2, mode="bilinear")
    image = F.max_pool2d(F.grid_sample(image, torch.rand(2, 8, 8, 2)), 2) + F.adaptive_avg_pool2d(image, 4)
    image = F.prelu(image, torch.ones(4)) + F.glu(torch.cat([image, image], 1), 1)
    (z.sum() + loss + image.sum() + torch.scatter_add(x, 0, torch.zeros(6, 8, dtype=torch.long), y).sum()).backward()
    table = nn.Parameter(draw(9, 5))
    for optimizer in (torch.optim.Adam([table]), torch.optim.SGD([table], 0.1, momentum=0.9), torch.optim.AdamW([table], fused=True)):
        table.grad = draw(9, 5)
        optimizer.step()
    out = draw(6, 8)
    out.copy_(x.detach())
    out[index] = y.detach()[index]
    out[:, :4] = y.detach()[:, 4:]
    gated(x.detach(), y.detach())
    torch.allclose(x, y)
    return out


def test_what_computes_no_product_is_not_named():
    found, said = coverage(elementwise_and_moved)
    assert [one.operator for one in found.rows] == ["aten.addmm"] and not said


def test_results_carry_the_coverage(tmp_path):
    from safetensors import safe_open

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight, self.layer = nn.Parameter(draw(16, 48)), nn.Linear(48, 5)

        def forward(self, x):
            return self.layer(product(x, self.weight))

    net, x, share = Net(), draw(8, 16), 16 * 48 / (16 * 48 + 48 * 5)
    plan = {"default": "bf16", "estimate": {"output_error": 0.01, "limit": 0.1}}
    found = mt.compare(net, x, {"a": plan, "b": "mxfp8-ceil"})
    line = (f"every plan: 1 operator, {share:.1%} of the multiply-adds, estimated from shapes, are not emulated: "
            f"coverage_test.product ({share:.1%})")
    assert found["coverage"]["share_missed"] == found["plans"]["a"]["coverage"]["share_missed"] == share
    assert json.loads(found.json())["plans"]["b"]["coverage"]["missed"] == {"coverage_test.product": 8 * 16 * 48}
    assert f"{share:.1%} of the multiply-adds are not emulated and not in these errors." in " ".join(str(found).split())
    assert line in " ".join(str(found).split()) and line in found.html() and "Kept by the plan" in found.html()
    whole = mt.compare(Digits(), draw(4, 64), {"a": plan})
    assert "not emulated" not in str(whole).split("Multiply-adds")[0] and whole["coverage"]["share_missed"] == 0
    with pytest.warns(UserWarning, match=r"^capture: 1 operator, .* are not in the file: coverage_test.product \(") as said:
        products = mt.capture(net, x, tmp_path / "c.safetensors", gains=True)
    assert len(said) == 1 and products.coverage.share_missed == share and len(products) == 1
    with safe_open(tmp_path / "c.safetensors", framework="pt") as file:
        assert json.loads(file.metadata()["mmaudit"])["coverage"]["not_emulated"] == 8 * 16 * 48


@pytest.mark.parametrize("net,batch,logits", [
    (nn.Linear(16, 5), draw(4, 16), True),
    (nn.Sequential(nn.Linear(16, 5), nn.LogSoftmax(-1)), draw(4, 16), True),
    (nn.Sequential(nn.Linear(16, 5), nn.LayerNorm(5)), draw(4, 16), False),
    (nn.LSTM(16, 5), draw(3, 4, 16), False),
    (Images(), draw(2, 3, 20, 24), True),
])
def test_only_logits_have_a_divergence(net, batch, logits):
    found = mt.compare(net.eval(), batch, ["bf16"])["plans"]["bf16"]
    assert (found["kl"] is not None) == (found["top1"] is not None) == logits


def test_logits_that_are_not_numbers_agree_nowhere():
    found = mt.compare(nn.Linear(16, 5), torch.full((4, 16), math.nan), ["bf16"])
    assert found["plans"]["bf16"]["top1"] == 0 and "100.00%" not in str(found)
