#!/usr/bin/env bash
# SASS of the benchmarks of matrix instructions and of their loads and stores for every target, and of DPX functions
# with and without the hardware (sm_90a, sm_80): census.sh build|disassemble FOLDER
#   build        FOLDER/<target>.<file>.cubin, or .refused with what ptxas said; needs nvcc; JOBS at a time (2)
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
  sed -n '2,6s/^# //p' "$0" >&2
  exit 2
}
folder=$2
mkdir -p "$folder"

# FILE TARGET: a cubin of exactly one target, or what stood in the way.
compile() {
  local out
  out=$folder/sm_$2.$(basename "$1" .cu)
  if nvcc -std=c++20 -O3 -DMMAUDIT_CENSUS -cubin -gencode "arch=compute_$2,code=sm_$2" -I"$device" \
    -I"$device/include" -I"$sweeps/include" -I"$root/emulator/include" -o "$out.cubin" "$1" >"$out.refused" 2>&1; then
    rm "$out.refused"
  else
    rm -f "$out.cubin"
  fi
}
need() {
  command -v "$1" >/dev/null || {
    echo "$0: $1 not found" >&2
    exit 3
  }
}

if [[ $1 == build ]]; then
  need nvcc
  for target in "${targets[@]}"; do
    files=("$sweeps"/benchmarks/{mma,wmma,wmma_memory}.cu)
    if [[ $target == 90a ]]; then files+=("$sweeps"/benchmarks/wgmma*.cu); fi
    if [[ $target == 80 || $target == 90a ]]; then files+=("$sweeps"/benchmarks/dpx.cu); fi
    for file in "${files[@]}"; do
      while (($(jobs -rp | wc -l) >= ${JOBS:-2})); do wait -n || true; done
      compile "$file" "$target" &
    done
  done
  wait
  cubins=("$folder"/*.cubin) refused=("$folder"/*.refused)
  echo "${#cubins[@]} cubins, ${#refused[@]} refused"
  for file in "${refused[@]}"; do echo "$(basename "$file"): $(grep -m1 -i error "$file" || head -1 "$file")"; done
  ((${#cubins[@]} > 0))
else
  need cuobjdump
  cubins=("$folder"/*.cubin)
  ((${#cubins[@]} > 0)) || {
    echo "$0: no cubin in $folder" >&2
    exit 2
  }
  : >"$folder/census.sass"
  for cubin in "${cubins[@]}"; do cuobjdump -sass "$cubin" >>"$folder/census.sass"; done
  echo "$(grep -c 'Function :' "$folder/census.sass") functions"
fi
