#!/usr/bin/env python3
"""Keeps the documentation true: commands_test.py TOOL [PAGE...] (ctest -L cli runs it as docs_test).

Part 1 takes the ```console blocks out of the pages of the top folder and of docs/, runs every "$ command" in a scratch
folder with the tool on PATH as mmaudit, and compares what it prints with what the page prints. A line "..." stands for
any lines, "..." inside a line for any text. A command has to exit with 0, unless "$ echo $?" follows it. Inline code
that starts with "mmaudit" has to name a command and options that exist, a link or a path in inline code a file.
Part 2 runs the lines of command_lines.txt, which pages have printed before: command lines are not taken away.
Part 3 compares stability.md with the sources: JSON schemas, functions of the C headers, names of the Python packages.

The examples need numpy. Exit codes: 0 all good, 1 a page is wrong.
"""

import array
import ast
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

DOCS = pathlib.Path(__file__).resolve().parent.parent
ROOT = DOCS.parent

# Commands of pages that are not run here, and why. The test fails when a page no longer has one of them.
BUILDS = "builds or installs; the tests labelled install do it"
HUB = "a checkpoint of a hub, of gigabytes; model_command_test runs these options on small ones"
NOT_RUN = {
    "mmaudit model Llama-3.1-8B --list": HUB,
    "mmaudit model Llama-3.1-8B --max-rel-fro 5% --plan net.json --html net.html": HUB,
    "mmaudit model Llama-3.1-8B-NVFP4 --original Llama-3.1-8B": HUB,
    "cmake --preset release -D MMAUDIT_TESTS=OFF && cmake --build --preset release && sudo cmake --install build/release": BUILDS,
    "pip install ./emulator/python": BUILDS,
    "apt-get install python3-venv cmake g++": BUILDS,
    "/usr/bin/python3 -m venv env && env/bin/pip install ./emulator/python": BUILDS,
}

# Commands that need a GPU. They run with every GPU hidden and have to say so (exit code 3), which shows that their
# options are still understood.
NEED_GPU = [
    "mmaudit gemm check --budget 60s --reproducer faults",
    "mmaudit screen --quick",
    "mmaudit screen --minutes 10 --json screen.json --prometheus screen.prom",
    "mmaudit verify campaign --dots 1e11 --seed 1 --journal campaign.jsonl --out campaign.json",
    "mmaudit verify campaign --inst wgmma --family wide_window,cancellation --dots 1e12",
]


def write_array(path, tensors):
    """path.npy or path.safetensors from {name: (dtype, shape)}: small numbers that every format has."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {}
    for name, (dtype, shape) in tensors.items():
        count = 1
        for extent in shape:
            count *= extent
        code = {"f2": "H", "f4": "f", "u1": "B", "u2": "H"}[dtype]
        # 1, 1.5 or 2 as binary16, else the numbers 1 to 3 (as raw bits of a narrow format: small numbers).
        value = {"f2": lambda i: 0x3C00 + 0x200 * (i % 3), "f4": lambda i: 1.0 + i % 3}.get(dtype, lambda i: 1 + i % 3)
        content[name] = array.array(code, [value(i * 7 + i // 5) for i in range(count)]).tobytes()
    if path.suffix == ".npy":
        ((dtype, shape),) = tensors.values()
        header = "{'descr': '%s%s', 'fortran_order': False, 'shape': %r, }" % ("|" if dtype == "u1" else "<", dtype, shape)
        header += " " * (-(len(header) + 11) % 64) + "\n"
        path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + content["x"])
        return
    names = {"f2": "F16", "f4": "F32", "u1": "U8", "u2": "U16"}
    header, offset = {}, 0
    for name, (dtype, shape) in tensors.items():
        header[name] = {"dtype": names[dtype], "shape": shape, "data_offsets": [offset, offset + len(content[name])]}
        offset += len(content[name])
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(content.values()))


class Scratch:
    """A folder with the tool on PATH, the result files of campaigns, and the exit code of the last command."""

    def __init__(self, tool):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="mmaudit-docs-"))
        programs = self.folder / "bin"
        programs.mkdir()
        (programs / "mmaudit").symlink_to(tool)
        (programs / "python3").symlink_to(sys.executable)
        (self.folder / "corpus").mkdir()
        (self.folder / "corpus" / "campaigns").symlink_to(ROOT / "corpus" / "campaigns")
        (self.folder / "docs").mkdir()
        (self.folder / "docs" / "results").symlink_to(DOCS / "results")
        self.environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}
        self.status = 0

    def run(self, command, hide_gpu=False):
        environment = {**self.environment, "CUDA_VISIBLE_DEVICES": ""} if hide_gpu else self.environment
        done = subprocess.run(["bash", "-c", f"(exit {self.status})\n{command}"], cwd=self.folder, env=environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=600)
        self.status = done.returncode
        return done

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)


class Report:
    def __init__(self):
        self.passed = self.failed = 0

    def check(self, where, good, complaint):
        self.passed, self.failed = self.passed + good, self.failed + (not good)
        if not good:
            print(f"{where}: {complaint}\n")


def console_commands(text):
    """(line, command, expected output lines, expected exit code) of every "$ command" in a page's console blocks."""
    found, block, number = [], None, 0
    lines = text.split("\n")
    while number < len(lines):
        line = lines[number]
        number += 1
        if line.startswith("```"):
            block = [] if block is None and line == "```console" else None
            continue
        if block is None:
            continue
        if not line.startswith("$ "):
            if not block:
                raise SystemExit(f"line {number}: a console block starts with a '$ command'")
            block[-1][2].append(line)
            continue
        first, command = number, line[2:]
        ends = re.search(r"<<-?'?(\w+)'?", command)
        while command.endswith("\\") or (ends and lines[number - 1] != ends.group(1)):
            command += "\n" + lines[number]
            number += 1
        entry = [first, command, [], 0]
        if command == "echo $?":
            block[-1][3] = None  # the page says it
        block.append(entry)
        found.append(entry)
    return found


def matches(expected, printed):
    """Whether the printed lines are the expected ones, where a line '...' stands for any lines."""
    pattern = ""
    for line in expected:
        pattern += r"(?:.*\n)*?" if line.strip() == "..." else \
            ".*".join(re.escape(part.rstrip()) for part in line.split("...")) + r"[ ]*\n"
    return re.fullmatch(pattern, "".join(line + "\n" for line in printed)) is not None


def difference(expected, printed):
    """The first expected line that nothing printed matches, for a person; then what was printed."""
    missing = next((line for line in expected if line.strip() != "..." and
                    not any(matches([line], [other]) for other in printed)), None)
    shown = "\n".join(f"    {line}" for line in printed[:60])
    return (f"not printed: {missing}\n" if missing is not None else "another order or other lines:\n") + shown


def check_page(page, tool, report, seen):
    scratch = Scratch(tool)
    name = page.relative_to(ROOT)
    text = page.read_text()
    for line, command, expected, code in console_commands(text):
        where = f"{name}:{line}: $ {command}"
        seen.add(command)
        if command in NOT_RUN:
            continue
        hide = command in NEED_GPU
        done = scratch.run(re.sub(r"^\./run audit", "mmaudit audit", command), hide)
        if hide:
            report.check(where, done.returncode == 3, f"exit code {done.returncode}, not 3\n{done.stderr}")
            continue
        report.check(where, code is None or done.returncode == code, f"exit code {done.returncode}\n{done.stderr}")
        while expected and not expected[-1].strip():
            expected.pop()
        if expected:
            printed = [part.rstrip() for part in (done.stdout or done.stderr).rstrip("\n").split("\n")]
            report.check(where, matches(expected, printed), difference(expected, printed))
    scratch.close()
    return text


def check_spans(page, text, tool, report, helps):
    """Inline code `mmaudit COMMAND ... --option ...`: the command and its options exist."""
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    for span in re.findall(r"`(mmaudit(?: [^`]+)?)`", prose):
        words = span.replace("\\|", " ").replace("|", " ").split()[1:]
        path, rest = (), [word for word in words if word != "-q"]
        while True:
            if path not in helps:
                helps[path] = subprocess.run([tool, *path, "--help"], capture_output=True, text=True).stdout
            inner = re.search(r"^  mmaudit.* \[?COMMAND", helps[path], re.M)
            if not rest or not inner or not rest[0][0].isalpha() or not re.search(rf"^  {re.escape(rest[0])} ", helps[path], re.M):
                break
            path += (rest.pop(0),)
        where = f"{page.relative_to(ROOT)}: `{span}`"
        if not path:
            report.check(where, not words, "there is no such command")
            continue
        for option in [word.split("=")[0] for word in rest if re.match(r"--[a-z]", word)]:
            report.check(where, re.search(rf"{option}(?![-\w])", helps[path]) is not None,
                         f"'mmaudit {' '.join(path)} --help' does not have {option}")


def check_links(page, text, report):
    for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)):
        report.check(page.relative_to(ROOT), (page.parent / link).exists(), f"links to {link}, which does not exist")


def check_files(page, text, report):
    """Inline code that is a path of this repository, or the name of a source (not of CUDA), exists; <name> stands for any name."""
    for span in re.findall(r"`([\w./<>*-]+)`", text):
        pattern = re.sub(r"<\w+>", "*", span).rstrip("/")
        path = re.match(r"(emulator|corpus|device|properties|reports|docs|cmake)/", span)
        if path or re.fullmatch(r"(?!cuda_)\w+\.(hpp|h|cpp|cu|cuh)", span):
            found = next(ROOT.glob(pattern) if path else
                         (file for part in ("emulator", "device", "properties", "corpus", "reports")
                          for file in (ROOT / part).rglob(pattern)), None)
            report.check(page.relative_to(ROOT), found is not None, f"names {span}, which does not exist")


def check_old_lines(tool, report):
    """command_lines.txt: 'file NAME DTYPE EXTENT,...' makes a file, 'CODE COMMAND' runs one."""
    scratch = Scratch(tool)
    path = DOCS / "tests" / "command_lines.txt"
    for number, line in enumerate(path.read_text().split("\n"), 1):
        if not line or line.startswith("#"):
            continue
        kind, rest = line.split(" ", 1)
        if kind == "file":
            target, *tensors = rest.split(" ")
            parsed = {}
            for tensor in tensors:
                label, dtype, shape = tensor.split(":")
                parsed[label] = (dtype, tuple(int(extent) for extent in shape.split(",")))
            write_array(scratch.folder / target, parsed)
            continue
        scratch.status = 0
        done = scratch.run(rest, hide_gpu=True)
        report.check(f"{path.name}:{number}: {rest}", done.returncode == int(kind),
                     f"exit code {done.returncode}, not {kind}\n{done.stderr}")
    scratch.close()


def schemas_written():
    """The schemas that string literals of the sources name, tests and seeds apart."""
    found = set()
    for part in ("emulator", "corpus", "device", "properties", "reports"):
        for file in (ROOT / part).rglob("*"):
            if file.suffix not in (".cpp", ".hpp", ".cu", ".cuh", ".py", ".js") or \
               {"tests", "torch_tests", "fuzz"} & set(file.relative_to(ROOT).parts):
                continue
            code = re.sub(r"^\s*(//|#).*$", "", file.read_text(), flags=re.M)
            found.update(re.findall(r"[\"'](mmaudit\.[a-z0-9._-]+/\d+)[\"']", code))
    return found


def public_names(package):
    """__all__ of a Python package, read and not imported: the library need not be built."""
    for node in ast.parse((package / "__init__.py").read_text()).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == "__all__":
            return set(ast.literal_eval(node.value))
    raise SystemExit(f"{package}: no __all__")


def check_stability(report):
    """stability.md lists what is promised: all that the sources have, and nothing that they lack."""
    page = (DOCS / "stability.md").read_text()
    headers = [ROOT / "emulator/include/mmaudit/mmaudit.h", ROOT / "emulator/include/mmaudit/mmaudit_checkpoint.h",
               ROOT / "device/include/mmaudit/mmaudit_cuda.h"]
    packages = {"mmaudit": ROOT / "emulator/python/mmaudit", "mmaudit.torch": ROOT / "emulator/python/mmaudit/torch"}
    row = {name: re.search(rf"^\| `{re.escape(name)}` \| (.*) \|$", page, re.M) for name in packages}
    section = page[page.index("\n## C\n"):page.index("\n## Python\n")]
    lists = {
        "schemas": (schemas_written(), set(re.findall(r"`(mmaudit\.[a-z0-9._-]+/\d+)`", page))),
        "functions of C": ({name for header in headers
                            for name in re.findall(r"^MMAUDIT_API [^(]*?(mmaudit_\w+)\(", header.read_text(), re.M)},
                           set(re.findall(r"`(mmaudit_\w+)`", section))),
        **{f"names of {name}": (public_names(package), set(re.findall(r"`(\w+)`", row[name].group(1) if row[name] else "")))
           for name, package in packages.items()},
    }
    for what, (there, listed) in lists.items():
        report.check("docs/stability.md", there and there == listed,
                     f"{what}: not listed: {sorted(there - listed)}, listed but not there: {sorted(listed - there)}")


def main():
    tool = str(pathlib.Path(sys.argv[1]).resolve())
    pages = [pathlib.Path(page).resolve() for page in sys.argv[2:]]
    everything = not pages
    pages = pages or [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]
    report, seen, helps = Report(), set(), {}
    for page in pages:
        start = time.monotonic()
        text = check_page(page, tool, report, seen)
        check_spans(page, text, tool, report, helps)
        check_links(page, text, report)
        check_files(page, text, report)
        print(f"{page.relative_to(ROOT)}: {time.monotonic() - start:.1f} s")
    if everything:
        for command in [*NOT_RUN, *NEED_GPU]:
            report.check("commands_test.py", command in seen, f"no page has this command any more: {command}")
        check_old_lines(tool, report)
        check_stability(report)
    print(f"{report.passed} passed, {report.failed} failed")
    return 0 if report.failed == 0 and report.passed else 1


if __name__ == "__main__":
    sys.exit(main())
