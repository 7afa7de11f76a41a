"""examples/hopper_fp8.py: its dry run, and that each of its comparisons can fail."""
import importlib
import json
import sys
from pathlib import Path

import pytest
import torch

import mmaudit.torch as mt

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
INST = "wgmma.m64n64k32.f32.e4m3.e4m3"


@pytest.fixture
def example(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    threads = torch.get_num_threads()
    yield importlib.import_module("hopper_fp8")
    torch.set_num_threads(threads)


def llama(example):
    return [one for one in example.networks(example.StandIn(), 1) if "Llama" in one[0]][0]


def test_it_runs_without_a_gpu(example, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(sys, "argv", ["hopper_fp8.py", "--dry", "--json", str(tmp_path / "h.json")])
    assert example.main() == 0
    found = json.loads((tmp_path / "h.json").read_text())
    assert len(found["rows"]) == 2 * (9 + 9 + 10) and len(found["outputs"]) == 6
    assert all(row["plan"] and row["by_plan"] == row["by_emulate"] == 0 for row in found["rows"])
    assert "0 products and 0 of 6 outputs wrong" in capsys.readouterr().out


def test_a_gpu_that_adds_otherwise_is_found(example, monkeypatch, capsys):
    class Wrong(example.StandIn):
        def product(self, x, fast):
            return super().product(x, not fast)

    monkeypatch.setattr(example, "StandIn", Wrong)
    monkeypatch.setattr(sys, "argv", ["hopper_fp8.py", "--dry"])
    assert example.main() == 1
    assert "of 6 outputs wrong" in capsys.readouterr().out
    rows, output = example.measure(*llama(example), True, Wrong())
    deep = [row for row in rows if row.k > 128]
    assert len(deep) == 2 and all(row.by_emulate > 0 and row.by_plan > 0 and row.wrong for row in deep) and output > 0
    assert not any(row.wrong for row in rows if row.k <= 128)  # nothing to promote


def test_kernels_without_a_plan_are_not_known(example):
    class Other(example.StandIn):
        def kernels(self, x, fast):
            return self.names

    gpu = Other()
    for gpu.names, why in ((["sm90_gemm_of_tomorrow"], "found no plan for the kernel sm90_gemm_of_tomorrow"),
                           (["nvjet_sm90_qqtst_64x32_128x16_2x4_h_bz_splitK_TNT"], "split, and mmaudit gemm plans"),
                           ([], "no names of kernels")):
        rows, _ = example.measure(*llama(example), True, gpu)
        assert not any(row.plan or row.wrong for row in rows) and all(why in row.why for row in rows)


def test_the_tools_plan_counts_where_it_saw_the_same_kernel(example):
    name = "nvjet_sm90_qqtst_64x32_128x16_2x4_h_bz_splitK_TNT"
    plan = {"instruction": INST, "tile_k": 128, "slices": 2}

    class Split(example.StandIn):
        def product(self, x, fast):
            return example.predicted(x, plan=plan)

        def kernels(self, x, fast):
            return [name]

        def told(self, problems):
            return {one: {"plan": plan, "call": {"kernels": [{"name": self.seen}]}} for one in problems}

    gpu = Split()
    gpu.seen = name
    rows, _ = example.measure(*llama(example), True, gpu)
    assert all(row.by_plan == 0 and not row.one_slice and not row.wrong for row in rows)
    assert any(row.by_emulate > 0 for row in rows)  # a recipe has one chain
    gpu.seen = name + "_other"
    rows, _ = example.measure(*llama(example), True, gpu)
    assert not any(row.plan for row in rows)


def test_a_machine_without_a_gpu_is_told(example, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["hopper_fp8.py"])
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert example.main() == 3 and capsys.readouterr().err.startswith("hopper_fp8: found no Hopper GPU")


def test_operands_are_those_of_emulate(example):
    torch.manual_seed(3)
    layer, x = torch.nn.Linear(320, 32, bias=False).to(torch.bfloat16), torch.randn(8, 320, dtype=torch.bfloat16)
    with mt.emulate(layer, "fp8-tensor"):
        d = layer(x)
    assert example.differing(d, example.StandIn().product(example.operands(x, layer.weight.t()), True)) == 0
