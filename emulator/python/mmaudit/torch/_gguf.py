"""A GGUF file as transformers' model has it: its config, the names of its tensors, the order of its rows."""
from importlib import import_module
from pathlib import Path
from typing import Any, Dict, Iterator, Optional, Set, Tuple

import torch
from torch import Tensor

from .._refuse import refused
from ._stored import Place, Stored

#: Architectures whose tensors are transformers' own but for the order of rows, which the library's reader tells.
#: Source: transformers 5.24.0, modeling_gguf_pytorch_utils.py, TENSOR_PROCESSORS: LlamaTensorProcessor, or none.
ARCHITECTURES = ("llama", "qwen2", "qwen3")
_FREQUENCIES = "rope_freqs.weight"  #: gguf 0.19.0, constants.py, ROPE_FREQS
_ANGLES = "inv_freq"


def arguments_of(path: Path) -> Dict[str, str]:
    """What transformers' AutoConfig takes to read the config out of the file's metadata."""
    return {"pretrained_model_name_or_path": str(path.parent), "gguf_file": path.name}


def opened(path: Path) -> Any:
    """gguf's reader of a file that transformers has a model of. ValueError for others, ImportError without gguf."""
    try:
        gguf = import_module("gguf")
    except ImportError as error:
        raise refused("load", f"no gguf ({error})", "gguf, by which the config is read", ImportError) from None
    try:
        reader = gguf.GGUFReader(str(path))
        found = {name: reader.fields[name].contents() for name in reader.fields if not name.startswith("tokenizer.")}
    except Exception as error:  # whatever a hostile file makes of gguf
        line = " ".join(str(error).split())[:200]
        raise refused(path.name, f"{type(error).__name__} of gguf ({line})", "a file that gguf reads") from None
    architecture = found.get("general.architecture")
    if architecture not in ARCHITECTURES:
        raise refused("general.architecture", repr(architecture)[:80], ", ".join(ARCHITECTURES))
    own = {f"{architecture}.expert_count": (0,), f"{architecture}.rope.scaling.type": ("none",), "split.count": (1, 0)}
    for key, usual in own.items():
        if key in found and found[key] not in usual:
            raise refused(key, repr(found[key])[:80], f"{usual[0]}: no other is mapped to transformers")
    return reader


class Names:
    """Names in a file as parameters of transformers' model, by the table of gguf (0.19.0, tensor_mapping.py)."""

    def __init__(self, model: Any, reader: Any, stored: Stored) -> None:
        gguf, self._reader, self._model = import_module("gguf"), reader, model
        self.parameters: Dict[str, Any] = dict(model.named_parameters(remove_duplicate=False))
        architecture = reader.fields["general.architecture"].contents()
        kind = next(one for one, name in gguf.MODEL_ARCH_NAMES.items() if name == architecture)
        table = gguf.get_tensor_name_map(kind, model.config.num_hidden_layers)
        self._targets, self._in_heads = {}, {}  # type: Dict[str, str], Dict[str, int]
        for target in self.parameters:
            base, _, end = target.rpartition(".")
            self._targets[f"{table.get_name(base)}.{end}"] = target
        for layer in stored.described["layers"]:
            self._in_heads[layer["tensors"][0].rpartition(".")[0]] = layer["head_rows"]

    def place(self, name: str) -> Optional[Place]:
        """None for a tensor that the model has no parameter for."""
        return Place(self._targets[name], None, 0) if name in self._targets else None

    def layer(self, of: Dict[str, Any]) -> Optional[Place]:
        """Of a quantized layer, as Stored describes it."""
        return self.place(of["tensors"][0])

    def in_order(self, name: str, x: Tensor) -> Tensor:
        """Rows (n, ...) in transformers' order: a file of Llama has the halves of a head's rows alternating."""
        rows = self._in_heads.get(name.rpartition(".")[0], 0)
        return x if rows == 0 else x.reshape(-1, rows // 2, 2, *x.shape[1:]).transpose(1, 2).reshape(x.shape)

    def tensors(self, plain: Set[str]) -> Iterator[Tuple[str, Tensor]]:
        """Tensors that are not quantized, in binary32. Factors of frequencies go into the model: Llama 3.1's."""
        gguf = import_module("gguf")
        for one in self._reader.tensors:
            if one.name in plain:
                x = torch.from_numpy(gguf.dequantize(one.data, one.tensor_type).astype("float32"))
                if one.name != _FREQUENCIES or not self._slower(x):
                    yield one.name, self.in_order(one.name, x)

    def _slower(self, factors: Tensor) -> bool:
        """Divides the angles of the rotary embedding by factors, as llama.cpp does (ggml_rope_ext, freq_factors)."""
        found = [one for name, one in self._model.named_buffers() if name.rpartition(".")[2].endswith(_ANGLES)]
        for one in found:
            if one.shape != factors.shape or not bool((factors > 0).all()):
                raise refused(_FREQUENCIES, f"{list(factors.shape)}", f"{list(one.shape)} numbers above 0")
            one.div_(factors.to(one.dtype))
        return bool(found)
