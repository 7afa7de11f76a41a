#!/usr/bin/env python3
"""Puts the explorer into one file: page.py WASM OUTPUT

The page's policy admits its own script and style sheet by their digests and nothing else.
"""
import base64
import gzip
import hashlib
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
SCRIPTS = ["core.js", "state.js", "presets.js", "picture.js", "dot.js", "formats.js", "layouts.js", "functions.js",
           "attention.js", "main.js"]
MOST_BYTES = 2 << 20


def digest(text):
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def main():
    wasm, output = map(pathlib.Path, sys.argv[1:3])
    body = "".join((HERE / name).read_text() for name in SCRIPTS)
    script = '\n(() => {\n"use strict";\n' + body + "})();\n"
    style = "\n" + (HERE / "explorer.css").read_text()
    if "</script" in script or "</style" in style:
        sys.exit("page.py: a source holds the end tag of its own element")
    packed = base64.b64encode(gzip.compress(wasm.read_bytes(), 9, mtime=0)).decode()
    page = (HERE / "explorer.html").read_text()
    for key, value in {"SCRIPT_DIGEST": digest(script), "STYLE_DIGEST": digest(style), "STYLE": style, "SCRIPT": script,
                       "WASM": packed}.items():
        page = page.replace(f"@{key}@", value)
    if len(page.encode()) > MOST_BYTES:
        sys.exit(f"page.py: found {len(page.encode())} bytes, allowed: {MOST_BYTES}")
    output.write_text(page)


main()
