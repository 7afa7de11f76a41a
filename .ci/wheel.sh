#!/usr/bin/env bash
# wheel.sh FOLDER   on a machine that has nothing (.ci/empty_machine.sh): installs python3-venv, then the wheel in FOLDER,
#                   whose dependencies lie there too, and asks it what a new user asks. It says how long each step took.
set -euo pipefail
folder=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
step() {
  local TIMEFORMAT="    %0R s, %0U s of processor  ${*//%/%%}"
  time { "$@" >out || { cat out && printf 'wheel: failed: %s\n' "$*" >&2 && exit 1; }; }
}
shows() { grep -q -- "$1" out || { cat out; printf 'wheel: not in the output: %s\n' "$1" >&2; exit 1; }; }

step apt-get -q update
step env DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends python3-venv
if command -v cc g++ cmake; then printf 'wheel: found a compiler, allowed: none\n' >&2 && exit 1; fi
step python3 -m venv env
step env/bin/pip install -q --no-index --find-links "$folder" "$folder"/mmaudit-*.whl
env/bin/python - <<'PYTHON'
import json
from pathlib import Path

import numpy as np

r = np.random.default_rng(1)
np.save("x.npy", r.standard_normal((256, 4096), "f4"))
np.save("w.npy", r.standard_normal((4096, 128), "f4"))
header, parts, at = {}, [], 0  # a checkpoint: four layers of a small network
for layer in range(4):
    for name, shape in {"self_attn.q_proj": (256, 256), "self_attn.o_proj": (256, 256), "mlp.up_proj": (1024, 256),
                        "mlp.down_proj": (256, 1024)}.items():
        parts.append((r.standard_normal(shape, "f4") / 16).tobytes())
        header[f"model.layers.{layer}.{name}.weight"] = {
            "dtype": "F32", "shape": shape, "data_offsets": [at, at + len(parts[-1])]}
        at += len(parts[-1])
text = json.dumps(header).encode()
Path("net").mkdir()
Path("net/model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + b"".join(parts))
Path("net/config.json").write_text(json.dumps({"model_type": "llama", "torch_dtype": "float32"}))
PYTHON
step env/bin/mmaudit audit --a x.npy --b w.npy --dtype e4m3,bf16 --policy plain,promote:128 --max-rel-fro 1e-2
shows '^Use bf16 with plain sums'
step env/bin/mmaudit model net --max-rel-fro 5% --plan plan.json
shows '^16 of 16 products are within the limit'
step env/bin/python -m mmaudit verify # the recordings are in the wheel
shows ', 0 mismatches$'
step env/bin/mmaudit-bench --version
shows '^mmaudit '
step env/bin/python -c 'import mmaudit, numpy as np; print(mmaudit.matmul(np.ones((3, 40), "f2"), np.ones((40, 2), "f2"), inst="wgmma.m64n8k16.f32.f16.f16")[0, 0])'
shows '^40.0$'
step env/bin/python -c $'import mmaudit, numpy as np\ntry:\n  mmaudit.matmul(np.eye(2), np.eye(2), inst="none")\nexcept ValueError as refused:\n  print(refused)'
shows '^inst: found "none", allowed: '
for file in man/man1/mmaudit-audit.1 bash-completion/completions/mmaudit zsh/site-functions/_mmaudit; do
  [[ -s env/share/$file ]] || { printf 'wheel: not installed: share/%s\n' "$file" >&2 && exit 1; }
done
printf 'the wheel works\n'
