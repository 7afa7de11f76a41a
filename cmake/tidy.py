#!/usr/bin/env python3
"""tidy.py TOOL FOLDER JOBS [FILE...]: runs clang-tidy (TOOL) over the host sources, or FILE..., that
FOLDER/compile_commands.json compiles, newest first; with MMAUDIT_TIDY_SECONDS none starts after so many seconds.

Most of clang-tidy's time goes to headers, so sources of like commands are read as one: a file that includes them. Two
sources that define the same name are kept apart. Where such a group is not clean, the sources that it complains of are
read apart from the others, or its halves, down to single sources: a finding, and an error that only a group has, is
judged by the source alone. Exit codes: 0 all good, 1 findings.
"""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time

tool, folder, jobs, *only = sys.argv[1:]
seconds = int(os.environ.get("MMAUDIT_TIDY_SECONDS", "86400"))
deadline = time.monotonic() + seconds
root = pathlib.Path.cwd()
build = pathlib.Path(folder).resolve()
LARGEST = 16  # sources: twice as many save another twentieth, and halving takes longer


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def kind_of(command):
    """What must be the same in a group: definitions and other flags. Include folders are united."""
    flags, folders = [], []
    words = iter(shlex.split(command)[1:])
    for word in words:
        if word in ("-o", "-c"):
            next(words)
        elif word == "-isystem":
            folders.append((word, next(words)))
        elif word.startswith("-I"):
            folders.append(("-I", word[2:]))
        elif not re.match("-[OW]", word):
            flags.append(word)
    return tuple(flags), folders


def own_names(text):
    """What a source defines at the left margin, functions with parameters' types; and which are types and constants."""
    names, types = set(), set()
    for line in text.splitlines():
        line = re.sub(r"\[\[\w+\]\] ?|alignas\(\w+\) ?", "", line)
        if macro := re.match(r"#define (\w+)", line):
            types.add(macro[1])
        elif test := re.match(r"[A-Z_]+\((\w+), *(\w+)", line):
            names.add(f"{test[1]}, {test[2]}")
        elif made := re.match(r"(?:struct|class|union|enum class|enum|using|constexpr .*?(?=k[A-Z])) ?(\w+)\b(?!::)", line):
            types.add(made[1])
        elif not re.match(r"[A-Za-z_]", line) or re.match(r"namespace|template|using|static_assert", line):
            continue
        elif found := re.search(r"([\w:~]+) *(?:\[.*?\])?(\(|\{|=|;|$)", line):
            parameters = line[found.end() :].split(")")[0].split(",") if found[2] == "(" else []
            names.add((found[1], *(re.sub(r"\s*\w+\s*(=.*)?$", "", each).strip() for each in parameters)))
    return names | types, types


def alone(text):
    """What a group hides: an include of a source, and a using-declaration or alias of a name without other use."""
    text = re.sub(r"//.*", "", text)
    names = re.findall(r"^ *(?:using [\w:]+::(\w+);|namespace (\w+) = )", text, re.MULTILINE)
    unused = any(len(re.findall(rf"\b{one or other}\b", text)) < 2 for one, other in names)
    return unused or re.search(r'#include "[^"\n]*\.cpp"', text) is not None


class Group:
    def __init__(self):
        self.files, self.names, self.types, self.words, self.folders = [], set(), set(), set(), {}

    def takes(self, names, types, words):
        return len(self.files) < LARGEST and not (self.names & names or self.types & words or types & self.words)

    def add(self, file, names, types, words, folders):
        self.files.append(file)
        self.names |= names
        self.types |= types
        self.words |= words
        self.folders.update(dict.fromkeys(folders))


def grouped(files, commands):
    """Groups of sources that can be read as one, as (files, command without its source)."""
    found = {}
    for file in sorted(files):
        text = pathlib.Path(file).read_text()
        flags, folders = kind_of(commands[file])
        made = (*own_names(text), set(re.findall(r"\w+", text)))
        groups = found.setdefault((flags, file) if alone(text) else flags, [])
        fitting = [group for group in groups if group.takes(*made)] or [Group()]
        if not fitting[0].files:
            groups.append(fitting[0])
        fitting[0].add(file, *made, folders)
    for key, groups in found.items():
        for group in groups:
            flags = key[0] if isinstance(key[0], tuple) else key
            yield group.files, ["c++", *flags, *(word for folder in group.folders for word in folder)]


def tidy(files, command, stamps):
    """(the findings, how many files were not read)"""
    if time.monotonic() > deadline:
        return "", len(files)
    database, source = build, files[0]
    if len(files) > 1:
        database = build / "groups" / hashlib.sha256("\n".join(files).encode()).hexdigest()[:16]
        database.mkdir(parents=True, exist_ok=True)
        source = str(database / "group.cpp")
        pathlib.Path(source).write_text("".join(f'#include "{file}"  // NOLINT\n' for file in files))
        entry = {"directory": str(build), "file": source, "arguments": [*command, "-c", source]}
        (database / "compile_commands.json").write_text(json.dumps([entry]))
    options = ["--quiet", "--extra-arg=-Wno-unknown-warning-option", "--extra-arg=-Wno-error"]
    where = [f"--config-file={root}/.clang-tidy", "-p", str(database)]  # a group lies outside the sources
    run = subprocess.run([tool, *options, *where, source], capture_output=True, text=True, check=False)
    if run.returncode == 0:
        for file in files:
            stamps[file].touch()
        return "", 0
    if len(files) == 1:
        return run.stdout + re.sub(r"(?m)^\d+ (warning|error)s? .*(generated|treated).*\n", "", run.stderr), 0
    named = [file for file in files if f"{file}:" in run.stdout]
    rest = [file for file in files if file not in named]
    half = len(files) // 2
    parts = [tidy(part, command, stamps) for part in ((rest, named) if rest and named else (files[:half], files[half:]))]
    return "".join(text for text, _ in parts), sum(left for _, left in parts)


def main():
    commands = {entry["file"]: entry["command"] for entry in json.loads((build / "compile_commands.json").read_text())}
    changed = output_of("git", "log", "--format=", "--name-only", "-n", "300", "--", "*.cpp").splitlines()
    newest = {str(root / file): -place for place, file in reversed(list(enumerate(changed)))}
    named = [str(root / file) for file in only] or [file for file in commands if build not in pathlib.Path(file).parents]
    files = [file for file in named if file.endswith(".cpp") and file in commands]  # device code may be left out
    if not files:
        sys.exit("run: tidy: no sources that are compiled here")
    # A file is read again when it, its command, any header of ours, the configuration or the tool has changed.
    shared = hashlib.sha256(output_of(tool, "--version").encode())
    headers = (file for file in root.rglob("*.hpp") if "build" not in file.relative_to(root).parts)
    for file in [root / ".clang-tidy", *sorted(headers)]:
        shared.update(file.read_bytes())
    stamps = {}
    (build / "read").mkdir(exist_ok=True)
    for file in files:
        key = shared.copy()
        key.update(commands[file].encode() + pathlib.Path(file).read_bytes())
        stamps[file] = build / "read" / key.hexdigest()
    todo = [file for file in files if not stamps[file].exists()]
    print(f"    {len(files)} files, {len(todo)} of them new or changed", flush=True)
    groups = sorted(grouped(todo, commands), key=lambda group: -max(newest.get(file, -len(changed)) for file in group[0]))
    findings = left = 0
    with concurrent.futures.ThreadPoolExecutor(int(jobs)) as pool:
        for text, missed in pool.map(lambda group: tidy(*group, stamps), groups):
            print(text, end="", flush=True)
            findings += len(text)
            left += missed
    if left:
        print(f"    {left} of them were not read: {seconds} seconds had passed")
    return int(findings > 0)


if __name__ == "__main__":
    sys.exit(main())
