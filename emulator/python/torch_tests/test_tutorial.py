"""docs/tutorial.md as a reader runs it, top to bottom, in one folder; and the notebook that is made of it."""
import contextlib
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT / "docs" / "site"))
import notebook  # noqa: E402

PAGE = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")


def matches(printed, shown):
    """A line "..." of the page stands for any lines, "..." inside a line for any text."""
    lines = ["(?:.*\n)*" if line == "..." else re.escape(line).replace(r"\.\.\.", ".*") + "\n" for line in shown.splitlines()]
    return re.fullmatch("".join(lines), printed.rstrip("\n") + "\n") is not None


@pytest.mark.skipif("MMAUDIT_TOOL" not in os.environ, reason="MMAUDIT_TOOL names no mmaudit")
def test_every_step(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "mmaudit").symlink_to(os.path.abspath(os.environ["MMAUDIT_TOOL"]))
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    names, printed, compared = {"__name__": "__main__"}, "", 0
    for language, block in notebook.blocks(PAGE):
        if language == "python":
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(block, "tutorial.md", "exec"), names)
            printed = out.getvalue()
        elif language == "sh":
            done = subprocess.run(["bash", "-c", block], capture_output=True, text=True)
            assert done.returncode == 0, f"{block}{done.stderr}"
            printed = done.stdout
        elif language == "text":
            compared += 1
            assert matches(printed, block), f"shown:\n{block}\nprinted:\n{printed}"
    assert compared == 9
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "bin", "choice.html", "compare.html", "plan.json", "quantization.json", "tiny"]


def test_matches_tells_apart():
    assert matches("a\nb 12\nc\n", "...\nb ...\nc\n") and matches("", "...\n")
    assert not matches("a\nb\n", "a\n") and not matches("ab\n", "b\n") and not matches("a\nc\n", "a\nb ...\n")


def test_the_notebook_holds_the_page():
    made = json.loads(notebook.notebook(PAGE))
    code = ["".join(cell["source"]) for cell in made["cells"] if cell["cell_type"] == "code"]
    assert made["nbformat"] == 4 and all(cell["id"] for cell in made["cells"])
    assert code[0].startswith("import json, os") and "!mmaudit model tiny --list" in code
    assert len(code) == len(re.findall(r"^```(?:python|sh)$", PAGE, re.M))
    prose = "\n".join("".join(cell["source"]) for cell in made["cells"] if cell["cell_type"] == "markdown")
    assert "## 4. Choosing" in prose and "exceeds the limit" not in prose  # what it prints, a notebook prints itself
