"""Functions that probe() and reveal() can't ask, and arguments that can't be: one exception, at once."""
import socket
import struct
import sys

import numpy as np

import mmaudit
from mmaudit import _callable

from .tool import WithTool


class Refused(WithTool):
    def test_a_function_that_ends_the_program_is_told_to_the_tool(self):
        with self.assertRaises(SystemExit):
            mmaudit.reveal(lambda a, b: sys.exit(3), m=8, n=8, k=8)
        ours, theirs = socket.socketpair()
        with ours, theirs:
            theirs.sendall(struct.pack("<10Q", *[0] * 10))
            self.assertIsInstance(_callable._serve(ours, lambda sizes, inputs: sys.exit(3)), SystemExit)
            message = b"SystemExit: 3"  # without it the tool would wait for its timeout
            self.assertEqual(theirs.recv(100), struct.pack("<2Q", 0, len(message)) + message)

    def test_arguments_are_named_as_in_python(self):
        def zeros(a, b):
            return np.zeros((a.shape[0], b.shape[1]), np.float32)

        with self.assertRaises(ValueError) as refused:
            mmaudit.reveal(zeros, k=0)
        self.assertEqual(str(refused.exception), "k: found 0, allowed: 1 to 1000000000")

    def test_functions_that_are_no_sum_are_said_to_be(self):
        found = mmaudit.reveal(lambda a, b: np.random.rand(8, 8).astype(np.float32), m=8, n=8, k=8)
        self.assertEqual(found["why_no_tree"], "calls with the same operands give other bits")
        found = mmaudit.reveal(lambda a, b: np.zeros((8, 8), np.float32), m=8, n=8, k=8)
        self.assertEqual(found["why_no_tree"], "the sum of 8 equal products is 0 of them")
        self.assertIsNone(found["plan"])
