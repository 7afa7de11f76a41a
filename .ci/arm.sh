#!/usr/bin/env bash
# arm.sh   cross-compiles for aarch64 and runs the unit tests of the model and the recordings under qemu-user: the
#          plain core and the NEON code give the bits of x86. Installs packages of a second architecture, so CI calls
#          it in a root of its own: .ci/empty_machine.sh bookworm .ci/arm.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

dpkg --add-architecture arm64
apt-get -q update >/dev/null
DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends \
  g++-aarch64-linux-gnu qemu-user cmake ninja-build git libboost-dev libcli11-dev nlohmann-json3-dev \
  lib{mpfr,fmt,xxhash,zstd,gtest,rapidcheck}-dev:arm64 >/dev/null

cmake --preset arm64 >/dev/null
cmake --build --preset arm64
# closeness_test takes minutes of statistics here, and has nothing of its own on aarch64.
ctest --test-dir build/arm64/emulator -LE slow -E '^closeness_test$' --no-tests=error --output-on-failure -j2
ctest --test-dir build/arm64/properties -R '^fast_path_test$' --no-tests=error --output-on-failure
qemu-aarch64 build/arm64/bin/corpus_test --gtest_filter='Recordings.*'
