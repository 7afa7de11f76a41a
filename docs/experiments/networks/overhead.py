"""What calling mmaudit.torch.matmul costs beyond its kernels: calls from Python against the same kernels in a CUDA graph.

  python overhead.py [--size 2048]      on a GPU, a few seconds
"""
import argparse
import statistics
from typing import Callable, List

import torch
from luo_fp8 import captured, clocked

import mmaudit.torch as mt

PRODUCTS = (("hopper", "wgmma.m64n64k16.f32.bf16.bf16", torch.bfloat16),
            ("hopper", "wgmma.m64n64k32.f32.e4m3.e4m3", torch.float8_e4m3fn))


def seconds(call: Callable[[], object], calls: int, rounds: int) -> List[float]:
    """Per call, `calls` of them one after another, in each of some rounds."""
    return [clocked(lambda: [call() for _ in range(calls)], torch.device("cuda"))[0] / calls for _ in range(rounds)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, nargs="*", default=[64, 2048], help="M = N = K")
    parser.add_argument("--calls", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=9)
    how = parser.parse_args()
    for arch, inst, dtype in PRODUCTS:
        for size in how.size:
            a, b = (torch.randn(size, size, device="cuda").to(dtype) for _ in range(2))

            def call(a: torch.Tensor = a, b: torch.Tensor = b, arch: str = arch, inst: str = inst) -> torch.Tensor:
                return mt.matmul(a, b, inst=inst, arch=arch)

            call()
            graph = captured(call)
            called, kernels = (statistics.median(seconds(one, how.calls, how.rounds)) for one in (call, graph.replay))
            print(f"{inst}, {size}^3: {called * 1e3:.3f} ms called, {kernels * 1e3:.3f} ms as a graph, "
                  f"{called / kernels - 1:+.1%}")


if __name__ == "__main__":
    main()
