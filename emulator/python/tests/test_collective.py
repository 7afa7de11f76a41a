"""collective() against ranks that pass chunks on, as NCCL's and gloo's sources describe it, in numpy."""
import unittest
from fractions import Fraction
from typing import Callable, Dict, List, Sequence, Tuple

import numpy as np

import mmaudit

Add = Callable[[np.ndarray, np.ndarray], np.ndarray]


def up(a: int, b: int) -> int:
    return -(-a // b)


def shares(count: int, size: int, ranks: int, channels: int, threads: int, threshold: int, weight: int, scatters: bool,
           old: bool) -> List[int]:
    """Elements per channel: NCCL gives whole cells, worth 32 KiB of traffic (16 KiB up to 2.28), to each in turn."""
    least = 16384 if old else 32768
    factor = (ranks if scatters else 2) * weight
    used = channels
    while used > 1 and count * size * (ranks if scatters else 1) < used * threads * threshold:
        used -= 1
    traffic = max(least, count * size * factor) // used
    traffic = max(least, traffic) if old else up(traffic, 16) * 16
    cell = up(up(least, factor), 16) * 16
    cells = up(count * size, cell)
    share = min(cells, up(traffic, cell * factor))
    if channels == 1:
        dealt = [cells]
    else:
        dealt = [share] * (cells // share) + ([cells % share] if cells % share else [])
        if len(dealt) > channels:  # the last channel takes what is left
            share = (cells - dealt[0]) // (channels - 1)
            dealt = [dealt[0]] + [share] * (channels - 2)
            dealt.append(cells - sum(dealt))
    out = [each * (cell // size) for each in dealt]
    out[-1] -= sum(out) - count
    return out


def ring_all_reduce(x: np.ndarray, ring: Sequence[int], chunk: int, line: int) -> np.ndarray:
    """One channel, step by step: every rank sends a chunk, and adds what it received to its own."""
    n, count = x.shape
    y = np.full(count, np.nan, x.dtype)
    start = ring.index(0)
    at = {ring[(start + i) % n]: i for i in range(n)}
    by_index = {index: rank for rank, index in at.items()}
    for loop in range(0, count, n * chunk):
        rest = count - loop
        size = chunk if rest >= n * chunk else up(up(rest, n), line) * line

        def piece(rank: int, index: int, loop: int = loop, size: int = size) -> np.ndarray:
            low = loop + index * size
            return x[rank, low:min(low + size, count)]

        held: Dict[int, np.ndarray] = {i: piece(by_index[i], (i - 1) % n) for i in range(n)}
        for step in range(2, n + 1):
            held = {i: piece(by_index[i], (i - step) % n) + held[(i - 1) % n] for i in range(n)}
        for i, values in held.items():
            low = loop + i * size
            if low < count:
                y[low:low + values.size] = values
    return y


class Collective(unittest.TestCase):
    # threads, their threshold, weight of a byte, bytes of a chunk; LL: a ring's threshold counts once per rank
    PROTOCOLS: Dict[str, Tuple[int, int, int, int]] = {
        "simple": (512, 64, 1, (4 << 20) // 2), "ll": (512, 8 * 4, 4, 32768), "ll128": (640, 8, 1, 576000)}

    def numbers(self, ranks: int, count: int, kind: type = np.float32) -> np.ndarray:
        draw = np.random.RandomState(count % 1000 + ranks)
        return (draw.standard_normal((ranks, count)) * 2.0 ** draw.randint(-6, 7, (ranks, count))).astype(kind)

    def test_rings_of_every_protocol(self) -> None:
        rings = [[0, 1, 2, 3], [0, 3, 1, 2], [2, 0, 3, 1]]
        text = "; ".join(" ".join(map(str, ring)) for ring in rings)
        for protocol, (threads, threshold, weight, chunk) in self.PROTOCOLS.items():
            for library, old in (("nccl-2.27", True), ("nccl-2.29", False)):
                for count, channels, kind in ((7, 8, np.float32), (50000, 8, np.float16), (500001, 3, np.float32),
                                              (1300000, 1, np.float16), (3000017, 2, np.float32)):
                    x = self.numbers(4, count, kind)
                    size = x.dtype.itemsize
                    want, low = np.empty(count, kind), 0
                    dealt = shares(count, size, 4, channels, threads, threshold, weight, False, old)
                    for channel, some in enumerate(dealt):
                        part = x[:, low:low + some]
                        want[low:low + some] = ring_all_reduce(part, rings[channel % 3], chunk // size, 16 // size)
                        low += some
                    y, plan = mmaudit.collective(x, library=library, protocol=protocol, channels=channels, rings=text)
                    wrong = int((y.view(f"u{size}") != want.view(f"u{size}")).sum())
                    self.assertEqual(wrong, 0, (protocol, library, count, channels, plan))

    def test_a_reduce_scatter_ends_at_its_rank(self) -> None:
        ring, count, channels = [0, 2, 1, 3], 40000, 4
        x = self.numbers(4, 4 * count)
        y, _ = mmaudit.collective(x, kind="reduce-scatter", channels=channels, rings="0 2 1 3; 0 1 2 3")
        low = 0
        for channel, some in enumerate(shares(count, 4, 4, channels, 512, 64, 1, True, False)):
            ring = [[0, 2, 1, 3], [0, 1, 2, 3]][channel % 2]
            for rank in range(4):
                place = slice(rank * count + low, rank * count + low + some)
                total = x[ring[(ring.index(rank) + 1) % 4], place]
                for step in (2, 3, 4):
                    total = x[ring[(ring.index(rank) + step) % 4], place] + total
                np.testing.assert_array_equal(y[place], total)
            low += some
        self.assertEqual(low, count)

    LOG = """node:1:1 [0] NCCL INFO NCCL version 2.28.9+cuda13.0
node:1:1 [0] NCCL INFO Channel 00/02 :    0   1   2   3
node:1:1 [0] NCCL INFO Channel 01/02 :    0   1   2   3
node:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM
node:1:1 [0] NCCL INFO Trees [0] 1/2/-1->0->-1 [1] 2/-1/-1->0->1
node:1:2 [1] NCCL INFO Trees [0] 3/-1/-1->1->0 [1] 0/3/-1->1->-1
node:1:3 [2] NCCL INFO Trees [0] -1/-1/-1->2->0 [1] -1/-1/-1->2->0
node:1:4 [3] NCCL INFO Trees [0] -1/-1/-1->3->1 [1] -1/-1/-1->3->1
node:1:1 [0] NCCL INFO AllReduce: 400000 Bytes -> Algo TREE proto LL channel{Lo..Hi}={0..1}
node:1:1 [0] NCCL INFO AllReduce: 800 Bytes -> Algo NVLS proto SIMPLE channel{Lo..Hi}={0..0}
node:1:1 [0] NCCL INFO AllReduce: 1200 Bytes -> Algo RING proto LL channel{Lo..Hi}={1..1}
"""

    def test_trees_of_a_log(self) -> None:
        x = self.numbers(4, 100000)
        y, plan = mmaudit.collective(x, log=self.LOG)
        self.assertIn("nccl-2.27, channels 2", plan)
        first = shares(100000, 4, 4, 2, 512, 8, 4, False, True)[0]
        a, b = x[:, :first], x[:, first:]
        np.testing.assert_array_equal(y[:first], (a[0] + (a[1] + a[3])) + a[2])
        np.testing.assert_array_equal(y[first:], (b[1] + (b[0] + b[2])) + b[3])

    def test_averages_round_once_at_a_receiver(self) -> None:
        """A rank's product is rounded as it is sent on, and not as it is added to what was received."""
        for kind, digits, least in ((np.float16, 11, -24), (np.float32, 24, -149)):
            bits = np.random.default_rng(7).integers(0, 1 << 8 * kind().itemsize, (3, 400))
            x = bits.astype(f"u{kind().itemsize}").view(kind)
            x[~np.isfinite(x)] = 1
            x[:, ::3] /= kind(2) ** x.dtype.type(-least - digits)  # near subnormal numbers
            third = Fraction(float(kind(1 / 3)))

            def near(value: Fraction, digits: int = digits, least: int = least) -> Fraction:
                exponent = least
                while abs(value) >= Fraction(2) ** (exponent + digits):
                    exponent += 1
                return round(value / Fraction(2) ** exponent) * Fraction(2) ** exponent  # ties to even

            y, _ = mmaudit.collective(x, operation="average", algorithm="tree", rings="0 1 2")
            z, _ = mmaudit.collective(x[:, :1], operation="average", rings="0 1 2")
            for at in range(x.shape[1]):
                own = [Fraction(float(one)) * third for one in x[:, at]]
                self.assertEqual(Fraction(float(y[at])), near(own[0] + near(own[1] + near(own[2]))), (kind, at))
            own = [Fraction(float(one)) * third for one in x[:, 0]]
            self.assertEqual(Fraction(float(z[0])), near(own[0] + near(own[2] + near(own[1]))))

    def test_averages_and_nans(self) -> None:
        x = self.numbers(3, 1000, np.float16)
        y, _ = mmaudit.collective(x, operation="average", library="gloo")
        np.testing.assert_array_equal(y[:300], ((x[0] + (x[1] + x[2])) / np.float16(3))[:300])
        inf = np.float32([[np.inf], [-np.inf]])
        self.assertEqual(mmaudit.collective(inf)[0].view(np.uint32)[0], 0x7FFFFFFF)
        self.assertEqual(mmaudit.collective(inf, library="gloo")[0].view(np.uint32)[0], 0xFFC00000)

    def test_refusals(self) -> None:
        x = np.ones((4, 200), np.float32)
        for word, arguments in (
            ("library: found \"nccl\"", {"library": "nccl"}), ("algorithm: found \"nvls\"", {"algorithm": "nvls"}),
            ("log: found the algorithm NVLS", {"log": self.LOG}), ("rings: found", {"rings": "0 1 2"}),
            ("algorithm: found tree", {"kind": "reduce-scatter", "algorithm": "tree"}),
            ("channels: found 65", {"channels": 65}),
            ("log: found NCCL 0.0", {"log": "nothing"}), ("buffer: found 8", {"buffer": 8}),
        ):
            with self.assertRaisesRegex(ValueError, word):
                mmaudit.collective(x, **arguments)  # type: ignore[arg-type]
        with self.assertRaisesRegex(ValueError, "log: found channels 1 to 1"):
            mmaudit.collective(np.ones((4, 300), np.float32), log=self.LOG)
        one = self.LOG.replace("800 Bytes -> Algo NVLS", "800 Bytes -> Algo RING")
        self.assertEqual(mmaudit.collective(x, log=one)[0][0], 4)
        for word, text in (
            ("rings of no channels", one.replace("Channel 0", "Kanal 0")),
            ("rings of some channels", one.replace("Channel 01", "Channel 00")),
            ("several communicators", one + "NCCL INFO Channel 01/02 : 0 3 2 1\n"),
            ("several communicators", one + "NCCL INFO Channel 00/04 : 0 1 2 3\n"),
            ("several communicators", one + "NCCL INFO Trees [0] 2/1/-1->0->-1\n"),
            ("several communicators", one + "NCCL INFO NCCL version 2.29.3\n"),
        ):
            with self.assertRaisesRegex(ValueError, word):
                mmaudit.collective(x, log=text)
        big = np.ones((4, 100000), np.float32)
        for word, there, instead in (
            ("trees: found rank 0 below two ranks", "[0] -1/-1/-1->3->1", "[0] 0/-1/-1->3->1"),
            ("trees: found rank 4, allowed: 0 to 3", "[0] -1/-1/-1->3->1", "[0] 4/-1/-1->3->1"),
            ("trees: found 3 ranks below the root", "[0] 3/-1/-1->1->0", "[0] -1/-1/-1->1->0"),
            ("channels: found 2000000000, allowed: 1 to 64", "Channel 01/02", "Channel 01/2000000000"),
        ):
            text = self.LOG.replace(there, instead)
            with self.assertRaisesRegex(ValueError, word):
                mmaudit.collective(big, log=text.replace("Channel 00/02", "Kanal") if "2000" in instead else text)
        with self.assertRaisesRegex(ValueError, "ranks: found 1"):
            mmaudit.collective(x[:1])
        with self.assertRaisesRegex(ValueError, "ranks: found 0"):
            mmaudit.collective(x[:0], kind="reduce-scatter", log=self.LOG)
        with self.assertRaisesRegex(ValueError, "type: found f64"):
            mmaudit.collective(x.astype(np.float64))
