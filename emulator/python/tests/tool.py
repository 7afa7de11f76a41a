"""The command line tool, as the tests compare the package with it: $MMAUDIT_TOOL."""
import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import numpy as np

TOOL = os.environ.get("MMAUDIT_TOOL")


class WithTool(unittest.TestCase):
    """Cases that run the tool in a folder of their own."""

    def setUp(self):
        if not TOOL:
            self.skipTest("MMAUDIT_TOOL names no mmaudit to compare with")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_tool(self, *arguments):
        command = [TOOL, "-q", *(str(one) for one in arguments)]
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)

    def saved(self, name, array):
        path = self.folder / f"{name}.npy"
        np.save(path, array)
        return path

    def result(self, command, *arguments, **arrays):
        """D of a command whose operands are files."""
        for name, array in arrays.items():
            arguments += (f"--{name.replace('_', '-')}", self.saved(name, array))
        done = self.run_tool(command, *arguments, "--out", "D.npy")
        self.assertEqual(done.returncode, 0, done.stderr)
        return np.load(self.folder / "D.npy")

    def json(self, *arguments):
        done = self.run_tool(*arguments, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def refusal(self, command, *arguments, **arrays):
        """The one line of a refused command, without the program's name and the dashes of options."""
        for name, array in arrays.items():
            arguments += (f"--{name}", self.saved(name, array))
        done = self.run_tool(command, *arguments, "--out", "D.npy")
        self.assertEqual(done.returncode, 2, done.stderr)
        return done.stderr.strip().removeprefix("mmaudit: ").removeprefix("--")


def same_bits(x, y):
    """True when two arrays have one shape and one set of bytes."""
    return x.shape == y.shape and x.dtype.itemsize == y.dtype.itemsize and x.tobytes() == y.tobytes()
