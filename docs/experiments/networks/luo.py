"""FP8 linear layers, a transformer layer and generation, measured as in Luo et al. (arXiv 2501.12084, 6.3 and 6.4),
with random weights and beside their numbers; and the errors, which they do not have.

  python luo.py --out results          on a GPU, three minutes; --quick: 40 seconds
  python luo.py --dry --out results    tiny sizes on the CPU: that it runs, no times worth reading

Writes luo.json and luo.md. Needs torch only. Exit codes: 0 good, 1 a result is wrong, 2 no torch, GPU or such option.
"""
import argparse
import gc
import json
import platform
import sys
from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple

sys.path.append(str(Path(__file__).resolve().parents[3] / "emulator" / "python" / "examples"))  # llama.py
try:
    import torch
    from llama import SHAPES, Layer, Model
    from luo_fp8 import Fp8Linear, Kernels, captured, clocked, largest, on_gpu, product, recipe, timed
    from luo_report import Rows, report
    from torch import Tensor, nn
    from torch.nn import functional as F
except ImportError as error:
    if (error.name or "").split(".")[0] != "torch":
        raise
    sys.exit(print("luo.py: found no torch, allowed: torch 2.6 or newer (pip install torch)", file=sys.stderr) or 2)

#: Table XIV: hidden, inner, heads; and tokens/s of an H800 in Table XV.
LAYERS = [(1024, 2816, 8), (2048, 5632, 16), (4096, 11008, 32), (5120, 13824, 40), (8192, 22016, 64)]
GENERATED = {"3b": {"FP32": 546.55, "BF16": 506.28, "FP8": 505.74},
             "7b": {"FP32": 359.69, "BF16": 432.91, "FP8": 428.15},
             "13b": {"FP32": 214.06, "BF16": 344.25, "FP8": 343.25}}
#: The dtype of tensors and torch's float32 matmul precision of each type; FP8's are those of its output.
TYPES = {"FP32": (torch.float32, "highest"), "TF32": (torch.float32, "high"), "FP16": (torch.float16, "highest"),
         "BF16": (torch.bfloat16, "highest"), "FP8": (torch.bfloat16, "highest")}
#: Largest relative error of a product of normal numbers; a layer chains several, and its norms and softmax add theirs.
#: FP8's is mostly its operands' (0.037); sums of 16384 in Hopper's tensor core add as much as 0.02.
ALLOWED = {"FP32": 1e-5, "TF32": 3e-3, "FP16": 1e-3, "BF16": 6e-3, "FP8": 0.08}


class Bench:
    def __init__(self, how: argparse.Namespace) -> None:
        self.place = torch.device("cpu" if how.dry else "cuda")
        self.seconds = 0.05 if how.quick or how.dry else 0.2
        self.dry, self.quick = how.dry, how.quick
        self.fp8 = how.dry or torch.cuda.get_device_capability() >= (8, 9)
        self.kernels = Kernels(compiled=not (how.dry or how.quick or how.eager) and self.fp8)
        self.wrong: List[str] = []

    def timed(self, call: Callable[[], Any]) -> Dict[str, Any]:
        return timed(call, self.place, self.seconds)

    def require(self, where: str, error: float, most: float) -> None:
        if not error <= most:  # NaN is wrong too
            self.wrong.append(f"{where}: found an error of {error:.3g}, allowed: {most:.3g}")

    def normal(self, rows: int, columns: int, seed: int) -> Tensor:
        draw = torch.Generator(self.place).manual_seed(seed)
        return torch.randn(rows, columns, generator=draw, device=self.place)

    def sizes(self) -> List[int]:
        return [64, 128] if self.dry else [1024, 4096, 8192] if self.quick else [1024, 2048, 4096, 8192, 16384]

    def types(self) -> List[str]:
        return [one for one in TYPES if self.fp8 or one != "FP8"]

    def clear(self) -> None:
        gc.collect()
        if on_gpu(self.place):
            torch.cuda.empty_cache()


def use(kind: str) -> torch.dtype:
    dtype, precision = TYPES[kind.split(",")[0]]
    torch.set_float32_matmul_precision(precision)
    return dtype


def relative(found: Tensor, exact: Tensor, over: Tensor) -> float:
    return float((found.double() - exact).norm() / over.double().norm())


# ---- one linear layer, N x N x N ---------------------------------------------------------------------------

def steps(bench: Bench) -> Rows:
    """Both operands are cast, and the sum is multiplied back by a kernel of its own, as the paper splits it."""
    kernels, one, rows = bench.kernels, torch.ones((), device=bench.place), []
    for n in bench.sizes() if bench.fp8 else []:
        x, w = (bench.normal(n, n, seed).to(torch.bfloat16) for seed in (1, 2))
        of_x, of_w = largest(x), largest(w)
        (qx, ix), (qw, iw) = kernels.pack(x, of_x), kernels.pack(w, of_w)
        d = product(qx, qw, one, one, torch.float32)
        parts = {"amax": lambda x=x, w=w: (largest(x), largest(w)),
                 "cast": lambda x=x, w=w, a=of_x, b=of_w: (kernels.pack(x, a), kernels.pack(w, b)),
                 "GEMM": lambda a=qx, b=qw: product(a, b, one, one, torch.float32),
                 "rescale": lambda d=d, a=ix, b=iw: kernels.rescale(d, a, b),
                 "GEMM with scales": lambda a=qx, b=qw, i=ix, j=iw: product(a, b, i, j, torch.bfloat16)}
        times = {name: bench.timed(call) for name, call in parts.items()}
        total = sum(times[name]["ms"] for name in list(parts)[:4])
        split, whole = kernels.rescale(d, ix, iw).double(), product(qx, qw, ix, iw, torch.bfloat16).double()
        bench.require(f"steps, N = {n}, split against whole", relative(split, whole, whole), 0.03)
        share = {name: times[name]["ms"] / total for name in list(parts)[:4]}
        rows.append({"n": n, "times": times, "share": share})
        del x, w, qx, qw, d, parts, split, whole
        bench.clear()
    return rows


def throughput(bench: Bench) -> Rows:
    rows = []
    for n in bench.sizes():
        x, w = bench.normal(n, n, 1), bench.normal(n, n, 2)
        some = slice(0, 64)
        exact = x[some].double() @ w.double().t()
        for kind in bench.types():
            dtype = use(kind)
            a, b = x.to(dtype), w.to(dtype)
            calls = {kind: lambda a=a, b=b: F.linear(a, b)}
            if kind == "FP8":
                (qa, ia), (qb, ib) = bench.kernels.quantised(a), bench.kernels.quantised(b)
                calls["FP8"] = lambda qa=qa, qb=qb, ia=ia, ib=ib: product(qa, qb, ia, ib, torch.bfloat16)
                for name, every_call in (("FP8, x cast", False), ("FP8, x and weights cast", True)):
                    layer = Fp8Linear(b, bench.kernels, every_call)
                    calls[name] = lambda a=a, layer=layer: layer(a)
            for name, call in calls.items():
                error = relative(call()[some], exact, exact)
                bench.require(f"throughput, N = {n}, {name}", error, ALLOWED[kind])
                found = bench.timed(call)
                rows.append({"n": n, "type": name, **found, "relative_error": error,
                             "tflops": 2 * n**3 / found["ms"] / 1e9,
                             "eager_tflops": 2 * n**3 / found["eager_ms"] / 1e9})
            del a, b, calls, call
            bench.clear()
        del x, w, exact
        bench.clear()
    return rows


# ---- one transformer layer --------------------------------------------------------------------------------------

def makes(bench: Bench, kind: str, dtype: torch.dtype) -> Callable[[int, int], nn.Module]:
    """Linear layers of one type, with the same weights whatever the type."""
    draw = torch.Generator(bench.place).manual_seed(19)

    def make(inputs: int, outputs: int) -> nn.Module:
        weight = torch.randn(outputs, inputs, generator=draw, device=bench.place).mul_(inputs**-0.5).to(dtype)
        if kind.startswith("FP8"):
            return Fp8Linear(weight, bench.kernels, every_call="weights" in kind)
        layer = nn.Linear(1, 1, bias=False)
        layer.weight = nn.Parameter(weight, requires_grad=False)
        return layer

    return make


def layers(bench: Bench) -> Rows:
    rows = []
    batch, length = (2, 16) if bench.dry else (4, 512)
    shapes = [(64, 96, 2)] if bench.dry else LAYERS[:3:2] if bench.quick else LAYERS
    kinds = [one for one in bench.types() if one != "BF16"] + (["FP8, weights cast too"] if bench.fp8 else [])
    for hidden, inner, heads in shapes:
        x = bench.normal(batch * length, hidden, 3).reshape(batch, length, hidden)
        exact = Layer(hidden, heads, inner, makes(bench, "FP64", torch.float64))(x.double())
        bench.clear()
        for kind in kinds:
            dtype = use(kind)
            layer, mine = Layer(hidden, heads, inner, makes(bench, kind, dtype)), x.to(dtype)
            error = relative(layer(mine), exact, exact - x)
            bench.require(f"layer, hidden {hidden}, {kind}", error, 3 * ALLOWED[kind.split(",")[0]])
            rows.append({"hidden": hidden, "type": kind, **bench.timed(lambda layer=layer, mine=mine: layer(mine)),
                         "relative_error": error})
            del layer
            bench.clear()
    return rows


# ---- generation -------------------------------------------------------------------------------------------------

class Generation:
    """Greedy generation with a cache of keys and values; a step has fixed addresses, so a CUDA graph can be one."""

    def __init__(self, model: Model, prompt: Tensor, new: int) -> None:
        self.model, self.prompt, self.new = model, prompt, new
        self.caches = model.caches(len(prompt))
        self.token, self.place = prompt[:, :1].clone(), torch.zeros(1, dtype=torch.long, device=prompt.device)
        self.step: Callable[[], None] = self.eager_step

    def eager_step(self) -> None:
        self.token.copy_(self.model(self.token, self.caches, self.place).argmax(-1, keepdim=True))
        self.place.add_(1)

    def begin(self) -> Tensor:
        length = self.prompt.shape[1]
        logits = self.model(self.prompt, self.caches, torch.arange(length, device=self.prompt.device))
        self.token.copy_(logits.argmax(-1, keepdim=True))
        self.place.fill_(length)
        return logits

    def run(self) -> Tensor:
        """Tokens, (batch, new)."""
        self.begin()
        tokens = [self.token.clone()]
        for _ in range(self.new - 1):
            self.step()
            tokens.append(self.token.clone())
        return torch.cat(tokens, 1)


def generation(bench: Bench) -> Rows:
    rows = []
    batch, given, new = (2, 4, 4) if bench.dry else (8, 128, 128)
    shapes = {"tiny": (32, 2, 2, 64, 96)} if bench.dry else {"1b": SHAPES["1b"]} if bench.quick else SHAPES
    for name, shape in shapes.items():
        wanted = None
        draw = torch.Generator(bench.place).manual_seed(20)
        prompt = torch.randint(0, shape[4], (batch, given), generator=draw, device=bench.place)
        for kind in (one for one in bench.types() if one != "TF32"):
            dtype = use(kind)
            embedding = bench.normal(shape[4], shape[0], 4).to(dtype)
            model = Model(shape, given + new, embedding, makes(bench, kind, dtype))
            work = Generation(model, prompt, new)
            logits = work.begin().double()
            work.eager_step()
            wanted = logits if wanted is None else wanted
            error = relative(logits, wanted, wanted)
            bench.require(f"generation, {name}, {kind}, logits", error, 10 * ALLOWED[kind])
            eager, tokens = clocked(work.run, bench.place)
            if on_gpu(bench.place):
                work.begin()
                work.step = captured(work.eager_step).replay
            once, again = clocked(work.run, bench.place)
            if float((again[:, 1] != tokens[:, 1]).float().mean()) > 0.25:
                bench.wrong.append(f"generation, {name}, {kind}: found other tokens by the CUDA graph, allowed: the same")
            seconds = sorted([once, *(clocked(work.run, bench.place)[0] for _ in range(2))])
            first = clocked(work.begin, bench.place)[0]
            each = max(seconds[1] - first, 1e-9) / (new - 1)
            bytes_each = 1 if kind == "FP8" else dtype.itemsize
            moved = bytes_each * (shape[1] * (4 * shape[0] ** 2 + 3 * shape[0] * shape[3]) + shape[0] * shape[4])
            rates = [batch * new / one for one in seconds]
            rows.append({"model": name, "type": kind, "tokens_per_s": rates[1], "low": rates[2], "high": rates[0],
                         "runs": len(rates), "eager_tokens_per_s": batch * new / eager, "prompt_ms": first * 1e3,
                         "weights_gb": moved / 1e9, "weights_gb_per_s": moved / each / 1e9,
                         "relative_error_of_logits": error, "luo_h800": GENERATED.get(name, {}).get(kind),
                         "same_tokens_by_graph": float((again == tokens).double().mean())})
            del work, model, embedding, logits
            bench.clear()
    return rows


def scaling(bench: Bench) -> Rows:
    rows = recipe(bench.place, 4096 if bench.dry else 2**18)
    for row in rows:
        where = f"scaling, {row['data']}, {row['format']}"
        bench.require(where + ", round trip over its bound", row["error_over_bound"], 1)
        bench.require(where + ", codes that are not the nearest", row["wrong_codes"], 0)
        off = row["largest_element"] - (row["largest_of_format"] if row["amax"] else 0)
        bench.require(where + ", amax is not the format's largest", abs(off), 0)
    return rows


PARTS: Dict[str, Tuple[str, Callable[[Bench], Rows]]] = {
    "steps": ("the steps of an FP8 linear layer", steps), "throughput": ("throughput of a linear layer", throughput),
    "layer": ("a transformer layer", layers), "generation": ("generation", generation), "scaling": ("FP8's scaling", scaling)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("."), help="folder of luo.json and luo.md")
    parser.add_argument("--part", nargs="+", choices=PARTS, default=list(PARTS), metavar="DNN", help=", ".join(PARTS))
    parser.add_argument("--quick", action="store_true", help="few sizes, casts not compiled")
    parser.add_argument("--eager", action="store_true", help="casts by torch's operators instead of torch.compile")
    parser.add_argument("--dry", action="store_true", help="tiny sizes on the CPU")
    how = parser.parse_args()
    if not how.dry and not torch.cuda.is_available():
        print("luo.py: found no CUDA device, allowed: a GPU, or --dry", file=sys.stderr)
        return 2
    if how.dry:
        torch.set_num_threads(1)  # tiny sizes: threads would only wait for each other
    torch.set_grad_enabled(False)
    bench = Bench(how)
    parts: Dict[str, Rows] = {}
    seconds: Dict[str, float] = {}
    for name in how.part:
        title, run = PARTS[name]
        seconds[name], parts[name] = clocked(lambda run=run: run(bench), bench.place)
        print(f"{name}, {title}: {seconds[name]:.1f} s", flush=True)
    device = f"a CPU ({platform.machine()})" if how.dry else torch.cuda.get_device_name()
    found = {"schema": "mmaudit.luo/1", "device": device,
             "torch": torch.__version__, "cuda": torch.version.cuda, "casts": bench.kernels.note, "fp8": bench.fp8,
             "quick": how.quick, "dry": how.dry, "seconds": seconds, "wrong": bench.wrong, "parts": parts}
    how.out.mkdir(parents=True, exist_ok=True)
    (how.out / "luo.json").write_text(json.dumps(found, indent=1), encoding="utf-8")
    text = report(found)
    (how.out / "luo.md").write_text(text, encoding="utf-8")
    print("\n" + text)
    for line in bench.wrong:
        print(f"wrong: {line}", file=sys.stderr)
    return 1 if bench.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
