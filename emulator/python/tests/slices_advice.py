"""Is the number of slices that an audit recommends enough, and is one fewer too few? 1,000 matrices of ten kinds.

Usage: advice.py COUNT SEED [SAMPLE]. Needs mmaudit's Python package and program. Errors are judged by exact integers.
"""
import collections
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

import mmaudit

TOOL = os.environ["MMAUDIT_TOOL"]
M, N, K = 48, 40, 64


def normal(r, m, n):
    return r.standard_normal((m, n))


def wide(r, m, n, bits):
    return r.standard_normal((m, n)) * 2.0 ** r.integers(-bits, bits + 1, (m, n))


def graded(r, rows, columns):
    return r.standard_normal((rows, columns)) * 2.0 ** (-np.arange(rows))[:, None]


def cancelling(r):
    a, b = normal(r, M, K), normal(r, K, N)
    a[:, K // 2:] = -a[:, :K // 2]
    b[K // 2:] = b[:K // 2] * (1 + 2.0**-20 * r.standard_normal((K // 2, N)))
    return a, b


def outliers(r):
    a, b = normal(r, M, K), normal(r, K, N)
    a[:, r.integers(K)] *= 2.0**30
    return a, b


def spd(r):
    x = normal(r, K, K)
    q = np.linalg.qr(x)[0]
    s = q @ np.diag(10.0 ** -np.linspace(0, 12, K)) @ q.T
    return s[:M], np.linalg.inv(s)[:, :N]


def tiny_rows(r):
    a, b = normal(r, M, K), normal(r, K, N)
    a[r.random(M) < 0.3] *= 2.0**-600
    return a, b


KINDS = {
    "normal": lambda r: (normal(r, M, K), normal(r, K, N)),
    "uniform positive": lambda r: (r.random((M, K)), r.random((K, N))),
    "graded rows": lambda r: (graded(r, M, K), normal(r, K, N)),
    "graded along K": lambda r: (graded(r, K, M).T.copy(), graded(r, K, N)),
    "10 exponents": lambda r: (wide(r, M, K, 5), wide(r, K, N, 5)),
    "60 exponents": lambda r: (wide(r, M, K, 30), wide(r, K, N, 30)),
    "cancellation": cancelling,
    "outlier column": outliers,
    "ill conditioned, times inverse": spd,
    "rows near 2^-600": tiny_rows,
}


def integers(x):
    """Exact integers, and the exponent of their unit."""
    unit = int(np.frexp(np.abs(x[x != 0]).min())[1]) - 53
    return np.array([[_whole(v, unit) for v in row] for row in x.tolist()], object), unit


def _whole(v, unit):
    num, den = v.as_integer_ratio()
    return num * (1 << -unit) // den if unit < 0 else num // (den << unit)


def errors(a, b, d):
    (ia, ua), (ib, ub) = integers(a), integers(b)
    exact, size = ia @ ib, np.abs(ia) @ np.abs(ib)
    unit = ua + ub
    flat, whole, worst = 0, 0, 0.0
    for x, s, v in zip(exact.ravel(), size.ravel(), d.ravel().tolist()):
        num, den = v.as_integer_ratio()  # error in units of 2^(unit - 64)
        shift = 64 - unit
        off = (num << shift) // den - (x << 64) if shift >= 0 else num // (den << -shift) - (x << 64)
        flat += off * off
        whole += (x << 64) ** 2
        if s:
            worst = max(worst, abs(off) / (s << 64))
    return (flat * 10**80 // whole / 1e80) ** 0.5 if whole else 0.0, worst


def main():
    count, seed = int(sys.argv[1]), int(sys.argv[2])
    sample = sys.argv[3] if len(sys.argv) > 3 else "all"
    tally = collections.defaultdict(collections.Counter)
    with tempfile.TemporaryDirectory() as folder:
        for i in range(count):
            r = np.random.default_rng([seed, i])
            kind = list(KINDS)[i % len(KINDS)]
            a, b = KINDS[kind](r)
            np.save(f"{folder}/a.npy", a), np.save(f"{folder}/b.npy", b)
            by_norm = bool(r.integers(2))
            limit = 10.0 ** r.uniform(-15, -5)
            option = "--max-rel-fro" if by_norm else "--max-element-error"
            out = subprocess.run([TOOL, "audit", "--a", f"{folder}/a.npy", "--b", f"{folder}/b.npy", "--no-b-transposed",
                                  "--dtype", "f64", "--sample", sample, "--seed", str(i), option, repr(limit), "--json"],
                                 capture_output=True, text=True, check=False)
            use = json.loads(out.stdout)["use"]
            if not use:
                tally[kind]["none"] += 1
                best = mmaudit.matmul(a, b, scheme="ozaki1:18")
                tally[kind]["none, and 18 slices are within"] += errors(a, b, best)[not by_norm] <= limit
                continue
            scheme, slices = use.split(":")
            slices = int(slices)
            tally[kind][scheme] += 1
            tally[kind]["advised"] += 1
            tally[kind]["slices"] += slices
            tally[kind]["met"] += errors(a, b, mmaudit.matmul(a, b, scheme=use))[not by_norm] <= limit
            if slices > (2 if scheme == "ozaki2" else 1):
                fewer = errors(a, b, mmaudit.matmul(a, b, scheme=f"{scheme}:{slices - 1}"))[not by_norm]
                tally[kind]["one fewer fails"] += fewer > limit
                tally[kind]["with one fewer"] += 1
    for kind, row in tally.items():
        print(kind, dict(row))
    print("all", dict(sum(tally.values(), collections.Counter())))


if __name__ == "__main__":
    main()
