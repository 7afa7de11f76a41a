"""FP8 linear layers of whole networks on a Hopper GPU's tensor cores, beside emulate() and the library's plan, bit for bit.

  python hopper_fp8.py [--json FILE]      about 40 s on an H100 or H200; needs libmmaudit_cuda.so, and $MMAUDIT_TOOL
                                          or mmaudit on PATH for plans of split products
  python hopper_fp8.py --dry              on a CPU, which stands in for the GPU: shows that the script runs, no more

Each network runs under emulate() with FP8 in its linear layers, with fast accumulation and with promotion. The operands
of each layer then go through torch._scaled_mm, and every element of D is compared with emulate()'s and with
mmaudit.gemm()'s, which follows the plan of the kernel that ran. At last the network runs with torch._scaled_mm in place
of its linear layers, and the outputs are compared. The exit code is 1 where an element differs under a known plan, or
where no plan is known.
"""
import argparse
import copy
import json
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

import gpt
import numpy as np
import torch
from llama import Layer
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

import mmaudit
import mmaudit.torch as mt
from mmaudit import _tool

SCALING = mt.RECIPES["fp8-tensor"].scaling  #: of all of RECIPES
RECIPES = {True: "fp8-tensor", False: "fp8-tensor-promoted"}  #: by whether accumulation is fast
Problem = Tuple[int, int, int, bool]  #: m, n, k, whether accumulation is fast


class Operands(NamedTuple):
    """E4M3 codes, (m, k) and (k, n), and the binary32 factor of each."""

    a: Tensor
    b: Tensor
    of_a: Tensor
    of_b: Tensor


@dataclass
class Row:
    """A layer of a network."""

    network: str
    fast: bool
    layer: str
    m: int
    n: int
    k: int
    kernels: List[str] = field(default_factory=list)
    plan: str = ""  #: empty: not known
    why: str = ""  #: the plan is not known, or who said it
    elements: int = 0
    by_emulate: int = 0  #: elements that differ from emulate()'s
    by_plan: Optional[int] = None  #: from mmaudit.gemm()'s; None: no plan
    one_slice: bool = True  #: the plan sums K in one chain, as the recipes of emulate() do

    @property
    def wrong(self) -> bool:
        return bool(self.plan) and (bool(self.by_plan) or (self.one_slice and self.by_emulate > 0))


class Gpu:
    """torch._scaled_mm on this machine's GPU."""

    place = "cuda"

    def product(self, x: Operands, fast: bool) -> Tensor:
        return torch._scaled_mm(x.a, x.b.t().contiguous().t(), scale_a=x.of_a, scale_b=x.of_b,
                                out_dtype=torch.bfloat16, use_fast_accum=fast)

    def kernels(self, x: Operands, fast: bool) -> List[str]:
        """Names of the kernels that product() starts; none where the profiler sees none."""
        torch.cuda.synchronize()
        try:
            with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as seen:
                self.product(x, fast)
                torch.cuda.synchronize()
            names = [one.name for one in seen.events() if one.device_type == torch.autograd.DeviceType.CUDA]
        except RuntimeError as error:
            print(f"profiler: {str(error).splitlines()[0]}", file=sys.stderr)
            return []
        return [one for one in names if any(word in one for word in ("gemm", "nvjet", "splitK", "cutlass"))]

    def told(self, problems: List[Problem]) -> Dict[Problem, Dict[str, Any]]:
        """What mmaudit gemm plans says of these products; nothing where it can't run."""
        with tempfile.TemporaryDirectory() as folder:
            lines = [json.dumps({"type": "e4m3", "d": "bf16", "m": m, "n": n, "k": k, "layout": "nt", "fast_accum": fast})
                     for m, n, k, fast in problems]
            Path(folder, "p.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
            try:
                done = subprocess.run([_tool.program(), "-q", "gemm", "plans", "--problems", "p.jsonl", "--json=o.json"],
                                      cwd=folder, capture_output=True, text=True, check=False, timeout=120)
            except (OSError, RuntimeError, subprocess.TimeoutExpired) as error:
                print(f"mmaudit gemm plans: {error}", file=sys.stderr)
                return {}
            if done.returncode != 0:
                print(f"mmaudit gemm plans: {done.stderr.strip()}", file=sys.stderr)
                return {}
            outcomes = json.loads(Path(folder, "o.json").read_text(encoding="utf-8"))["outcomes"]
        return dict(zip(problems, outcomes))


class StandIn(Gpu):
    """A CPU in the GPU's place: the model is compared with itself."""

    place = "cpu"

    def product(self, x: Operands, fast: bool) -> Tensor:
        return mt.matmul(x.a, x.b, inst="wgmma.m64n64k32.f32.e4m3.e4m3", promote=0 if fast else 128, d_format="bf16",
                         factor_a=x.of_a, factor_b=x.of_b)

    def kernels(self, x: Operands, fast: bool) -> List[str]:
        return ["nvjet_sm90_qqtst_128x128_128x6_1x2_h_bz_coopA" + ("" if fast else "_algo2") + "_TNT"]

    def told(self, problems: List[Problem]) -> Dict[Problem, Dict[str, Any]]:
        return {}


def operands(a: Tensor, b: Tensor) -> Operands:
    """As the recipes of emulate() convert them: a factor per tensor."""
    x, y = mt.quantize(a, "e4m3", SCALING), mt.quantize(b, "e4m3", SCALING, of_b=True)
    assert x.factors is not None and y.factors is not None
    return Operands(x.elements, y.elements, x.factors.reshape(()), y.factors.reshape(()))


def differing(x: Tensor, y: Tensor) -> int:
    """Elements of two bfloat16 tensors whose bits differ."""
    return int((x.contiguous().view(torch.int16) != y.contiguous().view(torch.int16)).sum())


def predicted(x: Operands, **how: Any) -> Tensor:
    """D in bfloat16 by a plan or by kernels: the binary32 sum of mmaudit.gemm() times the product of both factors."""
    a, b = (one.contiguous().view(torch.uint8).cpu().numpy() for one in (x.a, x.b))
    total = mmaudit.gemm(a, b, problem={"type": "e4m3", "d": "f32", "layout": "nt"}, **how)
    factor = np.float32(x.of_a.item()) * np.float32(x.of_b.item())
    return torch.from_numpy(np.asarray(total, np.float32) * factor).to(torch.bfloat16)


def find_plan(row: Row, x: Operands, told: Optional[Dict[str, Any]]) -> Optional[Tensor]:
    """D by the plan of the kernels that ran, and what `row` says of it. A tool that was told of the same product knows
    the number of slices, where it saw the same kernel."""
    kernels = [{"name": one} for one in row.kernels]
    theirs = [one["name"] for one in told.get("call", {}).get("kernels", [])] if told else []
    if told and theirs and (not kernels or theirs[0] == row.kernels[0]):
        if "plan" not in told:
            row.why = told.get("why", "")
            return None
        plan = told["plan"]
        row.plan = " ".join(f"{name}={value}" for name, value in plan.items())
        row.why = "mmaudit gemm plans"
        row.one_slice = plan.get("slices", 1) == 1
        return predicted(x, plan={**plan, "output": "f32"})
    if not kernels:
        row.why = "no names of kernels"
    elif any("splitK" in one for one in row.kernels):
        row.why = "split, and mmaudit gemm plans saw another kernel"
    else:
        try:
            d = predicted(x, call={"algorithm": {"split_k": 1}, "kernels": kernels[:1]})
        except ValueError as error:
            row.why = str(error)
            return None
        row.plan, row.why = "one chain" if row.fast else "one chain, promote=128", "the kernel's name"
        return d
    return None


class RealLinear(nn.Module):
    """A linear layer without bias on the GPU's FP8 tensor cores."""

    def __init__(self, weight: Tensor, gpu: Gpu, fast: bool) -> None:
        super().__init__()
        self.weight, self.gpu, self.fast = weight, gpu, fast

    def forward(self, x: Tensor) -> Tensor:
        d = self.gpu.product(operands(x.reshape(-1, x.shape[-1]), self.weight.t()), self.fast)
        return d.reshape(*x.shape[:-1], -1)


def with_real_layers(model: nn.Module, gpu: Gpu, fast: bool) -> nn.Module:
    found = copy.deepcopy(model)
    for parent in list(found.modules()):
        for name, one in list(parent.named_children()):
            if isinstance(one, nn.Linear):
                setattr(parent, name, RealLinear(one.weight.detach(), gpu, fast))
    return found


def networks(gpu: Gpu, steps: int) -> Iterator[Tuple[str, nn.Module, Tensor]]:
    """The GPT of gpt.py, trained for some steps, with two numbers of tokens, and two layers of Llama's shape."""
    dry = gpu.place == "cpu"
    width, depth, heads, length, count = (32, 2, 2, 32, 4) if dry else (256, 4, 4, 256, 8)
    torch.manual_seed(1)
    model = gpt.GPT(width, depth, heads, length).to(gpu.place)
    known, unknown = (one.to(gpu.place) for one in gpt.texts(Path(__file__).resolve().parents[3]))
    gpt.train(model, known, steps, 32, length, 20.0)
    model = model.to(torch.bfloat16).eval()
    x, _ = next(gpt.batches(unknown, count, length, 2))
    yield f"GPT, {x.numel()} tokens", model, x
    x = x[:3, : length // 3]
    yield f"GPT, {x.numel()} tokens", model, x
    hidden, heads, inner, tokens = (64, 4, 320, 24) if dry else (2048, 32, 8192, 512)
    torch.manual_seed(2)
    with torch.device(gpu.place):
        layers = nn.Sequential(*(Layer(hidden, heads, inner) for _ in range(2))).to(torch.bfloat16)
        yield f"Llama 1B layers, {tokens} tokens", layers, torch.randn(1, tokens, hidden, dtype=torch.bfloat16)


def measure(network: str, model: nn.Module, x: Tensor, fast: bool, gpu: Gpu) -> Tuple[List[Row], int]:
    """The layers, and the elements of the network's output that differ."""
    seen: List[Any] = []
    plan = {"layers": {"Linear": RECIPES[fast]}}
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH):
        with mt.emulate(model, plan, watch=seen.append):
            emulated = model(x)
        real = with_real_layers(model, gpu, fast)(x)
        problems: Dict[Problem, None] = {(one.a.shape[1], one.b.shape[2], one.a.shape[2], fast): None for one in seen}
        told = gpu.told(list(problems))
        names: Dict[Problem, List[str]] = {}
        rows = []
        for one in seen:
            problem = (one.a.shape[1], one.b.shape[2], one.a.shape[2], fast)
            row = Row(network, fast, one.site.layer, *problem[:3])
            taken = operands(one.a[0], one.b[0])
            d = gpu.product(taken, fast)
            row.elements, row.by_emulate = d.numel(), differing(d, one.d.reshape(d.shape))
            if problem not in names:
                names[problem] = gpu.kernels(taken, fast)
            row.kernels = names[problem]
            by_plan = find_plan(row, taken, told.get(problem))
            if by_plan is not None:
                row.by_plan = differing(d.cpu(), by_plan)
            rows.append(row)
    return rows, differing(emulated, real)


def text_of(rows: List[Row]) -> str:
    head = ["layer", "m", "n", "k", "elements", "emulate", "plan", "kernel and plan"]
    table = [head] + [[
        one.layer, str(one.m), str(one.n), str(one.k), str(one.elements), str(one.by_emulate),
        "-" if one.by_plan is None else str(one.by_plan),
        f"{one.kernels[0][:60] if one.kernels else '-'}: {one.plan or 'unknown'} ({one.why})"] for one in rows]
    wide = [max(len(line[i]) for line in table) for i in range(len(head) - 1)]
    return "\n".join("  ".join([line[0].ljust(wide[0]), *(cell.rjust(size) for cell, size in zip(line[1:-1], wide[1:])),
                                line[-1]]) for line in table)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=100, help="of training the GPT")
    parser.add_argument("--json", type=Path, help="write the rows")
    parser.add_argument("--dry", action="store_true", help="on a CPU, which stands in for the GPU")
    how = parser.parse_args()
    if not how.dry and (not torch.cuda.is_available() or torch.cuda.get_device_capability()[0] != 9):
        print("hopper_fp8: found no Hopper GPU, allowed: one, or --dry", file=sys.stderr)
        return 3
    gpu, begin = StandIn() if how.dry else Gpu(), time.monotonic()
    rows: List[Row] = []
    outputs: List[Dict[str, Any]] = []
    with torch.device("cpu") if how.dry else nullcontext():
        for network, model, x in networks(gpu, min(how.steps, 2) if how.dry else how.steps):
            for fast in (True, False):
                found, wrong = measure(network, model, x, fast, gpu)
                rows += found
                outputs.append({"network": network, "fast": fast, "differing": wrong})
                print(f"\n{network}, {'fast accumulation' if fast else 'promoted'}; elements that differ by emulate() and by "
                      f"the plan:\n{text_of(found)}\nthe network's output: {wrong} elements differ")
    known = [one for one in rows if one.plan]
    wrong = [one for one in known if one.wrong]
    complete = {(one.network, one.fast) for one in rows} - {
        (one.network, one.fast) for one in rows if not one.plan or not one.one_slice}
    wrong_outputs = [one for one in outputs if one["differing"] and (one["network"], one["fast"]) in complete]
    device = "a CPU in a GPU's place" if how.dry else torch.cuda.get_device_name()
    print(f"\n{device}, torch {torch.__version__}: {len(rows)} products of layers, {len(known)} with a known plan, "
          f"{sum(one.elements for one in known)} elements of these, {len(wrong)} products and {len(wrong_outputs)} of "
          f"{len(complete)} outputs wrong; {time.monotonic() - begin:.0f} s")
    if how.json is not None:
        how.json.write_text(json.dumps({"schema": "mmaudit.hopper_fp8/1", "device": device, "torch": torch.__version__,
                                        "rows": [asdict(one) for one in rows], "outputs": outputs}, indent=1) + "\n",
                            encoding="utf-8")
    return 1 if wrong or wrong_outputs or not known else 0


if __name__ == "__main__":
    sys.exit(main())
