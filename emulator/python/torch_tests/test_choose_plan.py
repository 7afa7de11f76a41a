"""From a module to a page: choose_plan(), and the block of docs/torch.md as a user pastes it."""
import json
import os
import re
from pathlib import Path

import pytest
import torch
from torch import nn

import mmaudit.torch as mt

ROOT = Path(__file__).resolve().parents[3]
needs_tool = pytest.mark.skipif("MMAUDIT_TOOL" not in os.environ, reason="MMAUDIT_TOOL names no mmaudit")


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.attention = nn.LayerNorm(width), nn.MultiheadAttention(width, 4, batch_first=True)
        self.mlp = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        y = self.norm(x)
        x = x + self.attention(y, y, y, need_weights=False, is_causal=True,
                               attn_mask=nn.Transformer.generate_square_subsequent_mask(x.shape[1]))[0]
        return x + self.mlp(x)


class Gpt(nn.Module):
    def __init__(self, words=61, width=64, blocks=2):
        super().__init__()
        self.embed, self.head = nn.Embedding(words, width), nn.Linear(width, words, bias=False)
        self.blocks = nn.Sequential(*(Block(width) for _ in range(blocks)))
        self.head.weight = self.embed.weight  # tied

    def forward(self, tokens):
        return self.head(self.blocks(self.embed(tokens)))


def gpt():
    return Gpt().eval(), torch.randint(0, 61, (2, 24))


def encoder():
    layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval(), torch.randn(2, 24, 64)


def pasted(page):
    """The block of Python that chooses a plan."""
    [block] = [one for one in re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.S)
               if "choose_plan" in one]
    return block


@needs_tool
@pytest.mark.parametrize("network", [gpt, encoder])
def test_the_block_runs_as_it_is_pasted(network, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    model, tokens = network()
    names = {"model": model, "tokens": tokens}
    exec(compile(pasted("docs/torch.md"), "torch.md", "exec"), names)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["net.html", "plan.json"]
    plan, printed, page = mt.Plan.of("plan.json", model), capsys.readouterr().out, Path("net.html").read_text()
    printed = printed.replace("\n    ", " ")  # of one line each
    measured = mt.compare(model, tokens, {"p": plan})["plans"]["p"]
    assert measured["relative_error"] <= 0.12 and measured["exceeds_limit"] is False
    assert {"nvf4"} <= {recipe.dtype for _, recipe in plan.layers if recipe is not None} <= {"nvf4", "mxf8"}
    for one, recipe in plan.layers:
        assert re.search(rf"^  - {recipe.dtype if recipe else 'kept'}, .*\b{re.escape(one)}\b", printed, re.M), printed
    for layer, dtype in measured["dtypes"].items():
        assert f"<td>{dtype}  {measured['layers'][layer]:.2e}</td>" in page
    with mt.emulate(model, "plan.json") as emulation:
        model(tokens)
    assert emulation.products["emulated"] > 0 and not emulation.unmatched


@needs_tool
def test_the_page_of_the_audit_and_names_of_arguments(tmp_path):
    model, tokens = gpt()
    found = mt.choose_plan(model, tokens, max_output_error=0.3, dtype=["nvf4"], policy="plain", html=tmp_path / "a.html",
                           seed=3)
    assert (tmp_path / "a.html").stat().st_size > 1000 and found.limit == 0.3
    assert found == mt.choose_plan(model, tokens, max_output_error=0.3, dtype="nvf4", policy="plain", seed=3)
    found.plan.write(tmp_path / "p.json")
    assert mt.Plan.of(tmp_path / "p.json") == found.plan and json.loads((tmp_path / "p.json").read_text())


@needs_tool
def test_what_nothing_satisfies_is_kept():
    model, tokens = gpt()
    found = mt.choose_plan(model, tokens, max_output_error=1e-6, dtype="nvf4")
    assert all(recipe is None for _, recipe in found.plan.layers)
    assert f"  - kept, {len(found.by_name)} of {len(found.by_name)} layers, 100.0% of multiply-adds: " in str(found)


@needs_tool
@pytest.mark.parametrize("line,how", [
    ("max_output_error: found 0, allowed: a number above 0", {"max_output_error": 0}),
    ("max_output_error: found -1, allowed: a number above 0", {"max_output_error": -1}),
    ("max_output_error: found nan, allowed: a number above 0", {"max_output_error": float("nan")}),
    ("max_output_error: found '12%', allowed: a number", {"max_output_error": "12%"}),
    ("module: found a str, allowed: an nn.Module", {"module": "gpt"}),
    ("html: found no folder", {"html": "nowhere/net.html"}),
    ('arch: found "b201"', {"arch": "b201"}),
    ("dtype: found nvf5", {"dtype": "nvf5"}),
    ("seed: found 'x', allowed: a whole number", {"seed": "x"}),
])
def test_what_can_not_be_chosen_from_is_refused_in_one_line(line, how):
    model, tokens = gpt()
    given = {"module": model, "batch": tokens, "max_output_error": 0.1, **how}
    with pytest.raises(ValueError, match="^" + re.escape(line)) as refused:
        mt.choose_plan(given.pop("module"), given.pop("batch"), **given)
    assert "\n" not in str(refused.value)


def test_without_the_program(monkeypatch, tmp_path):
    monkeypatch.delenv("MMAUDIT_TOOL", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    model, tokens = gpt()
    with pytest.raises(RuntimeError, match=r"^mmaudit: found no program of this name, allowed: one on PATH \(./run install\), "
                                           r"or \$MMAUDIT_TOOL$"):
        mt.choose_plan(model, tokens, max_output_error=0.1)
    monkeypatch.setenv("MMAUDIT_TOOL", str(tmp_path / "none"))
    with pytest.raises(RuntimeError, match=r"^mmaudit: found no program .*none.*, allowed: .* as \$MMAUDIT_TOOL$") as found:
        mt.choose_plan(model, tokens, max_output_error=0.1)
    assert "\n" not in str(found.value)
