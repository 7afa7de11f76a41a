"""Results that are dictionaries, as the command line's JSON is, and that a notebook shows as a table."""
import html
import json
from typing import Any, Dict, Iterable, List, Sequence

from . import _report


def _table(caption: str, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """An HTML table. Every text in it is escaped: names of files and architectures come from outside."""
    def cells(tag: str, row: Sequence[Any]) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(str(cell))}</{tag}>" for cell in row) + "</tr>"

    return (
        f"<table><caption>{html.escape(caption)}</caption><thead>{cells('th', head)}</thead><tbody>"
        + "".join(cells("td", row) for row in rows) + "</tbody></table>"
    )


def _number(part: Dict[str, Any]) -> str:
    return f"{part['value']:g}" if part["significand"] else "0"


def _named(one: Dict[str, Any]) -> List[str]:
    if one["k"] < 0:
        return ["c", f"0x{one['addend']}"]
    if "count" in one:
        return [f"k = {one['k']} ... {one['k'] + one['count'] - 1}", ""]
    return [f"k = {one['k']}", f"0x{one['a']} * 0x{one['b']}"]


def _addend(one: Dict[str, Any], largest: int) -> List[str]:
    exponent = f"{one['exponent']}" if one["exact"]["significand"] else "-"
    if one["in_maximum"] and one["exponent"] == largest:
        exponent += " (largest)"
    return [*_named(one), _number(one["exact"]), exponent, _number(one["kept"]), _number(one["lost"])]


class Trace(Dict[str, Any]):
    """What explain() gives: the dictionary of ``mmaudit explain --json``. A notebook shows a table per step."""

    def _repr_html_(self) -> str:
        trace, blocks = self["trace"], []
        for number, step in enumerate(trace.get("steps", []), 1):
            caption = f"Step {number}: aligned to 2^{step['maximum']}"
            if step["special"]:
                head: Sequence[str] = ("addend", "bits")
                rows = [_named(one) for one in step["addends"]]
                caption = f"Step {number}: a NaN or an infinity decides; 0x{step['result']}"
            else:
                head = ("addend", "bits", "value", "exponent", "kept", "lost")
                rows = [_addend(one, step["maximum"]) for one in step["addends"] if one["exact"]["significand"] or one["k"] < 0]
                caption += ", where the floor decides" if step["floor_decided"] else ""
                caption += f"; sum {_number(step['sum'])}, rounded to 0x{step['result']}"
            blocks.append(_table(caption, head, rows))
        for name, caption in (("fmas", "One fused multiply-add after another"), ("products", "Integer products")):
            if name in trace:
                keys = [key for key in trace[name][0] if key != "clamped"] if trace[name] else []
                blocks.append(_table(caption, keys, ([one[key] for key in keys] for one in trace[name])))
        for number, stage in enumerate(trace.get("stages", []), 1):
            terms = [one for one in stage["products"] if one["product"] != 0]
            keys = ["k", "a", "b", "product", "taken"]
            caption = f"Step {number}: from 0x{stage['before']} to 0x{stage['after']}"
            blocks.append(_table(caption, keys, ([one[key] for key in keys] for one in terms)))
        title = f"{self['instruction']} by the {self['architecture']} model: c = 0x{trace['c']}, d = 0x{trace['d']}"
        return f"<div><p>{html.escape(title)}</p>{''.join(blocks)}</div>"


class Audit(_report.Drawn, Dict[str, Any]):
    """What audit() gives: the dictionary of ``mmaudit audit --a --b --json``, shown as a report."""

    @property
    def passes(self) -> bool:
        """Every combination stays within the limit; False without a limit. For one of them look at rows."""
        return bool(self["passes"])

    @property
    def rows(self) -> List[Dict[str, Any]]:
        """A dictionary per combination: dtype, scaling, accumulation, relative_frobenius, verdict, why, advice."""
        return list(self["rows"])

    def __repr__(self) -> str:
        return self.text()

    def json(self) -> str:
        return json.dumps(self, indent=1) + "\n"

    def report(self) -> Dict[str, Any]:
        tones = {"PASS": "good", "FAIL": "bad"}
        head = ("GPU", "Type", "Scale", "Policy", "Error", "Quantization", "Accumulation", "Output", "Verdict", "Why")
        rows = [[one["architecture"], one["dtype"], one["scaling"], one["accumulation"],
                 *(self._error(one, part) for part in ("total", "quantization", "accumulation", "output")),
                 _report.cell(one["verdict"], tones.get(one["verdict"], "note" if one["verdict"] else "plain")), one["why"]]
                for one in self.rows]
        used = str(self["headline"]).lower().startswith("use ")
        limit = "" if self["limit"] is None else f", limit {self['limit']:g}"
        origin = self.get("provenance", {})
        return {
            "title": "Error of A B by data type", "headline": self["headline"],
            "tone": "good" if used else "note" if self["limit"] is None else "bad",
            "sections": [{"title": f"D ({self['m']} x {self['n']}) = A B, K = {self['k']}: relative error{limit}",
                          "tables": [_report.table(head, rows, head[4:8])]}],
            "provenance": {"date": str(origin.get("date", "")), "command": ["mmaudit.audit"]}}

    @staticmethod
    def _error(one: Dict[str, Any], part: str) -> str:
        value = (one["relative_frobenius"] or {}).get(part)
        return "-" if value is None else f"{value:.2e}"


class SliceAudit(Audit):
    """What audit() of f64 or f32 gives. A row per scheme: scheme, instruction, evidence, source, products, errors."""

    @property
    def passes(self) -> bool:
        """Some scheme is within the limits; "use" names the one with the fewest products."""
        return bool(self["use"])

    def report(self) -> Dict[str, Any]:
        head = ("Scheme", "Instruction", "Products", "Norm", "Element", "Lost", "Verdict")
        rows = [[one["scheme"], one["instruction"], str(one["products"]), *self._errors(one["errors"]),
                 _report.cell("use", "good") if one["scheme"] == self["use"]
                 else "binary64 itself" if one["falls_back"] else ""] for one in self.rows]
        rows.append([f"{self['format']} itself", "a chain of fma", "1", *self._errors(self["native"]), ""])
        m, n, k = self["shape"]
        return {
            "title": f"Slices for {self['format']}", "headline": self["headline"], "tone": "good" if self.passes else "bad",
            "sections": [{"title": f"D ({m} x {n}) = A B, K = {k}: {self['elements']} elements",
                          "tables": [_report.table(head, rows, head[2:6])], "lines": list(self["refused"])}],
            "provenance": {"date": str(self.get("provenance", {}).get("date", "")), "command": ["mmaudit.audit"]}}

    @staticmethod
    def _errors(one: Dict[str, Any]) -> List[str]:
        return [*("inf" if one[name] is None else f"{one[name]:.2e}" for name in ("norm", "element")), str(one["lost"])]
