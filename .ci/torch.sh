#!/usr/bin/env bash
# torch.sh   the Python package: style, types, its wheel, and the tests of mmaudit.torch on the CPU, in an environment
#            that this makes: torch, pytest and the like by pip, the tool and libmmaudit.so that the stage debian12 has
#            left in MMAUDIT_KEEP, or, where these don't run, a build of this checkout. Debian's own torch is left alone:
#            it is 2 GB and older than what people run.
# Last line: 'N passed, N failed, N skipped'. Exit codes: 0 all good, 1 a test failed, 3 the environment can't be made.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
scratch=$PWD/build/torch
mkdir -p "$scratch"
die() {
  printf 'torch: %s\n' "$1" >&2
  exit 3
}

make_environment() { [[ -x $scratch/env/bin/pip ]] || python3 -m venv --clear "$scratch/env"; }
make_environment || { apt-get -q -y install python3-venv && make_environment; } >/dev/null ||
  die "python3 can't make an environment (Debian: python3-venv)"
"$scratch/env/bin/pip" install --quiet torch==2.13.0 torchao==0.18.0 compressed-tensors==0.20.0 \
  transformers==5.24.0 accelerate==1.15.0 ml_dtypes safetensors pytest numpy mypy hypothesis ruff auditwheel || die "pip can't install torch"
# Recipes and checkpoints have these packages' bytes: they come alone, with what their quantizers import.
"$scratch/env/bin/pip" install --quiet omegaconf pulp rich regex scipy requests psutil || die "pip can't install omegaconf"
"$scratch/env/bin/pip" install --quiet --no-deps nvidia-modelopt==0.47.0 gguf==0.19.0 || die "pip can't install nvidia-modelopt, gguf"
prefix=${MMAUDIT_KEEP:-$scratch/prefix}
if [[ -x $prefix/bin/mmaudit ]] && "$prefix/bin/mmaudit" --version; then
  echo "    the tool and the library of the stage debian12"
else
  prefix=$scratch/prefix
  env -u CI ./run install --prefix "$prefix" || die "the build failed"
fi
library=$(find "$prefix" -name libmmaudit.so -print -quit)

cd emulator/python
export MMAUDIT_LIBRARY=$library MMAUDIT_TOOL=$prefix/bin/mmaudit PYTHONPATH=$PWD PYTHONDONTWRITEBYTECODE=1 MMAUDIT_TESTS_PACKAGES=1
status=0
"$scratch/env/bin/ruff" check --no-cache --config pyproject.toml . ../../docs/experiments/networks || status=1
tests/asked.sh "$scratch/env/bin/python" || status=1
tests/pip.sh "$scratch/env/bin/python" || status=1
"$scratch/env/bin/python" -m pytest -q -rsfE -p no:cacheprovider --junit-xml "$scratch/junit.xml" torch_tests || status=1
"$scratch/env/bin/python" - "$scratch/junit.xml" $status <<'PYTHON'
import sys
import xml.etree.ElementTree as tree

suite = tree.parse(sys.argv[1]).getroot().find("testsuite")
total, skipped = int(suite.get("tests")), int(suite.get("skipped"))
failed = int(suite.get("failures")) + int(suite.get("errors"))
if failed == 0 and sys.argv[2] != "0":
    failed = 1  # the types or the plugin
print(f"{total - skipped - failed} passed, {failed} failed, {skipped} skipped")
PYTHON
exit $status
