#!/usr/bin/env bash
# asked.sh [PYTHON]: what needs packages that are not Debian's: the types under mypy --strict, and the plugin inside a real
# pytest. No ctest runs it; it takes $MMAUDIT_LIBRARY and a Python with numpy, mypy and pytest.
set -euo pipefail
python=${1:-python3}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$python" -m mypy --strict --cache-dir "$scratch/mypy" mmaudit
cat >"$scratch/test_kernel.py" <<'PYTHON'
import numpy as np

import mmaudit

INST = "mma.m16n8k16.f32.f16.f16.f32"
A, B = np.ones((4, 64), np.float16), np.ones((64, 4), np.float16)


def test_close(assert_gemm_close):
    assert_gemm_close(mmaudit.matmul(A, B, inst=INST), A, B, inst=INST)


def test_far(assert_gemm_close):
    assert_gemm_close(mmaudit.matmul(A, B, inst=INST) + 1, A, B, inst=INST)
PYTHON
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$PWD "$python" -m pytest -q -p mmaudit.pytest_plugin -p no:cacheprovider "$scratch" >"$scratch/out" || true
grep -q "^1 failed, 1 passed" "$scratch/out" || { cat "$scratch/out"; exit 1; }
grep -q "16 are further off than another order inside the instructions allows" "$scratch/out" || { cat "$scratch/out"; exit 1; }
echo "mypy --strict and pytest: good"
