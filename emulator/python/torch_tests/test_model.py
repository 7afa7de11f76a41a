"""mmaudit.model(): the program's answer about a checkpoint as a result of Python."""
import json
import os
import sys

import checkpoints
import pytest

import mmaudit
import mmaudit.torch as mt


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("model")
    checkpoints.write(path, "llama", "ct-nvfp4")
    return path


def test_what_is_there(folder):
    found = mmaudit.model(folder, audit=False)
    assert found["schema"] == "mmaudit.checkpoint/1" and found.plan is None and found.passes
    names = [one["name"] for one in found.layers]
    assert names[1] == "model.layers.0.self_attn.q_proj" and names[-1] == "lm_head" and len(names) == 16
    assert {one["recipe"] for one in found.layers[1:-1]} == {"nvfp4-compressed-tensors"}
    assert "14 of them quantized by compressed-tensors" in str(found)


def test_audit(folder, tmp_path):
    how = {"layers": "*.mlp.*", "activations": "normal"}  # within the static scales of the file
    found = mmaudit.model(folder, **how, max_rel_fro=0.3, threads=1)
    assert found["schema"] == "mmaudit.model/1" and found.passes and "are within the limit" in found.text()
    assert not mmaudit.model(folder, **how, max_rel_fro=1e-3).passes
    assert "<html" in found.html() and "<iframe" in found._repr_html_() and json.loads(found.json()) == found
    found.write(tmp_path / "model.md")
    assert (tmp_path / "model.md").read_text() == found.markdown()
    net = mt.load(folder, "b200")
    assert {name for name, _ in mt.Plan.of(found.plan, net).layers} == {
        f"model.layers.{at}.mlp.{one}_proj" for at in range(2) for one in ("gate", "up", "down")}


TALKS = """#!/bin/sh
echo $$ >"$(dirname "$0")/pid"
echo "model: 1 of 9" >&2
exec sleep 60
"""


def test_progress_is_shown_as_it_comes_and_an_interrupt_ends_the_program(folder, tmp_path, monkeypatch):
    """With a program that says a line and goes on: what is raised while it runs is Ctrl-C."""
    tool, seen = tmp_path / "tool", []
    tool.write_text(TALKS)
    tool.chmod(0o755)
    monkeypatch.setenv("MMAUDIT_TOOL", str(tool))

    def interrupted(line):
        seen.append(line)
        raise KeyboardInterrupt
    monkeypatch.setattr(sys.stderr, "write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        mmaudit.model(folder, progress=True)
    assert seen == ["model: 1 of 9\n"]
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


@pytest.mark.parametrize("given,line", [
    ({"path": "/nowhere"}, "path: found nothing at '/nowhere', allowed: a folder"),
    ({"path": "~/no\nwhere"}, "path: found nothing at '/"), ({"original": "/nowhere"}, "original: found nothing at "),
    ({"recipe": [1]}, "recipe: found 1, "), ({"convention": "mine"}, "convention: found mine, allowed: "),
    ({"audit": False, "max_rel_fro": 0.1}, "audit=False: found with original, max_rel_fro")])
def test_refusals_are_in_the_names_of_arguments(folder, given, line):
    with pytest.raises(ValueError) as error:
        mmaudit.model(**{"path": folder, **given})
    assert str(error.value).startswith(line) and "\n" not in str(error.value)
