"""Callables of Python as the tool asks them: an instruction or a whole product that no model describes."""
import json
import socket
import struct
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple

import numpy as np

from . import _arrays, _library, _tool
from ._dtypes import FILED, NAMES
from ._operations import architectures
from ._refuse import listed, refused

_HEADER = struct.Struct("<10Q")  # 3 sizes, 6 lengths of inputs, the length of D
_STATUS = struct.Struct("<Q")
Answer = Callable[[Tuple[int, ...], List[bytes]], bytes]


def _read(end: socket.socket, size: int) -> Optional[bytearray]:
    data = bytearray(size)
    view, at = memoryview(data), 0
    while at < size:
        got = end.recv_into(view[at:])
        if got == 0:
            return None
        at += got
    return data


def _serve(end: socket.socket, answer: Answer) -> Optional[BaseException]:
    """Answers calls until the tool ends. The exception of the callable, where it raised one."""
    end.sendall(_STATUS.pack(0))
    while True:
        header = _read(end, _HEADER.size)
        if header is None:
            return None
        words = _HEADER.unpack(header)
        inputs = [_read(end, length) for length in words[3:9]]
        if any(one is None for one in inputs):
            return None
        try:
            d = answer(words[:3], [bytes(one or b"") for one in inputs])
            if len(d) != words[9]:
                raise refused("D", f"{len(d)} bytes", words[9])
        except BaseException as error:  # pylint: disable=broad-except  # sys.exit() too: the tool waits for an answer
            message = f"{type(error).__name__}: {error}".encode()[:2000]
            end.sendall(_STATUS.pack(len(message)) + message)
            return error
        end.sendall(_STATUS.pack(0) + d)


def _asked(arguments: List[str], answer: Answer) -> Dict[str, Any]:
    """The JSON of a command of the tool that calls back. Raises: what the callable raised; ValueError, RuntimeError."""
    ours, theirs = socket.socketpair()
    with tempfile.TemporaryDirectory(prefix="mmaudit-") as folder, ours, theirs:
        result = Path(folder) / "result.json"
        command = [_tool.program(), "-q", *arguments, "--socket", str(theirs.fileno()), "--json", str(result)]
        with subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, pass_fds=[theirs.fileno()]
        ) as tool:
            theirs.close()
            try:
                raised = _serve(ours, answer)
            except (BrokenPipeError, ConnectionResetError):
                raised = None
            _, errors = tool.communicate()
        if raised is not None:
            raise raised
        if tool.returncode not in (0, 1):
            raise _tool.failure(tool.returncode, errors)
        found: Dict[str, Any] = json.loads(result.read_text(encoding="utf-8"))
        return found


def _tensor(raw: bytes, name: str, shape: Tuple[int, ...], device: Optional[str]) -> Any:
    """Raw bits as an array of numpy, or as a tensor of torch on `device`."""
    if device is None:
        return np.frombuffer(raw, _arrays.value_dtype(name, True)).reshape(shape)
    import torch  # type: ignore[import-not-found, import-untyped, unused-ignore]

    of_bits = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    dtype = getattr(torch, str(NAMES[name].torch), None) if name in FILED else None
    if dtype is None:
        raise refused("type", f"{name} for a tensor", listed(FILED))
    size = _arrays.raw_dtype(name).itemsize
    return torch.frombuffer(bytearray(raw), dtype=of_bits[size]).view(dtype).reshape(shape).to(device)


def _bits(d: Any, name: str, shape: Tuple[int, ...]) -> bytes:
    array = _arrays.operand("D", d, name, _arrays.Casting())
    _arrays.require_shape("D", array, shape, "as A B")
    return array.tobytes()


def reveal(
    function: Callable[..., Any], *, m: int = 64, n: int = 64, k: int = 1024, type: str = "f16", b: Optional[str] = None,
    d: str = "f32", with_c: bool = False, device: Optional[str] = None, arch: Optional[str] = None, seed: int = 1,
) -> Dict[str, Any]:
    """In which order a product adds, and the plan with its bits, from the callable alone.

    Args:
        function: takes A (m, k) and B (k, n), with `with_c` C (m, n) too, and returns D (m, n) in format `d`; the same
            operands must give the same D. Formats that numpy lacks are ml_dtypes', without it raw bits (unsigned
            integers). It runs in this process.
        type, b, d: formats of A, of B where it has another, and of D and C. f32 for kernels that round to TF32.
        device: None: numpy arrays; "cpu", "cuda", ...: tensors of torch there.
        arch: whose instructions the plan may have; None: every generation.
    Returns: what `mmaudit gemm reveal --json` writes: "tree", "plan" (None where there is none), "why_no_plan", ...
    Raises: what `function` raises; ValueError, in one line "field: found X, allowed: Y".
    """
    formats = (type, b or type, d)

    def answer(sizes: Tuple[int, ...], inputs: List[bytes]) -> bytes:
        rows, columns, depth = sizes
        shapes = ((rows, depth), (depth, columns), (rows, columns))
        given = [_tensor(inputs[i], formats[i], shapes[i], device) for i in range(3 if with_c else 2)]
        return _bits(function(*given), d, shapes[2])

    options = _tool.options_of(m=m, n=n, k=k, type=type, b=formats[1], d=d, seed=seed, arch=arch)
    return _asked(["gemm", "reveal", *options, *(["--with-c"] if with_c else [])], answer)


def probe(function: Callable[..., Any], inst: str, *, dots: float = 1e6, seed: int = 1) -> Dict[str, Any]:
    """The datapath of an instruction that no model describes, each rule with the dot product that proves it.

    Args:
        function: takes A (tiles, M, stored K), B (tiles, K, N) and C (tiles, M, N), then scale_a, scale_b and metadata
            where `inst` has them, all as raw bits (unsigned integers of the formats' storage width), and returns D
            (tiles, M, N) in the same form. It runs in this process.
        inst: an instruction, for its shape and formats.
        dots: random dot products to verify with, at least.
    Returns: what `mmaudit probe --json` writes: "claims" with witnesses, "explained", and "model", an architecture as
        --model reads it, ...
    Raises: what `function` raises; ValueError, in one line "field: found X, allowed: Y".
    """
    spec = _spec(inst)
    m, n, k, stored = spec.m, spec.n, spec.k, spec.stored_k
    blocks = spec.blocks(k)
    shapes = [(m, stored), (k, n), (m, n), (m, blocks), (blocks, n), (m, stored)]
    names = (spec.a, spec.b, spec.c)

    def answer(sizes: Tuple[int, ...], inputs: List[bytes]) -> bytes:
        dtypes = [_arrays.raw_dtype(name) for name in names] + [np.dtype(np.uint8)] * 3
        given = [
            np.frombuffer(raw, dtype).reshape(sizes[0], *shape) for raw, dtype, shape in zip(inputs, dtypes, shapes) if raw
        ]
        return _bits(function(*given), spec.d, (sizes[0], m, n))

    return _asked(["probe", *_tool.options_of(inst=inst, dots=dots, seed=seed)], answer)


def _spec(inst: str) -> _library.Instruction:
    """The instruction of whichever generation has it."""
    refusal = refused("inst", inst, "an instruction")
    for arch in architectures():
        try:
            return _library.instruction(arch, inst)
        except ValueError as error:
            refusal = error
    raise refusal
