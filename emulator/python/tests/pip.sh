#!/usr/bin/env bash
# pip.sh PYTHON: pip builds a wheel; auditwheel finds a manylinux policy for it, and no library beside libc's; pip installs it,
# and it computes. It needs an index, for scikit-build-core, and a PYTHON with pip, numpy, ml_dtypes and auditwheel.
set -euo pipefail
python=$1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
unset MMAUDIT_LIBRARY # the wheel builds its own
"$python" -m pip --disable-pip-version-check wheel --quiet --no-deps --wheel-dir "$scratch" "$here"
wheel=$(compgen -G "$scratch/mmaudit-*-py3-none-linux_*.whl")
"$python" -m auditwheel show "$wheel" >"$scratch/policy"
if grep -E 'lib(stdc\+\+|gcc_s)\.so' "$scratch/policy"; then
  echo "the wheel's library needs more than libc" >&2
  exit 1
fi
grep -o 'manylinux_2_[0-9]*_[a-z0-9_]*' "$scratch/policy" | head -n 1 | grep . || { cat "$scratch/policy"; exit 1; }
"$python" -m pip --disable-pip-version-check install --quiet --no-index --no-deps --target "$scratch/site" "$wheel"
cd "$scratch"
PYTHONPATH=$scratch/site "$python" - <<'PYTHON'
import os
import mmaudit, numpy as np
assert os.path.dirname(mmaudit.__file__).endswith("site/mmaudit"), mmaudit.__file__
assert os.path.exists(os.path.join(os.path.dirname(mmaudit.__file__), "libmmaudit.so"))
d = mmaudit.matmul(np.ones((3, 40), np.float16), np.ones((40, 2), np.float16), inst="wgmma.m64n8k16.f32.f16.f16")
from importlib.metadata import distribution
[plugin] = [one for one in distribution("mmaudit").entry_points if one.group == "pytest11"]
assert (plugin.name, plugin.value) == ("mmaudit", "mmaudit.pytest_plugin"), plugin
assert distribution("mmaudit").version == mmaudit.__version__, mmaudit.__version__
assert (d == 40).all() and d.dtype == np.float32, d
PYTHON
if git -C "$here" status --short -- . 2>/dev/null | grep -E '^\?\? .*(build/|egg-info)'; then
  echo "pip left files in the sources" >&2
  exit 1
fi
echo "pip built and installed a wheel"
