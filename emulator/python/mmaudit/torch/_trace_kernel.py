"""Rows of many tensors hashed by one launch, in Triton."""
from typing import List, Tuple

import numpy as np
import torch
import triton  # type: ignore[import-not-found, unused-ignore]
import triton.language as tl  # type: ignore[import-not-found, unused-ignore]
from torch import Tensor

_BLOCK = 1024


@triton.jit  # type: ignore[untyped-decorator, unused-ignore]
def _rows(table, owners, weights, out,  # type: ignore[no-untyped-def, unused-ignore]
          PERIOD: tl.constexpr, SIZE: tl.constexpr, KIND: tl.constexpr, FLAT: tl.constexpr,  # Triton reads these annotations
          BLOCK: tl.constexpr):
    program = tl.program_id(0)
    of = table + tl.load(owners + program).to(tl.int64) * 16
    address = tl.load(of)
    row = program - tl.load(of + 1)
    inner = tl.load(of + 2)
    base = (row // inner) * tl.load(of + 3) + (row % inner) * tl.load(of + 4)
    count = tl.load(of + 5).to(tl.int32)
    size2, size3 = tl.load(of + 6).to(tl.int32), tl.load(of + 7).to(tl.int32)
    stride1, stride2, stride3 = tl.load(of + 8), tl.load(of + 9), tl.load(of + 10)
    to = tl.load(of + 11) + row
    stream = weights + tl.load(of + 12)
    if SIZE == 1:
        x = address.to(tl.pointer_type(tl.uint8))
    elif SIZE == 2:
        x = address.to(tl.pointer_type(tl.int16))
    elif SIZE == 4:
        x = address.to(tl.pointer_type(tl.int32))
    else:
        x = address.to(tl.pointer_type(tl.int64))
    total = tl.zeros([BLOCK], tl.int64)
    squares = tl.zeros([BLOCK], tl.float32)
    signed = tl.zeros([BLOCK], tl.float32)
    for start in range(0, count, BLOCK):
        column = start + tl.arange(0, BLOCK)  # of 32 bits: 64-bit divisions would take most of the time
        there = column < count
        if FLAT:
            at = base + column * stride3
        else:
            outer = column // size3
            at = base + (outer // size2) * stride1 + (outer % size2) * stride2 + (column % size3) * stride3
        raw = tl.load(x + at, mask=there, other=0)
        weight = tl.load(stream + column % PERIOD, mask=there, other=0) * (2 * (column // PERIOD) + 1).to(tl.int64)
        total += raw.to(tl.int64) * weight
        if KIND != 0:
            if KIND == 1:
                value = raw.to(tl.float32, bitcast=True)
            elif KIND == 2:
                value = raw.to(tl.bfloat16, bitcast=True).to(tl.float32)
            else:
                value = raw.to(tl.float16, bitcast=True).to(tl.float32)
            squares += value * value
            sign = (weight >> 40) & 1
            signed += tl.where(sign == 1, value, -value)
    tl.store(out + to * 2, tl.sum(total, 0))
    if KIND != 0:
        low = tl.sqrt(tl.sum(squares, 0)).to(tl.uint32, bitcast=True).to(tl.int64)
        high = tl.sum(signed, 0).to(tl.int32, bitcast=True).to(tl.int64)
        tl.store(out + to * 2 + 1, (high << 32) | low)


def run(group: "List[Tuple[int, int, List[int]]]", kind: "Tuple[int, int, bool]", weights: Tensor, out: Tensor) -> None:
    """`group`: a tensor's address, its first row in `out`, and its fields (_trace_hash.Cut)."""
    table = np.array([fields for _, _, fields in group], dtype=np.int64)
    counts = table[:, 13]
    table[:, 0], table[:, 1], table[:, 11] = [one for one, _, _ in group], np.cumsum(counts) - counts, [one for _, one, _ in group]
    total, size = int(counts.sum()), kind[0]
    there = torch.from_numpy(table).pin_memory().to(out.device, non_blocking=True) if out.is_cuda else torch.from_numpy(table)
    owners = torch.repeat_interleave(there[:, 13], output_size=total)
    if total:
        _rows[(total,)](there, owners, weights, out, PERIOD=weights.shape[1], SIZE=size, KIND=kind[1], FLAT=kind[2], BLOCK=_BLOCK)
