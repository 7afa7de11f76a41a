"""How long the forward pass of a Llama-shaped model takes in the bits of other GPUs: random weights, bfloat16.

  python llama_time.py [--tokens 2048] [--shape 7b]      on a GPU
"""
import argparse
import time

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import mmaudit.torch as mt

#: hidden, layers, heads, inner, vocabulary: of Llama 3.2 1B and Llama 2 7B (their config.json); keys have every head.
SHAPES = {"1b": (2048, 16, 32, 8192, 128256), "7b": (4096, 32, 32, 11008, 32000)}


class Layer(nn.Module):
    def __init__(self, hidden: int, heads: int, inner: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(hidden, 3 * hidden, bias=False), nn.Linear(hidden, hidden, bias=False)
        self.gate, self.up = (nn.Linear(hidden, inner, bias=False) for _ in range(2))
        self.down = nn.Linear(inner, hidden, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        y = F.rms_norm(x, x.shape[-1:])
        q, k, v = (one.unflatten(-1, (self.heads, -1)).transpose(1, 2) for one in self.qkv(y).chunk(3, -1))
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        y = F.rms_norm(x, x.shape[-1:])
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


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
        times = []
        for _ in range(2):  # the first one loads kernels
            torch.cuda.synchronize()
            begin = time.monotonic()
            with torch.no_grad(), mt.emulate(model, recipe) as emulation:
                model(x)
            torch.cuda.synchronize()
            times.append(time.monotonic() - begin)
        count = emulation.products["emulated"]
        print(f"{how.shape}, {how.tokens} tokens, {recipe}: {times[1]:.2f} s, {count} products")


if __name__ == "__main__":
    main()
