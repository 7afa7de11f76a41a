"""emulate(): which products are taken, in which recipe, and that gradients arrive."""
import html
import json
import warnings

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.modules.module import _global_forward_hooks, _global_forward_pre_hooks

import mmaudit.torch as mt
from common import same_bits
from mmaudit.torch._cached import Weights
from mmaudit.torch._operator import product


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(32, 2, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 32))

    def forward(self, x):
        return x + self.attention(x, x, x, need_weights=False)[0] + self.mlp(x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.block, self.last = nn.Linear(16, 32), Block(), nn.Linear(32, 8, bias=False)

    def forward(self, x):
        return self.last(self.block(self.first(x)))


def run(module, x, plan, train=False):
    seen = []
    with mt.emulate(module, plan, watch=seen.append) as emulation:
        y = module(x)
        if train:
            y.square().sum().backward()
    return y, seen, emulation


def expected(recipe, a, b):
    return product(a[None], b[None], torch.float32, arch=recipe.arch, dtype=recipe.dtype, scaling_a=recipe.scaling,
                   scaling_b=recipe.scaling, policy=recipe.policy)[0]


@pytest.mark.parametrize("name", [name for name, one in mt.RECIPES.items() if name != "fp8-delayed" and one.weights is None])
def test_a_linear_layer_is_the_product_of_its_recipe(name):
    layer, x, recipe = nn.Linear(160, 24), torch.randn(3, 10, 160), mt.RECIPES[name]
    y, seen, _ = run(layer, x, name)
    d = expected(recipe, x.reshape(30, 160), layer.weight.t())
    assert same_bits(y.reshape(30, 24), d + layer.bias)
    assert [one.site.kind for one in seen] == ["Linear"]


def test_every_kind_of_product_is_taken():
    class All(nn.Module):
        def forward(self, x):
            y = torch.matmul(x, x.transpose(-1, -2)) + torch.bmm(x, x.mT) + x @ x.mT
            y = torch.baddbmm(y, x, x.mT, beta=0.5, alpha=2.0) + torch.einsum("bij,bkj->bik", x, x)
            y = y + torch.addmm(y[0], x[0], x[0].t()) + torch.mm(x[0], x[0].t()) + F.linear(x, x[0])
            return y + torch.mv(x[0], x[0][0]) + F.scaled_dot_product_attention(x, x, x)[..., :1]

    x = torch.randn(2, 6, 32)
    y, seen, emulation = run(All(), x, "nvfp4")
    assert emulation.products == {"emulated": 11, "kept": 0}
    reference = All()(x)
    assert 0.01 < float((y - reference).norm() / reference.norm()) < 0.5
    with torch.inference_mode():
        again, _, emulation = run(All(), x, "nvfp4")
    assert emulation.products["emulated"] == 11 and same_bits(y, again)


def test_integers_stay_as_they_are():
    class Counts(nn.Module):
        def forward(self, x):
            return x @ x

    x = torch.arange(9).reshape(3, 3)
    y, _, emulation = run(Counts(), x, "bf16")
    assert (y == x @ x).all() and emulation.products["emulated"] == 0


def test_dtypes_of_results_are_torchs():
    for dtype in (torch.float32, torch.bfloat16, torch.float16, torch.float64):
        layer = nn.Linear(32, 8).to(dtype)
        y, _, _ = run(layer, torch.randn(4, 32, dtype=dtype), "mxfp8-ceil")
        assert y.dtype == dtype


def test_backward_products_belong_to_their_layers_and_gradients_pass_straight_through():
    net, x = Net(), torch.randn(2, 5, 16)
    net(x).square().sum().backward()
    exact = {name: one.grad.clone() for name, one in net.named_parameters()}
    net.zero_grad()
    _, seen, _ = run(net, x, "mxfp8-ceil", train=True)
    for name, one in net.named_parameters():
        assert 0 < float((one.grad - exact[name]).norm() / exact[name].norm()) < 0.2, name
    backward = [one.site.layer for one in seen if one.site.backward]
    assert backward.count("last") == 2 and backward.count("first") == 1 and backward.count("block.mlp.0") == 2
    assert backward.count("block.attention") == 4 + 4  # two products of attention and two projections


def test_gradients_have_a_dtype_of_their_own():
    layer, x = nn.Linear(64, 64, bias=False), torch.randn(32, 64, requires_grad=True)
    recipe = mt.RECIPES["fp8-tensor"]
    with mt.emulate(layer, recipe):
        layer(x).backward(torch.ones(32, 64) * 1.1)
    grad = product(torch.full((1, 32, 64), 1.1), layer.weight[None], torch.float32, arch="hopper", dtype="e5m2-e4m3",
                   scaling_a="tensor-inverse", scaling_b="tensor-inverse", policy="plain")[0]
    assert same_bits(x.grad, grad)


def test_training_goes_on():
    torch.manual_seed(3)
    net, x = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 1)), torch.randn(128, 16)
    y, optimizer = x[:, :1] * x[:, 1:2], torch.optim.Adam(net.parameters(), 1e-2)
    losses = []
    with mt.emulate(net, "nvfp4"):
        for _ in range(30):
            optimizer.zero_grad()
            loss = F.mse_loss(net(x), y)
            loss.backward()
            optimizer.step()
            losses.append(float(loss.detach()))
    assert losses[-1] < 0.6 * losses[0]


def test_delayed_scaling_uses_the_largest_before():
    layer, recipe = nn.Linear(32, 8, bias=False), mt.RECIPES["fp8-delayed"]
    small, large = torch.randn(4, 32), 100 * torch.randn(4, 32)
    with mt.emulate(layer, recipe):
        first, second, third = layer(small), layer(large), layer(large)
    current = mt.RECIPES["fp8-tensor"]
    assert same_bits(first, expected(current, small, layer.weight.t()))
    assert float(second.detach().abs().max()) < 0.2 * float(third.detach().abs().max())
    assert same_bits(third, expected(current, large, layer.weight.t()))


def test_weights_alone_have_tiles():
    layer, x = nn.Linear(256, 256, bias=False), torch.randn(8, 256)
    with torch.no_grad():
        layer.weight[0] *= 100
    y, _, _ = run(layer, x, "fp8-1x128")
    rows = product(x[None], layer.weight.t()[None], torch.float32, arch="hopper", dtype="e4m3", scaling_a="1x128",
                   scaling_b="1x128", policy="promote:128")[0]
    assert not same_bits(y, rows)


def test_plans_name_layers_by_glob_and_by_class():
    net, x = Net(), torch.randn(2, 5, 16)
    layers = {"block.mlp.*": "bf16", "MultiheadAttention": "keep"}
    plan = {"default": "nvfp4", "layers": layers, "keep_first_last": True}
    _, seen, emulation = run(net, x, plan)
    by_layer = {one.site.layer: one.recipe and one.recipe.dtype for one in seen}
    assert by_layer == {"first": None, "block.attention": None, "block.mlp.0": "bf16", "block.mlp.2": "bf16",
                        "last": None}
    assert emulation.products == {"emulated": 2, "kept": 6}


def test_what_is_kept_is_bit_for_bit_torchs():
    net, x = Net(), torch.randn(2, 5, 16)
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        reference = net(x)
    assert same_bits(run(net, x, "keep")[0], reference)


def test_plans_nest():
    net, x = Net(), torch.randn(2, 5, 16)
    outer, inner = [], []
    within = {"layers": {"block.mlp.*": "bf16", "first": "keep"}}
    with mt.emulate(net, "nvfp4", watch=outer.append), mt.emulate(net, within, watch=inner.append):
        net(x)
    assert [one.site.layer for one in inner] == ["first", "block.mlp.0", "block.mlp.2"]
    assert {one.site.layer for one in outer} == {"block.attention", "last"}


def test_plans_are_json(tmp_path):
    layers = {"a.*": {"recipe": "fp8-tensor", "policy": "promote:64"}, "b": "keep"}
    plan = mt.Plan.of({"default": "nvfp4", "layers": layers})
    path = tmp_path / "plan.json"
    path.write_text(plan.to_json())
    assert mt.Plan.of(str(path)) == plan and mt.Plan.of(path) == plan
    assert json.loads(plan.to_json())["schema"] == "mmaudit.plan/1"


def test_keys_that_decide_on_no_product_are_told():
    net, x = Net(), torch.randn(2, 5, 16)
    plan = {"default": "bf16", "layers": {"GELU": "keep", "first": "nvfp4", "Linear": "nvfp4", "last": "keep"}}
    with pytest.warns(UserWarning) as said, mt.emulate(net, plan) as emulation:
        net(x)
    assert [str(one.message) for one in said] == ["plan layers: found 'GELU', 'last', which decided on no product"]
    assert emulation.unmatched == ["GELU", "last"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with mt.emulate(net, {"layers": {"first": "nvfp4"}}):
            net(x)
        found = mt.compare(net, x, {"mine": plan, "all": "bf16"})
    assert found["plans"]["mine"]["unmatched"] == ["GELU", "last"] and found["plans"]["all"]["unmatched"] == []
    line = "mine: 'GELU', 'last' decided on no product"
    assert line in str(found).splitlines() and f"<li>{line}</li>" in html.unescape(found.html())


@pytest.mark.parametrize("plan,line", [
    ("NVFP4", r"plan: found 'NVFP4' \(did you mean nvfp4 or nvfp4-"),
    ("nvfp5", r"plan: found 'nvfp5' \(did you mean nvfp4"),
    ("mxfp8", r"plan: found 'mxfp8' \(did you mean mxfp8-floor or mxfp8-ceil or "),
    ("fp9999", "plan: found 'fp9999', allowed: keep, bf16"),
    ({"default": "bf16", "layer": {}}, "plan: found the field 'layer', allowed: schema, default"),
    ({"layers": {"nowhere.*": "bf16"}}, "found 'nowhere.\\*', which no module matches"),
    ({"arch": "hopper", "dtype": "nvf4"}, "hopper has no instruction for nvf4"),
    ({"arch": "hopper"}, "plan: found no dtype"),
    ({"arch": "hopper", "dtype": "e4m3", "scale": "tensor"}, "found the field 'scale', allowed: recipe, arch"),
    ({"arch": "hopper", "dtype": "bf16", "history": 4}, "history: found 4 with scaling none"),
    (3, "plan: found int"),
    ({"default": "bf16", "keep_first_last": "no"}, "plan keep_first_last: found 'no', allowed: true, false"),
    ({"default": "bf16", "keep_first_last": 1}, "plan keep_first_last: found 1, allowed: true, false"),
    ({"recipe": "fp8-delayed", "history": 1.5}, "history: found 1.5, allowed: a whole number from 0"),
    ({"recipe": "fp8-delayed", "history": True}, "history: found True, allowed: a whole number from 0"),
    ({"arch": "hopper", "dtype": 8}, "dtype: found 8, allowed: a str"),
    ({"arch": ["hopper"], "dtype": "bf16"}, r"arch: found \['hopper'\], allowed: a str"),
    ({"layers": {3: "bf16"}}, "plan layers: found the key 3, allowed: a str"),
    ({"recipe": {"recipe": "bf16"}}, "plan recipe: found dict, allowed: the name of a recipe"),
    ({"default": "bf16", "estimate": {"output_error": 10**400}}, "plan estimate: found"),
])
def test_refusals_are_one_line(plan, line):
    with pytest.raises(ValueError, match=line) as refused:
        mt.emulate(Net(), plan)
    assert "\n" not in str(refused.value)


def test_a_plan_that_is_not_there_is_named():
    with pytest.raises(FileNotFoundError, match=r"plan: found 'no/such.json' \(No such file or directory\), allowed: a "):
        mt.emulate(Net(), "no/such.json")


@pytest.mark.parametrize("text,line", [
    ('{"default": "bf16", "layers": {"a": "keep", "a": "bf16"}}', "plan: found the key 'a' twice, allowed: once"),
    ('{"default": "bf16", "default": "keep"}', "plan: found the key 'default' twice, allowed: once"),
    ('{"recipe":' * 90000 + '"bf16"' + "}" * 90000, "plan: found JSON nested too deeply in .*, allowed: a plan"),
    ("{", "plan: found no JSON in .*, allowed: a plan"),
    ("\xff", "plan: found no JSON in .*, allowed: a plan"),
])
def test_files_that_are_no_plan_are_refused_in_one_line(tmp_path, text, line):
    (tmp_path / "p.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(ValueError, match="^" + line + "$") as refused:
        mt.Plan.of(tmp_path / "p.json")
    assert "\n" not in str(refused.value)


def test_a_recipe_within_itself_is_refused():
    loop = {}
    loop["recipe"] = loop
    with pytest.raises(ValueError, match="^plan recipe: found dict, allowed: the name of a recipe$"):
        mt.Plan.of(loop)


def test_hooks_are_gone_after_an_error():
    net = Net()
    with pytest.raises(ValueError, match="b shape: found"), mt.emulate(net, "bf16"):
        net(torch.randn(2, 5, 17))
    assert not _global_forward_hooks and not _global_forward_pre_hooks
    assert torch.backends.mha.get_fastpath_enabled()


def test_what_is_entered_is_not_entered_again_until_it_is_left():
    net, x = Net(), torch.randn(2, 5, 16)
    emulation = mt.emulate(net, "nvfp4")
    with emulation:
        first = net(x)
        line = "^emulate: found an Emulation that is entered already, allowed: .*$"
        with pytest.raises(RuntimeError, match=line), emulation:
            pass
        assert same_bits(net(x), first)
    assert not _global_forward_hooks and not _global_forward_pre_hooks
    assert torch.utils._python_dispatch._get_current_dispatch_mode() is None
    with emulation:
        assert same_bits(net(x), first)
    assert emulation.products["emulated"] == 3 * 8 and not _global_forward_hooks


def test_scaled_mm_is_added_as_the_recipe_says():
    class Scaled(nn.Module):
        def forward(self, a, b, of_a, of_b):
            return torch._scaled_mm(a, b, scale_a=of_a, scale_b=of_b, out_dtype=torch.bfloat16)

    a, b = torch.randn(16, 64).to(torch.float8_e4m3fn), torch.randn(32, 64).to(torch.float8_e4m3fn).t()
    of_a, of_b = torch.tensor(0.5), torch.tensor(0.125)
    with mt.emulate(Scaled(), "fp8-tensor") as emulation:
        d = Scaled()(a, b, of_a, of_b)
    assert emulation.products["emulated"] == 1
    assert same_bits(d, mt.matmul(a, b, inst="wgmma.m64n64k32.f32.e4m3.e4m3", d_format="bf16", factor_a=0.5,
                                  factor_b=0.125))


@pytest.mark.parametrize("write", [lambda w: w.data.mul_(-3), lambda w: w.detach().numpy().__setitem__((0, 0), 7.0),
                                   lambda w: setattr(w, "data", torch.randn(48, 64)),
                                   lambda w: w.data[1].fill_(torch.nan)])
@pytest.mark.parametrize("name", ["nvfp4", "fp8-tensor", "mxfp8-ceil"])
def test_weights_that_were_written_to_in_any_way_are_quantized_anew(name, write):
    net = nn.Linear(64, 48)
    x = torch.randn(5, 64)
    with torch.no_grad(), mt.emulate(net, name) as emulation:
        first = net(x)
        assert same_bits(net(x), first) and len(emulation.weights._weights) == 1
        write(net.weight)
        again = net(x)
    with torch.no_grad(), mt.emulate(net, name):
        fresh = net(x)
    assert same_bits(again, fresh) and not same_bits(fresh, first)


def test_the_same_a_serves_several_layers_and_one_that_was_written_to_does_not():
    q, k = nn.Linear(64, 32), nn.Linear(64, 32)
    net = nn.ModuleList([q, k])
    x = torch.randn(5, 64)
    with torch.no_grad(), mt.emulate(net, "nvfp4"):
        before = q(x), k(x)
        x.data[2, 3] = 100
        after = q(x), k(x)
    for one, layer in zip(after, (q, k)):
        with torch.no_grad(), mt.emulate(layer, "nvfp4"):
            assert same_bits(one, layer(x))
    assert not any(same_bits(one, other) for one, other in zip(before, after))


def test_weights_beyond_the_memory_are_quantized_each_time():
    few = Weights(most=64 * 48 * 6)
    draw = [torch.randn(1, 64, 48) for _ in range(3)]
    how = {"arch": "blackwell", "policy": "plain", "tensor_largest": None}
    for x in draw + draw:
        found = few(x, "nvf4", None, of_b=True, **how)
        assert same_bits(found.elements, mt.quantize(x, "nvf4", arch="blackwell", of_b=True).elements)
    assert len(few._weights) == 1
