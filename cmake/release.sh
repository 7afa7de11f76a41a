# Sourced by ./run: the command release. Uses set_up, stage, end_stage, build, build_portable, forget_portable, die and $scratch.
# shellcheck shell=bash disable=SC2154

# The wheel $1 into dist/. Its name says the oldest glibc that its symbols need; 2.17 also as pip before 20.3 knows it.
publish_wheel() {
  local policy
  "$env/bin/auditwheel" show "$1" >"$scratch" 2>&1
  policy=$(grep -o 'manylinux_2_[0-9]*_[a-z0-9_]*' "$scratch" | head -n 1)
  if [[ -z $policy ]] || grep -E 'lib(stdc\+\+|gcc_s|mpfr|gmp|fmt|zstd|xxhash|mpi|cudart|cuda)\.so' "$scratch"; then
    cat "$scratch" >&2
    die 1 "the wheel needs more than libc"
  fi
  "$env/bin/python" -m wheel tags --remove --platform-tag "${policy/#manylinux_2_17_*/manylinux2014_${policy#manylinux_2_17_}.$policy}" "$1" >"$scratch"
  mv "$(dirname "$1")"/*.whl "$dist/"
}

# The wheel holds what is installed in $1, so nothing is compiled.
make_wheel() {
  local made=build/release-wheel
  rm -rf "$made"
  MMAUDIT_PREFIX=$1 MMAUDIT_LIBRARY=$(find "$1" -name libmmaudit.so -print -quit) PATH=$PWD/$env/bin:$PATH \
    "$env/bin/pip" wheel -q --no-deps --no-build-isolation --wheel-dir "$made" ./emulator/python || die 3 "pip could not make the wheel"
  publish_wheel "$(compgen -G "$made/mmaudit-*-py3-none-linux_*.whl")"
}

# mmaudit-cuda, the model on a GPU: one library, which mmaudit finds by the name of its folder.
make_cuda_wheel() {
  local made=build/cuda-wheel version=${name#mmaudit-} info
  grep -qF "\"mmaudit-cuda==$version\"" emulator/python/pyproject.toml || die 1 "pyproject.toml: found another version of mmaudit-cuda, allowed: $version"
  build carry-all -D MMAUDIT_ZIG="$MMAUDIT_ZIG" -D MMAUDIT_CUDA_ARCHITECTURES="${MMAUDIT_CUDA_ARCHITECTURES:-80-real;86-real;89-real;90a-real;100-real;120}" -- --target mmaudit_cuda || die 3 "the build for GPUs failed"
  rm -rf "$made" && mkdir -p "$made/tree/mmaudit_cuda" "$made/tree/mmaudit_cuda-$version.dist-info"
  strip -o "$made/tree/mmaudit_cuda/libmmaudit_cuda.so" build/carry-all/lib/libmmaudit_cuda.so
  cp LICENSE "$made/tree/mmaudit_cuda/"
  .ci/device_code.py "$made/tree/mmaudit_cuda/libmmaudit_cuda.so" || die 1 "libmmaudit_cuda.so has no device code"
  info=$made/tree/mmaudit_cuda-$version.dist-info
  printf 'Metadata-Version: 2.1\nName: mmaudit-cuda\nVersion: %s\nSummary: The GPU part of mmaudit\nLicense: Apache-2.0\nRequires-Python: >=3.9\nRequires-Dist: mmaudit (==%s)\n' "$version" "$version" >"$info/METADATA"
  printf 'Wheel-Version: 1.0\nGenerator: mmaudit\nRoot-Is-Purelib: false\nTag: py3-none-linux_%s\n' "$(uname -m)" >"$info/WHEEL"
  "$env/bin/python" -m wheel pack --dest-dir "$made" "$made/tree" >"$scratch" || die 3 "wheel pack failed"
  publish_wheel "$(compgen -G "$made/mmaudit_cuda-*.whl")"
}

# pip builds the libraries from it: pyproject.toml has to stand at its root for that.
make_sources() {
  rm -rf build/sdist && mkdir -p build/sdist
  git archive --prefix="$name/" HEAD | tar -x -C build/sdist
  sed 's|"\.\./\.\."|"."|; s|"\.\./\.\./CMakeLists|"CMakeLists|; s|\["mmaudit"\]|["emulator/python/mmaudit"]|' \
    emulator/python/pyproject.toml >"build/sdist/$name/pyproject.toml"
  unzip -p "$dist"/mmaudit-*.whl '*.dist-info/METADATA' >"build/sdist/$name/PKG-INFO"
  tar -c -C build/sdist --sort=name --owner=0 --group=0 --numeric-owner "$name" | gzip -9 >"$dist/$name.tar.gz"
}

run_release() {
  local prefix= env=build/release-env dist=$PWD/dist name format cuda=false
  name=mmaudit-$(sed -n 's/^project(mmaudit VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
  while (($#)); do
    case $1 in
      --cuda) cuda=true ;;
      --prefix) (($# > 1)) && [[ -x $2/bin/mmaudit ]] || die 2 "release --prefix: found '${2:-}', allowed: where ./run install --portable put it" && prefix=$(realpath "$2") && shift ;;
      *) die 2 "release: found '$1', allowed: --cuda, --prefix DIR" ;;
    esac
    shift
  done
  set_up "${audit_packages[@]}" "${release_packages[@]}"
  [[ -x $env/bin/pip ]] || python3 -m venv --clear "$env" || die 3 "python3 can't make an environment (Debian: python3-venv)"
  "$env/bin/pip" install -q 'scikit-build-core>=0.11' auditwheel==6.8.2 wheel || die 3 "pip can't install auditwheel"
  if [[ -z $prefix ]] || $cuda; then
    "$env/bin/pip" install -q ziglang==0.17.1 || die 3 "pip can't install ziglang"
    MMAUDIT_ZIG=$("$env/bin/python" -c 'import os, ziglang; print(os.path.join(os.path.dirname(ziglang.__file__), "zig"))')
  fi
  rm -rf "$dist" && mkdir -p "$dist"
  if [[ -z $prefix ]]; then
    stage "build"
    prefix=$PWD/build/portable-prefix
    rm -rf "$prefix"
    build_portable || die 3 "the build failed"
    cmake --install build/release --prefix "$prefix" --strip >"$scratch" || { tail -n 20 "$scratch" >&2; die 3 "could not install"; }
    for format in DEB TGZ; do
      cpack -G $format --config build/release/CPackConfig.cmake -B build/release/packages >"$scratch" || { tail -n 20 "$scratch" >&2; die 3 "cpack -G $format failed"; }
    done
    cp build/release/packages/*.deb build/release/packages/*.tar.gz "$dist/"
    forget_portable
  fi
  stage "wheel, sources, bill of materials"
  make_wheel "$prefix"
  if $cuda; then make_cuda_wheel; fi
  make_sources
  local nvcc=
  if $cuda; then nvcc=$(sed -n 's/^CMAKE_CUDA_COMPILER:[A-Z]*=//p' build/carry-all/CMakeCache.txt); fi
  # shellcheck disable=SC2046 # without CUDA no word
  cmake/sbom.py "$name" ${nvcc:+$("$nvcc" --version | grep -o 'V[0-9.]*$')} >"$dist/$name.cdx.json"
  (cd "$dist" && sha256sum -- * >"$scratch" && cat "$scratch" >SHA256SUMS && ls -l)
  end_stage
}
