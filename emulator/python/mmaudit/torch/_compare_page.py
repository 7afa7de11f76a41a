"""A comparison as a picture and as a page: one file each, that load nothing and run nothing."""
import hashlib
import math
from base64 import b64encode
from html import escape
from typing import Any, Dict, List, Mapping, Optional, Tuple

_COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f"]
_STYLE = """body{font:15px/1.5 system-ui,sans-serif;margin:2em auto;max-width:64em;padding:0 1em;color:#111;
background:#fff}table{border-collapse:collapse;margin:1em 0}
th,td{padding:.2em .8em;border-bottom:1px solid #ccc;text-align:right}
th:first-child,td:first-child{text-align:left;overflow-wrap:anywhere}
.wide{overflow-x:auto}svg{max-width:100%;height:auto}
@media(prefers-color-scheme:dark){body{color:#eee;background:#161616}th,td{border-color:#444}}"""

_LEFT, _RIGHT, _TOP, _BOTTOM, _WIDTH = 64, 520, 20, 320, 760
_MOST_MARKS = 600  #: marks with a text to hover over; lines have every point


def _text(name: Any) -> str:
    """A name from anywhere as markup: no tags, no quotes, no control characters."""
    return escape("".join(one if one.isprintable() else "\ufffd" for one in str(name)))


def _number(value: Optional[float], form: str) -> str:
    return "-" if value is None else format(value, form)


def cell(row: Mapping[str, Any], layer: str) -> str:
    """The error of a layer's output under a plan and, where the plan's layers differ or were chosen by their errors, in
    what it is computed."""
    dtypes = row.get("dtypes", {})
    error = _number(row["layers"].get(layer), ".2e")
    chosen = len(set(dtypes.values())) > 1 or (dtypes and row.get("estimated_error") is not None)
    return f"{dtypes[layer]}  {error}" if chosen else error


def remarks(found: Mapping[str, Any]) -> List[str]:
    """A line for every plan with a limit on the error of the output: whether what was measured is within it; and one
    for every plan with keys that decided on no product."""
    lines = [f"{name}: measured {row['relative_error']:.1e} {'exceeds' if row['exceeds_limit'] else 'is within'} the "
             f"limit {row['limit']:.1e}" for name, row in found["plans"].items() if row.get("limit") is not None]
    return lines + [f"{name}: {', '.join(map(repr, row['unmatched']))} decided on no product"
                    for name, row in found["plans"].items() if row.get("unmatched")]


def _shown(layer: str, layers: List[str]) -> str:
    """The module itself has no name, and a child may be called "module"."""
    return layer or ("(module)" if "module" in layers else "module")


def _decades(values: List[float]) -> Tuple[int, int]:
    if not values:
        return -4, 0
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def _segments(points: List[Optional[Tuple[float, float]]]) -> List[List[Tuple[float, float]]]:
    """Runs of points without a gap."""
    out: List[List[Tuple[float, float]]] = [[]]
    for point in points:
        if point is None:
            out.append([])
        else:
            out[-1].append(point)
    return [one for one in out if one]


def svg(found: Mapping[str, Any]) -> str:
    """Errors of layers in the order in which they run, on a logarithmic axis, a line per plan. What is not drawn:
    errors of 0, of layers that a plan did not reach, and those that are not finite."""
    layers: List[str] = found["layers"]
    plans: Dict[str, Any] = found["plans"]

    def drawn(value: Optional[float]) -> bool:
        return value is not None and math.isfinite(value) and value > 0

    low, high = _decades([one for row in plans.values() for one in row["layers"].values() if drawn(one)])

    def place(index: int, value: float) -> Tuple[float, float]:
        x = _LEFT + (_RIGHT - _LEFT) * (index + 0.5) / max(len(layers), 1)
        return x, _BOTTOM - (_BOTTOM - _TOP) * (math.log10(value) - low) / (high - low)

    height = max(_BOTTOM + 44, _TOP + 20 * len(plans) + 20)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" '
             'font-size="12" role="img">', "<title>Relative error of every layer's output, by plan</title>",
             f'<rect width="{_WIDTH}" height="{height}" fill="#fff"/>']
    step = max(1, (high - low) // 8)
    for exponent in range(low, high + 1, step):
        y = place(0, 10.0**exponent)[1]
        parts.append(f'<line x1="{_LEFT}" x2="{_RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
                     f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">1e{exponent}</text>')
    marked = len(layers) * len(plans) <= _MOST_MARKS
    for index, (name, row) in enumerate(plans.items()):
        colour, dash = _COLOURS[index % len(_COLOURS)], index // len(_COLOURS)
        pen = f'stroke="{colour}" stroke-width="1.5" fill="none"'
        pen += f' stroke-dasharray="{6 / dash:.1f} 3"' if dash else ""
        values = [row["layers"].get(layer) for layer in layers]
        points = [place(i, value) if drawn(value) else None for i, value in enumerate(values)]
        for run in _segments(points):
            line = " ".join(f"{x:.1f},{y:.1f}" for x, y in run)
            parts.append(f'<polyline points="{line}" {pen}/>')
        for layer, value, point in zip(layers, values, points):
            if point is not None and marked:
                parts.append(f'<circle cx="{point[0]:.1f}" cy="{point[1]:.1f}" r="2.5" fill="{colour}"><title>'
                             f'{_text(_shown(layer, layers))}, {_text(name)}: {value:.2e}</title></circle>')
        y = _TOP + 20 * index + 10
        shown = name if len(name) <= 28 else name[:27] + "\u2026"
        parts.append(f'<line x1="{_RIGHT + 12}" x2="{_RIGHT + 36}" y1="{y}" y2="{y}" {pen}/>'
                     f'<text x="{_RIGHT + 42}" y="{y + 4}">{_text(shown)}</text>')
    for x, words, anchor in ((_LEFT, "first layer", "start"), (_RIGHT, "last layer", "end")) if layers else ():
        parts.append(f'<text x="{x}" y="{_BOTTOM + 18}" text-anchor="{anchor}">{words}</text>')
    parts.append(f'<text x="{(_LEFT + _RIGHT) / 2}" y="{_BOTTOM + 36}" text-anchor="middle">'
                 f'{len(layers)} layers, in the order in which they run</text></svg>')
    return "\n".join(parts) + "\n"


def _table(head: List[str], rows: List[List[str]]) -> str:
    cells = "".join(f"<th>{_text(one)}</th>" for one in head)
    lines = "".join("<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in row) + "</tr>\n" for row in rows)
    return f'<div class="wide"><table><tr>{cells}</tr>\n{lines}</table></div>'


def html(found: Mapping[str, Any]) -> str:
    """The picture and both tables. The style is admitted by its digest; nothing else is."""
    plans: Dict[str, Any] = found["plans"]
    estimated = any(row.get("estimated_error") is not None for row in plans.values())
    head = ["plan", "relative error"] + (["estimated"] if estimated else []) + ["KL, nats", "same largest logit"]
    head += ["loss", "loss - as it is"] if found["loss"] is not None else []
    rows = []
    for name, row in plans.items():
        cells = [name, _number(row["relative_error"], ".2e")]
        cells += [_number(row.get("estimated_error"), ".2e")] if estimated else []
        cells += [_number(row["kl"], ".2e"), _number(row["top1"], ".2%")]
        if found["loss"] is not None:
            cells += [_number(row["loss"], ".4f"), _number(row["loss"] - found["loss"], "+.5f")]
        rows.append(cells)
    layers = [[_shown(layer, found["layers"]), *(cell(row, layer) for row in plans.values())]
              for layer in found["layers"]]
    digest = b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    return "\n".join([
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"/>',
        f"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-{digest}'; "
        "base-uri 'none'; form-action 'none'\"/>",
        '<meta name="viewport" content="width=device-width"/><title>A module under several plans</title>',
        f"<style>{_STYLE}</style></head><body><h1>A module under several plans</h1>",
        "<p>One batch through the module as it is and under every plan, with the bits of the GPU that the plan names. "
        "Errors are relative, against the module as it is.</p>",
        "<h2>The output</h2>", _table(head, rows), *(f"<p>{_text(one)}</p>" for one in remarks(found)),
        "<h2>Every layer</h2>", svg(found), _table(["layer", *plans], layers),
        "</body></html>", ""])
