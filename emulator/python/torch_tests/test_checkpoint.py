"""A checkpoint alone: capture_checkpoint(), and the audit of what it writes."""
import json
import os
import re
import subprocess
import warnings

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

import mmaudit.torch as mt
from common import same_bits
from mmaudit.torch._checkpoint import distribution

TOOL = os.environ.get("MMAUDIT_TOOL")


@pytest.fixture
def checkpoint(tmp_path):
    draw = torch.Generator().manual_seed(7)
    tensors = {name: torch.randn(*shape, generator=draw).to(dtype) for name, shape, dtype in (
        ("model.embed_tokens.weight", (50, 64), torch.bfloat16), ("layers.0.up.weight", (96, 64), torch.bfloat16),
        ("layers.0.norm.weight", (64,), torch.bfloat16), ("layers.0.up.bias", (96,), torch.bfloat16),
        ("layers.1.down.weight", (300, 96), torch.float32))}
    save_file(tensors, tmp_path / "m.safetensors")
    return tmp_path / "m.safetensors", tensors


def test_weights_become_products(checkpoint, tmp_path):
    path, tensors = checkpoint
    products = mt.capture_checkpoint(path, tmp_path / "c.safetensors", rows=16, columns=40)
    assert [(one["layer"], one["n"], one["k"]) for one in products] == [
        ("layers.0.up", 96, 64), ("layers.1.down", 300, 96)]
    found = load_file(tmp_path / "c.safetensors")
    assert found["layers.1.down#0.a"].shape == (16, 96) and found["layers.1.down#0.b"].shape == (96, 40)
    weight = tensors["layers.0.up.weight"]
    column = found["layers.0.up#0.b"][:, 3]
    assert any(same_bits(column, one) for one in weight)
    assert found["layers.0.up#0.largest"][1] == weight.abs().max().float()
    mt.capture_checkpoint(path, tmp_path / "again.safetensors", rows=16, columns=40)
    again = load_file(tmp_path / "again.safetensors")
    assert all(torch.equal(again[name], one) for name, one in found.items())


def test_what_may_be_a_weight_and_is_left_out_is_said(checkpoint, tmp_path):
    out = tmp_path / "c.out"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mt.capture_checkpoint(checkpoint[0], out)  # a table, a norm and a bias: nothing to say
    save_file({"at.in_proj_weight": torch.ones(12, 4), "at.out_proj.weight": torch.ones(4, 4), "at.bias": torch.ones(4),
               "up.weight": torch.ones(4, 4).to(torch.float8_e4m3fn), "wpe": torch.ones(4, 4)},
              tmp_path / "m.safetensors")
    with pytest.warns(UserWarning, match="^checkpoint: left out 2 tensors that may be weights: .*$") as said:
        assert len(mt.capture_checkpoint(tmp_path / "m.safetensors", out)) == 1
    names = "at.in_proj_weight ([12, 4], not a NAME.weight), up.weight (torch.float8_e4m3fn, [4, 4]);"
    assert len(said) == 1 and names in str(said[0].message)
    with safe_open(out, framework="pt") as file:
        assert len(json.loads(file.metadata()["mmaudit"])["left_out"]) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mt.capture_checkpoint(tmp_path / "m.safetensors", out, exclude=["at.in*", "up", "wpe"])


@pytest.mark.parametrize("how,line", [
    ({"include": "layers.*"}, "include: found a str, allowed: a list of patterns"),
    ({"exclude": "*embed*"}, "exclude: found a str, allowed: a list of patterns"),
    ({"transposed": "*.c_attn"}, "transposed: found a str, allowed: a list of patterns"),
    ({"include": [3]}, "include: found 3 in the list, allowed: patterns, each a str"),
    ({"rows": -1}, "rows: found -1, allowed: a whole number from 1"),
    ({"columns": 1.5}, "columns: found 1.5, allowed: a whole number from 1"),
])
def test_arguments_that_are_none_are_refused_in_one_line(checkpoint, tmp_path, how, line):
    with pytest.raises(ValueError, match="^" + re.escape(line)) as refused:
        mt.capture_checkpoint(checkpoint[0], tmp_path / "c.out", **how)
    assert "\n" not in str(refused.value) and not (tmp_path / "c.out").exists()


def test_names_choose_and_a_folder_has_shards(checkpoint, tmp_path):
    path, _ = checkpoint
    save_file({"head.weight": torch.ones(8, 32)}, tmp_path / "n.safetensors")
    out = tmp_path / "out" / "c.safetensors"
    out.parent.mkdir()
    products = mt.capture_checkpoint(tmp_path, out, include=["layers.*", "head"], exclude=["*.down"],
                                     transposed=["head"])
    assert [(one["layer"], one["n"], one["k"]) for one in products] == [("layers.0.up", 96, 64), ("head", 32, 8)]
    save_file({"head.weight": torch.ones(8, 32)}, tmp_path / "o.safetensors")
    with pytest.raises(ValueError, match="checkpoint: found head.weight in two files"):
        mt.capture_checkpoint(tmp_path, out)


def test_distributions_are_what_they_say():
    def of(text):
        return distribution(text)(400, 200, torch.Generator().manual_seed(1))

    assert abs(of("normal").std() - 1) < 0.02 and of("uniform").abs().max() <= 1 and abs(of("uniform").mean()) < 0.02
    heavy = of("student:3").double()
    # the table of t with 3 degrees: P(|t| > 3.182) = 0.05
    assert abs((heavy.abs() > 3.182446).double().mean() - 0.05) < 0.004
    wide = of("outliers:3:50")
    assert int((wide.std(0) > 20).sum()) == 3
    for bad in ("gauss", "student", "student:0", "student:x", "student:inf", "outliers:2", "outliers:1.5:3",
                "normal:1"):
        with pytest.raises(ValueError, match="activations: found .*, allowed: normal, uniform"):
            distribution(bad)


def test_what_has_no_weights_is_refused(tmp_path):
    out = tmp_path / "c.out"
    with pytest.raises(ValueError, match="checkpoint: found no .safetensors in"):
        mt.capture_checkpoint(tmp_path, out)
    save_file({"a.weight": torch.ones(3), "b.weight": torch.ones(4, 4).to(torch.float8_e4m3fn)},
              tmp_path / "m.safetensors")
    with pytest.raises(ValueError, match="checkpoint: found only a.weight .*b.weight"):
        mt.capture_checkpoint(tmp_path, out)
    with pytest.raises(ValueError, match="checkpoint: found no NAME.weight"):
        mt.capture_checkpoint(tmp_path, out, include=["c"])
    assert not out.exists()


@pytest.mark.skipif(not TOOL, reason="MMAUDIT_TOOL names no mmaudit")
def test_the_tool_audits_what_was_drawn(checkpoint, tmp_path):
    def error_of(activations):
        mt.capture_checkpoint(checkpoint[0], tmp_path / "c.safetensors", activations=activations)
        done = subprocess.run([TOOL, "-q", "audit", "--capture", "c.safetensors", "--dtype", "e4m3", "--policy",
                               "plain", "--json=net.json"], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads((tmp_path / "net.json").read_text())["products"][0]["rows"][0]["quantization"]

    normal, wide = error_of("normal"), error_of("outliers:1:3000")
    assert 0.03 < normal < 0.045 and wide != normal
