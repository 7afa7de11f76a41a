#!/usr/bin/env bash
# pip.sh PYTHON: pip installs the package without an index, with the library of $MMAUDIT_LIBRARY, and it computes.
set -euo pipefail
if [[ -z ${1:-} ]] || ! "$1" -m pip --version >/dev/null 2>&1; then
  echo "skipped: no Python here has numpy and pip (Debian: python3-numpy, python3-pip)"
  exit 77
fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$1" -m pip --disable-pip-version-check --no-cache-dir install --quiet --no-index --no-deps --target "$scratch/site" "$here"
cd "$scratch"
unset MMAUDIT_LIBRARY # the one inside the package
PYTHONPATH=$scratch/site "$1" - <<'PYTHON'
import os
import mmaudit, numpy as np
assert os.path.dirname(mmaudit.__file__).endswith("site/mmaudit"), mmaudit.__file__
assert os.path.exists(os.path.join(os.path.dirname(mmaudit.__file__), "libmmaudit.so"))
d = mmaudit.matmul(np.ones((3, 40), np.float16), np.ones((40, 2), np.float16), inst="wgmma.m64n8k16.f32.f16.f16")
from importlib.metadata import distribution
[plugin] = [one for one in distribution("mmaudit").entry_points if one.group == "pytest11"]
assert (plugin.name, plugin.value) == ("mmaudit", "mmaudit.pytest_plugin"), plugin
assert (d == 40).all() and d.dtype == np.float32, d
PYTHON
compgen -G "$scratch/site/mmaudit-*.dist-info" >/dev/null
if git -C "$here" status --short -- . 2>/dev/null | grep -E '^\?\? .*(build/|egg-info)'; then
  echo "pip left files in the sources" >&2
  exit 1
fi
echo "pip installed a wheel without an index"
