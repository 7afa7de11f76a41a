#!/usr/bin/env bash
# style.sh format [--check]              reformats the C++ and CUDA sources, or only names those that need it
# style.sh tidy FOLDER JOBS [FILE...]    runs clang-tidy over the host sources that FOLDER/compile_commands.json compiles
#                                        (cmake/tidy.py)
# style.sh find TOOL                     prints the command that runs our release of clang-format or clang-tidy
# Exit codes: 0 all good, 1 something is off, 2 usage, 77 the tool is missing. ./run calls both.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Formatting differs between releases of clang-format, so everybody uses one release.
release=14

die() {
  printf 'run: %s\n' "$2" >&2
  exit "$1"
}

run_find() {
  if command -v "$1-$release"; then return; fi
  if "$1" --version 2>/dev/null | grep -q "version $release\."; then echo "$1"; else die 77 "$1 $release is not installed"; fi
}

# sources PATTERN...: the tracked files and the new ones that git does not ignore.
sources() {
  if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    git ls-files --cached --others --exclude-standard --deduplicate -- "$@" | while IFS= read -r file; do
      [[ ! -e $file ]] || printf '%s\n' "$file"
    done
  else
    local pattern
    for pattern in "$@"; do find . -path ./build -prune -o -name "$pattern" -printf '%P\n'; done
  fi
}

run_format() {
  local tool files mode=(-i) off
  tool=$(run_find clang-format)
  case ${1:-} in
    "") ;;
    --check) mode=(--dry-run -Werror) ;;
    *) die 2 "format: unknown argument '$1'" ;;
  esac
  mapfile -t files < <(sources '*.hpp' '*.cpp' '*.h' '*.cu' '*.cuh')
  ((${#files[@]})) || die 2 "format: no sources"
  if ! off=$("$tool" "${mode[@]}" --style=file "${files[@]}" 2>&1); then
    sed -n 's/^\([^:]*\):[0-9]*:[0-9]*: error:.*/    \1 is not formatted; run: .\/run format/p' <<<"$off" | uniq
    return 1
  fi
  echo "    ${#files[@]} files"
}

run_tidy() {
  local tool
  tool=$(run_find clang-tidy)
  python3 cmake/tidy.py "$tool" "$@"
}

case ${1:-} in
  format | tidy | find) "run_$1" "${@:2}" ;;
  *) die 2 "style.sh takes format, tidy or find" ;;
esac
