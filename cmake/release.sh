# Sourced by ./run: the command release. Uses set_up, stage, end_stage, build, die and $jobs.
# shellcheck shell=bash disable=SC2154

# The programs without a library beside libc: in a folder of their own, by zig against glibc 2.17; or, with --system, by
# this machine's compiler out of build/release, whose objects are the same, so that a build that is there is linked anew.
build_portable() {
  local machine
  machine=$(uname -m)
  if $system; then
    build release -U '*_LIBRARY' -D MMAUDIT_STATIC=ON -D MMAUDIT_MPI=OFF -D MMAUDIT_CUDA=OFF -- --target mmaudit_installed
    return
  fi
  "$env/bin/pip" install -q ziglang==0.17.1 || die 3 "pip can't install ziglang (./run release --system does without)"
  export MMAUDIT_ZIG MMAUDIT_ZIG_MACHINE=$machine MMAUDIT_ZIG_ROOT=$PWD/build/zig-root
  MMAUDIT_ZIG=$("$env/bin/python" -c 'import os, ziglang; print(os.path.join(os.path.dirname(ziglang.__file__), "zig"))')
  # zig brings its own headers of glibc, which must not meet those of /usr/include.
  rm -rf "$MMAUDIT_ZIG_ROOT" && mkdir -p "$MMAUDIT_ZIG_ROOT"
  dpkg-query -L libmpfr-dev libgmp-dev "$(dpkg-query -W -f '${Package}\n' 'libboost1.*-dev' | tail -n 1)" libcli11-dev \
    nlohmann-json3-dev libfmt-dev libxxhash-dev libzstd-dev | grep -E '^/usr/(include|lib|share/cmake)' | sort -u |
    tar --no-recursion -P -c -T - | tar -P -x --transform "s|^/|$MMAUDIT_ZIG_ROOT/|" -f -
  build portable -- --target mmaudit_installed
}

run_release() {
  local system=false env=build/release-env dist=$PWD/dist name folder wheel policy
  while (($#)); do
    case $1 in
      --system) system=true ;;
      *) die 2 "release: found '$1', allowed: --system" ;;
    esac
    shift
  done
  set_up "${audit_packages[@]}" "${release_packages[@]}"
  stage "build"
  [[ -x $env/bin/pip ]] || python3 -m venv --clear "$env" || die 3 "python3 can't make an environment (Debian: python3-venv)"
  "$env/bin/pip" install -q 'scikit-build-core>=0.11' auditwheel==6.8.2 wheel || die 3 "pip can't install auditwheel"
  build_portable || die 3 "the build failed"
  folder=build/portable
  ! $system || folder=build/release

  stage "packages"
  rm -rf "$dist" build/portable-prefix && mkdir -p "$dist"
  cmake --install "$folder" --prefix build/portable-prefix --strip >"$scratch" || { tail -n 20 "$scratch" >&2; die 3 "could not install"; }
  for name in DEB TGZ; do
    cpack -G $name --config "$folder/CPackConfig.cmake" -B "$folder/packages" >"$scratch" || { tail -n 20 "$scratch" >&2; die 3 "cpack -G $name failed"; }
  done
  if $system; then cmake -U '*_LIBRARY' -D MMAUDIT_STATIC=OFF -D MMAUDIT_MPI=AUTO build/release >"$scratch" || die 3 "cmake failed"; fi
  cp "$folder"/packages/*.deb "$folder"/packages/*.tar.gz "$dist/"

  # The wheel holds what is installed, so nothing is compiled; its name says the oldest glibc that its symbols need.
  MMAUDIT_PREFIX=$PWD/build/portable-prefix MMAUDIT_LIBRARY=$PWD/build/portable-prefix/lib/libmmaudit.so PATH=$PWD/$env/bin:$PATH \
    "$env/bin/pip" wheel -q --no-deps --no-build-isolation --wheel-dir build/release-wheel ./emulator/python || die 3 "pip could not make the wheel"
  wheel=$(compgen -G "build/release-wheel/mmaudit-*-py3-none-linux_*.whl")
  "$env/bin/auditwheel" show "$wheel" >"$scratch"
  policy=$(grep -o 'manylinux_2_[0-9]*_[a-z0-9_]*' "$scratch" | head -n 1) && ! grep -E 'lib(stdc\+\+|gcc_s|mpfr|gmp|fmt|zstd|xxhash)\.so' "$scratch" ||
    { cat "$scratch" >&2; die 1 "auditwheel grants the wheel no policy"; }
  "$env/bin/python" -m wheel tags --remove --platform-tag "$policy" "$wheel" >"$scratch"
  mv build/release-wheel/*.whl "$dist/"

  # pip builds the libraries from the archive of the sources; pyproject.toml has to stand at its root for that.
  name=mmaudit-$(sed -n 's/^project(mmaudit VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
  rm -rf build/sdist && mkdir -p build/sdist
  git archive --prefix="$name/" HEAD | tar -x -C build/sdist
  sed 's|"\.\./\.\.|".|; s|"\./CMakeLists|"CMakeLists|; s|\["mmaudit"\]|["emulator/python/mmaudit"]|' emulator/python/pyproject.toml >"build/sdist/$name/pyproject.toml"
  unzip -p "$dist"/*.whl '*.dist-info/METADATA' >"build/sdist/$name/PKG-INFO"
  tar -c -C build/sdist --sort=name --owner=0 --group=0 --numeric-owner "$name" | gzip -9 >"$dist/$name.tar.gz"

  cmake/sbom.py "$name" $system >"$dist/$name.cdx.json"
  (cd "$dist" && sha256sum -- * >"$scratch" && cp "$scratch" SHA256SUMS)
  end_stage
  (cd "$dist" && ls -l)
}
