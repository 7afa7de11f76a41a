#!/usr/bin/env python3
"""A page as a notebook: notebook.py PAGE > FILE.ipynb. Blocks of python and sh become cells; blocks of text, what those
print, are left out."""

import json
import pathlib
import re
import sys


def blocks(page):
    """(language, text) of every part in turn; the language of prose is ""."""
    at = 0
    for found in re.finditer(r"^```(\w+)\n(.*?)^```\n", page, re.M | re.S):
        yield "", page[at : found.start()]
        yield found[1], found[2]
        at = found.end()
    yield "", page[at:]


def notebook(page):
    cells = []
    for language, text in blocks(page):
        text = text.strip("\n")
        if language == "sh":
            text = "\n".join("!" + line for line in text.split("\n"))
        if not text or language == "text":
            continue
        cell = {"cell_type": "code" if language else "markdown", "id": f"cell-{len(cells)}", "metadata": {}, "source": text.splitlines(True)}
        cells.append({**cell, "execution_count": None, "outputs": []} if language else cell)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return json.dumps({"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}, indent=1)


if __name__ == "__main__":
    print(notebook(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")))
