"""compare() and capture()."""
import json
import os
import re
import subprocess

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn
from torch.nn import functional as F

import mmaudit.torch as mt
from common import same_bits

TOOL = os.environ.get("MMAUDIT_TOOL")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.a, self.b = nn.Embedding(17, 32), nn.Linear(32, 64), nn.Linear(64, 17)

    def forward(self, tokens):
        x = F.gelu(self.a(self.embed(tokens)))
        return self.b(x + F.scaled_dot_product_attention(x[:, None], x[:, None], x[:, None])[:, 0])


def tokens():
    return torch.randint(0, 17, (3, 12), generator=torch.Generator().manual_seed(5))


def test_errors_grow_and_order_as_dtypes_do():
    net, x = Net(), tokens()
    found = mt.compare(net, x, ["bf16", "mxfp8-ceil", "nvfp4"],
                       loss=lambda y: F.cross_entropy(y.flatten(0, 1), x.flatten()))
    assert found["layers"] == ["a", "", "b"]
    rows = [found["plans"][name] for name in ("bf16", "mxfp8-ceil", "nvfp4")]
    for figure in ("relative_error", "kl"):
        assert rows[0][figure] < rows[1][figure] < rows[2][figure]
    assert all(row["layers"]["a"] > 0 and 0.5 < row["top1"] <= 1 and row["kl"] >= 0 for row in rows)
    assert abs(rows[0]["loss"] - found["loss"]) < 0.01
    text = str(found)
    for words in ("Relative error of every layer's output", "nvfp4", "Loss of the module as it is", "architecture"):
        assert words in text
    json.dumps(found)


def test_nothing_differs_where_everything_is_kept_and_seeds_repeat():
    net, x = nn.Sequential(Net(), nn.Dropout(0.3)), tokens()
    found = mt.compare(net, x, {"as it is": "keep", "mine": {"layers": {"0.b": "nvfp4"}}})
    assert found["plans"]["as it is"]["relative_error"] == 0 and found["plans"]["as it is"]["top1"] is None
    assert found["plans"]["mine"]["layers"]["0.a"] == 0 < found["plans"]["mine"]["layers"]["0.b"]
    assert found == mt.compare(net, x, {"as it is": "keep", "mine": {"layers": {"0.b": "nvfp4"}}})


def test_capture_holds_the_operands_of_every_product(tmp_path):
    from safetensors import safe_open
    net, x = Net(), tokens()
    products = mt.capture(net, x, tmp_path / "c.safetensors", rows=8, columns=10, matrices=2)
    assert [one["layer"] for one in products] == ["a", "", "", "", "", "b"]  # two of three products of attention, twice
    assert products[0]["name"] == "a#0" and products[1]["name"].startswith("module#0[")
    with safe_open(tmp_path / "c.safetensors", framework="pt") as file:
        assert json.loads(file.metadata()["mmaudit"])["products"] == products
        assert file.get_tensor("a#0.a").shape == (8, 32) and file.get_tensor("a#0.b").shape == (32, 10)
        weight = net.a.weight.detach().t()
        column = file.get_tensor("a#0.b")[:, 0]
        assert any(same_bits(column, weight[:, j]) for j in range(64))
    assert products[0]["m"] == 36 and products[0]["n"] == 64 and products[0]["largest_b"] == float(weight.abs().max())


class Root(nn.Module):
    """A product of its own and one of a child that is called as the root's products are."""

    def __init__(self):
        super().__init__()
        self.module = nn.Linear(32, 32, bias=False)

    def forward(self, x):
        return self.module(x) @ torch.eye(32)


def test_a_child_called_module_is_not_the_module_itself(tmp_path):
    net, x = Root(), torch.randn(8, 32)
    products = mt.capture(net, x, tmp_path / "c.safetensors", gains=True)
    assert [(one["name"], one["layer"]) for one in products] == [("[m]odule#0", "module"), ("module#0", "")]
    assert len(load_file(tmp_path / "c.safetensors")) == 2 * 4
    for key, layers in (("", [""]), ("[m]odule", ["module"])):
        seen = []
        with mt.emulate(net, {"layers": {key: "nvfp4"}}, watch=seen.append):
            net(x)
        assert [one.site.layer for one in seen] == layers
    assert ">(module)</th>" in mt.compare(net, x, ["bf16"]).html()
    if TOOL:
        subprocess.run([TOOL, "-q", "audit", "--capture", "c.safetensors", "--dtype", "bf16", "--max-rel-fro", "5%",
                        "--plan", "plan.json"], cwd=tmp_path, check=True)
        plan = mt.Plan.of(tmp_path / "plan.json", net)
        assert sorted(key for key, _ in plan.layers) == ["", "[m]odule"]
    save_file({"module.weight": torch.ones(8, 32)}, tmp_path / "m.safetensors")
    [one] = mt.capture_checkpoint(tmp_path / "m.safetensors", tmp_path / "d.safetensors")
    assert (one["name"], one["layer"]) == ("[m]odule#0", "module")


@pytest.mark.parametrize("how", [{"rows": -1}, {"columns": 0}, {"matrices": 2.5}, {"rows": 2**70}])
def test_counts_that_are_none_are_refused(tmp_path, how):
    with pytest.raises(ValueError, match=f"^{[*how][0]}: found .*, allowed: a whole number from 1 to [0-9]*$"):
        mt.capture(nn.Linear(8, 8), torch.ones(3, 8), tmp_path / "c.safetensors", **how)


def test_a_module_without_products_is_refused(tmp_path):
    with pytest.raises(ValueError, match="module: found no matrix products"):
        mt.capture(nn.ReLU(), torch.ones(3), tmp_path / "c.safetensors")
    assert not (tmp_path / "c.safetensors").exists()


@pytest.mark.parametrize("plans,line", [
    ("bf16", "plans: found a str, allowed: a list of names of recipes, or an object of plans by names of your own"),
    (mt.Plan(), "plans: found a Plan, allowed: a list of names"),
    (None, "plans: found a NoneType, allowed: a list of names"),
    ([mt.RECIPES["bf16"]], "plans: found a Recipe in the list, allowed: names of recipes"),
    ([{"default": "bf16"}], "plans: found a dict in the list, allowed: names of recipes"),
])
def test_plans_that_are_none_are_refused_in_one_line(plans, line):
    with pytest.raises(ValueError, match="^" + re.escape(line)) as refused:
        mt.compare(Net(), tokens(), plans)
    assert "\n" not in str(refused.value)


class Odd(nn.Module):
    """Names that a plan could take for globs or classes."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleDict({name: nn.Linear(32, 32) for name in ("a[1]", "a1", "*", "a#b")})
        self.Linear = nn.Linear(32, 32)

    def forward(self, x):
        for one in self.layers.values():
            x = one(x)
        return self.Linear(x)


def test_names_that_look_like_globs_are_names(tmp_path):
    net, x = Odd(), torch.randn(8, 32)
    products = mt.capture(net, x, tmp_path / "c.safetensors", gains=True)
    keys = [one["name"].rpartition("#")[0] for one in products]
    assert keys == ["layers.a[[]1]", "layers.a1", "layers.[*]", "layers.a#b", "[L]inear"]
    for key, one in zip(keys, products):
        seen = []
        with mt.emulate(net, {"layers": {key: "bf16"}}, watch=seen.append):
            net(x)
        assert [each.site.layer for each in seen] == [one["layer"]]
    if TOOL:
        subprocess.run([TOOL, "-q", "audit", "--capture", "c.safetensors", "--dtype", "bf16", "--max-output-error", "5%",
                        "--plan", "plan.json"], cwd=tmp_path, check=True)
        plan = mt.Plan.of(tmp_path / "plan.json", net)
        assert sorted(key for key, _ in plan.layers) == sorted(keys)
