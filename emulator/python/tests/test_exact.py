"""check_gemm(): faulty callables are found and named, right ones raise no alarm."""
import unittest

import numpy as np

import mmaudit
from mmaudit import _arrays

SHAPES = [(48, 40, 136), (64, 32, 512), (17, 23, 100)]


def product(a, b):
    return np.asarray(a, np.float64) @ np.asarray(b, np.float64)


def f32(x):
    return np.asarray(x, np.float32)


def drops_the_last_k(a, b):
    return f32(product(a[:, :-8], b[:-8]))


def doubles_a_k(a, b):
    return f32(product(a, b) + product(a[:, 5:6], b[5:6]))


def ignores_a_scale(a, b, scale_a, scale_b):
    return f32(product(a, b) * scale_b)


def block_products(a, b, scale_a, scale_b, of):
    d = 0
    for block in range(scale_a.shape[1]):
        part = slice(block * 32, block * 32 + 32)
        d = d + product(a[:, part], b[part]) * scale_a[:, of(block), None] * scale_b[block]
    return f32(d)


def takes_the_neighbours_scale(a, b, scale_a, scale_b):
    return block_products(a, b, scale_a, scale_b, lambda block: min(block + 1, scale_a.shape[1] - 1))


def takes_another_columns_bias(a, b, bias):
    return f32(product(a, b) + np.append(bias[1:], bias[-1]))


def ignores_beta(a, b, c, alpha, beta):
    return f32(alpha * product(a, b) + c)


def adds_before_it_scales(a, b, bias, scale_a, scale_b):
    return f32((product(a, b) + bias) * scale_a * scale_b)


def writes_outside(a, b, out):
    out[...] = product(a, b)
    out.base[-1, 3] = 5


def reads_padding(a, b):
    rows, columns = a.shape
    whole = a.base[1:-1, 64:65 + columns]
    return f32(product(a, b) + 0 * np.nan_to_num(whole[:, -1:], nan=0) + 0 * whole[:, -1:])


def squares_alpha(a, b, alpha):
    return f32(alpha * alpha * product(a, b))


def steps_off_by_one(a, b):
    batch, m, k = a.shape
    flat = np.append(a.reshape(-1), np.zeros(batch, a.dtype))
    return np.stack([f32(product(flat[i * (m * k - 1):][:m * k].reshape(m, k), b[i])) for i in range(batch)])


class Race:
    """Wrong in one of 20 runs: a slice is added twice."""

    def __init__(self):
        self.calls = 0

    def __call__(self, a, b):
        self.calls += 1
        d = product(a, b)
        return f32(d + product(a[:, :16], b[:16]) if self.calls % 20 == 13 else d)


class Stale:
    """C as it was when a shape came first, as a graph that was captured with another pointer has it."""

    def __init__(self):
        self.kept = {}

    def __call__(self, a, b, c):
        return f32(product(a, b) + self.kept.setdefault(c.shape, np.array(c, np.float64)))


def drops_a_slice_in_one_product(a, b):
    d = product(a, b)
    d[1] -= product(a[1, :, 32:48], b[1, 32:48])
    return f32(d)


def adds_another_tiles_c(a, b, c, beta):
    c = np.array(c, np.float64)
    c[:, 16:32] = c[:, 0:16]
    return f32(product(a, b) + beta * c)


def keeps_sums_in_f16(a, b):
    d = np.zeros((a.shape[0], b.shape[1]), np.float16)
    for k in range(0, a.shape[1], 16):
        d = np.float16(d + product(a[:, k:k + 16], b[k:k + 16]))
    return f32(d)


def takes_the_tile_before_of_a(a, b):
    a = np.array(a, np.float64)
    a[16:32] = a[0:16]
    return f32(product(a, b))


class RaceOfOneElement(Race):
    """One element lacks a k in one of 20 runs."""

    def __call__(self, a, b):
        self.calls += 1
        d = product(a, b)
        d[3, 5] += 1 if self.calls % 20 == 13 else 0
        return f32(d)


def adds_what_out_held(a, b, out):
    out[...] = product(a, b) + out


class Faulty(unittest.TestCase):
    def named(self, function, text, shapes=None, dtype="f32", **more):
        found = mmaudit.check_gemm(function, dtype=dtype, shapes=shapes or SHAPES, **more)
        self.assertFalse(found)
        self.assertEqual(len(found.wrong), found.products)
        for one in found.wrong:
            self.assertIn(text, "; ".join(one.faults), str(found))
        return found

    def test_k(self):
        self.named(drops_the_last_k, "the last 8 elements of K are in no sum")
        self.named(doubles_a_k, "element 5 of K is in the sums twice")

    def test_scales(self):
        self.named(ignores_a_scale, "scale_a is ignored")
        self.named(ignores_a_scale, "scale_a is ignored", scales="row")
        self.named(takes_the_neighbours_scale, "scale_a is the next block's of K", scales=32)

    def test_epilogues(self):
        self.named(takes_another_columns_bias, "the bias is the next column's")
        self.named(ignores_beta, "beta is ignored, C is added as it is")
        self.named(adds_before_it_scales, "the epilogue comes before the scale")
        self.named(squares_alpha, "alpha squared")

    def test_memory(self):
        self.named(writes_outside, "memory outside of D is written")
        self.named(reads_padding, "the padding of A is read")
        self.named(steps_off_by_one, "the batch stride of A is off by one: one element too short", padded=False,
                   shapes=[(3, 24, 16, 40), (4, 17, 9, 33)])

    def test_operands_that_are_written(self):
        def writes(which, at):
            def call(a, b):
                d = f32(product(a, b))
                (a, b)[which].base[at] = 0
                return d
            return call

        self.named(writes(0, (1, 70)), "A is written")
        self.named(writes(1, (-1, -1)), "B is written")  # its padding

    def test_a_race(self):
        found = self.named(Race(), "a race", shapes=[(32, 32, 64)], repeat=200)
        self.assertEqual(found.wrong[0].detail["failing"], 10)

    def test_rows_and_columns(self):
        def repeats_a_row(a, b):
            a = np.array(a, np.float64)
            a[1, 16] = a[1, 15]
            return f32(product(a, b))

        self.named(repeats_a_row, "row 16 of matrix 1 of D is made of row 15 of matrix 1 of A", shapes=[(3, 24, 20, 64)])
        self.named(lambda a, b: f32(product(a, np.roll(b, 1, -1))), "columns in all", shapes=[(24, 20, 64)])

    def test_operands(self):
        square = [(48, 48, 48), (40, 40, 40)]
        self.named(lambda a, b: f32(product(a.T, b)), "A is taken transposed", shapes=square)
        self.named(lambda a, b: f32(product(a, b.T)), "B is taken transposed", shapes=square)
        self.named(lambda a, b: f32(product(a, b).T), "D is transposed", shapes=[(48, 48, 136)])
        self.named(lambda a, b: f32(product(np.append(a[1:], a[-1:], 0), b)), "each 1 away", shapes=[(48, 40, 136)])
        self.named(takes_the_tile_before_of_a, "row 16 of D is made of row 0 of A; 16 rows in all, each -16 away", shapes=[(48, 40, 136)])
        self.named(drops_a_slice_in_one_product, "elements 32 to 47 of K are in no sum (product 1)",
                   shapes=[(3, 24, 20, 64), (4, 40, 33, 100)])
        self.named(lambda a, b: f32(product(a[:, 8:], b[8:])), "elements 0 to 7 of K are in no sum")

    def test_c(self):
        self.named(adds_another_tiles_c, "C is taken -16 columns away (columns 16 to 31)", shapes=[(48, 40, 136), (33, 64, 512)])
        self.named(Stale(), "C is from an earlier call")
        self.named(adds_what_out_held, "each by 77, which is what `out` held before")
        self.named(lambda a, b, scale_a, scale_b: f32(product(a, b) * scale_a * scale_b * scale_b), "scale_b is applied twice",
                   scales="row")

    def test_numbers(self):
        deep = [(48, 40, 8200), (33, 17, 5000)]
        self.named(keeps_sums_in_f16, "sums of more than 2048 ones are rounded: they are kept in 11 bits, as f16 does", deep, "f16",
                   d="f32")
        self.named(lambda a, b: f32(np.clip(product(a, b), -448, 448)), "D saturates: it is never beyond 448", deep)
        self.named(lambda a, b: np.float16(product(a, b)), "D is float16, not float32", shapes=[(48, 40, 136)])
        self.named(lambda a, b: f32(product(np.nan_to_num(a, nan=0), b)), "a NaN in A or B is hidden")
        self.named(lambda a, b: f32(np.where(np.isnan(np.sum(a)), np.nan, product(a, b))), "reaches", shapes=[(48, 40, 136)])

    def test_a_and_b_at_other_k(self):
        def exchanges(a, b):
            order = np.arange(a.shape[1])
            order[[3, 7]] = 7, 3
            return f32(product(a[:, order], b))

        for fault in (exchanges, lambda a, b: f32(product(a[:, ::-1], b)), lambda a, b: f32(product(a[:, :-1], b[1:]))):
            found = mmaudit.check_gemm(fault, dtype="f32", shapes=SHAPES * 3)
            self.assertFalse(found)
            for each in found.wrong:
                for text in each.faults:
                    self.assertRegex(text, "not taken at the same k|elements are wrong")
        self.named(lambda a, b: f32(-product(a, b)), "with the other sign")

    def test_part_of_d(self):
        def part(rows, columns):
            def fault(a, b):
                d = f32(product(a, b))
                d[rows, columns] = 0
                return d
            return fault

        self.named(part(slice(0, 16), slice(0, 6)), "rows 0 to 15, columns 0 to 5)")
        self.assertEqual(
            self.named(lambda a, b: 0 * f32(product(a, b)), "K are in no sum", shapes=[(33, 25, 48)]).wrong[0].faults,
            ("elements 0 to 47 of K are in no sum",))
        for shape in SHAPES:  # the last row has only some k of one round
            found = self.named(part(slice(-1, None), slice(None)), f"(row {shape[0] - 1}", shapes=[shape])
            self.assertNotIn("element 0 of K is in no sum;", found.wrong[0].faults[0])

    def test_out(self):
        self.named(lambda a, b, out: f32(product(a, b)), "nothing is written to `out`")

    def test_a_race_on_one_element(self):
        found = self.named(RaceOfOneElement(), "a race", shapes=[(32, 32, 64)], repeat=200)
        self.assertIn("(row 3, column 5)", found.wrong[0].faults[0])

    def test_the_condition(self):
        def drops_when_odd(a, b):
            rest = a.shape[1] % 16
            return f32(product(a[:, :a.shape[1] - rest], b[:b.shape[0] - rest]))

        found = mmaudit.check_gemm(drops_when_odd, dtype="f32", shapes=[(16, 24, 8 * i) for i in range(3, 20)])
        self.assertEqual(found.condition, "K mod 16 is not 0")
        self.assertEqual(len(found.wrong), 9)

    def test_a_fault_of_deep_products_shows_without_shapes(self):
        def ends_at_2048(a, b):
            return f32(product(a[:, :2048], b[:2048]))

        def kept_in_f16(a, b):
            return f32(np.asarray(product(a, b), np.float16))

        for seed in (1, 2, 5):  # whatever is drawn
            self.assertFalse(mmaudit.check_gemm(ends_at_2048, dtype="f32", seed=seed), seed)
        found = mmaudit.check_gemm(kept_in_f16, dtype="f32")
        self.assertIn("sums of more than 2048 ones are rounded", found.wrong[0].faults[0])

    def test_the_second_tile_of_128(self):
        """The usual shapes have more than one tile of a kernel with large ones."""
        for rows, columns in ((128, 0), (256, 0), (0, 256), (128, 128)):
            def wrong(a, b, rows=rows, columns=columns):
                d = f32(product(a, b))
                d[rows:, columns:] += 1
                return d

            with self.subTest(rows=rows, columns=columns):
                found = mmaudit.check_gemm(wrong, dtype="f32")
                self.assertTrue(found.wrong)
                self.assertTrue(all(one.shape[0] > rows and one.shape[1] > columns for one in found.wrong))

    def test_another_dtype_alone(self):
        """No element is wrong, and none is shown."""
        found = mmaudit.check_gemm(lambda a, b: product(a, b), dtype="f32", shapes=[(4, 4, 4)])
        self.assertEqual(found.wrong[0].faults, ("D is float64, not float32",))
        self.assertNotIn("first wrong element", str(found))


def in_slices(a, b):
    cut = [slice(i, i + 48) for i in range(0, a.shape[-1], 48)]
    return sum(f32(f32(a[..., part]) @ f32(b[..., part, :])) for part in reversed(cut))


def narrow(a, b):
    """Partial sums that are kept in binary16."""
    return sum(np.float16(product(a[..., i::7], b[..., i::7, :])) for i in range(7))


def with_everything(a, b, c, bias, scale_a, scale_b, alpha, beta, relu, out):
    d = alpha * product(a, b) * scale_a * scale_b + beta * np.asarray(c, np.float64) + np.asarray(bias, np.float64)
    out[...] = np.maximum(d, 0)


class Right(unittest.TestCase):
    def test_no_alarm(self):
        products = 0
        for function, more in (
            (lambda a, b: product(a, b), {"dtype": "f64"}), (in_slices, {"dtype": "f32"}), (narrow, {"dtype": "f16"}),
            (with_everything, {"dtype": "f16"}), (with_everything, {"dtype": "f16", "scales": "row"}),
            (lambda a, b: product(a, b).astype(np.int32), {"dtype": "s8"}),
        ):
            for batches, layout in ((False, "nn"), (True, "tn")):
                with self.subTest(batches=batches, **more):
                    if batches and function is with_everything:
                        continue
                    found = mmaudit.check_gemm(function, count=60, batches=batches, layout=layout, repeat=1, **more)
                    self.assertTrue(found, str(found))
                    products += found.products
        self.assertGreaterEqual(products, 600)

    def test_bf16(self):
        if _arrays._ml is None:
            self.skipTest("ml_dtypes is not installed")
        found = mmaudit.check_gemm(lambda a, b: product(a, b).astype(a.dtype), dtype="bf16", count=100, repeat=1)
        self.assertTrue(found, str(found))

    def test_a_small_product_with_a_deep_k(self):
        self.assertTrue(mmaudit.check_gemm(in_slices, dtype="f16", d="f32", shapes=[(1, 1, 400000), (8, 8, 30011)], repeat=1))
        found = mmaudit.check_gemm(drops_the_last_k, dtype="f16", d="f32", shapes=[(8, 8, 30011)])
        self.assertIn("the last 8 elements of K are in no sum", found.wrong[0].faults[0])

    def test_refusals(self):
        for more, line in (({"layout": "xy"}, "layout: found"), ({"takes": ["d"]}, "takes: found d"),
                           ({"shapes": [(1, 2)]}, "shapes: found [1, 2]"), ({"budget": "soon"}, "budget: found"),
                           ({"scales": "all"}, "scales: found"), ({"shapes": [(1, 0, 2)]}, "n: found 0"),
                           ({"repeat": -1}, "repeat: found -1"), ({"repeat": 1.5}, "repeat: found 1.5"),
                           ({"shapes": (8, 8, 8)}, "shapes: found [8], allowed: a list of"), ({"d": "fp32"}, "d: found fp32, allowed: ")):
            with self.subTest(line), self.assertRaisesRegex(ValueError, "^" + line.replace("[", r"\[")):
                mmaudit.check_gemm(lambda a, b, scale_a: product(a, b), dtype="f32", **more)
        with self.assertRaisesRegex(ValueError, "^dtype: found fp32, allowed: "):
            mmaudit.check_gemm(product, dtype="fp32")
        for given, line in ((None, "a NoneType"), ([[1.0]], "a list"), ("D", "a str")):
            with self.assertRaisesRegex(ValueError, f"^result: found {line}, allowed: an array of numpy or a tensor of torch"):
                mmaudit.check_gemm(lambda a, b, d=given: d, dtype="f32", shapes=[(4, 4, 4)])
        with self.assertRaisesRegex(ValueError, "^scales: found 'row', allowed: a callable that takes scale_a or scale_b"):
            mmaudit.check_gemm(product, dtype="f32", d="f64", scales="row")
        with self.assertRaisesRegex(ValueError, "^function: found 3, allowed: a callable"):
            mmaudit.check_gemm(3)
        with self.assertRaises(ZeroDivisionError):
            mmaudit.check_gemm(lambda a, b: 1 / 0, dtype="f32", shapes=[(4, 4, 4)])
        self.assertFalse(mmaudit.check_gemm(lambda a, b: product(a, b), dtype="f32", shapes=[]))


if __name__ == "__main__":
    unittest.main()
