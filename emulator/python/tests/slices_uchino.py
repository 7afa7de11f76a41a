"""The largest relative error of an element of products of (rand - 0.5) exp(phi randn), as Uchino, Ozaki and Imamura publish
it for N = 1024 (docs/results/slices.md, "Papers").

Usage: slices_uchino.py N PHI SCHEME,SCHEME,... SEED. Products of digits of 20 bits are exact in binary64, their sums have
64 bits: no code of the schemes."""
import sys

import numpy as np

import mmaudit

DIGITS, BITS = 6, 20


def digits(x, axis):
    exponent = np.frexp(np.abs(x).max(axis=axis, keepdims=True))[1]
    rest, out = np.ldexp(x, -exponent), []
    for _ in range(DIGITS):
        out.append(np.trunc(np.ldexp(rest, BITS)))
        rest = np.ldexp(rest, BITS) - out[-1]
    return out, exponent


def main():
    n, phi, schemes, seed = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3].split(","), int(sys.argv[4])
    r = np.random.default_rng(seed)
    a, b = ((r.random((n, n)) - 0.5) * np.exp(phi * r.standard_normal((n, n))) for _ in range(2))
    (rows, of_rows), (columns, of_columns) = digits(a, 1), digits(b, 0)
    exact = np.zeros((n, n), np.longdouble)
    for band in reversed(range(DIGITS)):
        total = sum((rows[i] @ columns[band - i]).astype(np.longdouble) for i in range(band + 1))
        exact += np.ldexp(total, -BITS * (band + 2))
    for scheme in schemes:
        d = np.ldexp(mmaudit.matmul(a, b, scheme=scheme), -(of_rows + of_columns))
        print(f"phi {phi} {scheme} {float(np.max(np.abs((d - exact) / exact))):.2e}", flush=True)


if __name__ == "__main__":
    main()
