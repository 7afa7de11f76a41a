"""README.md, docs/tutorial.md and docs/howto.md as a reader runs them, top to bottom, each in one folder; the notebook and the picture
that are made of them. docs_test runs the blocks of pages that show a prompt."""
import contextlib
import html
import io
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

import mmaudit
import mmaudit.torch as mt

ROOT = Path(__file__).resolve().parents[3]
sys.path += [str(ROOT / "docs" / "site"), str(ROOT / "reports" / "tests" / "browser")]
import notebook  # noqa: E402
import plan_picture  # noqa: E402

TUTORIAL, README, HOWTO = ((ROOT / name).read_text(encoding="utf-8") for name in ("docs/tutorial.md", "README.md", "docs/howto.md"))
needs_tool = pytest.mark.skipif("MMAUDIT_TOOL" not in os.environ, reason="MMAUDIT_TOOL names no mmaudit")
#: Commands of how-tos that are not run here, and why.
BENCH = "the other program, mmaudit-bench"
NOT_RUN = {
    "mmaudit sweep --quick": BENCH,
    "mmaudit time --arch ampere --inst mma.m16n8k16.f32.f16.f16.f32 --warps 8 --ilp 2": BENCH,
    "mmaudit gemm reveal ./libmine.so:my_gemm --type f32": "a library of the reader; docs/probe.md's commands run",
    "docs/ci/mmaudit_ci.sh baseline": "ci_test runs it",
    "pip install mmaudit": "./run release's wheel is installed by .ci/wheel.sh",
}
NEED_GPU = {"gemm check", "screen", "verify --live", "verify campaign", "baseline corpus"}
DIFFER = {"trace diff"}  # exit code 1: what is found is that


def matches(printed, shown):
    """A line "..." of the page stands for any lines, "..." inside a line for any text."""
    lines = ["(?:.*\n)*" if line == "..." else re.escape(line).replace(r"\.\.\.", ".*") + "\n" for line in shown.splitlines()]
    return re.fullmatch("".join(lines), printed.rstrip("\n") + "\n") is not None


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder, with the program on PATH."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "mmaudit").symlink_to(os.path.abspath(os.environ["MMAUDIT_TOOL"]))
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(command):
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True, env={**os.environ, "CUDA_VISIBLE_DEVICES": ""})


def run_page(page, name):
    """How many outputs were compared."""
    names, printed, compared = {"__name__": "__main__"}, "", 0
    for language, block in notebook.blocks(page):
        if language == "python":
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(block, name, "exec"), names)
            printed = out.getvalue()
        elif language == "sh" and not block.startswith("pip install"):
            done = run(block)
            assert done.returncode == 0, f"{block}{done.stderr}"
            printed = done.stdout
        elif language == "text":
            compared += 1
            assert matches(printed, block), f"shown:\n{block}\nprinted:\n{printed}"
    return compared


@needs_tool
def test_the_tutorial(folder):
    assert run_page(TUTORIAL, "tutorial.md") == 9
    assert sorted(path.name for path in folder.iterdir()) == [
        "bin", "choice.html", "compare.html", "plan.json", "quantization.json", "tiny"]


@needs_tool
def test_readme_and_its_picture(folder):
    assert len(README.splitlines()) <= 90
    assert run_page(README, "README.md") == 2
    page = re.sub(r"\s+", " ", html.unescape(re.sub("<[^>]+>", " ", (folder / "plan.html").read_text(encoding="utf-8"))))
    shown = plan_picture.text_of((ROOT / "docs" / "plan.png").read_bytes())
    words = re.findall(r"Use .*?\)\.|limit of the output, [0-9.]+|\S+e-\d+", shown)
    assert len(words) == 20
    assert [word for word in words if word not in page] == []  # else: make it anew, as its script says
    assert (ROOT / "docs" / "plan.png").stat().st_size < 300_000


def commands_of_howto():
    """The code of every second column."""
    rows = [line.split(" | ") for line in HOWTO.splitlines() if line.startswith("| ") and not line.startswith("| question")]
    return [span for row in rows for span in re.findall("`([^`]+)`", row[1].replace("\\|", "|"))]


def files_of_howto():
    """What a reader has: tensors, a checkpoint and a quantized one, traces, an older baseline."""
    draw = np.random.default_rng(1)

    def normal(*shape):
        return draw.standard_normal(shape).astype("f4")

    np.save("x.npy", normal(64, 256)), np.save("w.npy", normal(256, 32)), np.save("ranks.npy", normal(4, 1000))
    for name, shape in {"A": (64, 256), "B": (256, 32), "a": (16, 1024), "b": (1024, 32), **dict.fromkeys("qkv", (1, 2, 128, 64))}.items():
        np.save(f"{name}.npy", normal(*shape).astype("f2"))
    weight = normal(64, 64)
    for name, rows in {"net": weight, "other": (weight * 64).round() / 64}.items():
        os.mkdir(name)
        save_file({"model.layers.0.mlp.up_proj.weight": rows}, f"{name}/model.safetensors")
        config = {"model_type": "llama", "torch_dtype": "float32", "hidden_size": 64, "intermediate_size": 64}
        Path(name, "config.json").write_text(json.dumps(config))
    Path("config.json").write_text(json.dumps({"model_type": "llama", "hidden_size": 256, "intermediate_size": 512, "vocab_size": 512,
                                               "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 2}))
    Path("problem.json").write_text('{"type": "f16", "m": 16, "n": 32, "k": 1024, "layout": "nt"}')
    Path("plan.json").write_text('{"instruction": "wgmma.m64n64k16.f32.f16.f16", "tile_k": 64, "slices": 3, "output": "f16"}')


@needs_tool
def test_every_command_of_the_howto(folder):
    run_page(README, "README.md")  # its traces
    files_of_howto()
    commands, ran = commands_of_howto(), 0
    assert len(commands) > 35 and set(NOT_RUN) <= set(commands)
    for command in commands:
        if command in NOT_RUN:
            continue
        if re.fullmatch(r"[\w.]+", command):  # a name of Python, of the module before it where it has no dots
            part = command.split(".")[-1]
            assert any(hasattr(of, part) for of in (mmaudit, mt)) or command == "found.plan.export", command
            continue
        words = shlex.split(command)
        wanted = 3 if {" ".join(words[1:2]), " ".join(words[1:3])} & NEED_GPU else 1 if " ".join(words[1:3]) in DIFFER else 0
        done = run(command)
        assert done.returncode == wanted and (done.stdout or done.stderr), f"{command}\n{done.stdout[-500:]}\n{done.stderr}"
        if "--out new.json" in command:
            Path("old.json").write_bytes(Path("new.json").read_bytes())
        ran += 1
    assert ran > 25


def test_matches_tells_apart():
    assert matches("a\nb 12\nc\n", "...\nb ...\nc\n") and matches("", "...\n")
    assert not matches("a\nb\n", "a\n") and not matches("ab\n", "b\n") and not matches("a\nc\n", "a\nb ...\n")


def test_the_notebook_holds_the_page():
    made = json.loads(notebook.notebook(TUTORIAL))
    code = ["".join(cell["source"]) for cell in made["cells"] if cell["cell_type"] == "code"]
    assert made["nbformat"] == 4 and all(cell["id"] for cell in made["cells"])
    assert code[0].startswith("import json, os") and "!mmaudit model tiny --list" in code
    assert len(code) == len(re.findall(r"^```(?:python|sh)$", TUTORIAL, re.M))
    prose = "\n".join("".join(cell["source"]) for cell in made["cells"] if cell["cell_type"] == "markdown")
    assert "## 4. Choosing" in prose and "exceeds the limit" not in prose  # what it prints, a notebook prints itself
