"""What ModelOpt's quant_algo says of a layer, where its codes and scales alone would be taken for another one's."""
import json
from contextlib import suppress
from pathlib import Path
from typing import Any, Dict, Optional, Tuple

import torch
from torch import Tensor

from .._refuse import refused
from ._stored import Layer

#: What is not run, and why. Source: nvidia-modelopt 0.47.0, torch/export/quant_utils.py, process_layer_quant_config.
_OTHERS = {"W4A8_AWQ": "INT4 under FP8 activations", "W4A8_MXFP4_FP8": "MXFP4 under FP8 activations"}
_RUNS = "FP8, MXFP8, NVFP4, W4A16_NVFP4, W4A8_NVFP4_FP8"
_FP8_ACTIVATIONS = "W4A8_NVFP4_FP8"
_E2M1 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


def _read(folder: Path, name: str, key: str) -> Dict[str, Any]:
    """An object of a file of JSON; what is none is the reader's to refuse."""
    with suppress(OSError, ValueError, RecursionError):
        found = json.loads((folder / name).read_text(encoding="utf-8"))
        if isinstance(found, dict) and isinstance(found.get(key), dict):
            return dict(found[key])
    return {}


class Algorithms:
    """The quant_algo of each layer of a folder; none where ModelOpt did not write it."""

    def __init__(self, folder: Path) -> None:
        """ValueError where it is one that can't be run."""
        found = _read(folder, "config.json", "quantization_config")
        found = found or _read(folder, "hf_quant_config.json", "quantization")
        layers = found.get("quantized_layers")
        self._layers: Dict[str, Any] = layers if isinstance(layers, dict) else {}
        self._all = found.get("quant_algo")
        for where, one in [("", self._all), *((f" of {name}", self.of(name)) for name in self._layers)]:
            if isinstance(one, str) and one in _OTHERS:
                raise refused(f"quant_algo{where}", f"{one}, {_OTHERS[one]}", _RUNS)

    def of(self, name: str) -> Optional[str]:
        found = self._layers.get(name, {"quant_algo": self._all})
        return found.get("quant_algo") if isinstance(found, dict) else None

    def as_run(self, layer: Layer, codes: Dict[str, Tensor]) -> Tuple[Layer, Dict[str, Tensor]]:
        """The layer and its codes as a product takes them. NVFP4 under FP8 activations: the kernel makes FP8 of code
        times scale, so it is FP8 of one scale, weight_scale_2, as input_scale is the activations'. Source:
        quant_utils.py, get_weight_scaling_factor: "the kernel dequantizes weight to fp8". Rounding: nearest even, up to
        448."""
        if self.of(layer.name) != _FP8_ACTIVATIONS or layer.format != "e2m1" or layer.scale_format == "ue8m0":
            return layer, codes
        scales = codes["scales"].to(torch.float32).repeat_interleave(layer.block_k, -1)[..., :layer.k]
        x = _E2M1[codes["codes"].view(torch.uint8).long()] * scales
        elements = x.clamp(-448, 448).to(torch.float8_e4m3fn)
        return layer._replace(
            format="e4m3", scale_format="f32", scale_rows=1, scale_columns=1, block_n=layer.n, block_k=layer.k,
            has_factors=0, recipe="fp8-tensor"), {"codes": elements, "scales": codes["factors"].reshape(-1, 1, 1)}
