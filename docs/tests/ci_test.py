#!/usr/bin/env python3
"""The recipes of docs/ci in a scratch repository: ci_test.py TOOL (ctest -L cli runs it).

A release tarball is made of TOOL and two recordings, as cmake --install lays them out. Every step of mmaudit_ci.sh runs
against it, with each failure; then the lines that action.yml, gitlab-ci.yml and slurm.sh run. No GPU is used, and the
API of GitHub is a server on this machine. Exit codes: 0 all good, 1 a case failed.
"""

import contextlib
import http.server
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import zipfile

from commands_test import ROOT, write_array

RECIPES = ROOT / "docs" / "ci"
SCRIPT = RECIPES / "mmaudit_ci.sh"
INST = "mma.m16n8k8.f32.tf32"
passed = failed = 0


def check(what, good, found):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print(f"{what}: found {found}\n")


def packed(path, root, files):
    """A .tar.gz with the folder `root`; files: {name: path or text}, texts are executable."""
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            if isinstance(content, pathlib.Path):
                archive.add(content, f"{root}/{name}")
            else:
                entry = tarfile.TarInfo(f"{root}/{name}")
                entry.size, entry.mode = len(content), 0o755
                archive.addfile(entry, io.BytesIO(content.encode()))
    return path


class Repository:
    """A scratch repository, and the variables that a runner sets. PATH has no mmaudit."""

    def __init__(self, folder, release):
        self.folder, self.summary = folder, folder / "summary.md"
        folder.mkdir(parents=True)
        self.variables = {"PATH": os.environ["PATH"], "HOME": str(folder), "LC_ALL": "C.UTF-8", "CUDA_VISIBLE_DEVICES": "",
                          "GITHUB_STEP_SUMMARY": str(self.summary), "GITHUB_PATH": str(folder / "path"),
                          "MMAUDIT_RELEASE": str(release), "MMAUDIT_INST": INST}

    def run(self, command, **variables):
        return subprocess.run(["bash", "-c", command], cwd=self.folder, env={**self.variables, **variables}, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=300)

    def step(self, what, steps, code, words="", **variables):
        """Runs the script: its exit code, the words that it says, and one line of error for each step that fails by itself."""
        done = self.run(f"{SCRIPT} {steps}", **variables)
        said = done.stdout + done.stderr
        check(what, done.returncode == code and words in said, f"exit code {done.returncode}: {said[-1500:]}")
        own = [line for line in done.stderr.split("\n") if line.startswith("mmaudit_ci: ")]
        check(f"{what}: at most one line of its own for each step", len(own) <= max(1, len(steps.split())) and (own or not words.startswith("mmaudit_ci: ")), own)
        return said

    def text(self):
        return self.summary.read_text() if self.summary.exists() else ""


def source_of(path, says):
    """A release of the source, whose build says this."""
    return packed(path, "s", {"run": f'''#!/bin/sh
mkdir -p "$3/bin" && printf "#!/bin/sh\\necho {says}\\n" >"$3/bin/mmaudit" && chmod +x "$3/bin/mmaudit"\n'''})


def upgrades(at, source):
    """One prefix, release after release: the program is the last one's, and nothing else of the others is left."""
    def program(number, *names):
        files = {f"bin/{name}": f"#!/bin/sh\necho {number}\n" for name in ("mmaudit", *names)}
        return packed(at.folder / f"{number}.tar.gz", number, {**files, f"share/{number}": "x"})

    first, third = program("first", "mmaudit-old"), program("third")
    bin_of, shared = at.folder / "p5" / "bin", at.folder / "p5" / "release" / "share"
    for what, given in (("a first release", first), ("the source over it", source), ("programs over the source", third),
                        ("the first one again", first), ("programs over programs", third)):
        says = {first: "first", third: "third"}.get(given, "second")
        at.step(what, "install", 0, says + "\n", MMAUDIT_RELEASE=str(given), MMAUDIT_PREFIX="p5")
        check(f"{what}: the program", at.run("p5/bin/mmaudit").stdout == says + "\n", os.listdir(bin_of))
        check(f"{what}: programs", sorted(os.listdir(bin_of)) == ["mmaudit"] + ["mmaudit-old"] * (given == first), os.listdir(bin_of))
        check(f"{what}: files", given == source or os.listdir(shared) == [says], shared)
    shutil.rmtree(bin_of)
    bin_of.symlink_to("release/bin")
    at.step("over a prefix of an older script", "install", 0, "second\n", MMAUDIT_RELEASE=str(source), MMAUDIT_PREFIX="p5")
    at.step("a page over a release", "install", 3, "is no .tar.gz", MMAUDIT_RELEASE="page.tar.gz", MMAUDIT_PREFIX="p5")
    check("a page over a release: the release stays", at.run("p5/bin/mmaudit").stdout == "second\n", os.listdir(bin_of))
    fake = at.folder / "fake"
    fake.mkdir()
    (fake / "curl").write_text(f'#!/bin/sh\necho "$@" >{fake}/asked\nwhile [ "$1" != -o ]; do shift; done\ncp {third} "$2"\n')
    (fake / "curl").chmod(0o755)
    at.step("an address", "install", 0, "third", MMAUDIT_RELEASE="https://x/y.tar.gz", MMAUDIT_PREFIX="p6", PATH=f"{fake}:{os.environ['PATH']}")
    check("an address: https alone, also after a redirection", "--proto =https --proto-redir =https" in (fake / "asked").read_text(), "curl")


def installs(folder, release):
    say = "mmaudit_ci: MMAUDIT_RELEASE: "
    at = Repository(folder / "install", release)
    at.step("no release", "install", 3, say + "found nothing, allowed: a release (.tar.gz)", MMAUDIT_RELEASE="")
    at.step("a release that is not there", "install", 3, say + "found 'gone.tar.gz', allowed: a file", MMAUDIT_RELEASE="gone.tar.gz")
    at.step("an address of another kind", "install", 3, say + "found 'http://x/y'", MMAUDIT_RELEASE="http://x/y")
    (at.folder / "page.tar.gz").write_text("<html>not found</html>")
    at.step("a page in place of a release", "install", 3, say + "page.tar.gz is no .tar.gz", MMAUDIT_RELEASE="page.tar.gz")
    empty = packed(at.folder / "empty.tar.gz", "other", {"README": "x"})
    at.step("another tarball", "install", 3, "has neither bin/mmaudit nor the source", MMAUDIT_RELEASE=str(empty), MMAUDIT_PREFIX="p1")
    at.step("another checksum", "install", 3, "mmaudit_ci: MMAUDIT_SHA256: found ", MMAUDIT_SHA256="0" * 64)
    broken = packed(at.folder / "broken.tar.gz", "b", {"bin/mmaudit": "#!/bin/sh\nexit 127\n"})
    at.step("a tool that does not start", "install", 3, "does not start here", MMAUDIT_RELEASE=str(broken), MMAUDIT_PREFIX="p2")
    builds = '#!/bin/sh\n[ "$1 $2" = "install --prefix" ] && mkdir -p "$3/bin" && printf "#!/bin/sh\\necho built\\n" >"$3/bin/mmaudit" ' \
             '&& chmod +x "$3/bin/mmaudit"\n'
    source = packed(at.folder / "source.tar.gz", "s", {"run": builds})
    at.step("a source release", "install", 0, "built", MMAUDIT_RELEASE=str(source), MMAUDIT_PREFIX="p3")
    source = packed(at.folder / "bad.tar.gz", "s", {"run": "#!/bin/sh\nexit 1\n"})
    at.step("a source release that does not build", "install", 3, "does not build", MMAUDIT_RELEASE=str(source), MMAUDIT_PREFIX="p4")
    said = at.step("an error on GitHub", "install", 3, say, MMAUDIT_RELEASE="gone.tar.gz", GITHUB_ACTIONS="true")
    check("GitHub shows the error", "::error title=mmaudit::MMAUDIT_RELEASE" in said, said)
    said = at.step("an error of several lines", "install", 3, say, MMAUDIT_RELEASE="gone\n::add-mask::50%\r::x", GITHUB_ACTIONS="true")
    check("an error of several lines: no command of its own", [line for line in re.split("[\r\n]", said) if line.startswith("::")] ==
          ["::error title=mmaudit::MMAUDIT_RELEASE: found 'gone ::add-mask::50%25 ::x', allowed: a file or an https address"], said)
    upgrades(at, source_of(at.folder / "new-source.tar.gz", "second"))
    at.step("no tool", "verify", 3, "mmaudit_ci: no mmaudit on PATH")
    at.step("a release", "install", 0, "mmaudit ")
    check("later steps find the tool", (at.folder / "path").read_text().split()[-1] == str(at.folder / ".mmaudit" / "bin"), "path")
    for what, steps, variables, words in [
        ("no step", "", {}, "Exit codes: 0 good"), ("another step", "check", {}, "step: found 'check', allowed: install, verify"),
        ("another place", "verify", {"MMAUDIT_ON": "gpu"}, "MMAUDIT_ON: found 'gpu', allowed: model, hardware"),
        ("no layer", "layer", {}, "MMAUDIT_LAYER: found nothing")]:
        said = at.step(what, steps, 2, ("mmaudit_ci: " if steps else "") + words, **variables)
        check(f"{what}: the head of the script alone", steps or ("STEP..." in said and "fenced" not in said and "set -e" not in said), said)
    (at.folder / "mmaudit-out").mkdir(exist_ok=True)
    (at.folder / "mmaudit-out" / "layer.xml").write_text("of an earlier run")
    at.step("another step after a good one", "layer check", 2, "step: found 'check'")
    old = at.folder / "mmaudit-out" / "layer.xml"
    said = at.step("no release for the steps after it", "install layer", 3, "failed: install (3)", MMAUDIT_RELEASE="gone.tar.gz")
    check("no release: nothing else runs, nothing old is left", "layer" not in said and not old.exists(), said)


def layers(at, before):
    """The step layer; `before`: the summary so far."""
    layer = "--a x.npy --b w.npy --no-b-transposed --dtype e4m3 --max-rel-fro "
    made = [at.folder / "mmaudit-out" / f"layer.{kind}" for kind in ("xml", "html", "md", "txt")]
    at.step("a layer within its limit", "layer", 0, "e4m3", MMAUDIT_LAYER=layer + "0.5")
    check("the files of a layer", all(file.exists() for file in made), made)
    at.step("a layer of a file that is gone", "layer", 2, "gone.npy", MMAUDIT_LAYER=layer.replace("x.npy", "gone.npy") + "0.5")
    check("a layer of a file that is gone: no files of an earlier run", not any(file.stat().st_size for file in made if file.exists()), made)
    said = at.step("a layer beyond its limit", "layer", 1, "", MMAUDIT_LAYER=layer + "1e-30")
    check("a layer beyond its limit: a whole sentence", re.match(r"Nothing passes\..*\(FAIL: [^()]+\)\.\n", said), said)
    check("the summary of the layer", at.text().count("e4m3") > before.count("e4m3") and "FAIL" in at.text(), at.text())
    check("JUnit of the layer", "<failure" in made[0].read_text(), "layer.xml")
    lines = layer.replace("--dtype", "\n--dtype") + "1e-30\n"  # a block | of YAML
    at.step("a layer on several lines", "layer", 1, "(FAIL: ", MMAUDIT_LAYER=lines)
    no_limit = layer.replace(" --max-rel-fro ", "")
    for what, given in (("no limit", no_limit), ("another option", no_limit + " --max-rel-frob 1")):
        at.step(f"a layer with {what}", "layer", 2, "mmaudit_ci: MMAUDIT_LAYER: found no limit, allowed: --max-rel-fro", MMAUDIT_LAYER=given)
    at.step("a layer that is only reported", "layer", 0, "nothing is judged", MMAUDIT_LAYER=no_limit, MMAUDIT_REPORT_ONLY="true")
    at.step("a limit judges all the same", "layer", 1, "", MMAUDIT_LAYER=layer + "1e-30", MMAUDIT_REPORT_ONLY="true")
    at.step("the limit as one word", "layer", 0, "", MMAUDIT_LAYER=no_limit + " --max-rel-fro=0.5")
    at.step("a limit of layers that were captured", "layer", 2, "x.npy", MMAUDIT_LAYER="--capture x.npy --max-output-error 0.1")
    at.step("every step runs", "install layer baseline", 1, "failed: layer (1)\n", MMAUDIT_LAYER=layer + "1e-30", MMAUDIT_ACCEPT="true",
            MMAUDIT_BASELINE="other.json")
    check("every step runs: the baseline too", (at.folder / "other.json").exists(), "no baseline")
    at.step("the largest exit code", "layer baseline", 2, "failed: layer (2) baseline (1)", MMAUDIT_LAYER=no_limit, MMAUDIT_BASELINE="none.json")


def subset(at):
    """A run of fewer instructions than the baseline has, and of more."""
    other, kept, new = "mma.m16n8k4.f32.tf32", at.folder / "subset.json", at.folder / "mmaudit-out" / "baseline.json"
    both = {"MMAUDIT_BASELINE": kept.name, "MMAUDIT_INST": f"{INST},{other}"}
    at.step("two instructions", "baseline", 0, "accepted", **both, MMAUDIT_ACCEPT="true")
    whole = kept.read_bytes()
    at.step("one of the two", "baseline", 0, "no difference: 1 instructions", MMAUDIT_BASELINE=kept.name)
    check("one of the two: the whole baseline stays", new.exists() and new.read_bytes() == whole, new)
    at.step("two again", "baseline", 0, "no difference: 2 instructions", **both)
    at.step("one more than the baseline has", "baseline", 1, " in NEW only\n", **{**both, "MMAUDIT_INST": f"{INST},{other},mma.m8n8k4.f64"})


def steps(folder, release):
    at = Repository(folder / "steps", release)
    at.step("a release", "install", 0)
    at.step("verify", "verify", 0, "0 mismatches")
    check("the summary of verify", "### The model against its recordings\n\n```text\n" in at.text() and INST in at.text(), at.text())
    before = at.text()
    at.step("verify without a GPU", "verify", 3, "", MMAUDIT_ON="hardware")
    at.step("a baseline without a GPU", "baseline", 3, "", MMAUDIT_ON="hardware")
    check("no GPU: no summary", at.text() == before, at.text())

    for name, rows in (("x", 16), ("w", 64)):
        write_array(at.folder / f"{name}.npy", {"x": ("f4", (rows, 64))})
    layers(at, before)
    kept = at.folder / "baselines" / "mmaudit.json"
    new = at.folder / "mmaudit-out" / "baseline.json"
    at.step("no baseline", "baseline", 1, "mmaudit_ci: no baseline: look at mmaudit-out/new.json, then keep it as baselines/mmaudit.json")
    check("no baseline: none is made", not new.exists(), new)
    at.step("accepted", "baseline", 0, "accepted: baselines/mmaudit.json is the baseline: commit it", MMAUDIT_ACCEPT="true")
    check("accepted: the file is there", kept.exists() and kept.read_bytes() == new.read_bytes(), kept)
    at.step("the same bits", "baseline", 0, "no difference: 1 instructions")
    check("the same bits: kept again", new.read_bytes() and "no difference" in at.text(), at.text())
    subset(at)
    # A tool whose model lost a bit since: both models under a name of their own, for diff compares one architecture.
    model = json.loads(at.run(".mmaudit/bin/mmaudit list --arch hopper --json").stdout)["architectures"][0]
    model.update(name="ours", aliases=[])
    for name in ("before", "after"):
        (at.folder / f"{name}.json").write_text(json.dumps(model))
        for row in model["rows"]:
            row["F"] -= row["datapath"] == "mma.tf32"
    real = at.folder / ".mmaudit" / "release" / "bin" / "mmaudit"
    real.rename(real.with_name("real"))
    real.write_text(f'#!/bin/sh\ncase "$*" in *record*) set -- "$@" --model {at.folder}/after.json ;; esac\n'
                    f'exec {real.with_name("real")} "$@"\n')
    real.chmod(0o755)
    done = at.run(f"{real.with_name('real')} -q baseline record --on model --model before.json --inst {INST} --out {kept}")
    check("another baseline", done.returncode == 0, done.stderr)
    at.step("other bits", "baseline", 1, "1 of 1 instructions changed")
    check("other bits: no new baseline", not new.exists() and "1 of 1 instructions changed" in at.text(), at.text())
    kept.write_text("{")
    at.step("a broken baseline", "baseline", 2)


@contextlib.contextmanager
def github(baseline, status=200, taken=True):
    """The API of GitHub with four artifacts, of which the third is the one to take. Yields the address and what was asked.

    With another status it answers nothing else; without `taken` there are only the first two."""
    asked = []
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.writestr("baseline.json", baseline)

    def artifact(number, expired=False, branch="main", head=1):
        return {"expired": expired, "archive_download_url": f"{root}/zip/{number}",
                "workflow_run": {"repository_id": 1, "head_repository_id": head, "head_branch": branch}}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):  # noqa: N802
            asked.append((self.path, self.headers.get("Authorization")))
            path = self.path.split("?")[0]
            if path.startswith("/zip/"):
                self.send_response(302)
                self.send_header("Location", f"{root}/store")
                self.end_headers()
                return
            answer = {"/repos/o/r": {"default_branch": "main"}, "/repos/o/r/actions/artifacts": {"artifacts": [
                artifact(1, expired=True), artifact(2, head=2), *([artifact(3), artifact(4)] if taken else [])]}}
            self.send_response(status)
            self.end_headers()
            if status != 200:
                return
            self.wfile.write(zipped.getvalue() if path == "/store" else json.dumps(answer[path]).encode())

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        root = f"http://127.0.0.1:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield root, asked
        server.shutdown()


def artifact(folder, release):
    at = Repository(folder / "artifact", release)
    at.step("accepted", "install baseline", 0, "accepted: mmaudit-out", MMAUDIT_ACCEPT="true", GITHUB_TOKEN="secret")
    with github((at.folder / "mmaudit-out" / "baseline.json").read_bytes()) as (root, asked):
        of_runner = {"GITHUB_API_URL": root, "GITHUB_REPOSITORY": "o/r", "GITHUB_TOKEN": "secret", "no_proxy": "127.0.0.1"}
        at.step("the baseline of the default branch", "baseline", 0, "no difference", **of_runner)
    check("the newest of the default branch, not a fork's", any(path == "/zip/3" for path, _ in asked), asked)
    check("the token goes to the API alone", all(bool(token) == (path != "/store") for path, token in asked), asked)
    for what, cause in (("refuses a connection", "Connection refused"), ("answers 403", "HTTP Error 403: Forbidden")):
        with github(b"", 403) if "403" in cause else contextlib.nullcontext((root, [])) as (address, _):
            said = at.step(f"an API that {what}", "baseline", 3, "mmaudit_ci: baseline: could not ask", **{**of_runner, "GITHUB_API_URL": address})
        check(f"an API that {what}: the cause, no invitation", cause in said and "MMAUDIT_ACCEPT" not in said, said)
    with github(b"", taken=False) as (address, _):
        at.step("an API without a baseline", "baseline", 1, "mmaudit_ci: no baseline", **{**of_runner, "GITHUB_API_URL": address})


def recipes(folder, release):
    """What the recipes run, in their own words."""
    action = (RECIPES / "action.yml").read_text()
    lines = re.findall(r"^      run: '(.*?)'", action, flags=re.M)
    at = Repository(folder / "action", release)
    env = {"GITHUB_ACTION_PATH": str(RECIPES), "MMAUDIT_STEPS": "verify baseline", "MMAUDIT_ACCEPT": "true"}
    done = [at.run(line, **env) for line in lines]
    check("action.yml", len(lines) == 2 and all(one.returncode == 0 for one in done), [one.stderr for one in done])
    check("action.yml: the baseline to keep", (at.folder / "mmaudit-out" / "baseline.json").exists(), "none")
    inputs = set(re.findall(r"^  ([\w-]+):\n    description", action.split("\noutputs:")[0], flags=re.M))
    used = set(re.findall(r"\$\{\{ inputs\.([\w-]+) \}\}", action))
    check("action.yml: every input is used", len(inputs) == 10 and inputs == used, inputs ^ used)
    keep = action.split("name: Keep the baseline")[1].split("uses:")[0]
    check("action.yml: an accepted baseline is kept though another step failed", "always() && steps.steps.outcome != 'skipped'" in keep, keep)
    check("action.yml: no input inside a command", not re.search(r"run:.*\$\{\{", action), action)
    workflow = (RECIPES / "workflow.yml").read_text()
    given = {name for block in re.findall(r"actions/mmaudit\n +with:\n((?: {10}.*\n)+)", workflow)
             for name in re.findall(r"^ {10}([\w-]+):", block, flags=re.M)}
    check("workflow.yml: inputs of the action", len(given) > 4 and given <= inputs, given - inputs)
    check("workflow.yml: only the action runs anything", "run: " not in workflow and "build/" not in workflow, "a command")
    known = set(re.findall(r"MMAUDIT_\w+", SCRIPT.read_text())) | {"MMAUDIT_STEPS", "MMAUDIT_CUDA", "MMAUDIT_RELEASE_CUDA"}
    for recipe in sorted(RECIPES.iterdir()):
        unknown = set(re.findall(r"MMAUDIT_\w+", recipe.read_text())) - known
        check(f"{recipe.name}: variables of the script", not unknown, unknown)

    at = Repository(folder / "recipes", release)
    (at.folder / "ci").mkdir()
    for name in ("mmaudit_ci.sh", "slurm.sh"):
        shutil.copy(RECIPES / name, at.folder / "ci" / name)
    for name, rows in (("x", 16), ("w", 64)):
        write_array(at.folder / "tensors" / f"{name}.npy", {"x": ("f4", (rows, 64))})
    at.step("accepted", "install baseline", 0, "accepted", MMAUDIT_ACCEPT="true")
    text = (RECIPES / "gitlab-ci.yml").read_text()
    both, cpu, gpu = (text.split(f"\n{job}:\n")[1].split("\n\n")[0] for job in (".mmaudit", "mmaudit", "mmaudit on the GPU"))
    check("gitlab-ci.yml: the baselines are artifacts", "paths: [mmaudit-out/, baselines/]" in both, both)
    for key in ("image", "MMAUDIT_BASELINE", "MMAUDIT_ON"):
        own = [re.findall(rf"^ +{key}: (.+)$", job, flags=re.M) for job in (cpu, gpu)]
        check(f"gitlab-ci.yml: {key} of each job", key not in both and len(own[0]) == len(own[1]) == 1 and own[0] != own[1], own)
    given = dict(re.findall(r"^    (MMAUDIT_\w+): (.*)$", text.split("mmaudit on the GPU")[0], flags=re.M))
    given["MMAUDIT_LAYER"] = given["MMAUDIT_LAYER"].replace("--b tensors/w.npy", "--b tensors/w.npy --no-b-transposed")
    line, on_gpu = re.findall(r"^    - (.*ci/.*)$", text, flags=re.M)
    done = at.run(line, **given)
    check("gitlab-ci.yml", done.returncode == 0, done.stdout + done.stderr)
    on_gpu_given = {**given, "MMAUDIT_ON": "hardware", "MMAUDIT_RELEASE": "of-the-cpu.tar.gz", "MMAUDIT_RELEASE_CUDA": str(release)}
    for what, command, more in (("gitlab-ci.yml on the GPU", on_gpu, on_gpu_given), ("slurm.sh", "ci/slurm.sh", given)):
        done = at.run(command, **more)
        check(what + ": the release of its job", "MMAUDIT_RELEASE" not in done.stderr, done.stderr)
        check(what + ": no GPU here", done.returncode == 3, done.stdout + done.stderr)
    on_gpu_stage = (RECIPES / "Jenkinsfile").read_text().split("stage('on the GPU')")[1]
    check("Jenkinsfile: the GPU for the main branch alone",
          re.match(r" \{\s*when \{ environment name: 'BRANCH_IS_PRIMARY', value: 'true' \}\s*steps \{", on_gpu_stage), on_gpu_stage)
    for line in re.findall(r"sh '(ci/[^']*)'", (RECIPES / "Jenkinsfile").read_text()):
        done = at.run(line, **given)
        check(f"Jenkinsfile: {line}", done.returncode == 0, done.stdout + done.stderr)


def containerfile():
    text = (RECIPES / "Containerfile").read_text().replace("\\\n", " ")
    names = [word for line in re.findall(r"install --no-install-recommends ([^&\n]*)", text) for word in line.split() if "/" not in word]
    names += re.findall(r"lib\w+", re.search(r"install --no-install-recommends (.*)", (RECIPES / "gitlab-ci.yml").read_text())[1])
    check("the recipes install packages", len(names) > 4, names)
    release = re.search(r'VERSION_CODENAME=(\w+)', pathlib.Path("/etc/os-release").read_text())
    if not shutil.which("apt-cache") or not release or release[1] != "bookworm" or \
            subprocess.run(["apt-cache", "show", "libfmt9"], capture_output=True).returncode != 0:
        print("note  not on a Debian 12 with package lists: the packages of the Containerfile were not looked up")
        return
    for name in names:
        check(f"Containerfile, gitlab-ci.yml: package {name}", subprocess.run(["apt-cache", "show", name], capture_output=True).returncode == 0,
              "no such package")


def main():
    tool = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(prefix="mmaudit-ci-") as scratch:
        folder = pathlib.Path(scratch)
        recordings = sorted(path for path in (ROOT / "corpus" / "data").rglob(f"{INST}*") if path.is_file())
        files = {f"share/mmaudit/corpus/data/{path.relative_to(ROOT / 'corpus' / 'data')}": path for path in recordings}
        release = packed(folder / "release.tar.gz", "mmaudit-0.1.0-Linux", {"bin/mmaudit": tool, **files})
        check("a recording to verify", recordings, recordings)
        installs(folder, release)
        steps(folder, release)
        artifact(folder, release)
        recipes(folder, release)
    containerfile()
    print(f"{passed} passed, {failed} failed")
    return 0 if failed == 0 and passed else 1


if __name__ == "__main__":
    sys.exit(main())
