"""docs/experiments/networks/luo.py: its dry run, and that its checks can fail."""
import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

EXAMPLES = Path(__file__).resolve().parents[3] / "docs" / "experiments" / "networks"


@pytest.fixture
def examples(monkeypatch):
    """Its modules, with torch's switches put back afterwards."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield [importlib.import_module(name) for name in ("luo", "luo_fp8", "llama")]
    torch.set_num_threads(threads)
    torch.set_grad_enabled(True)
    torch.set_float32_matmul_precision("highest")


def run(examples, monkeypatch, folder, *arguments):
    monkeypatch.setattr(sys, "argv", ["luo.py", "--dry", "--out", str(folder), *arguments])
    code = examples[0].main()
    return code, json.loads((folder / "luo.json").read_text()), (folder / "luo.md").read_text()


def test_every_part_runs_without_a_gpu(examples, monkeypatch, tmp_path, capsys):
    code, found, text = run(examples, monkeypatch, tmp_path)
    assert code == 0 and found["wrong"] == [] and found["schema"] == "mmaudit.luo/1"
    assert {name: len(rows) for name, rows in found["parts"].items()} == {
        "steps": 2, "throughput": 14, "layer": 5, "generation": 4, "scaling": 12}
    for row in found["parts"]["steps"]:
        assert abs(sum(row["share"].values()) - 1) < 1e-9
    errors = {row["type"]: row["relative_error"] for row in found["parts"]["layer"]}
    assert errors["FP32"] < errors["FP16"] < errors["FP8"] and found["parts"]["generation"][0]["same_tokens_by_graph"] == 1
    for words in ("the share of amax and cast", "Luo, H800", "lost without a scale", "the times mean nothing"):
        assert words in text
    assert "scaling, FP8's scaling" in capsys.readouterr().out


def test_a_part_alone(examples, monkeypatch, tmp_path):
    assert list(run(examples, monkeypatch, tmp_path, "--part", "scaling")[1]["parts"]) == ["scaling"]


def test_a_cast_that_truncates_is_found(examples, monkeypatch, tmp_path, capsys):
    def truncated(x, amax, dtype=torch.float8_e4m3fn):
        y, inverse = right(x, amax, dtype)
        over = y.float().abs() > (x.float() / inverse).abs()
        return (y.view(torch.uint8) - over.to(torch.uint8)).view(dtype), inverse

    right = examples[1].pack
    monkeypatch.setattr(examples[1], "pack", truncated)
    code, found, _ = run(examples, monkeypatch, tmp_path, "--part", "scaling")
    assert code == 1 and any("codes that are not the nearest" in line for line in found["wrong"])
    assert "round trip over its bound" in capsys.readouterr().err


def test_a_forgotten_scale_is_found(examples, monkeypatch, tmp_path):
    right = examples[1].product
    monkeypatch.setattr(examples[0], "product", lambda a, b, of_a, of_b, out: right(a, b, of_a, of_a * 0 + 1, out))
    code, found, _ = run(examples, monkeypatch, tmp_path, "--part", "steps", "throughput")
    assert code == 1 and {line.split(',')[0] for line in found["wrong"]} == {"steps", "throughput"}


def test_a_cache_gives_what_the_whole_text_gives(examples):
    luo, _, llama = examples
    torch.manual_seed(1)
    shape = (32, 2, 2, 64, 96)
    model = llama.Model(shape, 7, torch.randn(96, 32), llama.plain_linear)
    tokens = torch.randint(0, 96, (3, 7))
    with torch.no_grad():
        whole = model(tokens, model.caches(3), torch.arange(7))
        caches = model.caches(3)
        for start, end in ((0, 4), (4, 5), (5, 6), (6, 7)):
            piece = model(tokens[:, start:end], caches, torch.arange(start, end))
        plain = model.layers[0](torch.eye(32)[None])
        cached = model.layers[0](torch.eye(32)[None], None, (torch.zeros(1, 2, 32, 16), torch.zeros(1, 2, 32, 16)),
                                 torch.arange(32))
    torch.testing.assert_close(piece, whole)
    torch.testing.assert_close(plain, cached)
    assert luo.relative(whole, whole.double(), whole) == 0


@pytest.mark.parametrize("dtype,count", [(torch.float8_e4m3fn, 127), (torch.float8_e5m2, 124)])
def test_the_table_of_a_format_is_torchs(examples, dtype, count):
    fp8 = examples[1]
    codes = torch.arange(count, dtype=torch.uint8)
    assert torch.equal(fp8.magnitudes(dtype).float(), codes.view(dtype).float())
    halfway = (fp8.magnitudes(dtype)[1:] + fp8.magnitudes(dtype)[:-1]) / 2
    assert bool((fp8.nearest(halfway, dtype) % 2 == 0).all())


def test_no_gpu_and_no_torch_are_one_line():
    if not torch.cuda.is_available():
        done = subprocess.run([sys.executable, EXAMPLES / "luo.py"], capture_output=True, text=True, check=False)
        assert done.returncode == 2 and done.stderr == "luo.py: found no CUDA device, allowed: a GPU, or --dry\n"
    program = ("import runpy, sys; sys.modules['torch'] = None; sys.path.insert(0, sys.argv[1]); "
               "runpy.run_path(sys.argv[1] + '/luo.py', run_name='__main__')")
    done = subprocess.run([sys.executable, "-c", program, str(EXAMPLES)], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stderr.startswith("luo.py: found no torch") and done.stderr.count("\n") == 1
