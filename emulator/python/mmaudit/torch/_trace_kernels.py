"""Names of the kernels that operations launch, and the machine that runs them."""
import ctypes
import json
import os
import platform
import re
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Any, ContextManager, Dict, List, Tuple

import torch

_MARK = "mmaudit#"


class Kernels:
    """torch's profiler round a run. Each operation stands under a mark of its own; a launch belongs to the mark during
    which it was made."""

    def __init__(self, on: bool) -> None:
        self.on = on
        self._profile: Any = None
        self._mark: Any = getattr(torch._C._profiler, "_RecordFunctionFast", torch.profiler.record_function)

    def __enter__(self) -> None:
        if self.on:
            activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
            self._profile = torch.profiler.profile(activities=activities)
            self._profile.__enter__()

    def __exit__(self, *what: Any) -> None:
        self.stop()

    def stop(self) -> None:
        if self._profile is not None and self.on:
            self.on = False
            self._profile.__exit__(None, None, None)

    def of(self, number: int) -> ContextManager[Any]:
        return self._mark(f"{_MARK}{number}")

    def found(self) -> Dict[int, List[Dict[str, Any]]]:
        """The kernels by the numbers of operations, in the order of their launches."""
        if self._profile is None:
            return {}
        self.stop()
        handle, path = tempfile.mkstemp(suffix=".json")
        os.close(handle)
        try:
            self._profile.export_chrome_trace(path)
            events = json.loads(Path(path).read_text(errors="replace"))["traceEvents"]
        finally:
            os.remove(path)
        return kernels_of(events)


def kernels_of(events: List[Dict[str, Any]]) -> Dict[int, List[Dict[str, Any]]]:
    """Of the events of a profile, as torch writes them."""
    marks: List[Tuple[float, float, int]] = []
    launches: List[Tuple[float, int]] = []
    kernels: Dict[int, Dict[str, Any]] = {}
    for one in events:
        kind, arguments = one.get("cat", ""), one.get("args", {})
        if one.get("ph") != "X":
            continue
        if one["name"].startswith(_MARK) and not kind.startswith("gpu"):
            marks.append((one["ts"], one["ts"] + one["dur"], int(one["name"][len(_MARK):])))
        elif kind in ("cuda_runtime", "cuda_driver") and "correlation" in arguments:
            launches.append((one["ts"], arguments["correlation"]))
        elif kind == "kernel" and "correlation" in arguments:
            found = {"name": one["name"]}
            for name in ("grid", "block", "cluster"):
                if arguments.get(name):
                    found[name] = arguments[name]
            kernels[arguments["correlation"]] = found
    marks.sort()
    out: Dict[int, List[Dict[str, Any]]] = {}
    at = 0
    for when, correlation in sorted(launches):
        while at < len(marks) and marks[at][1] < when:
            at += 1
        if at < len(marks) and marks[at][0] <= when and correlation in kernels:
            out.setdefault(marks[at][2], []).append(kernels[correlation])
    return out


def _cublas() -> str:
    """The version of the cuBLAS that torch has loaded."""
    try:
        for line in Path("/proc/self/maps").read_text().splitlines():
            path = line.rpartition(" ")[2]
            if "libcublas.so" in path:
                library, parts = ctypes.CDLL(path), []
                for kind in range(3):  # major, minor, patch of libraryPropertyType
                    value = ctypes.c_int()
                    library.cublasGetProperty(kind, ctypes.byref(value))
                    parts.append(str(value.value))
                return ".".join(parts)
    except (OSError, AttributeError):
        pass
    return ""


def machine() -> Dict[str, str]:
    """What the bits may depend on: the GPU, its driver, versions of libraries."""
    found = {"torch": torch.__version__, "python": platform.python_version(), "processor": platform.machine()}
    if torch.cuda.is_available():
        found["gpu"] = torch.cuda.get_device_name()
        found["capability"] = "".join(map(str, torch.cuda.get_device_capability()))
        found["cuda"] = str(torch.version.cuda)
        found["cublas"] = _cublas()
        found["cudnn"] = str(torch.backends.cudnn.version())  # type: ignore[no-untyped-call, unused-ignore]
        driver = Path("/proc/driver/nvidia/version")
        seen = re.search(r"\b\d+\.\d+(\.\d+)?\b", driver.read_text()) if driver.is_file() else None
        found["driver"] = seen.group(0) if seen else ""
    for name in ("transformers", "triton", "flash-attn", "vllm", "sglang"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return {name: one for name, one in found.items() if one}
