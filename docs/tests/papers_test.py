#!/usr/bin/env python3
"""Compares what papers print with what mmaudit prints: papers_test.py TOOL [--write].

papers.csv has a line per number or finding. Its command runs, `pattern` finds ours in what is printed, and `agrees` has
to be what `tolerance` says: `same` text, a number (absolute), a share (5%), `below`, or - where nothing is printed.
`agrees` is yes, no (then `note` says why), - (no number is printed), GPU (not run here) or none (there is no command).
The tables of docs/papers.md have to be what this makes; --write makes them. A line that agrees though it says no fails
too: then the page is to be changed. Exit codes: 0 all good, 1 something differs.
"""

import csv
import pathlib
import re
import subprocess
import sys
import tempfile

DOCS = pathlib.Path(__file__).resolve().parent.parent
PAGE = DOCS / "papers.md"
# The rows: 20 of Sun et al., 22 of Raihan et al., 14 of the note on Blackwell, 32 of Luo et al.
ROWS = [f"{letter}{i:02}" for letter, count in (("A", 20), ("B", 22), ("C", 14), ("D", 32)) for i in range(1, count + 1)]


def number(text):
    value = float(text.rstrip("%"))
    return value / 100 if text.endswith("%") else value


def agree(ours, theirs, tolerance):
    if tolerance == "same":
        return ours == theirs
    if tolerance == "below":
        return number(ours) < number(theirs)
    off = abs(number(ours) - number(theirs))
    return off <= number(tolerance) * number(theirs) if tolerance.endswith("%") else off <= number(tolerance) + 1e-9


class Tool:
    """Runs each command once, in a scratch folder that has docs/results."""

    def __init__(self, tool, folder):
        self.tool, self.folder, self.printed = str(pathlib.Path(tool).resolve()), pathlib.Path(folder), {}
        (self.folder / "docs").mkdir()
        (self.folder / "docs" / "results").symlink_to(DOCS / "results")

    def __call__(self, command):
        if command not in self.printed:
            words = command.split()
            assert words[0] == "mmaudit", command
            done = subprocess.run([self.tool, *words[1:]], cwd=self.folder, stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, timeout=600)
            self.printed[command] = done.stdout if done.returncode == 0 else None
        return self.printed[command]


def judged(line, tool):
    """Ours, and what is wrong with the line; nothing where it is right."""
    if line["agrees"] in ("GPU", "none"):
        return "-", None
    printed = tool(line["command"])
    if printed is None:
        return "-", "the command fails"
    found = re.search(line["pattern"], printed, re.M)
    if not found:
        return "-", f"nothing printed matches {line['pattern']}"
    ours = found.group(1)
    if line["agrees"] == "-":
        return ours, None
    good = "yes" if agree(ours, line["theirs"], line["tolerance"]) else "no"
    if good != line["agrees"]:
        return ours, f"ours {ours}, theirs {line['theirs']}, tolerance {line['tolerance']}: agrees {good}, papers.csv says {line['agrees']}"
    return ours, None if good == "yes" or line["note"] else "no reason is given"


def table_of(letter, lines):
    rows = ["| row | what | theirs | ours | within | agrees | command | |", "|---|---|---|---|---|---|---|---|"]
    for line, ours in lines:
        if line["row"].startswith(letter):
            command = f"`{line['command']}`" if line["command"] else "-"
            rows.append(f"| {line['row']} | {line['what']} | {line['theirs']} | {ours} | {line['tolerance']} | "
                        f"{line['agrees']} | {command} | {line['note']} |")
    return "\n".join(rows)


def main():
    text = (DOCS / "tests" / "papers.csv").read_text()
    lines = list(csv.DictReader(row for row in text.split("\n") if row and not row.startswith("#")))
    failed, done = [], []
    missing = [row for row in ROWS if row not in {line["row"] for line in lines}]
    if missing:
        failed.append(f"no line: {missing}")
    with tempfile.TemporaryDirectory() as folder:
        tool = Tool(sys.argv[1], folder)
        for line in lines:
            ours, wrong = judged(line, tool)
            done.append((line, ours))
            if wrong:
                failed.append(f"{line['row']} {line['what']}: {wrong}")
    page = PAGE.read_text()
    fresh = re.sub(r"(<!-- table (\w) -->\n).*?(?=\n<!-- end -->)", lambda at: at[1] + table_of(at[2], done), page, flags=re.S)
    if "--write" in sys.argv:
        PAGE.write_text(fresh)
    elif fresh != page:
        failed.append("docs/papers.md is not what papers_test.py TOOL --write makes")
    for one in failed:
        print(one)
    counts = {what: sum(line["agrees"] == what for line in lines) for what in ("yes", "no", "-", "GPU", "none")}
    print(f"{len(lines)} lines of {len(ROWS)} rows: {counts}; {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
