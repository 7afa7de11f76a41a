"""What ModelOpt's quant_algo says of a layer, where its codes and scales alone would be taken for another one's."""
import json
from contextlib import suppress
from pathlib import Path
from typing import Any, Dict, Tuple

import torch
from torch import Tensor

from .._refuse import refused
from ._stored import Layer

#: What is not run, and why. Source: nvidia-modelopt 0.47.0, torch/export/quant_utils.py, process_layer_quant_config.
_OTHERS = {"W4A8_AWQ": "INT4 under FP8 activations", "W4A8_MXFP4_FP8": "MXFP4 under FP8 activations"}
_RUNS = "FP8, MXFP8, NVFP4, W4A16_NVFP4, W4A8_NVFP4_FP8"
_E2M1 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


def _read(folder: Path, name: str, key: str) -> Dict[str, Any]:
    """An object of a file of JSON; what is none is the reader's to refuse."""
    with suppress(OSError, ValueError, RecursionError):
        found = json.loads((folder / name).read_text(encoding="utf-8"))
        if isinstance(found, dict) and isinstance(found.get(key), dict):
            return dict(found[key])
    return {}


def check(folder: Path) -> None:
    """ValueError where ModelOpt wrote the folder by a quant_algo that can't be run."""
    found = _read(folder, "config.json", "quantization_config")
    found = found or _read(folder, "hf_quant_config.json", "quantization")
    layers = found.get("quantized_layers")
    every = [("", found)] + [(f" of {name}", one) for name, one in (
        layers.items() if isinstance(layers, dict) else ()) if isinstance(one, dict)]
    for where, of in every:
        one = of.get("quant_algo")
        if isinstance(one, str) and one in _OTHERS:
            raise refused(f"quant_algo{where}", f"{one}, {_OTHERS[one]}", _RUNS)


def as_fp8(layer: Layer, codes: Dict[str, Tensor]) -> Tuple[Layer, Dict[str, Tensor]]:
    """NVFP4 under FP8 activations as its product takes it: the kernel makes FP8 of code times scale, so it is FP8 of one
    scale, weight_scale_2, as input_scale is the activations'. Source: quant_utils.py, get_weight_scaling_factor: "the
    kernel dequantizes weight to fp8". Rounding: nearest even, up to 448. ValueError for other codes under FP8."""
    if layer.convention != "nvfp4-fp8-modelopt":
        raise refused(layer.name, f"{layer.format} under FP8 activations", _RUNS)
    scales = codes["scales"].to(torch.float32).repeat_interleave(layer.block_k, -1)[..., :layer.k]
    x = _E2M1[codes["codes"].view(torch.uint8).long()] * scales
    elements = x.clamp(-448, 448).to(torch.float8_e4m3fn)
    return layer._replace(
        format="e4m3", scale_format="f32", scale_rows=1, scale_columns=1, block_n=layer.n, block_k=layer.k,
        has_factors=0, recipe="fp8-tensor"), {"codes": elements, "scales": codes["factors"].reshape(-1, 1, 1)}
