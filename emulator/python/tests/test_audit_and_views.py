"""audit() is the audit of the tool; tables for notebooks; the fixture of pytest."""
import html
import importlib
import os
import subprocess
import sys
import tempfile
import types
import unittest
from pathlib import Path
from unittest import mock

import numpy as np

import mmaudit
from mmaudit import _tool

from .tool import WithTool

FP8 = "wgmma.m64n64k32.f32.e4m3.e4m3"


def layer():
    rng = np.random.default_rng(1)
    return rng.standard_normal((64, 256)).astype(np.float32), rng.standard_normal((256, 32)).astype(np.float32)


class Audits(WithTool):
    def test_it_is_the_audit_of_the_tool(self):
        x, w = layer()
        ours = mmaudit.audit(x, w, dtype=["e4m3", "bf16"], scale="tensor", max_rel_fro=0.01)
        done = self.run_tool("audit", "--a", self.saved("x", x), "--b", self.saved("w", w), "--dtype", "e4m3,bf16",
                             "--scale", "tensor", "--max-rel-fro", "0.01", "--json", "-")
        self.assertEqual(done.returncode, 0, done.stderr)
        theirs = mmaudit._audit.json.loads(done.stdout)
        for key in ("m", "n", "k", "limit", "passes", "rows", "left_out"):
            self.assertEqual(ours[key], theirs[key], key)
        self.assertFalse(ours.passes)
        self.assertEqual({row["verdict"] for row in ours.rows if row["dtype"] == "bf16"}, {"PASS"})

    def test_shapes_and_types(self):
        x, w = layer()
        how = dict(dtype="bf16", policy="plain")
        flat = mmaudit.audit(x, w, **how)
        self.assertEqual(mmaudit.audit(x.reshape(4, 16, 256), w, **how).rows, flat.rows)
        self.assertEqual(mmaudit.audit(x, w.T, w_transposed=True, **how).rows, flat.rows)
        c = np.ones((64, 32), np.float64)
        self.assertNotEqual(mmaudit.audit(x, w, c, **how).rows, flat.rows)
        halves = mmaudit.audit(x.astype(np.float16), w.astype(np.float16), dtype="f16", policy="plain")
        self.assertEqual(halves.rows[0]["relative_frobenius"]["quantization"], 0)

    def test_refusals_are_the_tools(self):
        x, w = layer()
        with self.assertRaisesRegex(ValueError, "^dtype: found"):
            mmaudit.audit(x, w, dtype="e9m9")
        with self.assertRaisesRegex(ValueError, "^x and w: found K = 256 .* \\(w_transposed=True"):
            mmaudit.audit(x, w.T)
        with self.assertRaisesRegex(ValueError, "^max_rel_fro: found -1"):
            mmaudit.audit(x, w, max_rel_fro=-1)
        with self.assertRaisesRegex(ValueError, "allowed: float64, float32"):
            mmaudit.audit(x.astype(np.int64), w)
        with self.assertRaisesRegex(ValueError, "two dimensions or more"):
            mmaudit.audit(x[0], w)
        nowhere = mock.patch.dict("os.environ", {"MMAUDIT_TOOL": "", "PATH": "", "HOME": "/nonexistent"})
        with nowhere, self.assertRaisesRegex(RuntimeError, "found no program of this name, allowed: one on PATH"):
            mmaudit.audit(x, w)

    def test_the_module_is_the_program(self):
        asked = [sys.executable, "-m", "mmaudit", "explain", "--arch", "nothing", "--inst", "mma.m16n8k16.f32.f16.f16.f32"]
        done = subprocess.run(asked, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn('--arch: found "nothing", allowed: ', done.stderr)
        lacking = {**os.environ, "MMAUDIT_TOOL": "", "PATH": "", "HOME": "/nonexistent"}
        done = subprocess.run(asked, capture_output=True, text=True, check=False, env=lacking)
        self.assertEqual(done.returncode, 3)
        self.assertIn("found no program of this name", done.stderr)

    def test_the_wheels_program_goes_before_path(self):
        with tempfile.TemporaryDirectory() as folder:
            beside, on_path = Path(folder) / "scripts" / "mmaudit", Path(folder) / "path" / "mmaudit"
            for program in (beside, on_path):
                program.parent.mkdir()
                program.write_text("#!/bin/sh\n")
                program.chmod(0o755)
            where = mock.patch("sysconfig.get_path", return_value=str(beside.parent))
            with where, mock.patch.dict("os.environ", {"MMAUDIT_TOOL": "", "PATH": str(on_path.parent)}):
                self.assertEqual(_tool.program(), str(beside))
                beside.unlink()
                self.assertEqual(_tool.program(), str(on_path))

    def test_a_verdict_covers_what_it_names(self):
        x, w = layer()
        how = dict(dtype=["mxf8", "bf16"], policy="plain", max_rel_fro=0.5)
        missing = mmaudit.audit(x, w, **how)
        self.assertFalse(missing.passes)
        self.assertEqual(missing["missing"], ["hopper has no combination with mxf8"])
        self.assertTrue(mmaudit.audit(x, w, allow_missing=True, **how).passes)
        self.assertTrue(mmaudit.audit(x, w, allow_missing=True, max_row_error=0.5, **how).passes)
        self.assertFalse(mmaudit.audit(x, w, allow_missing=True, max_row_error=1e-9, **how).passes)
        x[5] *= 1e30  # the norm hides the other rows
        hidden = mmaudit.audit(x, w, dtype="e4m3", scale="tensor", policy="plain", max_rel_fro=0.1)
        self.assertFalse(hidden.passes)
        self.assertEqual(hidden.rows[0]["by_row"]["all_zero"], [i for i in range(64) if i != 5])

    def test_a_notebook_shows_it(self):
        x, w = layer()
        report = mmaudit.audit(x, w, dtype="bf16", policy="plain", max_rel_fro=0.5)
        self.assertRegex(report.html(), r'(?s)verdict good.*<strong>Use bf16 .*D \(64 x 32\) = A B, K = 256.*>PASS</span></td>')
        self.assertRegex(repr(report), r"^Use bf16 [^\n]*\n(?s:.*)hopper +bf16 +none +plain +\S*e-03 [^\n]*PASS")
        report["rows"][0]["why"] = "<script>"
        self.assertIn("<td>&lt;script&gt;</td>", report.html())
        frame = report._repr_html_()
        self.assertTrue(frame.startswith('<iframe title="Error of A B by data type" sandbox="allow-scripts"'))
        self.assertEqual(html.unescape(frame.split('srcdoc="')[1].split('"')[0]), report.html())


class Traces(unittest.TestCase):
    def test_every_kind_has_a_table(self):
        page = mmaudit.explain(FP8, [448, 0.140625], [1, 0.375])._repr_html_()
        self.assertIn("<td>448</td><td>8 (largest)</td>", page)
        self.assertIn("<td>0x21 * 0x2c</td><td>0.0527344</td><td>-5</td><td>0.03125</td><td>0.0214844</td>", page)
        self.assertIn("d = 0x43e00400", page)
        self.assertEqual(page.count("<tr>"), 4)  # head, c, two products; zeros are left out
        for inst, a, text in (("mma.m8n8k4.f64.f64.f64.f64", 2, "fused"), ("mma.m16n8k32.s32.s8.s8.s32", 2, "Integer"),
                              (FP8, float("nan"), "Step 1")):
            self.assertIn(text, mmaudit.explain(inst, [a], [3])._repr_html_())
        page = mmaudit.explain("v_mfma_f32_32x32x8f16", [2.0**-24, float("inf")], [1, 1], arch="cdna2")._repr_html_()
        self.assertIn("<td>0</td><td>0001</td><td>3c00</td><td>5.960464477539063e-08</td><td>0.0</td>", page)
        self.assertIn("<td>1</td><td>7c00</td><td>3c00</td><td>inf</td><td>inf</td>", page)

    def test_it_is_escaped_and_still_a_dictionary(self):
        trace = mmaudit.explain(FP8, [1], [1])
        self.assertEqual(trace["trace"]["d"], "3f800000")
        trace["architecture"] = "<img src=x>"
        self.assertIn("&lt;img src=x&gt;", trace._repr_html_())
        self.assertNotIn("<img", trace._repr_html_())


class LeadingDimensions(unittest.TestCase):
    def test_rows_and_batches(self):
        rng = np.random.default_rng(2)
        a, b = rng.standard_normal((2, 3, 5, 48)).astype(np.float16), rng.standard_normal((48, 7)).astype(np.float16)
        inst = "mma.m16n8k16.f32.f16.f16.f32"
        d = mmaudit.matmul(a, b, inst=inst)
        self.assertEqual(d.shape, (2, 3, 5, 7))
        np.testing.assert_array_equal(d.reshape(30, 7), mmaudit.matmul(a.reshape(30, 48), b, inst=inst))
        many = np.broadcast_to(b, (2, 3, 48, 7))
        c = rng.standard_normal((2, 3, 5, 7)).astype(np.float32)
        np.testing.assert_array_equal(mmaudit.matmul(a, many, c, inst=inst), mmaudit.matmul(a, b, c, inst=inst))
        self.assertEqual(mmaudit.tolerance(a, b, inst=inst).bound.shape, d.shape)
        self.assertTrue(mmaudit.within(d, a, b, inst=inst))
        self.assertEqual(mmaudit.matmul(a[:, :0], b, inst=inst).shape, (2, 0, 5, 7))
        for bad in (many[:1], many[..., :16, :], b[0]):
            with self.assertRaisesRegex(ValueError, "^b shape: found"):
                mmaudit.matmul(a, bad, inst=inst)
        with self.assertRaisesRegex(ValueError, "^c shape: found"):
            mmaudit.matmul(a, b, c[0], inst=inst)


class Plugin(unittest.TestCase):
    def test_the_fixture_is_the_assertion(self):
        pytest = types.ModuleType("pytest")  # the package does not need it, nor does this test
        pytest.fixture = lambda **how: (lambda function: function)
        with mock.patch.dict(sys.modules, {"pytest": pytest}):
            sys.modules.pop("mmaudit.pytest_plugin", None)
            fixture = importlib.import_module("mmaudit.pytest_plugin").assert_gemm_close()
        a, b = np.ones((4, 64), np.float16), np.ones((64, 4), np.float16)
        inst = "mma.m16n8k16.f32.f16.f16.f32"
        d = mmaudit.matmul(a, b, inst=inst)
        self.assertTrue(fixture(d, a, b, inst=inst))
        d[2, 3] = 60
        with self.assertRaisesRegex(AssertionError, r"^15 of 16 elements have the model's bits; 1 are further .* worst \(0, 2, 3\)"):
            fixture(d, a, b, inst=inst)
        self.assertTrue(fixture(d * 0, a * 0, b, inst=inst))  # the model's bits


if __name__ == "__main__":
    unittest.main()
