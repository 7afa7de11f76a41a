"""A comparison as a report: a picture and a page of the library's."""
import base64
import hashlib
import html
import json
import math
import re
import xml.etree.ElementTree as tree

import pytest
import torch
from torch import nn

import mmaudit.torch as mt
from mmaudit.torch._compare import Comparison


def row(layers, **figures):
    return {"products": {}, "layers": layers, "relative_error": 0.1, "kl": 1e-3, "top1": 0.5, "loss": None, **figures}


def comparison(layers, plans, loss=None):
    return Comparison(schema="mmaudit.compare/1", seed=0, loss=loss, layers=layers, plans=plans)


def points(svg):
    """The points of every line."""
    lines = [one.get("d") for one in tree.fromstring(svg).iter() if one.tag.endswith("path") and "curve" in one.get("class", "")]
    return [[tuple(map(float, pair.split())) for pair in re.split("[ML]", one)[1:]] for one in lines]


def test_a_real_comparison_is_drawn_and_written(tmp_path):
    net = nn.Sequential(nn.Linear(32, 48), nn.ReLU(), nn.Linear(48, 16))
    found = mt.compare(net, torch.randn(9, 32), ["bf16", "nvfp4"], loss=lambda y: y.square().mean())
    for end in (".html", ".svg", ".json", ".md", ".txt"):
        found.write(tmp_path / ("c" + end))
    assert json.loads((tmp_path / "c.json").read_text()) == found
    drawn = points((tmp_path / "c.svg").read_text())
    assert [len(one) for one in drawn] == [2, 2] and drawn[0][0][1] > drawn[1][0][1]  # bf16 is below nvfp4
    page = (tmp_path / "c.html").read_text()
    for words in ("bf16 changes the output least", "blackwell", found.date, "Loss - as it is",
                  f"{found['plans']['nvfp4']['relative_error']:.2e}"):
        assert words in page
    assert (tmp_path / "c.txt").read_text() == str(found) + "\n" and "| nvfp4 |" in (tmp_path / "c.md").read_text()
    assert html.escape(page) in found._repr_html_()
    with pytest.raises(ValueError, match="path: found 'c.png', allowed: names that end in .html, .svg, .json"):
        found.write("c.png")


def test_numbers_that_json_lacks_are_null(tmp_path):
    net, x = nn.Linear(32, 16), torch.randn(9, 32)
    x[0, 0] = math.nan
    found = mt.compare(net, x, {"p": {"default": "bf16", "estimate": {"output_error": 0, "limit": 0.5}}},
                       loss=lambda y: y.sum() * 0 + math.inf)
    found.write(tmp_path / "c.json")

    def refuse(name):
        raise AssertionError(name)

    stored = json.loads((tmp_path / "c.json").read_text(), parse_constant=refuse)
    row = stored["plans"]["p"]
    assert row["relative_error"] is None and row["layers"] == {"": None} and stored["loss"] is None
    assert row["limit"] == 0.5 and row["exceeds_limit"] is True and set(stored) == set(found)
    assert "p: the output's error is not a number" in str(found) and '<div class="verdict bad"' in found.html()


def test_the_height_of_a_point_is_its_error():
    [line] = points(comparison(["a", "b", "c"], {"p": row({"a": 1e-4, "b": 1e-2, "c": 1e-3})}).svg())
    (x0, y0), (x1, y1), (x2, y2) = line
    assert x0 < x1 < x2 and math.isclose(y0 - y2, y2 - y1, abs_tol=0.2) and y0 > y2 > y1


def test_the_page_loads_nothing_and_admits_its_style_and_script_alone():
    page = comparison(["a"], {"p": row({"a": 0.1})}).html()
    for tag, source in (("style", "style-src"), ("script", "script-src")):
        [inside] = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.S)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{source} 'sha256-{digest}'" in page
    assert "default-src 'none'" in page
    assert not re.search(r"<link|<img|\ssrc=|\sstyle=|url\(|\son\w+=|https?://", page)


def test_names_are_text():
    bad = "<script>alert('&\"')</script>\n\x1b\ud800"
    found = comparison([bad], {bad: row({bad: 0.1})})
    for text in (found.svg(), found.html()):
        assert "<script>alert" not in text and "\x1b" not in text and "&lt;script&gt;" in text
    assert "alert" in "".join(tree.fromstring(found.svg()).itertext())


@pytest.mark.parametrize("layers,plans", [
    (["a", "b", "c"], {"p": row({"a": 0.0, "b": 0.1}), "q": row({"c": math.inf, "a": math.nan})}),
    ([f"l{i}" for i in range(700)], {"p": row({f"l{i}": 0.1 for i in range(700)})}),
    (["a"], {f"p{i}": row({"a": 10.0**-i}) for i in range(30)}),
])
def test_what_can_not_be_drawn_is_left_out(layers, plans):
    found = comparison(layers, plans)
    text = found.svg()
    tree.fromstring(text)
    assert not re.search(r"\"[^\"]*(nan|inf)[^\"]*\"", text) and found.html().endswith("</html>\n")
    assert sum(map(len, points(text))) == sum(
        1 for one in plans.values() for value in one["layers"].values() if math.isfinite(value) and value > 0)


@pytest.mark.parametrize("plans", [{}, {"p": row({})}, {"p": row({"a": 0.0})}])
def test_without_a_figure_there_is_still_a_page(plans):
    found = comparison(["a"], plans)
    assert found.html().endswith("</html>\n") and "<svg" not in found.html()
    with pytest.raises(ValueError, match="format: found svg, allowed: a format for a report without figures"):
        found.svg()


def test_layers_sort_as_people_count():
    from mmaudit import _report
    assert sorted(["l.10.a", "l.2.a", "l.1", "a", "l.0"], key=_report.natural) == ["a", "l.0", "l.1", "l.2.a", "l.10.a"]
