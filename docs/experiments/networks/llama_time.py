"""How long the forward pass of a Llama-shaped model takes in the bits of other GPUs: random weights, bfloat16.

  python llama_time.py [--tokens 2048] [--shape 7b]      on a GPU
"""
import argparse
import sys
from pathlib import Path

import torch
from torch import nn

sys.path.append(str(Path(__file__).resolve().parents[3] / "emulator" / "python" / "examples"))
from llama import SHAPES, Layer
from luo_fp8 import clocked

import mmaudit.torch as mt


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokens", type=int, default=2048)
    parser.add_argument("--shape", choices=SHAPES, default="7b")
    parser.add_argument("--recipe", nargs="*", default=["nvfp4", "mxfp8-ceil", "fp8-tensor", "fp8-1x128"])
    parser.add_argument("--hardware", choices=("auto", "always", "never"), default="auto", help="as emulate() has it")
    parser.add_argument("--check", type=float, default=0.01, help="the share that the model checks of the hardware's tiles")
    how = parser.parse_args()
    hidden, layers, heads, inner, vocabulary = SHAPES[how.shape]
    torch.manual_seed(1)
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        blocks = [Layer(hidden, heads, inner) for _ in range(layers)]
        model = nn.Sequential(*blocks, nn.Linear(hidden, vocabulary, bias=False))
        x = torch.randn(1, how.tokens, hidden)
    for recipe in how.recipe:
        def forward(recipe: str = recipe) -> "tuple[int, int, int]":
            with torch.no_grad(), mt.emulate(
                    model, recipe, hardware=how.hardware, check=how.check) as emulation:
                model(x)
            rows = [row for row in emulation.coverage.rows if row.by == "hardware"]
            return emulation.products["emulated"], sum(row.products for row in rows), sum(row.checked for row in rows)

        forward()  # loads kernels
        seconds, (count, by_hardware, checked) = clocked(forward, x.device)
        print(f"{how.shape}, {how.tokens} tokens, {recipe}: {seconds:.3f} s, {count} products, {by_hardware} by the hardware, "
              f"{checked} elements checked by the model")


if __name__ == "__main__":
    main()
