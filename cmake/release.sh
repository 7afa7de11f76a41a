# Sourced by ./run: the command release. Uses set_up, stage, end_stage, build, build_system_portable, die and $scratch.
# shellcheck shell=bash disable=SC2154

# By zig, in a folder of its own: it has the headers and the symbols of glibc 2.17, which must not meet /usr/include. What
# else is included and linked lies in a root of its own.
build_by_zig() {
  local zig root=$PWD/build/zig-root
  "$env/bin/pip" install -q ziglang==0.17.1 || die 3 "pip can't install ziglang (./run release --system does without)"
  zig=$("$env/bin/python" -c 'import os, ziglang; print(os.path.join(os.path.dirname(ziglang.__file__), "zig"))')
  rm -rf "$root" && mkdir -p "$root"
  dpkg-query -L libmpfr-dev libgmp-dev "$(dpkg-query -W -f '${Depends}' libboost-dev)" libcli11-dev \
    nlohmann-json3-dev libfmt-dev libxxhash-dev libzstd-dev | grep -E '^/usr/(include|lib|share/cmake)' | sort -u |
    tar --no-recursion -P -c -T - | tar -P -x --transform "s|^/|$root/|" -f -
  build portable -D MMAUDIT_ZIG="$zig" -D MMAUDIT_ZIG_ROOT="$root" -- --target mmaudit_installed
}

# The wheel holds what is installed in $1, so nothing is compiled. Its name says the oldest glibc that its symbols need.
make_wheel() {
  local made=build/release-wheel wheel policy
  rm -rf "$made"
  MMAUDIT_PREFIX=$1 MMAUDIT_LIBRARY=$(find "$1" -name libmmaudit.so -print -quit) PATH=$PWD/$env/bin:$PATH \
    "$env/bin/pip" wheel -q --no-deps --no-build-isolation --wheel-dir "$made" ./emulator/python || die 3 "pip could not make the wheel"
  wheel=$(compgen -G "$made/mmaudit-*-py3-none-linux_*.whl")
  "$env/bin/auditwheel" show "$wheel" >"$scratch" 2>&1
  policy=$(grep -o 'manylinux_2_[0-9]*_[a-z0-9_]*' "$scratch" | head -n 1)
  if [[ -z $policy ]] || grep -E 'lib(stdc\+\+|gcc_s|mpfr|gmp|fmt|zstd|xxhash|mpi)\.so' "$scratch"; then
    cat "$scratch" >&2
    die 1 "the wheel needs more than libc"
  fi
  "$env/bin/python" -m wheel tags --remove --platform-tag "$policy" "$wheel" >"$scratch"
  mv "$made"/*.whl "$dist/"
}

# pip builds the libraries from it: pyproject.toml has to stand at its root for that.
make_sources() {
  rm -rf build/sdist && mkdir -p build/sdist
  git archive --prefix="$name/" HEAD | tar -x -C build/sdist
  sed 's|"\.\./\.\."|"."|; s|"\.\./\.\./CMakeLists|"CMakeLists|; s|\["mmaudit"\]|["emulator/python/mmaudit"]|' \
    emulator/python/pyproject.toml >"build/sdist/$name/pyproject.toml"
  unzip -p "$dist"/*.whl '*.dist-info/METADATA' >"build/sdist/$name/PKG-INFO"
  tar -c -C build/sdist --sort=name --owner=0 --group=0 --numeric-owner "$name" | gzip -9 >"$dist/$name.tar.gz"
}

run_release() {
  local how=zig prefix=$PWD/build/portable-prefix env=build/release-env dist=$PWD/dist name folder=build/portable format
  name=mmaudit-$(sed -n 's/^project(mmaudit VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
  while (($#)); do
    case $1 in
      --system) how=system folder=build/release ;;
      --prefix) (($# > 1)) && [[ -x $2/bin/mmaudit ]] || die 2 "release --prefix: found '${2:-}', allowed: where ./run install --portable put it" && how=prefix prefix=$(realpath "$2") && shift ;;
      *) die 2 "release: found '$1', allowed: --system, --prefix DIR" ;;
    esac
    shift
  done
  set_up "${audit_packages[@]}" "${release_packages[@]}"
  [[ -x $env/bin/pip ]] || python3 -m venv --clear "$env" || die 3 "python3 can't make an environment (Debian: python3-venv)"
  "$env/bin/pip" install -q 'scikit-build-core>=0.11' auditwheel==6.8.2 wheel || die 3 "pip can't install auditwheel"
  rm -rf "$dist" && mkdir -p "$dist"
  if [[ $how != prefix ]]; then
    stage "build"
    rm -rf "$prefix"
    if [[ $how == zig ]]; then build_by_zig; else build_system_portable; fi || die 3 "the build failed"
    cmake --install "$folder" --prefix "$prefix" --strip >"$scratch" || { tail -n 20 "$scratch" >&2; die 3 "could not install"; }
    for format in DEB TGZ; do
      cpack -G $format --config "$folder/CPackConfig.cmake" -B "$folder/packages" >"$scratch" || { tail -n 20 "$scratch" >&2; die 3 "cpack -G $format failed"; }
    done
    cp "$folder"/packages/*.deb "$folder"/packages/*.tar.gz "$dist/"
    [[ $how == zig ]] || forget_portable
  fi
  stage "wheel, sources, bill of materials"
  make_wheel "$prefix"
  make_sources
  cmake/sbom.py "$name" $how >"$dist/$name.cdx.json"
  (cd "$dist" && sha256sum -- * >"$scratch" && cat "$scratch" >SHA256SUMS && ls -l)
  end_stage
}
