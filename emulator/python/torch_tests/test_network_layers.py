"""The layers that `mmaudit gemm invariant --model` finds in a config against the modules that transformers makes of it."""
import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest
import torch

transformers = pytest.importorskip("transformers")

ROOT = pathlib.Path(__file__).resolve().parents[3]
NETWORKS = [json.loads(line) for line in (ROOT / "corpus/networks/configs.jsonl").read_text().splitlines()]
TOOL = os.environ.get("MMAUDIT_TOOL") or shutil.which("mmaudit")
DECISIONS = "\n".join(json.dumps(line) for line in (
    {"schema": "mmaudit.gemm.decisions/1", "gpu": "none", "architecture": "hopper", "library": "130100",
     "first_m": 1, "last_m": 1},
    {"choice": {"algorithm": {}, "kernels": []}},
    {"layer": {"api": "cublas", "type": "bf16", "n": 8, "k": 8}, "starts": "1:0"}))


def found(config, folder):
    """(N, K, W is stored as (N, K), bias) of each product."""
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "none.jsonl").write_text(DECISIONS + "\n")
    run = subprocess.run([TOOL, "gemm", "invariant", "--model", str(folder), "--like", str(folder / "none.jsonl"),
                          "--csv", "-"], capture_output=True, text=True)
    assert run.returncode in (0, 1), run.stderr
    out = set()
    for name in re.findall(r"cublas\S* bf16 -> bf16 .*?(?=\"|,|\r)", run.stdout):
        layout, n, k = re.search(r"(n[nt]) 1 x (\d+) x (\d+)", name).groups()
        out.add((int(n), int(k), layout == "nt", " bias" in name))
    return out


def made(config):
    """The same of transformers' modules; experts and routers are parameters of theirs, not modules."""
    sizes = dict(config)
    for blocks in ("num_hidden_layers", "n_layer"):
        if blocks in sizes:
            sizes[blocks] = 5 if config["model_type"] == "deepseek_v3" else 2  # its first 3 have no experts
    kind = transformers.AutoModel if config["model_type"] in ("bert", "vit") else transformers.AutoModelForCausalLM
    with torch.device("meta"):
        network = kind.from_config(transformers.AutoConfig.for_model(sizes.pop("model_type"), **sizes))
    out = set()
    for name, module in network.named_modules():
        if isinstance(module, torch.nn.Linear) and "pooler" not in name:
            out.add((module.out_features, module.in_features, True, module.bias is not None))
        if type(module).__name__ == "Conv1D":
            out.add((module.nf, module.nx, False, True))
        for parameter, value in module.named_parameters(recurse=False):
            if parameter.endswith("down_proj"):  # (experts, in, out) of gpt-oss, (experts, out, in) of others
                rows, columns = value.shape[1:]
                stored = config["model_type"] != "gpt_oss"
                out.add((rows, columns, True, False) if stored else (columns, rows, False, True))
    return out


@pytest.mark.skipif(TOOL is None, reason="no mmaudit: MMAUDIT_TOOL names it")
@pytest.mark.parametrize("network", NETWORKS, ids=[each["model"] for each in NETWORKS])
def test_every_module_is_a_layer(network, tmp_path):
    mine, theirs = found(network["config"], tmp_path), made(network["config"])
    assert theirs <= mine
    if not any("expert" in field for field in network["config"]):
        assert mine == theirs
