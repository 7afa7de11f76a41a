"""A checkpoint of a hub as a model of transformers whose quantized layers run in the bits of a GPU."""
import re
import warnings
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Set, Tuple, Union

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_parameter_registration_hook

from .._refuse import listed, refused
from . import _checked, _gguf, _modelopt
from ._checkpoint import _files, _opened
from ._coded import Coded, CodedStack, CodedWeight, path_of
from ._stored import Place, Stored
from ._tensors import NUMBERS

_NAMED = 4  #: tensors that a message names
_CONFIG = ("quant_method", "transform_config")  #: what the config says of all layers, and nothing here reads
_SMOOTHED = ".pre_quant_scale"  #: nvidia-modelopt 0.47.0, torch/export/quant_utils.py, postprocess_state_dict
_STACKS = ("MergeModulelist", "Concatenate")  #: what transformers does with experts' weights that is done here too


class Names:
    """Names in files as transformers' names of parameters, by its own tables; before transformers 5 they are the same."""

    def __init__(self, model: Any, folder: Path = Path()) -> None:
        self._folder, self._model, self.parameters = folder, model, dict(model.named_parameters(remove_duplicate=False))
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

    def place(self, name: str) -> Optional[Place]:
        """None for a tensor that the model has no parameter for."""
        target, pattern = name, None
        if self._loading is not None:
            target, pattern = self._loading.rename_source_key(
                name, self._renamings, self._converters, self._model.base_model_prefix, self.parameters)
        if target not in self.parameters:
            return None
        if pattern is None:
            return Place(target, None, 0)
        converter = next(one for one in self._converters if pattern in one.source_patterns)
        found = re.search(re.escape(pattern).replace(r"\*", r"(\d+)"), name)
        others = [type(one).__name__ for one in converter.operations if type(one).__name__ not in _STACKS]
        if others or found is None or not found.groups():
            raise refused(name, f"{listed(others) or 'no number'} in transformers' rule for {target}",
                          f"{listed(_STACKS)} over the numbers of experts")
        return Place(target, int(found[1]), converter.source_patterns.index(pattern))


    def layer(self, of: Dict[str, Any]) -> Optional[Place]:
        """Of a quantized layer, whose parameter is `weight`, or what gpt-oss calls it."""
        return self.place(of["name"] + ".weight") or self.place(of["name"])

    def in_order(self, name: str, x: Tensor) -> Tensor:
        """Rows as the model has them: all writers of these keep their order."""
        return x

    def tensors(self, plain: Set[str]) -> Iterator[Tuple[str, Tensor]]:
        """Tensors that are not quantized."""
        for file in _files(self._folder):
            with _opened(file) as opened:
                for name in sorted(plain & set(opened.keys())):
                    yield name, opened.get_tensor(name)


def _empty(arguments: Dict[str, str], source: str, dtype: Optional[torch.dtype]) -> Any:
    """The model of a config, with its buffers and without memory for its parameters."""
    try:
        transformers = import_module("transformers")
    except ImportError as error:
        raise refused("load", f"no transformers ({error})".replace("\n", " "), "transformers", ImportError) from None

    def without(module: nn.Module, name: str, one: Optional[nn.Parameter]) -> Any:
        return None if one is None or one.is_meta else nn.Parameter(one.detach().to("meta"), requires_grad=False)

    try:
        config = transformers.AutoConfig.from_pretrained(**arguments, local_files_only=True)
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
        raise refused(source, f"{type(error).__name__} of transformers ({line})", "a model of its own") from None
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


def _coded(stored: Stored, index: int, arch: str, model: Any, names: "Union[Names, _gguf.Names]") -> List[Coded]:
    """The matrices of a layer, by expert."""
    layer = stored.layers[index]
    plain = layer.dequantized if layer.dequantized in ("bf16", "f16") else NUMBERS[model.dtype]
    plain = plain if plain in ("bf16", "f16") else "bf16"
    kept = layer.recipe is None
    if kept and stored.described["layers"][index]["activation_format"] is None:
        how, file = path_of(layer, arch, plain), stored.described["layers"][index]["tensors"][0]
        return [Coded(layer, arch, how, names.in_order(file, one)) for one in stored.weights(index, plain)]
    found = stored.codes(index)
    if kept:
        layer, found = _modelopt.as_fp8(layer, found)
    how, of = path_of(layer, arch, plain), [found.get("scales"), found.get("factors")]
    return [Coded(layer, arch, how, found["codes"][expert], *(None if one is None else one[expert] for one in of))
            for expert in range(layer.experts)]


_Piece = Union[Tensor, List[Coded]]


def _weight(target: str, pieces: Dict[Place, _Piece], like: Tensor, transposed: bool, source: str) -> Any:
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
        raise refused(target, f"the shape {list(found.shape)}", f"{list(like.shape)}, as {source} says")
    if not isinstance(found, Tensor):
        return found
    return nn.Parameter(found.to(like.dtype), requires_grad=False) if isinstance(like, nn.Parameter) else found.to(like.dtype)


def _fill(model: Any, parameters: Dict[str, Any], pieces: Dict[str, Dict[Place, _Piece]], source: str) -> None:
    """Gives parameters what the files have. ValueError where they lack one."""
    for target in list(pieces):
        module = model.get_submodule(target.rpartition(".")[0])
        transposed = bool(getattr(module, "is_transposed", False))
        _put(model, target, _weight(target, pieces.pop(target), parameters[target], transposed, source))
    model.tie_weights()
    lacking = [name for name, one in model.named_parameters() if one.is_meta]
    if lacking:
        more = f" and {len(lacking) - _NAMED} more" if len(lacking) > _NAMED else ""
        raise refused("path", f"no tensors for {listed(lacking[:_NAMED])}{more}", f"one per parameter of {source}")


def load(path: "Union[str, PathLike[str]]", arch: str, *, convention: Optional[str] = None,
         dtype: Optional[torch.dtype] = None) -> nn.Module:
    """A model of transformers from a folder of a hub or a .gguf, with the checkpoint's own codes and scales.

    A layer that the checkpoint means for quantized products (W4A4, W8A8) runs in the bits of `arch`: its activations are
    quantized as the checkpoint says, its weights are not quantized again. One with quantized weights alone (W4A16) runs
    as products of its dequantized weights, in bfloat16 or the package's float16. Other layers are torch's own;
    emulate() takes them. Memory: one byte per element. Inference only, experts one after the other.

    Args:
        path: the folder, with config.json and .safetensors, or the .gguf of a Llama, Qwen2 or Qwen3.
        arch: the GPU, as "b200".
        convention: whose layout of codes and scales it is (docs/model.md); None: as config and tensors say.
        dtype: of what is not quantized; None: config.json's.
    Returns: the model, in eval mode. Warns: of tensors that the model has no place for.
    Raises: ValueError, in one line: a file that can't be read, a GPU without the instruction, a parameter that no file
        has, what is not run (docs/torch.md); ImportError without transformers, or gguf for a .gguf.
    """
    _checked.of_kind("arch", arch, str, "a str")
    file, tied = Path(path), None  # type: Path, Optional[List[Coded]]
    names: Union[Names, _gguf.Names]
    gguf = file.suffix == ".gguf" and file.is_file()
    source = file.name if gguf else "config.json"
    if not gguf and not (file / "config.json").is_file():
        raise refused("path", f"no config.json in {str(path)!r}",
                      "a folder of a hub, with config.json and .safetensors, or a .gguf")
    with Stored(file, convention) as stored:
        if gguf:
            reader = _gguf.opened(file)
            model: Any = _empty(_gguf.arguments_of(file), source, dtype)
            names = _gguf.Names(model, reader, stored)
        else:
            model = _empty({"pretrained_model_name_or_path": str(file)}, source, dtype)
            names = Names(model, file)
        unread = {one["name"]: one["why"] for one in stored.described["others"] if one["why"] is not None}
        left, odd = [], stored.described["contradictions"]  # type: List[str], List[str]
        pieces: Dict[str, Dict[Place, _Piece]] = {}
        for name, why in sorted(unread.items(), key=lambda one: one[0] not in _CONFIG):
            if name in _CONFIG or names.place(name) or names.place(name.rpartition(".")[0] + ".weight"):
                raise ValueError(f"{name}: {why}")
            left.append(name)
        for index, layer in enumerate(stored.layers):
            of = stored.described["layers"][index]
            _modelopt.check(of)
            place = names.layer(of) if layer.quantized else None
            if place is not None and of["product"]:
                pieces.setdefault(place.target, {})[place] = _coded(stored, index, arch, model, names)
            elif place is not None:  # rows of it are looked up; a tied last layer multiplies by it
                pieces.setdefault(place.target, {})[place] = stored.weights(index, "f32")[0]
                if getattr(model.config, "tie_word_embeddings", False):
                    tied = _coded(stored, index, arch, model, names)
            elif layer.quantized:
                left.append(layer.name)
        for name, x in names.tensors(stored.plain() - set(unread)):
            place = names.place(name)
            if name.endswith(_SMOOTHED):
                raise refused(name, "factors of activations", "none: activations are quantized as they are")
            if place is None:
                left.append(name)
            else:
                pieces.setdefault(place.target, {})[place] = x
    _fill(model, names.parameters, pieces, source)
    if tied is not None:
        _put(model, "lm_head.weight", CodedWeight(tied, model.dtype))
        model.config.tie_word_embeddings = False  # tie_weights() would put numbers in their place again
    for why in odd:
        warnings.warn(f"load: {why}", stacklevel=2)
    if left:
        more = f" and {len(left) - _NAMED} more" if len(left) > _NAMED else ""
        warnings.warn(f"load: {type(model).__name__} has no place for {listed(left[:_NAMED])}{more}", stacklevel=2)
    found: nn.Module = model
    return found
