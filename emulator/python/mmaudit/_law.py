"""Laws in Python: a sentence about an instruction, judged over batches of tiles, its failures made simple."""
import ctypes
import functools
from dataclasses import dataclass
from typing import Any, Callable, Dict, Optional, Tuple, Union

import numpy as np

from . import _arrays, _library, _tool
from ._library import lib
from ._operations import emulate, explain
from ._refuse import listed, refused
from ._views import Trace

#: (inst, operands) -> D, raw or values: what computes a batch.
Backend = Callable[[str, Dict[str, np.ndarray]], np.ndarray]


def _model(arch: str, inst: str, operands: Dict[str, np.ndarray]) -> np.ndarray:
    given: Dict[str, Any] = dict(operands)
    return emulate(inst, arch=arch, **given)


def _hardware(inst: str, operands: Dict[str, np.ndarray]) -> np.ndarray:
    """D by the GPU of this machine: `mmaudit matmul --on gpu`."""
    with _tool.scratch() as folder:
        arguments = ["matmul", "--on=gpu", f"--inst={inst}", "--out=d.npy"]
        for name, array in operands.items():
            np.save(f"{folder}/{name}.npy", _tool.raw_of(array)[1])
            arguments.append(f"--{name.replace('_', '-')}={name}.npy")
        _tool.run(arguments, folder)
        return np.asarray(np.load(f"{folder}/d.npy"))


class Batch:
    """Tiles and what the backend made of them.

    a (tiles, M, K), b (tiles, K, N), c and d (tiles, M, N), of numpy's type for their format, else raw bits; of a sparse
    instruction `metadata`, of a block-scaled one `scale_a` and `scale_b`. values(name) gives float64; bits(name) unsigned
    integers.
    """

    def __init__(self, spec: _library.Instruction, backend: Backend, operands: Dict[str, np.ndarray]) -> None:
        self._spec, self._backend, self._operands = spec, backend, operands
        self.inst: str = spec.name
        d = _arrays.operand("d", backend(self.inst, operands), spec.d, _arrays.Casting())
        _arrays.require_shape("d", d, (len(operands["a"]), spec.m, spec.n), "tiles, m, n")
        self.d: np.ndarray = d.view(_arrays.value_dtype(spec.d, False))

    def __getattr__(self, name: str) -> np.ndarray:
        try:
            return np.asarray(self.__dict__["_operands"][name])
        except KeyError:
            raise refused(name, "no such operand", f"{', '.join(self._operands)}, d", AttributeError) from None

    def bits(self, name: str) -> np.ndarray:
        """An operand or d as unsigned integers: equal bits, NaN and -0 included, are equal numbers here."""
        return _tool.raw_of(getattr(self, name))[1]

    def values(self, name: str) -> np.ndarray:
        """An operand or d as float64."""
        from ._operations import convert

        array, form = getattr(self, name), getattr(self._spec, name)
        if _library.format_named(form).is_integer:
            return np.asarray(array, np.float64)
        return np.asarray(convert(self.bits(name), "f64", form)).reshape(array.shape)

    def run(self, **changed: np.ndarray) -> "Batch":
        """The same tiles with other operands, by the same backend: ``batch.run(c=-batch.c)``."""
        unknown = set(changed) - set(self._operands)
        if unknown:
            raise refused("run", min(unknown), listed(self._operands))
        return Batch(self._spec, self._backend, {**self._operands, **changed})


Judge = Callable[[Batch], np.ndarray]


@dataclass(frozen=True)
class Failure:
    """The simplest dot product found that breaks a law."""

    inst: str
    a: np.ndarray  #: one row, as emulate() takes it
    b: np.ndarray  #: one column
    c: Any
    d: Any  #: what the backend gave
    alone: bool  #: False: it breaks the law only among the other elements of its tile, and was not made simpler
    trace: Trace  #: what the model does with it

    def __str__(self) -> str:
        def shown(array: np.ndarray) -> str:
            array = np.trim_zeros(np.atleast_1d(array), "b")
            return "[" + ", ".join(str(one) for one in array.tolist()) + "]"

        return f"{self.inst}: a = {shown(self.a)}, b = {shown(self.b)}, c = {self.c}: d = {self.d}"


@dataclass(frozen=True)
class Result:
    """What check() found. True when some elements were judged and none breaks the law."""

    law: str
    inst: str
    judged: int
    broken: int
    failure: Optional[Failure]

    def __bool__(self) -> bool:
        return self.judged > 0 and self.broken == 0

    def __str__(self) -> str:
        head = f"{self.law}: {self.broken} of {self.judged} elements of D break it ({self.inst})"
        if self.judged == 0:
            return f"{self.law}: it judged no element ({self.inst})"
        return head if self.failure is None else f"{head}\n{self.failure}"


def _raw(rng: np.random.Generator, form: _library.Format, shape: Tuple[int, ...], kind: int) -> np.ndarray:
    """Bits of one kind: any at all, numbers of near exponents, few numbers among zeros, or special ones among them."""
    dtype = _arrays.raw_dtype(form.name.decode())
    any_bits = rng.integers(0, 1 << form.storage_bits, shape, np.uint64, endpoint=False) if form.storage_bits < 64 \
        else rng.integers(0, 1 << 64, shape, np.uint64)
    if form.storage_bits > form.value_bits and form.storage_bits == 8:
        any_bits &= np.uint64((1 << form.value_bits) - 1)
    if form.is_integer and form.is_signed and form.value_bits < form.storage_bits:  # s4: the sign fills the byte
        sign = np.uint64(1 << (form.value_bits - 1))
        any_bits = ((any_bits ^ sign) - sign) & np.uint64(255)
    if form.is_integer or kind == 0:
        return (np.where(rng.random(shape) < 0.7, 0, any_bits) if kind == 2 else any_bits).astype(dtype)
    low = form.storage_bits - form.value_bits if form.storage_bits > 8 else 0  # bits that tf32 ignores
    shift = low + form.fraction_bits
    field = form.bias + rng.integers(-3, 4, shape) + (rng.integers(-8, 9, shape) if kind == 3 else 0)
    field = np.clip(field, 0, (1 << form.exponent_bits) - 2).astype(np.uint64)
    sign = np.uint64(1 << (shift + form.exponent_bits)) if form.is_signed else np.uint64(0)
    near = (any_bits & np.uint64((1 << shift) - (1 << low))) | (field << np.uint64(shift)) | (any_bits & sign)
    if kind == 2:
        near = np.where(rng.random(shape) < 0.7, 0, near)
    if kind == 3:
        near = np.where(rng.random(shape) < 0.02, any_bits | np.uint64(((1 << form.exponent_bits) - 1) << shift), near)
    return np.asarray(near.astype(dtype))


def _metadata(rng: np.random.Generator, spec: _library.Instruction, tiles: int) -> np.ndarray:
    if spec.a == "tf32":
        return rng.integers(0, 2, (tiles, spec.m, spec.stored_k), np.uint8)
    raise refused("inst", spec.name, "without metadata, or tiles= that make it")


def generated(inst: str, arch: str, tiles: int, seed: int) -> Dict[str, np.ndarray]:
    """Operands of `tiles` tiles: random bits, near exponents, mostly zeros, wide exponents with NaN and infinities in turn."""
    spec = _library.instruction(arch, inst)
    rng = np.random.default_rng(seed)
    shapes = {"a": (spec.m, spec.stored_k), "b": (spec.k, spec.n), "c": (spec.m, spec.n)}
    if spec.scale:
        shapes.update(scale_a=(spec.m, spec.blocks(spec.k)), scale_b=(spec.blocks(spec.k), spec.n))
    out = {}
    for name, shape in shapes.items():
        form = _library.format_named(str(spec.scale) if name.startswith("scale") else getattr(spec, name))
        parts = [_raw(rng, form, shape, tile % 4) for tile in range(tiles)]
        out[name] = np.stack(parts).view(_arrays.value_dtype(form.name.decode(), False))
    if spec.sparse:
        out["metadata"] = _metadata(rng, spec, tiles)
    return out


class Law:
    """A function of a Batch that gives a bool per element of D: False breaks the law. Masked elements are not judged."""

    def __init__(self, judge: Judge, statement: str) -> None:
        self._judge, self.statement = judge, statement
        self.name: str = judge.__name__
        self.__doc__ = judge.__doc__

    def __call__(self, batch: Batch) -> "np.ma.MaskedArray[Any, Any]":
        found = self._judge(batch)
        if not isinstance(found, np.ma.MaskedArray):
            found = np.ma.array(found)
        if found.dtype != np.bool_:
            raise refused(self.name, found.dtype, "a bool per element of D")
        return np.ma.array(np.broadcast_to(found.data, batch.d.shape), mask=np.broadcast_to(found.mask, batch.d.shape))

    def check(
        self, inst: str, arch: str = "hopper", *, on: Union[str, Callable[..., np.ndarray]] = "model",
        tiles: Union[int, Dict[str, np.ndarray]] = 64, seed: int = 0, shrink: bool = True,
    ) -> Result:
        """Judges the law over generated tiles of one instruction.

        Args:
            on: "model"; "hardware": the GPU of this machine, by `mmaudit matmul --on gpu`; or a function of a, b, c (and metadata,
                scale_a, scale_b where there are any) by keyword that gives D.
            tiles: how many, or the operands themselves: {"a": (tiles, M, K), "b": ..., "c": ...}.
            seed: of the generator; the same tiles for the same seed. shrink: make the first failure simple.
        Returns: a Result, false when an element breaks the law, and when the law judged none.
        Raises: ValueError for bad input; RuntimeError where there is no GPU or no program mmaudit.
        """
        spec = _library.instruction(arch, inst)
        if callable(on):
            own = on

            def by_own(_inst: str, operands: Dict[str, np.ndarray]) -> np.ndarray:
                return _arrays.array_of("d", own(**operands))

            backend: Backend = by_own
        elif on == "hardware":
            backend = _hardware
        elif on == "model":
            backend = functools.partial(_model, arch)
        else:
            raise refused("on", on, "model, hardware, or a function")
        if isinstance(tiles, int) and tiles < 1:
            raise refused("tiles", tiles, "1 or more")
        operands = generated(inst, arch, tiles, seed) if isinstance(tiles, int) else dict(tiles)
        batch = Batch(spec, backend, operands)
        holds = self(batch)
        broken = ~holds.filled(True)
        failure = None
        if shrink and broken.any():
            place = tuple(int(i) for i in np.argwhere(broken)[0])
            failure = self._simplest(arch, spec, backend, operands, place, batch.d[place])
        return Result(self.name, batch.inst, int(holds.count()), int(broken.sum()), failure)

    def _simplest(
        self, arch: str, spec: _library.Instruction, backend: Backend, operands: Dict[str, np.ndarray],
        place: Tuple[int, ...], d: Any,
    ) -> Failure:
        """The failing element by itself, made simple by the library's shrinker, which the laws of C++ use too."""
        tile, row, column = place
        dot = {name: np.ascontiguousarray(array[tile, :, column] if name in ("b", "scale_b") else
                                          array[tile, row, column:column + 1] if name == "c" else array[tile, row])
               for name, array in operands.items()}
        pieces = {name: (_arrays.raw_dtype(getattr(spec, name)) if name in "abc" else np.dtype(np.uint8), x.size)
                  for name, x in dot.items() if name != "metadata"}

        def alone(count: int, dots: Dict[str, np.ndarray]) -> Batch:
            """`count` tiles with a dot product each at (0, 0), and zeros; scales elsewhere are 1."""
            many = {}
            for name, array in operands.items():
                filled = np.zeros((count, *array.shape[1:]), array.dtype)
                if name == "metadata":
                    filled[:] = dot[name]
                elif name.startswith("scale"):
                    filled[:] = 0x7F if spec.scale == "ue8m0" else 0x38
                if name in dots:
                    values = dots[name].view(array.dtype)
                    where = (slice(None), slice(None), 0) if name in ("b", "scale_b") else (slice(None), 0)
                    if name == "c":
                        filled[:, 0, 0] = values
                    else:
                        filled[where] = values.reshape(count, -1)
                many[name] = filled
            return Batch(spec, backend, many)

        def first(count: int, dots: Dict[str, np.ndarray]) -> int:
            breaks = ~self(alone(count, dots)).filled(True)[:, 0, 0]
            return int(np.argmax(breaks)) if breaks.any() else count

        given = {name: array.view(pieces[name][0]) for name, array in dot.items() if name in pieces}
        isolated = first(1, given) == 0
        found = _shrunk(arch, spec, given, dot.get("metadata"), pieces, first) if isolated else given
        typed = {name: array.view(operands[name].dtype) for name, array in found.items()}
        if isolated:
            d = alone(1, found).d[0, 0, 0]
        more: Dict[str, Any] = {name: typed[name] for name in ("scale_a", "scale_b") if name in typed}
        trace = explain(spec.name, typed["a"], typed["b"], typed.get("c"), arch, metadata=dot.get("metadata"), **more)
        return Failure(spec.name, typed["a"], typed["b"], typed["c"][0] if "c" in typed else 0, d, isolated, trace)


def _shrunk(
    arch: str, spec: _library.Instruction, dot: Dict[str, np.ndarray], metadata: Optional[np.ndarray],
    pieces: Dict[str, Tuple[np.dtype, int]], first: Callable[[int, Dict[str, np.ndarray]], int],
) -> Dict[str, np.ndarray]:
    work = _arrays.filled(_library.Dot(), arch=arch, inst=spec.name, metadata=metadata, **dot)
    out = {name: np.empty(size, dtype) for name, (dtype, size) in pieces.items()}
    if "c" not in out:
        out["c"] = np.empty(1, _arrays.raw_dtype(spec.c))
    result = _arrays.filled(_library.Shrunk(), **out)
    raised = []

    def ask(_user: Any, count: int, dots: Any) -> int:
        try:
            views: Dict[str, np.ndarray] = {}
            for name, (dtype, size) in pieces.items():
                part = getattr(dots.contents, name)
                shape = (count,) if name == "c" else (count, size)
                views[name] = np.frombuffer(ctypes.string_at(part.data, part.bytes), dtype).reshape(shape)
            return first(count, views)
        except BaseException as error:  # nothing may pass through C
            raised.append(error)
            return count

    _library.check(lib.mmaudit_shrink(ctypes.byref(work), _library.FirstFailing(ask), None, ctypes.byref(result)))
    if raised:
        raise raised[0]
    return {name: out[name] for name in pieces}


def law(judge: Judge) -> Law:
    """Makes a law of a function of a Batch; its docstring is the sentence.

    >>> @mmaudit.law
    ... def c_changes_its_sign(batch):
    ...     "D of -A and -C is -D."
    ...     return batch.run(a=-batch.a, c=-batch.c).d == -batch.d
    >>> bool(c_changes_its_sign.check("mma.m16n8k16.f32.f16.f16.f32"))
    """
    if not callable(judge):
        raise refused("law", repr(judge), "a function of a Batch", TypeError)
    return Law(judge, (judge.__doc__ or "").strip())
