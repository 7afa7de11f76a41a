"""A small GPT, trained on this repository's own text, under the arithmetic of GPUs that are not here.

  python gpt.py --out results           about four minutes on an H200; --quick: half a minute on a CPU

Trains a byte-level GPT in binary32, measures its loss on text it has not seen under every recipe and GPU, and trains
it again from the start with forward and backward products emulated. Writes gpt.json, gpt.md and gpt.svg.
"""
import argparse
import json
import math
import time
from pathlib import Path
from typing import Any, Dict, Iterator, List, Tuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import mmaudit.torch as mt

#: What is measured: name, plan. Products of embeddings are none; the last layer is one of them.
PLANS: Dict[str, Any] = {
    "A100 TF32": {"arch": "ampere", "dtype": "tf32"},
    "V100 FP16": "fp16-volta",
    "V100 FP16, FP16 sums": {"arch": "volta", "dtype": "f16", "scaling": "none", "policy": "half"},
    "A100 BF16": "bf16-ampere",
    "H200 BF16": "bf16",
    "H200 FP8 tensor, fast": "fp8-tensor",
    "H200 FP8 tensor, promoted": "fp8-tensor-promoted",
    "H200 FP8 1x128, 128x128": "fp8-1x128",
    "B200 FP8 tensor": {"arch": "blackwell", "dtype": "e4m3", "scaling": "tensor"},
    "RTX 4090 FP8 tensor": {"arch": "ada", "dtype": "e4m3", "scaling": "tensor"},
    "B200 MXFP8, floor": "mxfp8-floor",
    "B200 MXFP8, ceil": "mxfp8-ceil",
    "B200 MXFP6 E2M3": {"arch": "blackwell", "dtype": "mxf6", "scaling": "mx-ceil"},
    "B200 MXFP4": "mxfp4",
    "B200 NVFP4": "nvfp4",
    "B200 NVFP4, first and last kept": {"default": "nvfp4", "keep_first_last": True},
    "RTX 5090 NVFP4": {"arch": "blackwell_rtx", "dtype": "nvf4", "scaling": "mx"},
}
TRAINED = ["as it is", "H200 BF16", "H200 FP8 tensor, fast", "H200 FP8 tensor, delayed", "B200 MXFP8, ceil",
           "B200 NVFP4", "B200 MXFP4"]
_DELAYED = {"H200 FP8 tensor, delayed": "fp8-delayed", "as it is": None}


class Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (one.unflatten(-1, (self.heads, -1)).transpose(1, 2) for one in self.qkv(x).chunk(3, -1))
        return self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(width) for _ in range(2)])
        self.attention = Attention(width, heads)
        self.up, self.down = nn.Linear(width, 4 * width, bias=False), nn.Linear(4 * width, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norms[0](x))
        return x + self.down(F.gelu(self.up(self.norms[1](x))))


class GPT(nn.Module):
    """Bytes to logits of the next byte: (batch, length) to (batch, length, 256)."""

    def __init__(self, width: int, depth: int, heads: int, length: int) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(256, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList([Block(width, heads) for _ in range(depth)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 256, bias=False)
        for name, one in self.named_parameters():
            if one.dim() == 2:
                nn.init.normal_(one, std=0.02 / (math.sqrt(2 * depth) if "out." in name or "down." in name else 1))

    def forward(self, x: Tensor) -> Tensor:
        y = self.tokens(x) + self.places.weight[: x.shape[1]]
        for block in self.blocks:
            y = block(y)
        return self.head(self.norm(y))


def texts(root: Path) -> Tuple[Tensor, Tensor]:
    """Bytes of the documentation and sources: of every file the last twentieth is not trained on."""
    train, rest = bytearray(), bytearray()
    kinds = ("*.md", "*.hpp", "*.cpp", "*.py", "*.cu")
    for path in sorted(one for kind in kinds for one in root.rglob(kind) if "build" not in one.relative_to(root).parts):
        raw = path.read_bytes()
        cut = len(raw) - len(raw) // 20
        train += raw[:cut]
        rest += raw[cut:]
    return torch.frombuffer(train, dtype=torch.uint8).long(), torch.frombuffer(rest, dtype=torch.uint8).long()


def batches(text: Tensor, count: int, length: int, seed: int) -> Iterator[Tuple[Tensor, Tensor]]:
    draw = torch.Generator().manual_seed(seed)
    at = torch.arange(length + 1)
    while True:
        start = torch.randint(0, len(text) - length - 1, (count, 1), generator=draw)
        piece = text[(start + at).to(text.device)]
        yield piece[:, :-1], piece[:, 1:]


def loss_of(logits: Tensor, target: Tensor) -> Tensor:
    return F.cross_entropy(logits.flatten(0, 1), target.flatten())


def train(
    model: GPT, text: Tensor, steps: int, count: int, length: int, seconds: float, plan: Any = "keep",
) -> List[float]:
    """Losses of every step; stops after so many seconds."""
    optimizer = torch.optim.AdamW(model.parameters(), 2e-3, (0.9, 0.95), weight_decay=0.1)
    losses, begin = [], time.monotonic()
    with mt.emulate(model, plan):
        for step, (x, y) in zip(range(steps), batches(text, count, length, 1)):
            done = max(step / steps, (time.monotonic() - begin) / seconds)
            optimizer.param_groups[0]["lr"] = 2e-3 * min(1, (step + 1) / 50) * (0.1 + 0.9 * max(0.0, 1 - done))
            loss = loss_of(model(x), y)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.detach())
            if done >= 1:
                break
    return torch.stack(losses).tolist()


def mean(values: List[float]) -> float:
    return sum(values) / len(values)


def svg(curves: Dict[str, List[float]]) -> str:
    """Training losses, smoothed over 10 steps, as one small picture."""
    smooth = {name: [mean(one[max(0, i - 9):i + 1]) for i in range(len(one))] for name, one in curves.items()}
    steps = max(len(one) for one in smooth.values())
    low = min(min(one) for one in smooth.values())
    high = min(4.0, max(one[min(20, len(one) - 1)] for one in smooth.values()))
    colours = ["#000000", "#0072b2", "#e69f00", "#009e73", "#56b4e9", "#d55e00", "#cc79a7"]
    parts = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 360" font-family="sans-serif" font-size="12" '
             'role="img">',
             "<title>Training loss by step, forward and backward products emulated</title>",
             '<rect width="720" height="360" fill="#fff"/>']
    for i in range(6):
        value = low + (high - low) * i / 5
        y = 320 - 300 * i / 5
        parts.append(f'<line x1="50" x2="520" y1="{y:.0f}" y2="{y:.0f}" stroke="#ddd"/>'
                     f'<text x="44" y="{y + 4:.0f}" text-anchor="end">{value:.2f}</text>')
    for (name, one), colour in zip(smooth.items(), colours):
        drawn = [(i, min(v, high)) for i, v in enumerate(one) if i % max(1, steps // 150) == 0 or i == len(one) - 1]
        points = " ".join(f"{50 + 470 * i / max(1, steps - 1):.1f},{320 - 300 * (v - low) / (high - low):.1f}"
                          for i, v in drawn)
        place = 40 + 20 * list(smooth).index(name)
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>'
                     f'<line x1="530" x2="550" y1="{place}" y2="{place}" stroke="{colour}" stroke-width="3"/>'
                     f'<text x="556" y="{place + 4}">{name}</text>')
    parts.append(f'<text x="50" y="340">0</text><text x="520" y="340" text-anchor="end">step {steps}</text></svg>')
    return "\n".join(parts) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[3], help="what to read")
    parser.add_argument("--out", type=Path, default=Path("."), help="folder of the results")
    parser.add_argument("--seconds", type=float, default=60, help="of training in binary32")
    parser.add_argument("--steps", type=int, default=300, help="of training with emulated products, per recipe")
    parser.add_argument("--quick", action="store_true", help="a model so small that a CPU does all of it")
    how = parser.parse_args()
    place = "cuda" if torch.cuda.is_available() else "cpu"
    width, depth, heads, length, count = (32, 2, 2, 32, 4) if how.quick else (256, 4, 4, 256, 32)
    if how.quick:
        how.seconds, how.steps = min(how.seconds, 10), min(how.steps, 5)
    known, unknown = (one.to(place) for one in texts(how.root))

    torch.manual_seed(1)
    model = GPT(width, depth, heads, length).to(place)
    losses = train(model, known, 10**6, count, length, how.seconds)
    model.eval()
    x, y = next(batches(unknown, 4 if how.quick else 64, length, 2))
    begin = time.monotonic()
    found = mt.compare(model, x, PLANS, loss=lambda logits: loss_of(logits, y), seed=1)
    seconds = time.monotonic() - begin
    print(found)

    curves: Dict[str, List[float]] = {}
    for name in TRAINED:
        torch.manual_seed(1)
        again = GPT(width, depth, heads, length).to(place)
        begin = time.monotonic()
        curves[name] = train(again, known, how.steps, count, length, 1e9, _DELAYED.get(name, PLANS.get(name, "keep")))
        print(f"{name}: {how.steps} steps, {time.monotonic() - begin:.1f} s, loss {mean(curves[name][-10:]):.4f}")

    how.out.mkdir(parents=True, exist_ok=True)
    lines = ["| arithmetic | loss | loss - binary32 | KL, nats | same next byte | error of the logits |",
             "|---|--:|--:|--:|--:|--:|",
             f"| binary32 of torch | {found['loss']:.4f} | | | | |"]
    for name, row in found["plans"].items():
        lines.append(f"| {name} | {row['loss']:.4f} | {row['loss'] - found['loss']:+.5f} | {row['kl']:.2e} "
                     f"| {row['top1']:.2%} | {row['relative_error']:.2e} |")
    lines += ["", "| trained with | loss of the last 10 steps | of the last 50 |", "|---|--:|--:|"]
    lines += [f"| {name} | {mean(one[-10:]):.4f} | {mean(one[-50:]):.4f} |" for name, one in curves.items()]
    (how.out / "gpt.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (how.out / "gpt.svg").write_text(svg(curves), encoding="utf-8")
    (how.out / "gpt.json").write_text(json.dumps({
        "torch": torch.__version__, "device": torch.cuda.get_device_name() if place == "cuda" else "cpu",
        "steps": len(losses), "last_training_loss": losses[-1], "bytes": [len(known), len(unknown)],
        "seconds_of_comparison": seconds, "comparison": found, "training": curves}, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
