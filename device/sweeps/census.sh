#!/usr/bin/env bash
# SASS of the timed kernels for every target: census.sh build|disassemble FOLDER
#   build        FOLDER/<target>.<file>.cubin, or .refused with what ptxas said; needs nvcc
#   disassemble  FOLDER/census.sass from the cubins; needs cuobjdump
# Then `mmaudit sweep census FOLDER/census.sass`. The two halves may run on two machines.
set -euo pipefail
shopt -s nullglob

sweeps=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
device=$(dirname "$sweeps")
root=$(dirname "$device")
PATH=$PATH:/usr/local/cuda/bin
targets=(75 80 86 89 90a 100a 120a)

[[ $# == 2 && $1 =~ ^(build|disassemble)$ ]] || {
  sed -n '2,5s/^# //p' "$0" >&2
  exit 2
}
folder=$2
mkdir -p "$folder"

if [[ $1 == build ]]; then
  for target in "${targets[@]}"; do
    files=("$sweeps"/kernels/mma_*_timed.cu)
    if [[ $target == 90a ]]; then files+=("$sweeps"/kernels/wgmma_*_timed.cu); fi
    for file in "${files[@]}"; do
      out=$folder/sm_$target.$(basename "$file" _timed.cu)
      # Without -arch: the file holds exactly one target.
      if nvcc -std=c++20 -O3 -cubin -gencode "arch=compute_$target,code=sm_$target" -I"$device" -I"$device/include" \
        -I"$root/emulator/include" -o "$out.cubin" "$file" >"$out.refused" 2>&1; then rm "$out.refused"; fi
    done
  done
  ls "$folder"
else
  : >"$folder/census.sass"
  for cubin in "$folder"/*.cubin; do cuobjdump -sass "$cubin" >>"$folder/census.sass"; done
  grep -c 'Function :' "$folder/census.sass"
fi
