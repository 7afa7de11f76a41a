"""luo.py's results as Markdown, beside what Luo et al. say."""
from typing import Any, Dict, List

Rows = List[Dict[str, Any]]


def table(head: str, rows: List[List[str]]) -> List[str]:
    count = head.count("|") + 1
    return [f"| {head} |", "|" + "---|" + "--:|" * (count - 1), *("| " + " | ".join(one) + " |" for one in rows), ""]


def with_spread(one: Dict[str, Any]) -> str:
    return f"{one['ms']:.4g} ({one['low']:.4g} to {one['high']:.4g})"


def judged(parts: Dict[str, Rows]) -> List[str]:
    """What the paper says in words, beside what was found."""
    lines = []
    if parts.get("steps"):
        shares = [one["share"]["amax"] + one["share"]["cast"] for one in parts["steps"]]
        lines.append("FP8 linear layer, the share of amax and cast falls with N (Figure 6): " + ", ".join(
            f"{one:.0%}" for one in shares))
    rate = {(one["type"], one["n"]): one["tflops"] for one in parts.get("throughput", [])}
    for n in (8192, 16384):
        if ("FP8", n) in rate:
            said = "gains are evident" if n == 8192 else "almost twice FP16"
            both = [rate[name, n] / rate["FP16", n] for name in ("FP8", "FP8, x cast", "FP8, x and weights cast")]
            lines.append(f"Linear layer, FP8 over FP16 at N = {n} (Figure 7: {said}): {both[0]:.2f} as GEMM alone, "
                         f"{both[1]:.2f} with x cast, {both[2]:.2f} with both cast")
    time_of = {(one["type"], one["hidden"]): one["ms"] for one in parts.get("layer", [])}
    ratios = [f"{hidden}: {time_of['FP16', hidden] / time_of['FP8, weights cast too', hidden]:.2f}"
              for kind, hidden in time_of if kind == "FP8, weights cast too"]
    if ratios:
        lines.append("Transformer layer, FP16's time over FP8's, weights cast too (Figure 8: above 1 only beyond 4096, never 2): " +
                     ", ".join(ratios))
    speed = {(one["model"], one["type"]): one["tokens_per_s"] for one in parts.get("generation", [])}
    gains = [f"{model}: {speed[model, 'FP8'] / speed[model, 'BF16']:.2f}" for model, kind in speed if kind == "FP8"]
    if gains:
        lines.append("Generation, FP8 over BF16 in tokens/s (Table XV: 0.99 to 1.00): " + ", ".join(gains))
    return lines


def report(found: Dict[str, Any]) -> str:
    parts = found["parts"]
    times = "Tiny sizes on a CPU: the times mean nothing."
    if not found["dry"]:
        times = ("Times are of the GPU alone: medians (and quartiles) of replayed CUDA graphs; \"from Python\" has its "
                 "launches.")
    lines = [f"{found['device']}, torch {found['torch']}, CUDA {found['cuda']}. FP8's casts: {found['casts']}.", times,
             ""]
    lines += [f"- {one}" for one in judged(parts)] + [""]
    if parts.get("steps"):
        lines += table("N | amax ms | cast ms | GEMM ms | rescale ms | shares | GEMM with scales ms", [
            [str(one["n"]), *(with_spread(one["times"][name]) for name in ("amax", "cast", "GEMM", "rescale")),
             " / ".join(f"{share:.0%}" for share in one["share"].values()),
             with_spread(one["times"]["GEMM with scales"])]
            for one in parts["steps"]])
    if parts.get("throughput"):
        lines += table("type | N | ms | TFLOP/s | from Python | relative error", [
            [one["type"], str(one["n"]), with_spread(one), f"{one['tflops']:.1f}", f"{one['eager_tflops']:.1f}",
             f"{one['relative_error']:.2e}"] for one in parts["throughput"]])
    if parts.get("layer"):
        lines += table("type | hidden | ms | from Python | error of what the layer adds, against FP64", [
            [one["type"], str(one["hidden"]), with_spread(one), f"{one['eager_ms']:.4g}",
             f"{one['relative_error']:.2e}"]
            for one in parts["layer"]])
    if parts.get("generation"):
        lines += table("model | type | tokens/s | from Python | Luo, H800 | weights GB/s | error of the first logits", [
            [one["model"], one["type"], f"{one['tokens_per_s']:.0f} ({one['low']:.0f} to {one['high']:.0f})",
             f"{one['eager_tokens_per_s']:.0f}", str(one["luo_h800"] or "-"), f"{one['weights_gb_per_s']:.0f}",
             f"{one['relative_error_of_logits']:.2e}"] for one in parts["generation"]])
    if parts.get("scaling"):
        lines += table("data | format | amax | amax becomes | error / bound | relative RMS | lost without a scale", [
            [one["data"], one["format"], f"{one['amax']:.3g}", f"{one['largest_element']:g}",
             f"{one['error_over_bound']:.4f}", f"{one['relative_rms']:.2e}", f"{one['lost_without_scale']:.1%}"]
            for one in parts["scaling"]])
    return "\n".join(lines)
