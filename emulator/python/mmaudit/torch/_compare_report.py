"""A comparison as a report: which plan to use, the output under every plan, every layer."""
import math
from typing import Any, Dict, List, Mapping, Optional

from .. import _report
from . import _sharded


def _number(value: Optional[float], form: str) -> str:
    return "-" if value is None else format(value, form)


def _cell(row: Mapping[str, Any], layer: str) -> str:
    """The error of a layer's output under a plan and, where the plan's layers differ or were chosen by their errors, in
    what it is computed."""
    dtypes = row.get("dtypes", {})
    error = _number(row["layers"].get(layer), ".2e")
    return f"{dtypes[layer]}  {error}" if _chosen(row) else error


def _chosen(row: Mapping[str, Any]) -> bool:
    dtypes = row.get("dtypes", {})
    return len(set(dtypes.values())) > 1 or bool(dtypes and row.get("estimated_error") is not None)


#: What limits of a plan are on. "": the error of the output, which every plan has.
LIMITED = {"max_output_error": "", "max_kl": "KL ", "max_loss_increase": "loss - as it is ", "min_top1": "same largest logit "}


def _remarks(plans: Mapping[str, Any]) -> List[str]:
    """A line for every plan with a limit: whether what was measured is within it."""
    lines = []
    for name, row in plans.items():
        field, value = row.get("limit_field", "max_output_error"), row.get("limit_value", row["relative_error"])
        if row.get("limit") is not None and value is None:
            lines.append(f"{name}: its limit, {field}={row['limit']:g}, is not measured here")
        elif row.get("limit") is not None:
            lines.append(f"{name}: measured {LIMITED[field]}{value:.1e} {'exceeds' if row['exceeds_limit'] else 'is within'} the "
                         f"limit {row['limit']:.1e}")
    return lines


def _warnings(plans: Mapping[str, Any]) -> List[str]:
    """Operators that are not emulated, keys that decided on no product, and outputs that are no numbers."""
    missed: Dict[str, List[str]] = {}
    for name, row in plans.items():
        missed.setdefault(row.get("coverage", {}).get("line", ""), []).append(name)
    lines = [f"{'every plan' if len(names) == len(plans) else ', '.join(names)}: {line}"
             for line, names in missed.items() if line]
    lines += [f"{name}: {', '.join(map(repr, row['unmatched']))} decided on no product"
             for name, row in plans.items() if row.get("unmatched")]
    lines += [_sharded.told(row["all_reduced"]) for row in plans.values() if row.get("all_reduced")][:1]
    return lines + [f"{name}: the output's error is not a number" for name, row in plans.items()
                    if not math.isfinite(row["relative_error"])]


def _shown(layer: str, layers: List[str]) -> str:
    """The module itself has no name, and a child may be called "module"."""
    return layer or ("(module)" if "module" in layers else "module")


def _missed(plans: Mapping[str, Any]) -> float:
    """The largest share of multiply-adds that a plan leaves alone because there is no rule for them."""
    return max((row.get("coverage", {}).get("share_missed", 0.0) for row in plans.values()), default=0.0)


def _verdict(plans: Mapping[str, Any]) -> Dict[str, str]:
    """The headline and its tone: which plan to use, and on how much of the module that rests."""
    found, missed = _best(plans), _missed(plans)
    if missed <= 0.01:
        return found
    return {"headline": f"{found['headline']} {missed:.1%} of the multiply-adds are not emulated and not in these errors.",
            "tone": "plain" if found["tone"] == "good" else found["tone"]}


def _best(plans: Mapping[str, Any]) -> Dict[str, str]:
    limited = {name: row for name, row in plans.items() if row.get("exceeds_limit") is not None}
    within = [name for name, row in limited.items() if not row["exceeds_limit"]]
    if within:
        found = " or ".join(f"{name} ({LIMITED[row.get('limit_field', 'max_output_error')] or 'relative error of the output '}"
                            f"{row.get('limit_value', row['relative_error']):.2e}, limit {row['limit']:.2g})"
                            for name, row in plans.items() if name in within)
        return {"headline": f"Use {found}.", "tone": "good"}
    finite = {name: row["relative_error"] for name, row in plans.items() if math.isfinite(row["relative_error"])}
    if limited:
        looks = "tighten()" if any(row.get("estimated_error") is not None for row in limited.values()) else "choose_plan()"
        return {"headline": f"No plan is within its limit: {looks} looks for one that is.", "tone": "bad"}
    if not finite:
        return {"headline": "No plan gives an output that is a number.", "tone": "bad"}
    least = min(finite, key=lambda name: finite[name])
    return {"headline": f"{least} changes the output least: relative error {finite[least]:.2e}. No plan has a limit, so "
                        "nothing is judged.", "tone": "plain"}


def _output(found: Mapping[str, Any]) -> Dict[str, Any]:
    plans: Dict[str, Any] = found["plans"]
    columns = ["Plan", "GPU", "Relative error", "Estimated", "KL, nats", "Same largest logit", "Loss", "Loss - as it is"]
    rows = []
    for name, row in plans.items():
        tone = "plain" if row.get("exceeds_limit") is None else "bad" if row["exceeds_limit"] else "good"
        rows.append([name, ", ".join(row.get("architectures", [])) or "-",
                     _report.cell(_number(row["relative_error"], ".2e"), tone),
                     _number(row.get("estimated_error"), ".2e"), _number(row["kl"], ".2e"), _number(row["top1"], ".2%"),
                     _number(row["loss"], ".4f"),
                     _number(None if found["loss"] is None else row["loss"] - found["loss"], "+.5f")])
    said = [at for at, column in enumerate(columns)
            if column not in ("Estimated", "GPU", "KL, nats", "Same largest logit", "Loss", "Loss - as it is")
            or any(row[at] != "-" for row in rows)]
    table = _report.table([columns[at] for at in said], [[row[at] for at in said] for row in rows], columns[2:])
    notes = [] if found["loss"] is None else [f"Loss of the module as it is: {found['loss']:.4f}"]
    return {"title": "The output", "tables": [table], "notes": notes + _remarks(plans)}


def _layers(found: Mapping[str, Any]) -> Dict[str, Any]:
    plans: Dict[str, Any] = found["plans"]
    names = [_shown(layer, found["layers"]) for layer in found["layers"]]
    title = "Relative error of every layer's output"
    lines = {name: [row["layers"].get(layer) for layer in found["layers"]] for name, row in plans.items()}
    for row in plans.values():
        if row.get("limit") is not None and LIMITED.get(row.get("limit_field", "max_output_error")) == "":  # of the error of the output
            lines[f"limit of the output, {row['limit']:.2g}"] = [row["limit"]] * len(names)
    figure = _report.curves(title, "layers, in the order in which they run", names, lines)
    for line in figure["curves"][len(plans):]:
        line["hollow"] = True
    rows = [[name, *(_cell(row, layer) for row in plans.values())] for name, layer in zip(names, found["layers"])]
    numbers = [name for name, row in plans.items() if not _chosen(row)]
    return {"title": title, "layout": "wide", "figures": [figure], "tables": [_report.table(["Layer", *plans], rows, numbers)]}


def _coverage(plans: Mapping[str, Any]) -> List[Dict[str, Any]]:
    rows = []
    for name, row in plans.items():
        of = row.get("coverage")
        if of is None:
            return []
        total = max(1, of["emulated"] + of["kept"] + of["not_emulated"])
        rows.append([name, *(f"{of[state] / total:.1%}" for state in ("emulated", "kept", "not_emulated"))])
    columns = ["Plan", "Emulated", "Kept by the plan", "Not emulated"]
    return [{"title": "Multiply-adds", "tables": [_report.table(columns, rows, columns[1:])]}] if rows else []


def report(found: Mapping[str, Any], date: str) -> Dict[str, Any]:
    """What mmaudit.torch.compare() gives, as mmaudit.report/1."""
    plans: Dict[str, Any] = found["plans"]
    where = sorted({arch for row in plans.values() for arch in row.get("architectures", [])})
    lead = ["One batch went through the module as it is and under every plan. Errors are relative to the module as it is."]
    if found.get("measured"):
        lead.append(f"Of the output one tensor is compared: {found['measured']}.")
    if where:
        lead.append(f"Bits of the GPU architecture{'' if len(where) == 1 else 's'} {', '.join(where)}.")
    return {"title": "A module under several plans", **_verdict(plans), "lead": lead, "warnings": _warnings(plans),
            "sections": [_output(found), *_coverage(plans), _layers(found)],
            "provenance": {"date": date, "command": ["mmaudit.torch.compare"]}}
