#!/usr/bin/env bash
# mmaudit_ci.sh STEP...   mmaudit in continuous integration, on any runner; docs/ci.md has recipes. After install every
# step runs, also where one before it failed; the exit code is the largest.
#   install    unpacks a release into MMAUDIT_PREFIX, or builds it there when it is the source
#   verify     the model against its recordings; with MMAUDIT_ON=hardware against the GPU of this machine
#   layer      mmaudit audit MMAUDIT_LAYER: a product of your tensors, with your limit
#   baseline   records the bits of every instruction and compares them with the kept baseline
# Variables, all optional but MMAUDIT_RELEASE (where no mmaudit is on PATH) and, for layer, MMAUDIT_LAYER:
#   MMAUDIT_RELEASE   file or https address of a release: a .tar.gz with bin/mmaudit, or one with the source
#   MMAUDIT_SHA256    its checksum
#   MMAUDIT_PREFIX    where to install it (.mmaudit)
#   MMAUDIT_ON        model (the default) or hardware
#   MMAUDIT_LAYER     arguments of mmaudit audit, separated by spaces or on several lines, with a limit:
#                     --a x.npy --b w.npy --dtype e4m3 --max-rel-fro 5e-2
#   MMAUDIT_REPORT_ONLY  true: layer may go without a limit; it then judges nothing and fails only on bad input
#   MMAUDIT_BASELINE  the kept baseline (baselines/mmaudit.json); where it is missing and GITHUB_TOKEN is set, the
#                     artifact mmaudit-baseline of the default branch
#   MMAUDIT_ACCEPT    true: the new bits become the baseline, as a file at MMAUDIT_BASELINE or as the artifact
#   MMAUDIT_INST      only instructions whose name contains one of these, separated by commas; of the kept baseline the
#                     same ones. With MMAUDIT_ACCEPT the baseline has these alone
#   MMAUDIT_OUT       folder of what the steps write (mmaudit-out): baseline.json, diff.json, layer.*
#   MMAUDIT_SUMMARY   Markdown is appended here (GITHUB_STEP_SUMMARY, else summary.md of that folder)
# Exit codes: 0 good, 1 a difference, a FAIL or no baseline, 2 a variable is wrong, 3 no release, no tool, no GPU, or the
# baseline can't be fetched.
set -euo pipefail

prefix=$(realpath -m -- "${MMAUDIT_PREFIX:-.mmaudit}")
out=${MMAUDIT_OUT:-mmaudit-out}
on=${MMAUDIT_ON:-model}
summary=${MMAUDIT_SUMMARY:-${GITHUB_STEP_SUMMARY:-$out/summary.md}}
kept=${MMAUDIT_BASELINE:-baselines/mmaudit.json}

die() {
  local text=${2//[$'\r\n']/ } # one line: another one could be a command of GitHub
  [[ -z ${GITHUB_ACTIONS:-} ]] || printf '::error title=mmaudit::%s\n' "${text//%/%25}"
  printf 'mmaudit_ci: %s\n' "$text" >&2
  exit "$1"
}

# fenced TITLE FILE: the file as a block of the summary, cut to what GitHub shows.
fenced() {
  { printf '### %s\n\n```text\n' "$1" && head -c 60000 "$2" && printf '\n```\n\n'; } >>"$summary"
}

tool() {
  command -v mmaudit >/dev/null || die 3 "no mmaudit on PATH: run the step install first"
  mmaudit -q "$@"
}

step_install() {
  local release=${MMAUDIT_RELEASE:-} file found new
  if [[ -z $release ]]; then
    command -v mmaudit >/dev/null || die 3 "MMAUDIT_RELEASE: found nothing, allowed: a release (.tar.gz), or an mmaudit on PATH"
    return 0
  fi
  mkdir -p "$prefix"
  file=$release
  if [[ $release == https://* ]]; then
    file=$prefix/release.tar.gz
    curl -fsSL --proto =https --proto-redir =https --retry 3 -o "$file" "$release" || die 3 "MMAUDIT_RELEASE: could not fetch $release"
  fi
  [[ -f $file ]] || die 3 "MMAUDIT_RELEASE: found '$release', allowed: a file or an https address"
  if [[ -n ${MMAUDIT_SHA256:-} ]]; then
    found=$(sha256sum "$file") && found=${found%% *}
    [[ $found == "$MMAUDIT_SHA256" ]] || die 3 "MMAUDIT_SHA256: found $found, allowed: $MMAUDIT_SHA256"
  fi
  # Nothing of an older release stays: not its files, and not its programs in bin.
  new=$prefix/release.new
  rm -rf "$new" && mkdir -p "$new"
  tar -xzf "$file" -C "$new" --strip-components=1 --no-same-owner 2>/dev/null ||
    die 3 "MMAUDIT_RELEASE: $release is no .tar.gz"
  [[ -x $new/bin/mmaudit || -x $new/run ]] ||
    die 3 "MMAUDIT_RELEASE: $release has neither bin/mmaudit nor the source (run)"
  [[ ! -L $prefix/bin ]] || rm "$prefix/bin" # of an earlier version of this script
  mkdir -p "$prefix/bin" && find "$prefix/bin" -lname '../release/bin/*' -delete
  [[ -x $new/bin/mmaudit ]] || "$new/run" install --prefix "$prefix" ||
    die 3 "MMAUDIT_RELEASE: the source of $release does not build"
  rm -rf "$prefix/release" && mv "$new" "$prefix/release"
  [[ ! -x $prefix/release/bin/mmaudit ]] || (cd "$prefix/bin" && ln -sf ../release/bin/* .)
  "$prefix/bin/mmaudit" --version || die 3 "MMAUDIT_RELEASE: the mmaudit of $release does not start here"
  [[ -z ${GITHUB_PATH:-} ]] || printf '%s\n' "$prefix/bin" >>"$GITHUB_PATH"
}

step_verify() {
  local arguments=() status=0
  [[ $on == model ]] || arguments+=(--live --dots 1e7 --seed "${GITHUB_RUN_NUMBER:-1}")
  [[ -z ${MMAUDIT_INST:-} ]] || arguments+=(--inst "$MMAUDIT_INST")
  tool verify "${arguments[@]}" >"$out/verify.txt" || status=$?
  tail -n 1 "$out/verify.txt"
  ((status == 3)) || fenced "The model against $([[ $on == model ]] && echo its recordings || echo this GPU)" "$out/verify.txt"
  return "$status"
}

step_layer() {
  local arguments status=0
  read -r -d '' -a arguments <<<"${MMAUDIT_LAYER:-}" || true # the words of all lines
  ((${#arguments[@]})) || die 2 "MMAUDIT_LAYER: found nothing, allowed: arguments of mmaudit audit, e.g. --a x.npy --b w.npy"
  [[ ${MMAUDIT_REPORT_ONLY:-false} == true || " ${arguments[*]}" =~ \ --max-(rel-fro|output-error)(=|\ |$) ]] ||
    die 2 "MMAUDIT_LAYER: found no limit, allowed: --max-rel-fro, e.g. --max-rel-fro 5e-2, or with --capture --max-output-error; MMAUDIT_REPORT_ONLY=true judges nothing"
  tool audit "${arguments[@]}" --md "$out/layer.md" --html "$out/layer.html" --junit "$out/layer.xml" >"$out/layer.txt" || status=$?
  ((status <= 1)) || return "$status"
  sed -n '/^\*\*/{s/\*\*//g;s/\\//g;p;q}' "$out/layer.md" # its first sentence; layer.txt breaks lines
  { cat "$out/layer.md" && echo; } >>"$summary"
  return "$status"
}

# The newest artifact mmaudit-baseline that a run of the default branch made; a fork's pull request can't put one there.
# Exit code 4: there is none.
fetch_baseline() {
  python3 - "$1" <<'END'
import io, json, os, sys, urllib.request, zipfile

def get(address):
    class Plain(urllib.request.HTTPRedirectHandler):  # the store of artifacts must not see the token
        def redirect_request(self, *arguments):
            request = super().redirect_request(*arguments)
            request.headers.pop("Authorization", None)
            return request
    request = urllib.request.Request(address, headers={"Authorization": "Bearer " + os.environ["GITHUB_TOKEN"]})
    with urllib.request.build_opener(Plain).open(request, timeout=60) as answer:
        return answer.read()

api = os.environ.get("GITHUB_API_URL", "https://api.github.com") + "/repos/" + os.environ["GITHUB_REPOSITORY"]
branch = json.loads(get(api))["default_branch"]
for artifact in json.loads(get(api + "/actions/artifacts?name=mmaudit-baseline&per_page=100"))["artifacts"]:
    run = artifact["workflow_run"]
    if not artifact["expired"] and run["head_branch"] == branch and run["head_repository_id"] == run["repository_id"]:
        with zipfile.ZipFile(io.BytesIO(get(artifact["archive_download_url"]))) as archive:
            open(sys.argv[1], "wb").write(archive.read("baseline.json"))
        sys.exit(0)
sys.exit(4)
END
}

step_baseline() {
  local inst=() status=0
  [[ -z ${MMAUDIT_INST:-} ]] || inst=(--inst "$MMAUDIT_INST")
  tool baseline record --on "$on" "${inst[@]}" --out "$out/new.json" >/dev/null
  if [[ ${MMAUDIT_ACCEPT:-false} == true ]]; then
    mv "$out/new.json" "$out/baseline.json"
    # On GitHub the artifact is the baseline; elsewhere, and where there is a file of it, the file.
    if [[ -z ${GITHUB_TOKEN:-} || -e $kept ]]; then
      mkdir -p "$(dirname "$kept")" && cp "$out/baseline.json" "$kept"
      echo "accepted: $kept is the baseline: commit it" | tee -a "$summary"
    else
      echo "accepted: $out/baseline.json is the baseline" | tee -a "$summary"
    fi
    return 0
  fi
  if [[ ! -e $kept && -n ${GITHUB_TOKEN:-} ]]; then
    fetch_baseline "$out/kept.json" 2>"$out/fetch.txt" || status=$?
    ((status == 0 || status == 4)) ||
      die 3 "baseline: could not ask for the artifact mmaudit-baseline (it needs actions: read): $(tail -n 1 "$out/fetch.txt")"
    [[ $status != 0 ]] || kept=$out/kept.json
    status=0
  fi
  [[ -e $kept ]] || die 1 "no baseline: look at $out/new.json, then keep it as $kept, or run once with MMAUDIT_ACCEPT=true"
  tool baseline diff "$kept" "$out/new.json" "${inst[@]}" --json "$out/diff.json" >"$out/diff.txt" || status=$?
  tail -n 1 "$out/diff.txt"
  ((status > 1)) || fenced "What changed since the baseline" "$out/diff.txt"
  # The baseline itself is kept on: new.json may have fewer instructions, and a difference waits until somebody accepts it.
  ((status != 0)) || cp "$kept" "$out/baseline.json"
  return "$status"
}

(($#)) || { sed '1d;/^[^#]/,$d;s/^# \?//' "${BASH_SOURCE[0]}" >&2 && exit 2; }
for step in "$@"; do # what an earlier run left must not pass for the output of this one
  case $step in
    install) ;;
    verify) rm -f "$out/verify.txt" ;;
    layer) rm -f "$out"/layer.{txt,md,html,xml} ;;
    baseline) rm -f "$out"/{baseline,new,diff}.json "$out"/{diff,fetch}.txt ;;
    *) die 2 "step: found '$step', allowed: install, verify, layer, baseline" ;;
  esac
done
[[ $on == model || $on == hardware ]] || die 2 "MMAUDIT_ON: found '$on', allowed: model, hardware"
mkdir -p "$out" "$(dirname "$summary")"
PATH=$prefix/bin:$PATH
worst=0 failed=''
for step in "$@"; do
  set +e # in a condition the subshell would ignore its errors
  (set -e && "step_$step")
  status=$?
  set -e
  ((status == 0)) && continue
  failed+=" $step ($status)"
  ((status <= worst)) || worst=$status
  [[ $step != install && $status -lt 128 ]] || break # there is no tool, or it was interrupted
done
[[ -z $failed ]] || { echo "failed:$failed" >&2 && exit "$worst"; }
