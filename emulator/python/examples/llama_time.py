"""How long the forward pass of a Llama-shaped model takes in the bits of other GPUs: random weights, bfloat16.

  python llama_time.py [--tokens 2048] [--shape 7b]      on a GPU
"""
import argparse

import torch
from llama import SHAPES, Layer
from luo_fp8 import clocked
from torch import nn

import mmaudit.torch as mt


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokens", type=int, default=2048)
    parser.add_argument("--shape", choices=SHAPES, default="7b")
    parser.add_argument("--recipe", nargs="*", default=["nvfp4", "mxfp8-ceil", "fp8-tensor", "fp8-1x128"])
    how = parser.parse_args()
    hidden, layers, heads, inner, vocabulary = SHAPES[how.shape]
    torch.manual_seed(1)
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        blocks = [Layer(hidden, heads, inner) for _ in range(layers)]
        model = nn.Sequential(*blocks, nn.Linear(hidden, vocabulary, bias=False))
        x = torch.randn(1, how.tokens, hidden)
    for recipe in how.recipe:
        def forward(recipe: str = recipe) -> int:
            with torch.no_grad(), mt.emulate(model, recipe) as emulation:
                model(x)
            return emulation.products["emulated"]

        forward()  # loads kernels
        seconds, count = clocked(forward, x.device)
        print(f"{how.shape}, {how.tokens} tokens, {recipe}: {seconds:.2f} s, {count} products")


if __name__ == "__main__":
    main()
