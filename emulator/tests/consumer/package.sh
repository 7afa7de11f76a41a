#!/usr/bin/env bash
# package.sh CPACK BUILD_FOLDER: a Debian package of that build, and what has to be in it.
set -euo pipefail
cpack=$1 build=$2
for tool in dpkg-deb dpkg-shlibdeps file; do
  if ! command -v "$tool" >/dev/null; then
    echo "skipped: no $tool"
    exit 77
  fi
done
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# The fastest compression: this test is about content.
"$cpack" -G DEB --config "$build/CPackConfig.cmake" -B "$scratch" -D CPACK_DEBIAN_COMPRESSION_TYPE=gzip >"$scratch/log" ||
  { cat "$scratch/log"; exit 1; }
package=$(find "$scratch" -maxdepth 1 -name 'mmaudit_*.deb')
dpkg-deb --info "$package"
dpkg-deb --contents "$package" >"$scratch/contents"
grep -v corpus "$scratch/contents"
for wanted in usr/bin/mmaudit usr/bin/mmaudit-bench 'libmmaudit\.so\.0 ->' 'libmmaudit\.so\.0\.[0-9.]*$' include/mmaudit/mmaudit.h \
  cmake/mmaudit/mmauditConfig.cmake pkgconfig/mmaudit.pc share/mmaudit/corpus/data/ doc/mmaudit/LICENSE; do
  grep -qE "$wanted" "$scratch/contents" || { echo "not in the package: $wanted" >&2; exit 1; }
done
dpkg-deb --field "$package" Depends | grep -q 'libc6 '

# What is inside runs, and finds its recordings, from wherever it is unpacked.
dpkg-deb --extract "$package" "$scratch/root"
cd /
"$scratch/root/usr/bin/mmaudit" --version
"$scratch/root/usr/bin/mmaudit" -q verify --inst mma.m16n8k8.f32.tf32
