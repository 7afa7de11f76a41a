# Sourced by ./run: the commands fuzz, explorer, site and bench. Uses set_up, stage, end_stage, build, die and $jobs.
# shellcheck shell=bash disable=SC2154

run_fuzz() {
  local seconds=60 names=() name all=() status=0
  while (($#)); do
    case $1 in
      --seconds)
        [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || die 2 "fuzz --seconds: found '${2:-}', allowed: a whole number of 1 or more"
        seconds=$2
        shift
        ;;
      -*) die 2 "fuzz: unknown argument '$1'" ;;
      *) names+=("$1") ;;
    esac
    shift
  done
  mapfile -t all < <(printf '%s\n' properties/fuzz/fuzz_*.cpp | sed 's|.*/fuzz_\(.*\)\.cpp|\1|')
  for name in "${names[@]}"; do
    [[ " ${all[*]} " == *" $name "* ]] || die 2 "fuzz: found '$name', allowed: ${all[*]}"
  done
  ((${#names[@]})) || names=("${all[@]}")

  set_up "${audit_packages[@]}"
  set_up --optional "${fuzz_packages[@]}"
  command -v clang++-14 >/dev/null || die 3 "clang++-14 is not installed"
  stage "build"
  build fuzz || die 3 "the build failed (libFuzzer is in the package libclang-rt-14-dev)"
  stage "fuzz"
  for name in "${names[@]}"; do properties/fuzz/run_fuzzer.sh "$name" "$seconds" >&3 || status=1; done
  end_stage
  return $status
}

run_explorer() {
  set_up "${audit_packages[@]}" "${explorer_packages[@]}"
  stage "build"
  build release -D MMAUDIT_CUDA="${MMAUDIT_CUDA:-AUTO}" -- --target explorer || die 3 "the build failed"
  end_stage
  printf '%s\n' "build/release/explorer.html"
}

run_site() {
  set_up "${audit_packages[@]}" "${explorer_packages[@]}" "${site_packages[@]}"
  stage "build"
  build release -D MMAUDIT_CUDA="${MMAUDIT_CUDA:-AUTO}" -- --target explorer || die 3 "the build failed"
  stage "site"
  python3 -B docs/site/build.py build/release/explorer.html build/release/site || die 1 "a page is wrong"
  end_stage
  printf '%s\n' "build/release/site/html/index.html"
}

run_bench() {
  set_up "${audit_packages[@]}" "${bench_packages[@]}"
  stage "build"
  if [[ ${1:-} == --data && ${2:-} == --gpu ]]; then
    build bench-gpu || die 3 "the build failed"
    stage "rates by data on a GPU"
    build/bench-gpu/bench/hostile_gpu "${@:3}"
    end_stage
    return
  fi
  build bench || die 3 "the build failed"
  local program
  if [[ ${1:-} == --data ]]; then
    stage "rates by data"
    build/bench/bench/hostile_data "${@:2}"
    end_stage
    return
  fi
  for program in build/bench/bench/*_bench; do
    [[ -x $program ]] || die 1 "there is no benchmark"
    stage "${program##*/}"
    "$program" "$@"
  done
  end_stage
}
