"""Errors of `ozaki1` against the figures that another group published of their own simulation, in abdelfattah2025.csv.

`python3 test_slices_papers.py` prints all of theirs beside ours. Theirs is one draw of random numbers each, so ours is
a range over draws. Their first digit has 7 bits, as in the paper of Ootomo, Ozaki and Yokota; ozIMMU's and so ours has
6: our t - 1 stands beside their t."""
import csv
import pathlib
from fractions import Fraction

import numpy as np

import mmaudit

SLICES = range(1, 19)


def published(table):
    lines = [line for line in (pathlib.Path(__file__).parent / "abdelfattah2025.csv").read_text().splitlines()
             if not line.startswith("#")]
    return {int(row["x"]): [float(v) for v in row["errors"].split()]
            for row in csv.DictReader(lines) if row["table"] == table}


def relative(d, exact):
    return np.array([float(abs(Fraction(v) - x) / abs(x)) for v, x in zip(d.ravel().tolist(), exact)])


def sweep(t, slices, draws=24):
    """log10 of the error of x 2^-t times y 2^t plus x y, least and largest of draws^2 pairs."""
    r = np.random.default_rng(t)
    x, y = r.standard_normal(draws), r.standard_normal(draws)
    d = mmaudit.matmul(np.stack([x * 2.0**-t, x], 1), np.stack([y * 2.0**t, y], 0), scheme=f"ozaki1:{slices}")
    exact = [2 * Fraction(p) * Fraction(q) for p in x.tolist() for q in y.tolist()]
    with np.errstate(divide="ignore"):
        errors = np.log10(relative(d, exact))
    return errors.min(), errors.max()


def inside(steps, apart):
    """How many of theirs are within our range, our t being theirs less `apart`; of how many."""
    table = published("sweep")
    found = [sweep(t - apart, s)[0] - 0.001 <= table[t][s - 1] <= sweep(t - apart, s)[1] + 0.001
             for t in range(1, 101, steps) for s in SLICES]
    return sum(found), len(found)


def forward(phi, k, draw):
    """The largest relative error of 10 x 10 elements for 2, 4, 6, 8 and 10 slices."""
    r = np.random.default_rng([phi, k, draw])
    a, b = ((r.random(shape) - 0.5) * np.exp(phi * r.standard_normal(shape)) for shape in ((10, k), (k, 10)))
    whole = np.vectorize(Fraction, otypes=[object])
    exact = (whole(a) @ whole(b)).ravel().tolist()
    return [relative(mmaudit.matmul(a, b, scheme=f"ozaki1:{s}"), exact).max() for s in (2, 4, 6, 8, 10)]


def test_the_errors_of_two_products_are_theirs():
    ours, all_of = inside(6, 1)
    assert ours >= 0.97 * all_of, (ours, all_of)
    assert inside(24, 0)[0] < 0.9 * inside(24, 1)[0]  # the bits of the first digit show


def test_the_errors_of_wide_exponents_are_theirs():
    for phi in (8, 13):
        for k in (10, 69, 183):
            draws = np.array([forward(phi, k, draw) for draw in range(12)])
            # One draw each: its error may be beyond the range of ours, by how much ours vary.
            theirs = np.array(published(f"phi{phi}")[k])
            assert (theirs >= draws.min(0) / 10).all(), (phi, k, theirs, draws.min(0))
            assert (theirs <= draws.max(0) * 30).all(), (phi, k, theirs, draws.max(0))


def main():
    for phi in (8, 13):
        for k, theirs in published(f"phi{phi}").items():
            if k > 10000:  # minutes of exact fractions
                continue
            draws = np.array([forward(phi, k, draw) for draw in range(5)])
            for s, error, low, high in zip((2, 4, 6, 8, 10), theirs, draws.min(0), draws.max(0)):
                print(f"phi {phi} K {k} slices {s}: theirs {error:.1e}, ours {low:.1e} to {high:.1e}")
    for t, theirs in published("sweep").items():
        print(f"t {t}: " + ", ".join(
            f"{s} {theirs[s - 1]:.2f} ({low:.2f} to {high:.2f})" for s in SLICES for low, high in [sweep(t - 1, s)]))
    print("within our range: {} of {}".format(*inside(1, 1)))


if __name__ == "__main__":
    main()
