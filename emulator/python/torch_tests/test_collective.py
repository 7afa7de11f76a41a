"""torch.distributed's gloo against the plans: orders by masks, and every bit of sums and averages."""
import json
import os
import subprocess
import sys

import numpy as np
import pytest

pytestmark = pytest.mark.skipif("MMAUDIT_TOOL" not in os.environ, reason="MMAUDIT_TOOL names no mmaudit")


def tool(*words, code=0):
    done = subprocess.run([os.environ["MMAUDIT_TOOL"], "-q", "collective", *words, "--python", sys.executable],
                          capture_output=True, text=True)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("ranks, count, kind", [(3, 25, "bf16"), (4, 23, "f16")])
def test_the_order_of_every_element(ranks, count, kind):
    found = json.loads(tool("reveal", f"--ranks={ranks}", f"--count={count}", f"--type={kind}", "--json", "-"))
    rows = found["sections"][0]["tables"][0]["rows"]
    chunk = 2 * -(-count // (2 * ranks))
    wanted = []
    for last, first in enumerate(range(0, count, chunk)):
        turn = [(last - 1 - i) % ranks for i in range(ranks)]
        order = " + ".join(map(str, sorted(turn[:2])))
        for rank in turn[2:]:
            order = f"({order}) + {rank}"
        wanted.append([str(first), str(min(chunk, count - first)), order])
    assert [[cell if isinstance(cell, str) else cell["text"] for cell in row] for row in rows] == wanted


def test_an_empty_log_is_no_log_that_was_left_out(tmp_path):
    np.save(tmp_path / "x.npy", np.ones((4, 100), np.float32))
    (tmp_path / "nccl.log").write_text("")
    words = ["predict", "--x", str(tmp_path / "x.npy"), "--out", str(tmp_path / "y.npy")]
    done = subprocess.run([os.environ["MMAUDIT_TOOL"], "collective", *words, "--log", str(tmp_path / "nccl.log")],
                          capture_output=True, text=True)
    assert done.returncode == 2 and "--log: found nothing in " in done.stderr and not (tmp_path / "y.npy").exists()


@pytest.mark.parametrize("words", [
    ("--ranks=4", "--count=70001", "--type=f32"), ("--ranks=3", "--count=64000", "--type=bf16", "--operation=average"),
    ("--ranks=3", "--count=30003", "--type=f16", "--kind=reduce-scatter")])
def test_every_bit(words):
    assert tool("compare", *words).startswith("0 of ")


def test_another_order_is_seen():
    assert not tool("compare", "--ranks=4", "--count=5000", "--library=nccl-2.29", code=1).startswith("0 of ")
