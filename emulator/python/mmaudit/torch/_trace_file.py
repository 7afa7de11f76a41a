"""The file of a trace: safetensors, whose data is written while the module runs."""
import json
import os
import shutil
import tempfile
import zlib
from pathlib import Path
from typing import Any, Dict, List

import numpy as np

from .._report import written

SCHEMA = "mmaudit.trace/1"
_MOST_MEMORY = 1 << 26  #: bytes that wait in memory
as_json = json.JSONEncoder(separators=(",", ":")).encode


class TraceFile:
    """Parts in the order in which they come; the header stands in front of them once it is known."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._data: Any = None  #: a file, once there is more than memory should hold
        self._parts: List[Any] = []  #: behind it
        self._header: Dict[str, Any] = {"__metadata__": {}}
        self._at = self._spilt = self._sum = 0

    def add(self, name: str, dtype: str, shape: List[int], raw: Any) -> None:
        """`raw` has a buffer, which does not change any more."""
        raw = memoryview(raw).cast("B")
        self._parts.append(raw)
        if raw:
            self._sum = zlib.crc32(raw, zlib.crc32(f"{name} {dtype} {shape}".encode(), self._sum))
        self._header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [self._at, self._at + len(raw)]}
        self._at += len(raw)
        if self._at - self._spilt > _MOST_MEMORY:
            self._data = self._data or tempfile.TemporaryFile(dir=Path(self.path).parent)  # noqa: SIM115
            self._data.writelines(self._parts)
            self._parts, self._spilt = [], self._at

    def finish(self, trace: Dict[str, Any], lists: Dict[str, List[str]]) -> None:
        """`lists`: of objects that are JSON already."""
        rows = "".join(f',"{name}":[{",".join(one)}]' for name, one in lists.items())
        text = f"{as_json(trace)[:-1]}{rows}}}".encode()
        self.add("trace", "U8", [len(text)], text)
        self._header["__metadata__"]["mmaudit"] = json.dumps({"schema": SCHEMA, "crc32": self._sum})
        header = as_json(self._header).encode()
        header += b" " * (-len(header) % 8)
        with written(self.path) as part, open(part, "wb") as out:
            out.write(np.uint64(len(header)).tobytes() + header)
            if self._data is not None:
                self._data.seek(0)
                shutil.copyfileobj(self._data, out, 1 << 24)
            out.writelines(self._parts)
        self.close()

    def close(self) -> None:
        self._parts = []
        if self._data is not None:
            self._data.close()

    @property
    def size(self) -> int:
        return os.path.getsize(self.path)
