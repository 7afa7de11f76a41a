#!/usr/bin/env bash
# test.sh CMAKE BUILD_FOLDER: installs that build to an empty folder, moves it, and builds and runs programs against it.
set -euo pipefail
cmake=$1 build=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"$cmake" --install "$build" --prefix "$scratch/first" >"$scratch/install.log" || { cat "$scratch/install.log"; exit 1; }
mv "$scratch/first" "$scratch/prefix" # nothing in it may know where it was installed
prefix=$scratch/prefix

generator=()
if command -v ninja >/dev/null; then generator=(-G Ninja); fi
"$cmake" -S "$here" -B "$scratch/build" "${generator[@]}" -D CMAKE_PREFIX_PATH="$prefix" >"$scratch/configure.log" ||
  { cat "$scratch/configure.log"; exit 1; }
"$cmake" --build "$scratch/build" >"$scratch/build.log" || { cat "$scratch/build.log"; exit 1; }
"$scratch/build/headers"
"$scratch/build/shared"

library=$(find "$prefix" -name 'libmmaudit.so')
if command -v pkg-config >/dev/null; then
  PKG_CONFIG_PATH=$(dirname "$library")/pkgconfig
  export PKG_CONFIG_PATH
  # shellcheck disable=SC2046
  cc -std=c99 -Wall -Wextra -Wpedantic -Werror -o "$scratch/c" "$here/interface.c" $(pkg-config --cflags --libs mmaudit)
  LD_LIBRARY_PATH=$(dirname "$library") "$scratch/c"
else
  echo "no pkg-config: that part is skipped"
fi

# Only the interface leaves the library, and it needs nothing beyond the compiler's run time.
if foreign=$(nm -D --defined-only "$library" | awk '{ print $3 }' | grep -v -e '^mmaudit_' -e '^MMAUDIT_0$' | grep .); then
  echo "exported besides the interface: $foreign" >&2
  exit 1
fi
declared=$(grep -oE '\bmmaudit_[a-z_]+\(' "$prefix"/include/mmaudit/mmaudit.h | tr -d '(' | sort -u)
exported=$(nm -D --defined-only "$library" | awk '{ print $3 }' | sed 's/@.*//' | grep '^mmaudit_' | sort -u)
missing=$(comm -23 <(echo "$declared") <(echo "$exported"))
if [[ -n $missing ]]; then
  echo "declared but not exported: $missing" >&2
  exit 1
fi
if needed=$(readelf -d "$library" | grep NEEDED | grep -vE '\[(libc|libm|libstdc\+\+|libgcc_s|libpthread|ld-linux[^.]*)\.'); then
  echo "needs more than the run time: $needed" >&2
  exit 1
fi
"$prefix"/bin/mmaudit sweep --list >"$scratch/sweeps" # of the second program, beside the first
"$prefix"/bin/mmaudit list --arch hopper >"$scratch/list"
grep -q recorded "$scratch/list"
for installed in man/man1/mmaudit.1 man/man1/mmaudit-sweep-gemm.1 bash-completion/completions/mmaudit \
  fish/vendor_completions.d/mmaudit.fish zsh/site-functions/_mmaudit; do
  [[ -s $prefix/share/$installed ]] || { echo "not installed: share/$installed" >&2; exit 1; }
done
cmp "$prefix/share/bash-completion/completions/mmaudit" <("$prefix"/bin/mmaudit completions bash)
