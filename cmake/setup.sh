# Sourced by ./run: which Debian packages each command needs, and how they are installed. Uses say, stage, die, $scratch.
# shellcheck shell=bash disable=SC2034,SC2154

# A package, and the command or header that shows that its content has been installed from another source.
audit_packages=(
  g++:g++ cmake:cmake ninja-build:ninja git:git
  libmpfr-dev:mpfr.h libboost-dev:boost/multiprecision/cpp_int.hpp libcli11-dev:CLI/CLI.hpp
  nlohmann-json3-dev:nlohmann/json.hpp libfmt-dev:fmt/core.h libxxhash-dev:xxhash.h libzstd-dev:zstd.h
)
test_packages=(
  libgtest-dev:gtest/gtest.h librapidcheck-dev:rapidcheck.h openmpi-bin:mpirun libopenmpi-dev:mpicc
  pkg-config:pkg-config python3-numpy:f2py3 python3-pip:pip3 dpkg-dev:dpkg-shlibdeps file:file zsh:zsh fish:fish
)
# What compiles the explorer to WebAssembly.
explorer_packages=(
  python3:python3 clang-14:clang++-14 lld-14:wasm-ld-14 wasi-libc:wasm32-wasi/stdio.h
  libc++-14-dev-wasm32:libc++-14-dev-wasm32 libc++abi-14-dev-wasm32:libc++abi-14-dev-wasm32
  libclang-rt-14-dev-wasm32:libclang-rt-14-dev-wasm32
)
site_packages=(python3:python3 mkdocs-material:mkdocs-material)
release_packages=(python3-venv:python3-venv python3-pip:pip3 dpkg-dev:dpkg-shlibdeps file:file unzip:unzip)
browser_packages=(chromium:chromium "${explorer_packages[@]}" "${site_packages[@]}")
format_packages=(clang-format-14:clang-format-14)
tidy_packages=(clang-tidy-14:clang-tidy-14 python3:python3)
fuzz_packages=(clang-14:clang++-14 libclang-rt-14-dev:libclang-rt-14-dev)
bench_packages=(libbenchmark-dev:benchmark/benchmark.h)

have() {
  [[ $(dpkg-query -W -f '${db:Status-Status}' "${1%%:*}" 2>/dev/null) == installed ]] && return
  local sign=${1#*:}
  if [[ $sign != *.h* ]]; then command -v "$sign" >/dev/null && return; fi
  [[ -e /usr/include/$sign || -e /usr/local/include/$sign || -e /usr/include/$(uname -m)-linux-gnu/$sign ]]
}

as_root() {
  if ((EUID == 0)); then "$@"; else sudo -n "$@"; fi
}

apt_updated=false
apt_install() {
  # A machine that has just started may run an apt of its own, which holds the lock for a while.
  local apt=(as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=120 -o Acquire::Retries=3)
  { $apt_updated || "${apt[@]}" update; } >"$scratch" 2>&1 &&
    "${apt[@]}" install --no-install-recommends "$@" >>"$scratch" 2>&1 && apt_updated=true
}

# set_up [--optional] PACKAGE:SIGN...: installs what is missing. Without --optional, ./run ends where it can't.
set_up() {
  local optional=false entry packages=() reason
  if [[ $1 == --optional ]]; then optional=true && shift; fi
  for entry in "$@"; do have "$entry" || packages+=("${entry%%:*}"); done
  ((${#packages[@]})) || return 0
  stage "set-up"
  say "    installing ${packages[*]}"
  if ! command -v apt-get >/dev/null; then
    reason="not Debian or Ubuntu: install what these packages hold, then try again: ${packages[*]}"
  elif ((EUID != 0)) && ! sudo -n true 2>/dev/null; then
    reason="neither root nor password-less sudo: run 'apt-get install ${packages[*]}' and try again"
  elif ! apt_install "${packages[@]}"; then
    $optional || tail -n 20 "$scratch" >&2
    reason="apt-get could not install: ${packages[*]}"
  else
    return 0
  fi
  $optional || die 3 "$reason"
  say "    $reason"
}
