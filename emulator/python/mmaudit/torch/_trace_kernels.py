"""Names of the kernels that operations launch, and the machine that runs them."""
import ctypes
import json
import os
import platform
import re
import tempfile
import warnings
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path
from time import perf_counter_ns
from typing import Any, Dict, List, Tuple

import torch
from torch.autograd import profiler

from .._refuse import refused

_MARK = "mmaudit's clock"


class Kernels:
    """torch's profiler round a run, which records launches and kernels but none of torch's own calls: they would take
    more time than the launches do. A launch belongs to the operation during whose time on the host it was made."""

    def __init__(self, on: bool) -> None:
        self.on = on
        self.ran: List[Tuple[int, int, int]] = []  #: operations: begin, end and number, in nanoseconds of perf_counter_ns()
        self._clock: List[Tuple[int, int]] = []  #: before and after each mark, whose time the profile has too
        self._end: Any = None  #: ends the profile and gives what writes it
        self._save: Any = None

    def __enter__(self) -> None:
        if not self.on:
            return
        if getattr(torch.autograd, "_profiler_enabled", bool)():
            self.on = False
            warnings.warn("this trace has no names of kernels: another profiler runs, which one of its own would end", stacklevel=4)
            return
        try:
            of: Any = profiler.profile(use_device="cuda" if torch.cuda.is_available() else None, use_kineto=True)  # else no kernels
            enable, disable = (getattr(torch._C._autograd, f"_{one}_profiler") for one in ("enable", "disable"))
            scopes = {torch._C._profiler.RecordScope.USER_SCOPE}
            of._prepare_trace()
            enable(of.config(), of.kineto_activities, scopes)
            self._end = lambda: disable().save
        except (AttributeError, TypeError) as error:  # nothing of this is promised by torch
            warnings.warn(f"kernels: torch {torch.__version__} has another profiler than this trace knows ({error}): it records "
                          "torch's own calls, too, which takes longer", stacklevel=4)
            whole: Any = torch.profiler.profile()
            whole.start()
            self._end = lambda: whole.stop() or whole.export_chrome_trace
        self._look()

    def __exit__(self, *what: Any) -> None:
        self.stop()

    def _look(self) -> None:
        for _ in range(16):  # the first ones are slow, and the closest ones count
            before = perf_counter_ns()
            with profiler.record_function(_MARK):
                self._clock.append((before, perf_counter_ns()))

    def stop(self) -> None:
        if self._end is not None and self.on:
            self.on = False
            self._look()
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            self._save = self._end()

    def events(self) -> List[Dict[str, Any]]:
        self.stop()
        with tempfile.TemporaryDirectory() as folder:
            self._save(os.path.join(folder, "profile.json"))
            found: List[Dict[str, Any]] = json.loads(Path(folder, "profile.json").read_text(errors="replace"))["traceEvents"]
        return found

    def found(self, on_gpu: bool = False) -> Dict[int, List[Dict[str, Any]]]:
        """The kernels by the numbers of operations, in the order of their launches. A profile that can't be matched
        with the operations costs a trace its names, and nothing else. `on_gpu`: whether there have to be any."""
        try:
            out = {} if self._end is None else kernels_of(self.events(), self.ran, self._clock)
            if on_gpu and self._end is not None and not out:
                raise refused("kernels", f"none in a profile of {len(self.ran)} operations", "some, or kernels=False", RuntimeError)
            return out
        except (RuntimeError, AttributeError, TypeError, ValueError) as error:
            warnings.warn(f"this trace has no names of kernels: {error}", stacklevel=2)
            return {}


def _offset(marks: List[Tuple[float, Tuple[int, int]]]) -> Tuple[float, float]:
    """A time of perf_counter_ns(), and what is added to it for the time of the profile, in nanoseconds: each mark was
    made between two times, and all of them leave little room."""
    room = max(at - after for at, (_, after) in marks), min(at - before for at, (before, _) in marks)
    return sum(before for _, (before, _) in marks) / len(marks), sum(room) / 2


def kernels_of(events: List[Dict[str, Any]], ran: List[Tuple[int, int, int]],
               clock: List[Tuple[int, int]]) -> Dict[int, List[Dict[str, Any]]]:
    """Of the events of a profile, as torch writes them, and times of operations and of marks on the host."""
    marks: List[float] = []
    launches: List[Tuple[float, int]] = []
    kernels: Dict[int, Dict[str, Any]] = {}
    for one in events:
        kind, arguments = one.get("cat", ""), one.get("args", {})
        if one.get("ph") != "X":
            continue
        if one["name"] == _MARK and not kind.startswith("gpu"):
            marks.append(one["ts"] * 1e3)
        elif kind in ("cuda_runtime", "cuda_driver") and "correlation" in arguments:
            launches.append((one["ts"] * 1e3, arguments["correlation"]))
        elif kind == "kernel" and "correlation" in arguments:
            found = {"name": one["name"]}
            for name in ("grid", "block", "cluster"):
                if arguments.get(name):
                    found[name] = arguments[name]
            kernels[arguments["correlation"]] = found
    if len(marks) != len(clock) or not marks:
        raise refused("kernels", f"a profile with {len(marks)} of {len(clock)} marks of the clock", "all, or kernels=False", RuntimeError)
    both, half = list(zip(sorted(marks), clock)), len(marks) // 2
    (begin, early), (end, late) = _offset(both[:half]), _offset(both[half:])  # clocks drift apart in a long run
    out: Dict[int, List[Dict[str, Any]]] = {}
    at, ran = 0, sorted(ran)
    for when, correlation in sorted(launches):
        when -= early + (late - early) * (when - early - begin) / max(1.0, end - begin)
        while at < len(ran) and ran[at][1] < when:
            at += 1
        if at < len(ran) and ran[at][0] <= when and correlation in kernels:
            out.setdefault(ran[at][2], []).append(kernels[correlation])
    return out


@cache
def _versions() -> Dict[str, str]:
    """Of packages, whose lookup takes milliseconds."""
    found = {}
    for name in ("transformers", "triton", "flash-attn", "vllm", "sglang"):
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


@cache
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
    return {name: one for name, one in {**found, **_versions()}.items() if one}
