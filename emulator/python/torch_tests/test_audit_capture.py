"""A network's products through mmaudit audit --capture, and the plan back through emulate()."""
import json
import os
import subprocess

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

import mmaudit
import mmaudit.torch as mt

TOOL = os.environ.get("MMAUDIT_TOOL")
pytestmark = pytest.mark.skipif(not TOOL, reason="MMAUDIT_TOOL names no mmaudit")


def audit(folder, *arguments):
    command = [TOOL, "-q", "audit", "--capture", "c.safetensors", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def net(tmp_path):
    module = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 32))
    with torch.no_grad():
        module[2].weight[:, 5] *= 300  # a channel that four bits can't take
    mt.capture(module, torch.randn(80, 64), tmp_path / "c.safetensors")
    return module


def test_a_plan_comes_out_and_goes_back_in(net, tmp_path):
    done = audit(tmp_path, "--arch", "b200", "--dtype", "nvf4,mxf8,bf16", "--policy", "plain", "--max-rel-fro", "0.14",
                 "--plan", "plan.json", "--json=net.json", "--html", "net.html", "--csv", "net.csv")
    assert done.returncode == 0, done.stderr
    assert "The cheapest combination of every layer" in done.stdout and "2 of 2 layers" in done.stdout
    plan = json.loads((tmp_path / "plan.json").read_text())
    assert set(plan["layers"]) == {"0", "2"} and plan["default"] == "keep"
    found = json.loads((tmp_path / "net.json").read_text())
    assert found["schema"] == "mmaudit.audit.capture/1" and found["plan"] == plan
    assert [(one["layer"], one["k"]) for one in found["products"]] == [("0", 64), ("2", 96)]
    compared = mt.compare(net, torch.randn(80, 64), {"plan": str(tmp_path / "plan.json")})
    assert compared["plans"]["plan"]["products"] == {"emulated": 2, "kept": 0}


def test_figures_are_those_of_the_product_alone(net, tmp_path):
    audit(tmp_path, "--dtype", "e4m3", "--policy", "plain", "--json=net.json")
    tensors = load_file(tmp_path / "c.safetensors")
    alone = mmaudit.audit(tensors["2#0.a"], tensors["2#0.b"], dtype="e4m3", policy="plain")
    together = json.loads((tmp_path / "net.json").read_text())["products"][1]["rows"]
    assert [row["total"] for row in together] == [row["relative_frobenius"]["total"] for row in alone.rows]


def test_exit_code_and_table_say_what_does_not_pass(net, tmp_path):
    done = audit(tmp_path, "--arch", "b200", "--dtype", "nvf4", "--max-rel-fro", "0.001", "--plan", "-")
    assert done.returncode == 1 and json.loads(done.stdout)["layers"] == {"0": "keep", "2": "keep"}


@pytest.mark.parametrize("change,line", [
    (lambda t: t.pop("2#0.b"), "found 2#0.a without 2#0.b, allowed: both"),
    (lambda t: [t.pop(name) for name in list(t) if not name.endswith("largest")], "found no tensors NAME.a and NAME.b"),
    (lambda t: t.update({"0#0.largest": torch.ones(3)}), "found 0#0.largest of another type or shape"),
    (lambda t: t.update({"0#0.largest": torch.tensor([1.0, float("nan")])}), "allowed: finite numbers from 0"),
    (lambda t: t.update({"0#0.b": torch.ones(5, 7)}), "found K = 64 of A"),
])
def test_files_that_are_no_capture_are_refused(net, tmp_path, change, line):
    tensors = load_file(tmp_path / "c.safetensors")
    change(tensors)
    save_file(tensors, tmp_path / "c.safetensors")
    done = audit(tmp_path, "--plan", "p.json", "--max-rel-fro", "0.1")
    assert done.returncode == 2 and line in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert not (tmp_path / "p.json").exists()


def test_options_that_do_not_fit_are_refused(net, tmp_path):
    for arguments, line in ((("--a", "x.npy"), "--capture: found with --a"),
                            (("--plan", "p.json"), "--plan: found without --max-rel-fro")):
        done = audit(tmp_path, *arguments)
        assert done.returncode == 2 and line in done.stderr


def test_the_audit_says_what_the_file_lacks(net, tmp_path):
    class Solves(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(64, 32)

        def forward(self, x):
            return torch.linalg.solve(torch.eye(32) * 2, self.layer(x).T)

    limited = ("--arch", "b200", "--dtype", "nvf4,mxf8,bf16", "--policy", "plain", "--max-rel-fro", "0.14", "--json=net.json")
    done = audit(tmp_path, *limited)
    assert done.returncode == 0 and "The file has every product of the run." in done.stdout
    assert json.loads((tmp_path / "net.json").read_text())["coverage"] == {"share_missed": 0, "missed": {}}
    with pytest.warns(UserWarning, match="are not in the file"):
        found = mt.capture(Solves(), torch.randn(80, 64), tmp_path / "c.safetensors")
    missed = found.coverage.missed_operators()
    done = audit(tmp_path, *limited)
    assert f"{100 * found.coverage.share_missed:.1f} % of the multiply-adds of the run are not in the file: " in done.stdout
    assert all(name in done.stdout for name in missed) and len(missed) > 0
    assert json.loads((tmp_path / "net.json").read_text())["coverage"] == {
        "share_missed": found.coverage.share_missed, "missed": missed}
