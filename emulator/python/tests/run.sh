#!/usr/bin/env bash
# run.sh PYTHON: the tests of the package as it lies here, with $MMAUDIT_LIBRARY and the tool $MMAUDIT_TOOL.
set -euo pipefail
if [[ -z ${1:-} ]]; then
  echo "skipped: no Python here has numpy (Debian: python3-numpy)"
  exit 77
fi
cd "$(dirname "${BASH_SOURCE[0]}")/.."
PYTHONDONTWRITEBYTECODE=1 exec "$1" -m unittest discover -s tests -t .
