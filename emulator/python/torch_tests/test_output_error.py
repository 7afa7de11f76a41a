"""A plan under a limit on the error of the output: gains, the audit's estimate, and what emulate() then measures."""
import json
import os
import re
import subprocess

import pytest
import torch
from safetensors.torch import load_file
from torch import nn

import mmaudit.torch as mt

TOOL = os.environ.get("MMAUDIT_TOOL")
needs_tool = pytest.mark.skipif(not TOOL, reason="MMAUDIT_TOOL names no mmaudit")


class Residual(nn.Module):
    """Blocks of which each later one adds ten times less to what goes through."""

    def __init__(self, width=96, blocks=3):
        super().__init__()
        self.up = nn.ModuleList([nn.Linear(width, width) for _ in range(blocks)])
        self.down = nn.ModuleList([nn.Linear(width, width, bias=False) for _ in range(blocks)])

    def forward(self, x):
        for i, (up, down) in enumerate(zip(self.up, self.down)):
            x = x + down(torch.tanh(up(x))) * 10.0**-i
        return x


def gains(module, batch, folder, **how):
    mt.capture(module, batch, folder / "c.safetensors", gains=True, **how)
    return {name[:-5]: one.tolist() for name, one in load_file(folder / "c.safetensors").items()
            if name.endswith(".gain")}


def audit(folder, *arguments):
    command = [TOOL, "-q", "audit", "--capture", "c.safetensors", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_an_error_before_linear_layers_stays_as_large(tmp_path, dtype):
    net = nn.Sequential(nn.Linear(64, 80, bias=False), nn.Linear(80, 48)).to(dtype)
    with torch.no_grad():
        net[1].bias.fill_(0)
    found = gains(net, torch.randn(50, 64).to(dtype), tmp_path, rows=10)
    assert set(found) == {"0#0", "1#0"}
    assert [one[0] for one in found.values()] == pytest.approx([1, 1], rel=0.1)
    assert [one[1] for one in found.values()] == [50 * 64 * 80, 50 * 80 * 48]


def test_a_bias_and_a_residual_lower_a_gain(tmp_path):
    found = gains(Residual(), torch.randn(40, 96), tmp_path)
    downs = [found[f"down.{i}#0"][0] for i in range(3)]
    assert downs[0] / downs[1] == pytest.approx(10, rel=0.2) and downs[1] / downs[2] == pytest.approx(10, rel=0.2)
    net = nn.Linear(64, 64)
    with torch.no_grad():
        net.bias.fill_(100)  # the product is small beside it, and the error is the product's
    assert gains(net, torch.randn(40, 64), tmp_path)["module#0"][0] < 0.02


def test_errors_are_as_large_as_the_product_after_alpha(tmp_path):
    class Scaled(nn.Module):
        def __init__(self, alpha):
            super().__init__()
            self.alpha, self.w = alpha, nn.Parameter(torch.randn(64, 48))

        def forward(self, x):
            return torch.addmm(torch.zeros(48), x, self.w, beta=7, alpha=self.alpha)

    for alpha in (1, 100, -0.01):
        found = gains(Scaled(alpha), torch.randn(50, 64), tmp_path)
        assert found["module#0"][0] == pytest.approx(1, rel=0.1), alpha


def test_heads_stand_for_those_that_were_left_out(tmp_path):
    class Heads(nn.Module):
        def forward(self, x):
            return x @ x.transpose(1, 2)

    found = gains(Heads(), torch.randn(6, 5, 7), tmp_path, matrices=2)
    assert [one[1] for one in found.values()] == [3 * 5 * 7 * 5] * 2


def test_an_output_of_zeros_is_refused(tmp_path):
    net = nn.Linear(8, 8, bias=False)
    with torch.no_grad():
        net.weight.fill_(0)
    with pytest.raises(ValueError, match="gains: found a relative error of the output of nan by errors of ''"):
        gains(net, torch.ones(3, 8), tmp_path)
    assert not (tmp_path / "c.safetensors").exists()


@needs_tool
@pytest.mark.parametrize("limit", ["20%", "4%", "0.5%"])
def test_the_estimate_is_what_emulate_measures(tmp_path, limit):
    net, batch = Residual(), torch.randn(60, 96)
    gains(net, batch, tmp_path)
    done = audit(tmp_path, "--arch", "b200", "--dtype", "nvf4,mxf8,bf16", "--policy", "plain", "--max-output-error",
                 limit, "--plan", "plan.json")
    assert done.returncode == 0, done.stderr
    plan = json.loads((tmp_path / "plan.json").read_text())
    most = float(limit[:-1]) / 100
    found = mt.compare(net, batch, {"plan": str(tmp_path / "plan.json"), "all NVFP4": "nvfp4"})
    row = found["plans"]["plan"]
    assert row["estimated_error"] == plan["estimate"]["output_error"] <= most
    assert 0.6 < row["relative_error"] / row["estimated_error"] < 1.4
    assert "Estimated" in str(found) and found["plans"]["all NVFP4"]["estimated_error"] is None
    assert "Estimated" in found.html() and row["limit"] == pytest.approx(most)
    if limit == "4%":  # what matters little takes four bits
        dtypes = {name: one if isinstance(one, str) else one["dtype"] for name, one in plan["layers"].items()}
        assert dtypes["down.2"] == "nvf4" and dtypes["down.0"] != "nvf4"


class Mean(nn.Module):
    """A mean over tokens, which rounded activations mostly leave and rounded weights do not."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(64, 96), nn.Linear(96, 32)

    def forward(self, x):
        return self.b(torch.tanh(self.a(x))).mean(0)


class Alike(nn.Module):
    """Layers whose errors are the same, one weight in all of them."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(64, 64, bias=False) for _ in range(8)])
        for one in self.layers:
            one.weight = self.layers[0].weight

    def forward(self, x):
        return sum(one(x) for one in self.layers)


class Again(nn.Module):
    """One layer many times."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(64, 64)

    def forward(self, x):
        y = x
        for _ in range(8):
            y = x + torch.tanh(self.layer(y)) / 2
        return y


class Total(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(64, 64)

    def forward(self, x):
        return self.layer(x).sum(0)


@needs_tool
@pytest.mark.parametrize("net,batch", [
    (Mean, lambda: torch.randn(500, 64)), (Mean, lambda: torch.randn(500, 64) + 0.3),
    (Alike, lambda: torch.randn(50, 64)), (Again, lambda: torch.randn(50, 64)),
    (Total, lambda: torch.randn(1, 64).expand(300, 64).contiguous()),  # the same token again and again
])
def test_the_estimate_holds_where_errors_are_alike(tmp_path, net, batch):
    module, x = net(), batch()
    gains(module, x, tmp_path)
    done = audit(tmp_path, "--arch", "b200", "--dtype", "nvf4", "--policy", "plain", "--max-output-error", "60%",
                 "--plan", "plan.json")
    assert done.returncode == 0, done.stderr
    [one] = mt.tighten(module, x, tmp_path / "plan.json").tries
    assert one.estimated > 0.03 and 0.7 < one.measured / one.estimated < 1.3


def planned(net, batch, folder, limit="20%", optimism=1.0):
    """A plan of the tool, whose estimates are made smaller."""
    gains(net, batch, folder)
    audit(folder, "--arch", "b200", "--dtype", "nvf4,mxf8,bf16", "--policy", "plain", "--max-output-error", limit,
          "--plan", "plan.json")
    plan = json.loads((folder / "plan.json").read_text())
    for one in (plan["estimate"], *plan["tighter"]):
        one["output_error"] /= optimism
    return plan


@needs_tool
def test_tighten_goes_on_until_the_measured_error_is_within_the_limit(tmp_path):
    net, batch = Residual(), torch.randn(60, 96)
    plan = planned(net, batch, tmp_path, optimism=4)
    first = mt.compare(net, batch, {"plan": plan})["plans"]["plan"]
    found = mt.tighten(net, batch, plan, limit=first["relative_error"] / 5)
    assert found.tries[0].measured == first["relative_error"] and len(found.tries) > 1
    assert [one.measured <= found.limit for one in found.tries] == [False] * (len(found.tries) - 1) + [True]
    again = mt.compare(net, batch, {"found": found.plan})["plans"]["found"]
    assert again["relative_error"] == found.tries[-1].measured and again["exceeds_limit"] is False
    assert any(recipe is not None for _, recipe in found.plan.layers)
    text = str(found).replace("\n    ", " ").splitlines()  # of one line each
    assert text[0].startswith("Use this plan: ") and text[-1].endswith("within the limit")
    assert sum(line.endswith("exceeds the limit") for line in text) == len(found.tries) - 1
    told = {one: name for name, layers in (line[4:].split(", ", 1) for line in text if line.startswith("  - "))
            for one in layers.split(": ")[1].split(", ")}
    assert told == {key: recipe.dtype if recipe else "kept" for key, recipe in found.plan.layers}
    assert mt.Plan.of(json.loads(found.plan.to_json())) == found.plan
    assert mt.tighten(net, batch, plan).tries[0].measured <= 0.2  # its own limit


@needs_tool
def test_what_nothing_satisfies_is_kept(tmp_path):
    net, batch = Residual(), torch.randn(60, 96)
    found = mt.tighten(net, batch, planned(net, batch, tmp_path), limit=1e-9)
    assert found.tries[-1] == (0, 0) and all(recipe is None for _, recipe in found.plan.layers)
    text = str(found).replace("\n    ", " ").splitlines()
    assert "  - kept, 6 of 6 layers: " + ", ".join(sorted(key for key, _ in found.plan.layers)) in text


@needs_tool
def test_tighter_plans_are_cheaper_to_be_wrong_about(tmp_path):
    plan = mt.Plan.of(planned(Residual(), torch.randn(60, 96), tmp_path))
    errors = [plan.estimate, *(one.estimate for one in plan.tighter)]
    assert len(errors) > 5 and all(y <= 0.85 * x for x, y in zip(errors, errors[1:]))
    assert all([key for key, _ in one.layers] == [key for key, _ in plan.layers] for one in plan.tighter)
    assert mt.Plan.of(json.loads(plan.to_json())) == plan


@pytest.mark.parametrize("how,line", [
    ({"plan": "nvfp4"}, "plan estimate: found none, allowed: a plan of mmaudit audit --max-output-error"),
    ({}, "limit: found None, allowed: a number above 0"),
    ({"limit": -1}, "limit: found -1, allowed: a number above 0"),
    ({"limit": "5%"}, "limit: found '5%', allowed: a number above 0"),
    ({"tighter": {}}, "plan tighter: found dict, allowed: a list"),
    ({"tighter": [3]}, "plan tighter 0: found 3, allowed: an object with output_error"),
    ({"tighter": [{"output_error": 0.1}]}, "plan tighter 0 layers: found NoneType, allowed: an object"),
    ({"tighter": [{"output_error": 0.1, "layers": {"x": "keep"}}]}, "plan tighter 0 layers: found 'x', allowed: keys of"),
    ({"tighter": [{"output_error": 0.1, "layers": {"0": "x"}}]}, "plan tighter 0 layers '0': found 'x', allowed: keep"),
])
def test_what_can_not_be_tightened_is_refused_in_one_line(how, line):
    plan = how.pop("plan", {"layers": {"0": "bf16"}, "estimate": {"output_error": 0.1}, "tighter": how.pop("tighter", [])})
    with pytest.raises(ValueError, match="^" + re.escape(line)) as refused:
        mt.tighten(nn.Sequential(nn.Linear(32, 32)), torch.randn(4, 32), plan, **how)
    assert "\n" not in str(refused.value)


@needs_tool
def test_without_gains_there_is_no_estimate(tmp_path):
    mt.capture(nn.Linear(32, 32), torch.randn(8, 32), tmp_path / "c.safetensors")
    done = audit(tmp_path, "--max-output-error", "5%", "--plan", "plan.json")
    assert done.returncode == 2 and "found no module#0.gain" in done.stderr and done.stderr.count("\n") == 1


def test_a_plan_keeps_its_estimate():
    given = {"default": "keep", "estimate": {"output_error": 0.03, "limit": 0.05}}
    plan = mt.Plan.of(given)
    assert plan.estimate == 0.03 and plan.limit == 0.05 and mt.Plan.of(json.loads(plan.to_json())) == plan
    assert json.loads(plan.to_json())["estimate"] == given["estimate"]
    for bad in (3, {}, {"output_error": -1}, {"output_error": "x"}, {"output_error": True},
                {"output_error": float("nan")}, {"output_error": 1, "limit": "5%"},
                {"output_error": 1, "limit": float("inf")}, {"output_error": 1, "limit": True}):
        with pytest.raises(ValueError, match="plan estimate: found .*, allowed: an object with output_error"):
            mt.Plan.of({"default": "keep", "estimate": bad})


def test_a_measured_error_above_the_limit_is_said(tmp_path):
    net, batch = nn.Linear(64, 64), torch.randn(40, 64)
    plans = {name: {"default": "nvfp4", "estimate": {"output_error": 0.01, "limit": limit}}
             for name, limit in (("tight", 0.02), ("wide", 0.5))}
    found = mt.compare(net, batch, {**plans, "none": "nvfp4"})
    rows = found["plans"]
    assert [rows[name]["exceeds_limit"] for name in rows] == [True, False, None] and rows["none"]["limit"] is None
    error = f"{rows['tight']['relative_error']:.1e}"
    lines = [f"tight: measured {error} exceeds the limit 2.0e-02",
             f"wide: measured {error} is within the limit 5.0e-01"]
    assert set(lines) < set(str(found).splitlines()) and str(found).startswith("Use wide (")
    page = found.html()
    assert all(f">{one}</p>" in page for one in lines) and '<div class="verdict good"' in page
    del rows["wide"]
    assert '<div class="verdict bad"' in found.html() and "No plan is within its limit" in str(found)
    found.write(tmp_path / "c.json")
    stored = json.loads((tmp_path / "c.json").read_text())["plans"]["tight"]
    assert stored["limit"] == 0.02 and stored["exceeds_limit"] is True
