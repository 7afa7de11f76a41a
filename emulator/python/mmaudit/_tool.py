"""The program mmaudit, for what libmmaudit.so does not hold: the audit of tensors (its numerics need MPFR, and the library
needs nothing but the system), and this machine's GPU."""
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from types import MappingProxyType
from typing import Any, Dict, List, Mapping, Tuple

import numpy as np

from . import _arrays
from ._dtypes import FILED, NAMES
from ._refuse import refused

_RAW = {1: "U8", 2: "U16", 4: "U32", 8: "U64"}


def program() -> str:
    """The path of mmaudit: $MMAUDIT_TOOL, else where pip puts a wheel's, else on PATH, else where `./run install` puts it."""
    given = os.environ.get("MMAUDIT_TOOL")
    if given:
        if shutil.which(given) is None:
            raise refused("mmaudit", f"no program {given!r}", "one that runs as $MMAUDIT_TOOL", RuntimeError)
        return given
    beside = sysconfig.get_path("scripts")
    found = shutil.which("mmaudit", path=beside) or shutil.which("mmaudit") or shutil.which(
        "mmaudit", path=str(Path.home() / ".local" / "bin"))
    if found is None:
        raise refused(
            "mmaudit", "no program of this name", "one on PATH (./run install), or $MMAUDIT_TOOL", RuntimeError)
    return found


def tensor_of(field: str, x: Any) -> Tuple[str, np.ndarray]:
    """An array of floats and what safetensors calls its type."""
    array = _arrays.array_of(field, x)
    name = _arrays.format_of(array.dtype)
    if name not in FILED:
        allowed = ", ".join(str(NAMES[one].torch) for one in FILED)
        raise refused(f"{field} dtype", array.dtype, allowed)
    return FILED[name], array


def raw_of(array: np.ndarray) -> Tuple[str, np.ndarray]:
    """An array of any format as its bits."""
    size = array.dtype.itemsize
    return _RAW[size], np.ascontiguousarray(array).view(f"u{size}")


def write(path: Path, tensors: Dict[str, Tuple[str, np.ndarray]]) -> None:
    """A safetensors file: the one format that names bfloat16 and FP8."""
    header: Dict[str, Any] = {}
    at, parts = 0, []
    for name, (dtype, array) in tensors.items():
        parts.append(np.ascontiguousarray(array).tobytes())
        header[name] = {"dtype": dtype, "shape": array.shape, "data_offsets": [at, at + len(parts[-1])]}
        at += len(parts[-1])
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(parts))


def options_of(**given: Any) -> List[str]:
    """Arguments as options of the tool: names in lists are joined, None is left out."""
    return [f"--{name.replace('_', '-')}={','.join(map(str, value)) if isinstance(value, (tuple, list)) else value}"
            for name, value in given.items() if value is not None]


def run(
    arguments: List[str], folder: str, names: Mapping[str, str] = MappingProxyType({}), progress: bool = False
) -> "subprocess.CompletedProcess[str]":
    """ValueError for bad input, RuntimeError for what this machine lacks, each with the tool's line. Its options are
    called there by `names`, else as Python writes them: "max_rel_fro". `progress`: its lines on sys.stderr, which a
    notebook shows. An interrupt ends the program."""
    errors: List[str] = []
    with tempfile.TemporaryFile("w+", encoding="utf-8", dir=folder) as out, subprocess.Popen(
            [program(), *([] if progress else ["-q"]), *arguments], cwd=folder, stdout=out, stderr=subprocess.PIPE,
            text=True) as child:
        try:
            for line in child.stderr or ():
                errors.append(line)
                if progress and not line.startswith("mmaudit: "):
                    sys.stderr.write(line)
                    sys.stderr.flush()
            code = child.wait()
        except BaseException:
            child.kill()
            raise
        out.seek(0)
        done = subprocess.CompletedProcess(child.args, code, out.read(), "".join(errors))
    if code not in (0, 1):
        raise failure(code, done.stderr, names)
    return done


def failure(code: int, errors: str, names: Mapping[str, str] = MappingProxyType({})) -> Exception:
    """What the tool's exit code and line on standard error are in Python."""
    line = errors.strip().rpartition("\n")[2]
    line = line[len("mmaudit: "):] if line.startswith("mmaudit: ") else line
    line = re.sub(r" \(see `mmaudit [^`]*--help`\)$", "", line)
    line = re.sub(r"--[a-z][a-z-]*", lambda found: names.get(found[0], found[0][2:].replace("-", "_")), line)
    return ValueError(line) if code == 2 else RuntimeError(line or f"mmaudit ended with {code}")


def scratch() -> "tempfile.TemporaryDirectory[str]":
    return tempfile.TemporaryDirectory(prefix="mmaudit-")
