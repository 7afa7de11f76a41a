"""What ModelOpt's quant_algo says of a layer, where its codes and scales alone would be taken for another one's."""
from typing import Any, Dict, Tuple

import torch
from torch import Tensor

from .._refuse import refused
from ._mixed import codes_as_numbers
from ._stored import Layer

#: What is not run, and why. Source: nvidia-modelopt 0.47.0, torch/export/quant_utils.py, process_layer_quant_config.
_OTHERS = {"W4A8_MXFP4_FP8": "MXFP4 under FP8 activations"}
_RUNS = "FP8, MXFP8, NVFP4, W4A16_NVFP4, W4A8_NVFP4_FP8"


def check(layer: Dict[str, Any]) -> None:
    """ValueError where the description of a layer has a quant_algo that can't be run."""
    if layer["quant_algo"] in _OTHERS:
        raise refused(f"quant_algo of {layer['name']}", f"{layer['quant_algo']}, {_OTHERS[layer['quant_algo']]}", _RUNS)


def as_fp8(layer: Layer, codes: Dict[str, Tensor]) -> Tuple[Layer, Dict[str, Tensor]]:
    """NVFP4 under FP8 activations as its product takes it: the kernel makes FP8 of code times scale, so it is FP8 of one
    scale, weight_scale_2, as input_scale is the activations'. Source: quant_utils.py, get_weight_scaling_factor: "the
    kernel dequantizes weight to fp8". Rounding: nearest even, up to 448. ValueError for other codes under FP8."""
    if layer.convention != "nvfp4-fp8-modelopt":
        raise refused(layer.name, f"{layer.format} under activations that no recipe has for it", _RUNS)
    scales = codes["scales"].to(torch.float32).repeat_interleave(layer.block_k, -1)[..., :layer.k]
    x = codes_as_numbers(codes["codes"].view(torch.uint8), "e2m1") * scales
    elements = x.clamp(-448, 448).to(torch.float8_e4m3fn)
    return layer._replace(
        format="e4m3", scale_format="f32", scale_rows=1, scale_columns=1, block_n=layer.n, block_k=layer.k,
        has_factors=0, recipe="fp8-tensor"), {"codes": elements, "scales": codes["factors"].reshape(-1, 1, 1)}
