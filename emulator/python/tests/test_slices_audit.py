"""Errors that the audit of slices tells, against exact fractions, where numbers are hard to measure."""
import unittest
from fractions import Fraction

import numpy as np

import mmaudit

from .tool import WithTool

HALF_LEAST = Fraction(1, 2**1075)  # of subnormal numbers: the element's error is without it


def errors(a, b, d):
    """Norm and element as docs/slices.md defines them."""
    off = whole = element = Fraction(0)
    for i, row in enumerate(a.tolist()):
        for j, column in enumerate(b.T.tolist()):
            if not np.isfinite(d[i, j]):
                continue
            products = [Fraction(x) * Fraction(y) for x, y in zip(row, column)]
            exact, size = sum(products), sum(map(abs, products))
            error = abs(Fraction(float(d[i, j])) - exact)
            off, whole = off + error * error, whole + exact * exact
            if size:
                element = max(element, (error - HALF_LEAST) / size)
    return float(off / whole) ** 0.5 if whole else 0.0, float(element)


def normal(seed, m=12, k=16, n=8):
    r = np.random.default_rng(seed)
    return r.standard_normal((m, k)), r.standard_normal((k, n)), r


def tiny(scale):
    a, b, _ = normal(1)
    return a * scale, b * scale


def half_tiny():
    a, b, _ = normal(2)
    a[6:] *= 1e-280
    a[6:, ::2] *= 1e-15
    return a, b


def large_meets_small():  # rows whose large numbers meet small ones
    a, b, _ = normal(3, 16)
    b[8:] *= 1e-9
    a[8:, :8] *= 1e-9
    a[8:] *= 1e-268
    return a, b


def overflowing_size():
    a, b, _ = normal(4)
    a[0] = 0
    a[0, :2] = 1.5e308, -1.5e308
    b[:2] = 1
    return a, b


def cancelling():
    b = normal(5, k=4, n=5)[1]
    b[2] = b[0]
    return np.array([[1e16, 1, -1e16, 0]] * 4), b


def low_alone():  # the exact product is in the low part of a sum alone
    return np.array([[1e16, 1.0001, -1e16, -1]] * 4), np.ones((4, 5)) * [[1, 1.5, 1.25, 1.75, 1.125]]


def far_apart():  # products 2^-1900 below the largest numbers of row and column
    return np.array([[1e300, 3e-280, 0], [0, 1, 7e-290]]), np.array([[0, 1], [1e-20, 3], [5, 1e300]])


CASES = {"2^-480": tiny(1e-145), "subnormal": tiny(1e-160), "near the largest": tiny(1e153), "half tiny": half_tiny(),
         "large meets small": large_meets_small(), "overflowing size": overflowing_size(), "cancelling": cancelling(),
         "low alone": low_alone(), "far apart": far_apart()}


class SlicesAudit(WithTool):
    def audit(self, a, b, **words):
        return mmaudit.audit(a, b, w_transposed=False, **{"dtype": "f64", **words})

    def test_errors_are_what_fractions_say(self):
        for name, (a, b) in CASES.items():
            found = self.audit(a, b)
            self.assertEqual(found["unmeasured"], 0, name)
            for row in found.rows:
                d = mmaudit.matmul(a, b, scheme=row["scheme"])
                norm, element = errors(a, b, d)
                self.assertEqual(row["errors"]["lost"], np.sum(~np.isfinite(d)), (name, row["scheme"]))
                for figure, expected in (("norm", norm), ("element", element)):
                    self.assertLessEqual(abs(row["errors"][figure] - expected), 1e-9 * expected, (name, row["scheme"], figure))

    def test_no_scheme_is_advised_for_what_cannot_be_measured(self):
        a, b = tiny(1e200)
        found = self.audit(a, b)
        self.assertEqual(found["headline"], "No advice: 96 of 96 elements can't be measured.")
        self.assertFalse(found.passes)
        a, b, _ = normal(1)
        a[0] *= 1e308
        self.assertIn("No advice: ", self.audit(a, b, max_rel_fro=1e-3)["headline"])

    def test_the_least_error_is_of_a_scheme_that_loses_no_element(self):
        a = np.array([[3.3999e38, 1], [1.1, 3.3999e38]], np.float32)  # infinite in bf16
        found = self.audit(a, np.array([[0.3, 0.1], [0.1, 0.3]], np.float32), dtype="f32", max_rel_fro=1e-12)
        self.assertRegex(found["headline"], "the least error is [^0].*, of tf32x3")

    def test_the_least_error_is_of_what_is_asked_for(self):
        x = np.exp(-(np.linspace(0, 1, 24)[:, None] - np.linspace(0, 1, 16)) ** 2 * 200)
        found = self.audit(x, x.T.copy(), max_element_error=1e-30)
        least = min(found.rows, key=lambda row: row["errors"]["element"])
        self.assertTrue(found["headline"].endswith(f"of {least['scheme']}."), found["headline"])

    def test_residues_of_what_binary32_cannot_tell_are_not_advised(self):
        for scale in (2.0**-200, 2.0**200):  # GEMMul8 takes the exponent of the largest of a row in binary32
            a, b, _ = normal(1)
            found = self.audit(a * scale, b, max_rel_fro=1e-9)
            self.assertTrue(found["use"].startswith("cublas-f64:"), found["use"])

    def test_the_search_goes_on_while_nothing_passes(self):
        a, b = low_alone()  # the first slices leave all of D at 0
        found = self.audit(a, b, max_rel_fro=1e-4)
        self.assertNotEqual(found["use"], "")
        self.assertLessEqual(errors(a, b, mmaudit.matmul(a, b, scheme=found["use"]))[0], 1e-4)

    def test_advice_from_a_sample_holds_on_other_tiles(self):
        a, b, _ = normal(6, 32, 48, 24)
        a[:, 5] *= 2.0**np.arange(32)  # what a row needs depends on the row
        for words in ({}, {"max_element_error": 1e-9}):
            found = self.audit(a, b, sample=96, **words)
            self.assertEqual((found["elements"], found["checked"]), (90, 576))
            scheme, slices = found["use"].split(":")
            limits = found["native"]["norm"], found["native"]["element"]
            if words:
                limits = np.inf, 1e-9
            d = mmaudit.matmul(a, b, scheme=found["use"])
            self.assertTrue(all(x <= y for x, y in zip(errors(a, b, d), limits)), found["use"])
        whole = self.audit(a, b, sample=400)
        self.assertEqual(whole["checked"], 32 * 24)

    def test_a_product_of_zeros_has_no_advice(self) -> None:
        a, b = normal(1)[:2]
        for limit in ({}, {"max_rel_fro": 1e-9}):
            found = self.audit(a * 0, b, **limit)
            self.assertEqual(found["headline"], "No advice: every element of A B that was looked at is zero.")
            self.assertEqual(found["use"], "")

    def test_a_chain_without_a_right_digit_is_no_measure(self):
        a, b = low_alone()
        found = self.audit(a, b)
        self.assertRegex(found["headline"], "No advice: a chain of fma has no right digit here .error [0-9.e+-]*., so it is "
                                            "no measure; the least error is .*, of ozaki1:1[0-9].*--max-rel-fro")
        self.assertFalse(found.passes)
        self.assertEqual(self.audit(a, b, max_rel_fro=1e-4)["use"].split(":")[0], "ozaki1")
        self.assertRegex(self.audit(*normal(1)[:2], max_rel_fro=1e-18)["headline"], "No scheme of f64 is within the limits: the least")

    def test_a_fallback_to_binary64_is_no_scheme(self):
        for special in (np.nan, np.inf):
            a, b, _ = normal(7)
            a[3, 4] = special
            found = self.audit(a, b, max_rel_fro=1e-3)
            self.assertEqual(found["not_finite"], 8)
            falls = [row["scheme"] for row in found.rows if row["falls_back"]]
            self.assertEqual(falls, ["cublas-f64:1"])
            self.assertNotIn(found["use"], falls)
        a, b, _ = normal(7, 200)  # in no sample of one row or of a few
        a[3, 4] = np.inf
        found = self.audit(a, b, max_rel_fro=1e-3, sample=8)
        self.assertEqual(found["not_finite"], 0)
        self.assertTrue(found["use"].startswith("ozaki"), found["use"])
        a[:] = np.nan
        self.assertEqual(self.audit(a, b)["headline"], "No advice: 1600 of 1600 elements can't be measured.")

    def test_it_is_shown(self):
        a, b, _ = normal(8)
        for dtype, number in (("f64", np.float64), ("f32", np.float32)):
            found = self.audit(a.astype(number), b.astype(number), dtype=dtype, max_element_error=1e-3)
            self.assertTrue(found.passes)
            for text in (repr(found), str(found), found._repr_html_()):
                self.assertIn(found["use"], text)
                self.assertIn(found["headline"], text)

    def test_what_is_refused(self):
        a, b, _ = normal(9)
        for words, message in [({"arch": "volta"}, "arch: found volta .*no instruction for int8"),
                               ({"arch": "cdna3"}, "arch: found cdna3 .*no instruction for int8"),
                               ({"dtype": "bf16", "max_element_error": 1e-3}, "max_element_error: found without")]:
            with self.assertRaisesRegex(ValueError, message):
                self.audit(a, b, **words)
        with self.assertRaisesRegex(ValueError, "arch: found volta .*no instruction for tf32"):
            self.audit(a.astype(np.float32), b.astype(np.float32), dtype="f32", arch="volta")

    def test_k_beyond_int32(self):
        line = np.full((1, 2**17), 25472 / 32768)
        found = self.audit(line, line.T.copy(), max_rel_fro=1e-3)
        self.assertEqual(found["refused"], ["k: found 131072, allowed: up to 131071 with cublas-f64"])
        self.assertEqual(found["use"].split(":")[0], "ozaki1")
        with self.assertRaisesRegex(ValueError, "k: found 131072, allowed: up to 131071 with cublas-f64"):
            mmaudit.matmul(line, line.T.copy(), scheme="cublas-f64:3")


if __name__ == "__main__":
    unittest.main()
