"""A checkpoint on disk, by the library's reader: its layers, and the codes and scales of each as tensors."""
import json
from ctypes import byref, c_void_p
from os import PathLike
from typing import Any, Dict, List, NamedTuple, Optional, Set, Union

import torch
from torch import Tensor

from .. import _library
from .._library import lib
from ._tensors import dtype_of, written


class Layer(NamedTuple):
    """What mmaudit.h says of a layer: mmaudit_checkpoint_layer."""

    name: str
    convention: str
    experts: int
    n: int
    k: int
    format: str
    scale_format: Optional[str]
    scale_rows: int
    scale_columns: int
    block_n: int
    block_k: int
    has_zeros: int
    has_offsets: int
    has_factors: int
    has_groups: int
    dequantized: str
    recipe: Optional[str]
    input_scale: float

    @property
    def quantized(self) -> bool:
        return self.convention != "plain"


class Place(NamedTuple):
    """Where a tensor of a file goes: the parameter, the expert, and the place under other tensors of that expert."""

    target: str
    expert: Optional[int]
    part: int


class Stored:
    """An open checkpoint. ValueError, in one line, for what can't be read, and where `convention` is to be said."""

    def __init__(self, path: "Union[str, PathLike[str]]", convention: Optional[str] = None) -> None:
        self._open = c_void_p()
        _library.check(lib.mmaudit_checkpoint_open(
            _library.encoded(str(path)), _library.encoded(convention), byref(self._open)))
        self.layers: List[Layer] = []
        for index in range(lib.mmaudit_checkpoint_layers(self._open)):
            found = _library.CheckpointLayer()
            _library.check(lib.mmaudit_checkpoint_layer_at(self._open, index, byref(found)))
            self.layers.append(Layer(**_library.values_of(found)))
        #: mmaudit.checkpoint/1 (docs/model.md): its layers are in the same order
        self.described: Dict[str, Any] = json.loads(_library.text_from(lib.mmaudit_checkpoint_describe, self._open))

    def __enter__(self) -> "Stored":
        return self

    def __exit__(self, *_: Any) -> None:
        lib.mmaudit_checkpoint_close(self._open)
        self._open = c_void_p()

    def plain(self) -> Set[str]:
        """Names of the tensors that belong to no quantized layer."""
        return {one["name"] for one in self.described["others"]} | {
            one for layer in self.described["layers"] if layer["convention"] == "plain" for one in layer["tensors"]}

    def _read(self, index: int, wanted: Dict[str, Tensor], to: Optional[str] = None) -> Dict[str, Tensor]:
        layer, work = self.layers[index], _library.CheckpointRows()
        work.layer, work.rows, work.to = index, layer.experts * layer.n, _library.encoded(to)
        for name, x in wanted.items():
            setattr(work, name, written(x))
        _library.check(lib.mmaudit_checkpoint_read(self._open, byref(work)))
        return wanted

    def weights(self, index: int, to: str) -> Tensor:
        """The package's own dequantized weights, (experts, n, k), in one of f32, bf16, f16."""
        layer = self.layers[index]
        shape = (layer.experts, layer.n, layer.k)
        return self._read(index, {"weights": torch.empty(shape, dtype=dtype_of(to))}, to)["weights"]

    def codes(self, index: int) -> Dict[str, Tensor]:
        """`codes` (experts, n, k), one per element, `scales` (experts, rows, columns), `factors` (experts)."""
        layer = self.layers[index]
        wanted = {"codes": torch.empty((layer.experts, layer.n, layer.k), dtype=dtype_of(layer.format))}
        if layer.scale_format is not None:
            shape = (layer.experts, layer.scale_rows, layer.scale_columns)
            wanted["scales"] = torch.empty(shape, dtype=dtype_of(layer.scale_format))
        if layer.has_factors:
            wanted["factors"] = torch.empty(layer.experts, dtype=torch.float32)
        return self._read(index, wanted)
