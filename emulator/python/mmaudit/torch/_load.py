"""A checkpoint of a hub as a model of transformers whose quantized layers run in the bits of a GPU."""
import re
import warnings
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Union

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_parameter_registration_hook

from .._refuse import listed, refused
from . import _checked
from ._checkpoint import _files, _opened
from ._coded import Coded, CodedStack, CodedWeight, path_of
from ._stored import Stored
from ._tensors import NUMBERS

_NAMED = 4  #: tensors that a message names
_STACKS = ("MergeModulelist", "Concatenate")  #: what transformers does with experts' weights that is done here too


class _Place(NamedTuple):
    """Where a tensor of a file goes: the parameter, the expert, and the place under other tensors of that expert."""

    target: str
    expert: Optional[int]
    part: int


class _Names:
    """Names in files as transformers' names of parameters, by its own tables; before transformers 5 they are the same."""

    def __init__(self, model: Any) -> None:
        self._model, self.parameters = model, dict(model.named_parameters(remove_duplicate=False))
        self.parameters.update(model.named_buffers())
        self._loading: Any = None
        try:
            self._loading = import_module("transformers.core_model_loading")
            transforms = import_module("transformers.conversion_mapping").get_model_conversion_mapping(model)
        except ImportError:
            transforms = []
        kinds = ("WeightRenaming", "WeightConverter")
        self._renamings, self._converters = (
            [one for one in transforms if isinstance(one, getattr(self._loading, kind))] for kind in kinds)

    def place(self, name: str) -> Optional[_Place]:
        """None for a tensor that the model has no parameter for."""
        target, pattern = name, None
        if self._loading is not None:
            target, pattern = self._loading.rename_source_key(
                name, self._renamings, self._converters, self._model.base_model_prefix, self.parameters)
        if target not in self.parameters:
            return None
        if pattern is None:
            return _Place(target, None, 0)
        converter = next(one for one in self._converters if pattern in one.source_patterns)
        found = re.search(re.escape(pattern).replace(r"\*", r"(\d+)"), name)
        others = [type(one).__name__ for one in converter.operations if type(one).__name__ not in _STACKS]
        if others or found is None or not found.groups():
            raise refused(name, f"{listed(others) or 'no number'} in transformers' rule for {target}",
                          f"{listed(_STACKS)} over the numbers of experts")
        return _Place(target, int(found[1]), converter.source_patterns.index(pattern))


def _empty(path: Path, dtype: Optional[torch.dtype]) -> Any:
    """The model of config.json, with its buffers and without memory for its parameters."""
    try:
        transformers = import_module("transformers")
    except ImportError as error:
        raise refused("load", f"no transformers ({error})".replace("\n", " "), "transformers", ImportError) from None

    def without(module: nn.Module, name: str, one: Optional[nn.Parameter]) -> Any:
        return None if one is None or one.is_meta else nn.Parameter(one.detach().to("meta"), requires_grad=False)

    try:
        config = transformers.AutoConfig.from_pretrained(str(path), local_files_only=True)
        if hasattr(config, "quantization_config"):
            del config.quantization_config
        hook = register_module_parameter_registration_hook(without)
        try:
            found = dtype or getattr(config, "dtype", None) or getattr(config, "torch_dtype", None) or torch.bfloat16
            found = getattr(torch, found, torch.bfloat16) if isinstance(found, str) else found
            model = transformers.AutoModelForCausalLM.from_config(config, **{
                "dtype" if int(transformers.__version__.split(".")[0]) > 4 else "torch_dtype": found})
        finally:
            hook.remove()
    except Exception as error:  # whatever a hostile config makes of transformers
        line = " ".join(str(error).split())[:200]
        raise refused("config.json", f"{type(error).__name__} of transformers ({line})", "a model of its own") from None
    if hasattr(model, "set_experts_implementation"):
        model.set_experts_implementation("eager")
    return model.eval()


def _put(model: nn.Module, target: str, value: Any) -> None:
    """In the place of a parameter or buffer."""
    owner, _, name = target.rpartition(".")
    module = model.get_submodule(owner)
    if isinstance(value, nn.Module):
        del module._parameters[name]
    setattr(module, name, value)


def _coded(stored: Stored, index: int, arch: str, model: Any) -> List[Coded]:
    """The matrices of a layer, by expert."""
    layer = stored.layers[index]
    plain = layer.dequantized if layer.dequantized in ("bf16", "f16") else NUMBERS[model.dtype]
    plain = plain if plain in ("bf16", "f16") else "bf16"
    how = path_of(layer, arch, plain)
    if layer.recipe is None:
        return [Coded(layer, arch, how, one) for one in stored.weights(index, plain)]
    found = stored.codes(index)
    of = [found.get("scales"), found.get("factors")]
    return [Coded(layer, arch, how, found["codes"][expert], *(None if one is None else one[expert] for one in of))
            for expert in range(layer.experts)]


_Piece = Union[Tensor, List[Coded]]


def _weight(target: str, pieces: Dict[_Place, _Piece], like: Tensor, transposed: bool) -> Any:
    """What takes the place of a parameter: its pieces, by expert and then under one another."""
    experts: Dict[Optional[int], List[_Piece]] = {}
    for place in sorted(pieces, key=lambda one: (one.expert or 0, one.part)):
        experts.setdefault(place.expert, []).append(pieces[place])
    every = [one for some in experts.values() for one in some]
    tensors = [one for one in every if isinstance(one, Tensor)]
    if tensors and len(tensors) < len(every):
        raise refused(target, "experts of which some are quantized", "all of them, or none")
    found: Any
    try:
        if tensors:
            rows = [torch.cat([one for one in some if isinstance(one, Tensor)]) if len(some) > 1 else some[0]
                    for some in experts.values()]
            found = rows[0] if None in experts else torch.stack([one for one in rows if isinstance(one, Tensor)])
        elif None in experts and like.dim() == 3:  # all experts in one tensor
            found = CodedStack(CodedWeight([one], like.dtype, transposed) for one in every[0])
        else:
            weights = [CodedWeight([one for piece in some for one in piece], like.dtype, transposed)
                       for some in experts.values()]
            found = weights[0] if None in experts else CodedStack(weights)
    except RuntimeError as error:  # hostile shapes
        raise refused(target, " ".join(str(error).split()), f"tensors of a parameter {list(like.shape)}") from None
    if found.shape != like.shape:
        raise refused(target, f"the shape {list(found.shape)}", f"{list(like.shape)}, as config.json says")
    if not isinstance(found, Tensor):
        return found
    return nn.Parameter(found.to(like.dtype), requires_grad=False) if isinstance(like, nn.Parameter) else found.to(like.dtype)


def _fill(model: Any, names: _Names, pieces: Dict[str, Dict[_Place, _Piece]]) -> None:
    """Gives parameters what the files have. ValueError where they lack one."""
    for target in list(pieces):
        module = model.get_submodule(target.rpartition(".")[0])
        transposed = bool(getattr(module, "is_transposed", False))
        _put(model, target, _weight(target, pieces.pop(target), names.parameters[target], transposed))
    model.tie_weights()
    lacking = [name for name, one in model.named_parameters() if one.is_meta]
    if lacking:
        more = f" and {len(lacking) - _NAMED} more" if len(lacking) > _NAMED else ""
        raise refused("path", f"no tensors for {listed(lacking[:_NAMED])}{more}", "a file for each parameter of config.json")


def load(path: "Union[str, PathLike[str]]", arch: str, *, convention: Optional[str] = None,
         dtype: Optional[torch.dtype] = None) -> nn.Module:
    """A model of transformers from a folder of a hub, whose quantized layers have the checkpoint's own codes and scales.

    A layer that the checkpoint means for quantized products (W4A4, W8A8) runs in the bits of `arch`: its activations are
    quantized as the checkpoint says, its weights are not quantized again. One with quantized weights alone (W4A16) runs
    as products of its dequantized weights, in bfloat16 or the package's float16. Other layers are torch's own;
    emulate() takes them. Memory: one byte per element. Inference only, experts one after the other.

    Args:
        path: the folder, with config.json and .safetensors. arch: the GPU, as "b200".
        convention: whose layout of codes and scales it is (docs/model.md); None: as config and tensors say.
        dtype: of what is not quantized; None: config.json's.
    Returns: the model, in eval mode. Warns: of tensors that the model has no place for.
    Raises: ValueError, in one line: a file that can't be read, a GPU without the instruction, a parameter that no file
        has; ImportError without transformers.
    """
    _checked.of_kind("arch", arch, str, "a str")
    folder = Path(path)
    if not (folder / "config.json").is_file():
        raise refused("path", f"no config.json in {str(path)!r}", "a folder of a hub, with config.json and .safetensors")
    with Stored(folder, convention) as stored:
        model: Any = _empty(folder, dtype)
        names, left = _Names(model), []  # type: _Names, List[str]
        pieces: Dict[str, Dict[_Place, _Piece]] = {}
        for index, layer in enumerate(stored.layers):
            place = names.place(layer.name + ".weight") or names.place(layer.name) if layer.quantized else None
            if place is not None:
                pieces.setdefault(place.target, {})[place] = _coded(stored, index, arch, model)
            elif layer.quantized:
                left.append(layer.name)
        for file in _files(folder):
            with _opened(file) as opened:
                for name in sorted(stored.plain() & set(opened.keys())):
                    place = names.place(name)
                    if place is None:
                        left.append(name)
                    else:
                        pieces.setdefault(place.target, {})[place] = opened.get_tensor(name)
    _fill(model, names, pieces)
    if left:
        more = f" and {len(left) - _NAMED} more" if len(left) > _NAMED else ""
        warnings.warn(f"load: {type(model).__name__} has no place for {listed(left[:_NAMED])}{more}", stacklevel=2)
    found: nn.Module = model
    return found
