"""Schemes of slices computed by numpy's integers alone, a second computation beside the library's, and hostile operands.

A tensor core is one step here: products as integers, cut off at the largest exponent, added, cut off to binary32
(docs/numerics.md, "The step"). Digits come from exact fractions.
"""
import math
from fractions import Fraction

import numpy as np

NAN64 = np.uint64(0xFFF8000000000000).view(np.float64)
NAN32 = np.uint32(0x7FFFFFFF)
KINDS = ["uniform", "wide", "raw", "special", "cancel", "subnormal", "zeros"]


def operand(kind, rows, columns, seed, of_b, number=np.float32):
    """Numbers of this kind, of either format."""
    r = np.random.default_rng(seed)
    word, fraction, least, most = (np.uint32, 23, 1, 254) if number == np.float32 else (np.uint64, 52, 300, 1700)
    bias = (1 << (np.finfo(number).nexp - 1)) - 1
    shape = (rows, columns)

    def of_exponents(low, high):
        bits = r.integers(0, 1 << fraction, shape, dtype=np.uint64) | (
            r.integers(low, high + 1, shape).astype(np.uint64) << np.uint64(fraction)) | (
            r.integers(0, 2, shape).astype(np.uint64) << np.uint64(fraction + np.finfo(number).nexp))
        return bits.astype(word).view(number)

    if kind == "uniform":
        return r.uniform(-1, 1, shape).astype(number)
    if kind == "wide":
        return of_exponents(bias - 20, bias + 20)
    if kind == "raw":
        return of_exponents(0 if number == np.float32 else least, most)
    if kind == "cancel":
        x = r.standard_normal(shape).astype(number)
        if of_b:
            x[1::2] = x[0:len(x) - len(x) % 2:2]
        else:
            x[:, 1::2] = -x[:, 0:columns - columns % 2:2]
        return x
    if kind == "subnormal":
        return of_exponents(bias - 20, bias + 40) if of_b else of_exponents(0, 30)
    if kind == "zeros":
        return np.where(r.random(shape) < 0.3, r.integers(-3, 4, shape), np.copysign(0.0, r.standard_normal(shape))).astype(number)
    x = r.standard_normal(shape).astype(number)
    tiny, big = np.finfo(number).smallest_subnormal, np.finfo(number).max
    values = np.array([np.inf, -np.inf, np.nan, -0.0, tiny, -tiny, big, -big, 1, np.finfo(number).tiny], number)
    where = r.random(shape) < 1 / 500
    x[where] = values[r.integers(0, len(values), where.sum())]
    return x


def f32_parts(x, scheme):
    """Parts as float32 arrays whose bits the instruction sees (tf32: bits)."""
    def bf16(v):
        u = v.view(np.uint32).astype(np.uint64)
        r = ((u + 0x7FFF + ((u >> np.uint64(16)) & np.uint64(1))) >> np.uint64(16)).astype(np.uint32) << np.uint32(16)
        r = np.where(np.isnan(v), np.uint32(0x7FFF0000), r)
        return r.view(np.float32)

    def rna(v):
        u = v.view(np.uint32)
        r = np.where(np.isfinite(v), ((u.astype(np.uint64) + 0x1000) & np.uint64(0xFFFFE000)).astype(np.uint32), u & np.uint32(0xFFFFE000))
        r = np.where(np.isnan(v), NAN32, r)
        return r.view(np.float32)

    def cut(v):
        r = v.view(np.uint32) & np.uint32(0xFFFFE000)
        r = np.where(np.isnan(v), NAN32, r)
        return r.view(np.float32)
    with np.errstate(all="ignore"):
        def minus(v, p):
            d = (v - p).astype(np.float32)
            return np.where(np.isnan(d), NAN32, d.view(np.uint32)).astype(np.uint32).view(np.float32)
        if scheme == "tf32x3":
            big = rna(x)
            return [big, minus(x, big)]
        if scheme == "3xtf32":
            big = cut(x)
            return [big, rna(minus(x, big))]
        if scheme == "bf16x3":
            a = bf16(x)
            return [a, bf16(minus(x, a))]
        if scheme == "bf16x6":
            a = bf16(x)
            r = minus(x, a)
            b = bf16(r)
            return [a, b, bf16(minus(r, b))]
        a = bf16(x)
        r = (minus(x, a) * np.float32(256)).astype(np.float32)
        b = bf16(r)
        r = (minus(r, b) * np.float32(256)).astype(np.float32)
        return [a, b, bf16(r)]


def unpack(x):
    """significand (signed, at most 24 bits), exponent of its unit, infinite, nan; tf32 sees 19 bits of a number, bf16 16."""
    u = x.view(np.uint32)
    field = ((u >> np.uint32(23)) & np.uint32(255)).astype(np.int64)
    fraction = (u & np.uint32(0x7FFFFF)).astype(np.int64)
    significand = np.where(field == 0, fraction, fraction | 0x800000)
    exponent = np.where(field == 0, 1, field) - 127
    sign = np.where(u >> np.uint32(31), -1, 1)
    return significand * sign, exponent, (field == 255) & (fraction == 0), (field == 255) & (fraction != 0)


def seen(x, scheme):
    """What the instruction reads of a part: tf32 has no low 13 bits."""
    return (x.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32) if "tf32" in scheme else x


def step(c, a, b, fraction=25, floor=-133):
    """One instruction: c (m, n) float32; a (m, l), b (l, n) float32 parts as the instruction reads them."""
    ma, ea, ia, na = unpack(a)
    mb, eb, ib, nb = unpack(b)
    mc, ec, ic, nc = unpack(c)
    depth = a.shape[1]
    top = np.where(mc != 0, np.maximum(ec, floor), floor)
    for k in range(depth):
        product = ea[:, k, None] + eb[None, k, :]
        some = (ma[:, k, None] != 0) & (mb[None, k, :] != 0)
        top = np.where(some, np.maximum(top, product), top)
    # units of 2^(top - fraction)
    def cut(m, unit):  # m * 2^unit, truncated toward zero to the unit of the sum
        shift = unit - (top - fraction)
        size = np.abs(m)
        left = np.where(shift >= 0, size << np.clip(shift, 0, 62 - 48), 0)
        right = size >> np.clip(-shift, 0, 62)
        return np.sign(m) * np.where(shift >= 0, left, right)
    total = cut(mc, ec - 23)
    nan = nc.copy()
    plus, minus = (ic & (mc > 0)), (ic & (mc < 0))
    for k in range(depth):
        m = ma[:, k, None] * mb[None, k, :]
        e = ea[:, k, None] + eb[None, k, :]
        special = ia[:, k, None] | ib[None, k, :]
        nan |= na[:, k, None] | nb[None, k, :] | (ia[:, k, None] & (mb[None, k, :] == 0)) | (ib[None, k, :] & (ma[:, k, None] == 0))
        sign = np.sign(ma[:, k, None]) * np.sign(mb[None, k, :])
        plus |= special & (sign > 0)
        minus |= special & (sign < 0)
        total = total + cut(m, e - 46)
    nan |= plus & minus
    size = np.abs(total).astype(np.int64)
    # toward zero to 24 bits, or to the unit of subnormals
    bits = np.where(size > 0, np.floor(np.log2(np.maximum(size, 1).astype(np.float64))).astype(np.int64), 0)
    bits = np.where((size >> np.clip(bits, 0, 62)) == 0, bits - 1, bits)
    unit = top - fraction
    drop = np.maximum(bits - 23, -149 - unit)
    kept = np.where(drop > 0, size >> np.clip(drop, 0, 62), size)
    exponent = np.where(drop > 0, unit + drop, unit)
    with np.errstate(all="ignore"):
        value = np.ldexp(kept.astype(np.float64), exponent.astype(np.int32))
        out = np.where(value > 3.4028234663852886e38, np.inf, value) * np.where(total < 0, -1.0, 1.0)
    out = np.where(total == 0, 0.0, out)
    out = np.where(plus, np.inf, np.where(minus, -np.inf, out)).astype(np.float32)
    return np.where(nan, NAN32, out.view(np.uint32)).astype(np.uint32).view(np.float32)


ORDERS = {
    "tf32x3": [(1, 0, ""), (0, 1, ""), (0, 0, "clear")],
    "bf16x3": [(1, 0, ""), (0, 1, ""), (0, 0, "clear")],
    "bf16x6": [(1, 1, ""), (2, 0, ""), (0, 2, ""), (1, 0, ""), (0, 1, ""), (0, 0, "clear")],
    "bf16x9": [(2, 2, ""), (1, 2, "scale"), (2, 1, ""), (0, 2, "scale"), (1, 1, ""), (2, 0, ""), (0, 1, "scale"),
               (1, 0, ""), (0, 0, "scale")],
    "3xtf32": [(1, 0, ""), (0, 1, ""), (0, 0, "")],
}


def product(a, b, scheme, block):
    """D by the scheme; `block`: k of a round."""
    m, k = a.shape
    n = b.shape[1]
    depth = 8 if "tf32" in scheme else 16
    pa, pb = [seen(p, scheme) for p in f32_parts(a, scheme)], [seen(p, scheme) for p in f32_parts(b, scheme)]
    total = np.zeros((m, n), np.float32)
    acc = np.zeros((m, n), np.float32)
    for first in range(0, k, block):
        last = min(k, first + block)
        if scheme != "3xtf32":
            acc = np.zeros((m, n), np.float32)
        for i, j, before in ORDERS[scheme]:
            if before == "clear":
                acc = np.where(np.isnan(acc), np.float32(0), acc)
            if before == "scale":
                with np.errstate(all="ignore"):
                    acc = (acc * np.float32(2.0**-8)).astype(np.float32)
            for at in range(first, last, depth):
                end = min(last, at + depth)
                acc = step(acc, np.ascontiguousarray(pa[i][:, at:end]), np.ascontiguousarray(pb[j][at:end]))
        if scheme != "3xtf32":
            with np.errstate(all="ignore"):
                total = (total + acc).astype(np.float32)
            total = np.where(np.isnan(total), NAN32, total.view(np.uint32)).astype(np.uint32).view(np.float32)
    return acc if scheme == "3xtf32" else total


def ozaki(a, b, slices):
    """By exact integers: int64 products of digits, and binary64 sums."""
    m, k = a.shape
    n = b.shape[1]

    def digits(x):  # lanes along axis 0
        finite = np.isfinite(x).all(axis=1)
        y = np.where(finite[:, None], x, 0.0)
        most = np.abs(y).max(axis=1) if k else np.zeros(len(y))
        e = np.frexp(most)[1]
        out = np.zeros((slices, *y.shape), np.int64)
        for i in range(y.shape[0]):
            shift = 7 * slices - 1 - int(e[i])  # the first digit has 6 bits
            for j in range(y.shape[1]):
                v = y[i, j]
                if v == 0:
                    continue
                num, den = abs(float(v)).as_integer_ratio()
                whole = (num << shift) // den if shift >= 0 else num // (den << -shift)
                for s in range(slices):
                    d = (whole >> (7 * (slices - 1 - s))) & 127
                    out[s, i, j] = -d if v < 0 else d
        return out, e, finite
    da, ea, fa = digits(a)
    db, eb, fb = digits(np.ascontiguousarray(b.T))
    total = np.zeros((m, n))
    for s in range(slices):
        for i in range(s + 1):
            part = da[i] @ db[s - i].T
            total = total + part.astype(np.float64) * 2.0 ** (-12 - 7 * s)
    with np.errstate(all="ignore"):
        d = np.ldexp(total, ea[:, None] + eb[None, :])
    bad = ~fa[:, None] | ~fb[None, :]
    return np.where(bad, np.uint64(0xFFF8000000000000), d.view(np.uint64)).astype(np.uint64).view(np.float64)


MODULI = (256, 255, 253, 251, 247, 241, 239, 233, 229, 227, 223, 217, 211, 199, 197, 193, 191, 181, 179, 173)


def fma(a, b, c):
    return float(Fraction(a) * Fraction(b) + Fraction(c))


def log2(x):
    """Of a fraction of any size, which is no power of two but by chance."""
    shift = x.numerator.bit_length() - x.denominator.bit_length() - 60
    return math.log2(float(x / Fraction(2) ** shift)) + shift


def residues(a, b, count):
    """ozaki2: rows as whole integers, and of their product what both parts of each weight make."""
    moduli = MODULI[:count]
    whole = math.prod(moduli)

    def lanes(x):
        numbers, shifts = [], []
        for lane in x.tolist():
            with np.errstate(over="ignore"):
                most = float(np.float32(max(map(abs, lane)))) if all(map(math.isfinite, lane)) else math.inf
            if not most or most == math.inf:
                numbers.append([0] * len(lane))
                shifts.append(None if most else 0)
                continue
            norm = log2(sum(Fraction(v) ** 2 for v in lane)) / 2
            shift = math.floor(math.log2(whole - 1) / 2 - 2 - max(1, norm)) - math.frexp(most)[1] + 1
            numbers.append([int(Fraction(v) * Fraction(2) ** shift) for v in lane])
            shifts.append(shift)
        return np.array(numbers, object), shifts

    rows, of_row = lanes(a)
    columns, of_column = lanes(b.T)
    weights = [pow(whole // p, -1, p) * (whole // p) for p in moduli]
    two = count > 6  # P_is_double of GEMMul8
    unit = whole.bit_length() - 53 + math.ceil(math.log2(sum(p // 2 for p in moduli))) if two else 0
    high = [float(w >> unit << unit) for w in weights]
    low = [float(w & ((1 << unit) - 1)) for w in weights]
    out = np.zeros(rows.shape[:1] + columns.shape[:1])
    for (i, j), exact in np.ndenumerate(rows @ columns.T):
        if of_row[i] is None or of_column[j] is None:
            out[i, j] = NAN64
            continue
        total = rest = 0.0
        for p, of_high, of_low in zip(moduli, high, low):
            residue = (exact + p // 2) % p - p // 2
            total, rest = fma(of_high, residue, total), fma(of_low, residue, rest)
        times = round(1 / float(whole) * total)
        total = fma(-float(whole), times, total)
        if two:
            total = fma(-float(whole - int(float(whole))), times, total + rest)
        out[i, j] = math.ldexp(total, -of_row[i] - of_column[j])
    return out
