#!/usr/bin/env bash
# style.sh format [--check]              reformats the C++ and CUDA sources, or only names those that need it
# style.sh tidy FOLDER JOBS [FILE...]    runs clang-tidy over the host sources that FOLDER/compile_commands.json compiles,
#                                        newest first; with MMAUDIT_TIDY_SECONDS none starts after so many seconds
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

# A file is read again when the file itself, its command, any header of ours, the configuration or the tool has changed.
run_tidy() {
  local tool folder=$1 jobs=$2 commands=$1/compile_commands.json cache=$1/read units shared unit entry key todo=() count=0 left=0 i
  shift 2
  tool=$(run_find clang-tidy)
  if (($#)); then
    units=("${@/#/"$PWD/"}")
  else
    # Newest first: those that a commit changed last, then the others.
    mapfile -t units < <({
      git log --format= --name-only -n 300 -- '*.cpp' 2>/dev/null | sed "s|^|$PWD/|"
      sed -n 's/^ *"file": "\(.*\.cpp\)".*/\1/p' "$commands" | sort -u
    } | awk '!seen[$0]++')
  fi
  mkdir -p "$cache"
  shared=$({ "$tool" --version && cat .clang-tidy && sources '*.hpp' | xargs -d '\n' cat; } | sha256sum)
  for unit in "${units[@]}"; do
    # Without CUDA some files of device/ are not compiled.
    entry=$(grep -F -B1 "\"file\": \"$unit\"" "$commands") || continue
    count=$((count + 1))
    key=$(printf '%s\n' "$shared" "$entry" | cat - "$unit" | sha256sum | cut -c1-64)
    [[ -e $cache/$key ]] || todo+=("$cache/$key" "$unit")
  done
  ((count)) || die 2 "tidy: no sources that are compiled here"
  echo "    $count files, $((${#todo[@]} / 2)) of them new or changed"
  ((${#todo[@]})) || return 0
  # $0: the tool, $1: its folder, $2: when no further file starts, $3: the stamp, $4: the file
  # shellcheck disable=SC2016
  printf '%s\0' "${todo[@]}" | xargs -0 -n2 -P"$jobs" bash -c '
    (($(date +%s) < $2)) || exit 0
    "$0" --quiet -p "$1" --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-error "$4" \
      2> >(grep -vE "^[0-9]+ warnings?( and [0-9]+ errors?)? (generated|treated)" >&2) && : >"$3"
  ' "$tool" "$folder" "$(($(date +%s) + ${MMAUDIT_TIDY_SECONDS:-86400}))" || return 1
  for ((i = 0; i < ${#todo[@]}; i += 2)); do [[ -e ${todo[i]} ]] || left=$((left + 1)); done
  ((left == 0)) || echo "    $left of them were not read: ${MMAUDIT_TIDY_SECONDS} seconds had passed"
}

case ${1:-} in
  format | tidy | find) "run_$1" "${@:2}" ;;
  *) die 2 "style.sh takes format, tidy or find" ;;
esac
