"""What frameworks call a recipe: a row per framework and way of scaling, with the version it was read from."""
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from ._operator import Path, find_path
from ._recipes import RECIPES, Recipe


class Row(NamedTuple):
    """A layer's configuration in a framework."""

    framework: str
    name: str  #: the framework's own word
    config: Dict[str, Any]
    exact: Tuple[str, ...]  #: recipes with the bytes of the framework
    nearest: Tuple[str, ...]  #: recipes that it comes next to; the first one that RECIPES has is what it is read as
    source: str
    multiple: Tuple[int, int] = (1, 1)  #: n and k of a weight that the framework quantizes are multiples of these
    written: bool = True  #: else only read
    note: str = ""


_NVFP4 = ("nvfp4", "nvfp4-torchao", "nvfp4-te", "nvfp4-modelopt", "nvfp4-compressed-tensors", "nvfp4-torchao-1")
_MXFP4 = ("mxfp4", "mxfp4-torchao", "mxfp4-torchao-floor", "mxfp4-compressed-tensors", "mxfp4-gpt-oss")
_MXFP8 = ("mxfp8-floor", "mxfp8-ceil", "mxfp8-torchao", "mxfp8-torchao-floor", "mxfp8-modelopt", "mxfp8-te")
_UP, _DOWN = ("mxfp8-ceil", "mxfp8-te", "mxfp8-modelopt"), ("mxfp8-floor",)
_TENSOR = ("fp8-tensor", "fp8-delayed", "fp8-tensor-promoted")
_BLOCKS = ("fp8-1x128", "fp8-1x128-te", "fp8-1x128-transformers")
_STATIC = "scales of activations come from a calibration; the recipe finds them in each tensor"


def _torch(name: str) -> Dict[str, Any]:
    return {"_type": "torch.dtype", "_data": name}


def _ao(kind: str, data: Any, version: Optional[int] = 1) -> Dict[str, Any]:
    return {"_type": kind, **({} if version is None else {"_version": version}), "_data": data}


def _nvfp4(dynamic: bool) -> Dict[str, Any]:
    return _ao("NVFP4DynamicActivationNVFP4WeightConfig",
               {"use_triton_kernel": False, "use_dynamic_per_tensor_scale": dynamic, "step": None})


def _mx(dtype: str, mode: str) -> Dict[str, Any]:
    return _ao("MXDynamicActivationMXWeightConfig", {
        "block_size": 32, "activation_dtype": _torch(dtype), "weight_dtype": _torch(dtype),
        "kernel_preference": _ao("KernelPreference", "AUTO", None), "scaling_mode": _ao("ScaleCalculationMode", mode, None)})


def _float8(a: Dict[str, Any], b: Dict[str, Any], fast: bool) -> Dict[str, Any]:
    return _ao("Float8DynamicActivationFloat8WeightConfig", {
        "activation_dtype": _torch("float8_e4m3fn"), "weight_dtype": _torch("float8_e4m3fn"), "granularity": [a, b],
        "packing_format": _ao("Float8PackingFormat", "PLAIN", None),
        "mm_config": _ao("Float8MMConfig", {"emulate": False, "use_fast_accum": fast, "pad_inner_dim": False}),
        "activation_value_lb": None, "activation_value_ub": None,
        "kernel_preference": _ao("KernelPreference", "AUTO", None), "set_inductor_config": True, "alg_id": 0}, 2)


def _args(bits: int, kind: str, strategy: str, dynamic: Any, **others: Any) -> Dict[str, Any]:
    return {"num_bits": bits, "type": kind, "symmetric": True, "strategy": strategy, "dynamic": dynamic, **others}


def _tensors(form: str, weights: Dict[str, Any], activations: Dict[str, Any]) -> Dict[str, Any]:
    return {"format": form, "weights": weights, "input_activations": activations}


def _groups(form: str, bits: int) -> Dict[str, Any]:
    of = {"group_size": 32, "scale_dtype": "torch.uint8", "zp_dtype": "torch.uint8"}
    return _tensors(form, _args(bits, "float", "group", False, **of), _args(bits, "float", "group", True, **of))


def _opt(algo: str, num_bits: Any, size: int = 0, scale_bits: Any = None, **both: Any) -> Dict[str, Any]:
    blocks = {"block_sizes": {"-1": size, "type": "dynamic", "scale_bits": scale_bits}} if size else both
    return {"algo": algo, "group_size": size, "weight": {"num_bits": num_bits, **blocks},
            "input": {"num_bits": num_bits, **blocks}}


def _engine(recipe: str, **arguments: Any) -> Dict[str, Any]:
    return {"recipe": recipe, "arguments": arguments}


_NV = {"group_size": 16, "scale_dtype": "torch.float8_e4m3fn", "zp_dtype": "torch.float8_e4m3fn"}
_ROW, _WHOLE = _ao("PerRow", {"dim": -1}), _ao("PerTensor", {})
_AO, _CT = "torchao 0.18.0", "compressed-tensors 0.20.0, quantization/quant_scheme.py"
_MO, _TE = "nvidia-modelopt 0.47.0, modelopt_recipes/configs", "Transformer Engine 000b637, common/recipe/__init__.py"

ROWS: List[Row] = [
    Row("torchao", "NVFP4", _nvfp4(True), ("nvfp4-torchao",), _NVFP4, _AO, (16, 16)),
    Row("torchao", "NVFP4 of one level", _nvfp4(False), ("nvfp4-torchao-1",), (), _AO, (16, 16)),
    Row("torchao", "MXFP8 RCEIL", _mx("float8_e4m3fn", "RCEIL"), ("mxfp8-torchao",), _UP, _AO, (1, 32)),
    Row("torchao", "MXFP8 FLOOR", _mx("float8_e4m3fn", "FLOOR"), ("mxfp8-torchao-floor",), _DOWN, _AO, (1, 32)),
    Row("torchao", "MXFP4 FLOOR", _mx("float4_e2m1fn_x2", "FLOOR"), ("mxfp4-torchao-floor",),
        ("mxfp4", "mxfp4-compressed-tensors"), _AO, (1, 32)),
    Row("torchao", "MXFP4 RCEIL", _mx("float4_e2m1fn_x2", "RCEIL"), ("mxfp4-torchao",), ("mxfp4-gpt-oss",), _AO, (1, 32)),
    Row("torchao", "float8 PerRow", _float8(_ROW, _ROW, True), ("fp8-row-torchao",), (), _AO, (16, 16)),
    Row("torchao", "float8 PerTensor", _float8(_WHOLE, _WHOLE, True), (), _TENSOR[:2], _AO, (16, 16)),
    Row("torchao", "float8 PerTensor, no fast accumulation", _float8(_WHOLE, _WHOLE, False), (), _TENSOR[2:], _AO, (16, 16)),
    Row("torchao", "float8 1x128, 128x128", _float8(_ao("PerBlock", {"block_size": [1, 128]}),
        _ao("PerBlock", {"block_size": [128, 128]}), False), (), _BLOCKS, _AO, (128, 128)),
    Row("torchao", "int8 PerRow", _ao("Int8DynamicActivationInt8WeightConfig", {
        "act_mapping_type": _ao("MappingType", "SYMMETRIC", None), "weight_only_decode": False, "granularity": _ROW,
        "set_inductor_config": True, "reduce_range": False}, 2), ("int8-w8a8",), (), _AO),
    Row("compressed-tensors", "NVFP4", _tensors(
        "nvfp4-pack-quantized", _args(4, "float", "tensor_group", False, **_NV),
        _args(4, "float", "tensor_group", "local", **_NV, observer="static_minmax")),
        ("nvfp4-compressed-tensors",), _NVFP4, _CT, (1, 16), note=_STATIC),
    Row("compressed-tensors", "MXFP8", _groups("mxfp8-quantized", 8), (), _MXFP8, _CT, (1, 32)),
    Row("compressed-tensors", "MXFP4", _groups("mxfp4-pack-quantized", 4), ("mxfp4-compressed-tensors",), _MXFP4, _CT, (1, 32)),
    Row("compressed-tensors", "FP8_DYNAMIC", _tensors(
        "float-quantized", _args(8, "float", "channel", False), _args(8, "float", "token", True)), (), ("fp8-row-torchao",), _CT),
    Row("compressed-tensors", "FP8, dynamic", _tensors(
        "float-quantized", _args(8, "float", "tensor", False), _args(8, "float", "tensor", True)), (), _TENSOR, _CT),
    Row("compressed-tensors", "FP8", _tensors(
        "float-quantized", _args(8, "float", "tensor", False), _args(8, "float", "tensor", False)), (), _TENSOR, _CT,
        written=False, note=_STATIC),
    Row("compressed-tensors", "FP8_BLOCK", _tensors(
        "float-quantized", _args(8, "float", "block", False, block_structure=[128, 128]),
        _args(8, "float", "group", True, group_size=128)), (), _BLOCKS, _CT, (128, 128)),
    Row("compressed-tensors", "INT8", _tensors(
        "int-quantized", _args(8, "int", "channel", False), _args(8, "int", "token", True)), (), ("int8-w8a8",), _CT),
    Row("modelopt", "NVFP4", _opt("NVFP4", [2, 1], 16, [4, 3]), ("nvfp4-modelopt",), _NVFP4, _MO, (1, 16),
        note=_STATIC),
    Row("modelopt", "MXFP8", _opt("MXFP8", [4, 3], 32, [8, 0]), ("mxfp8-modelopt",), _UP + _MXFP8, _MO, (1, 32)),
    Row("modelopt", "MXFP4", _opt("MXFP4", [2, 1], 32, [8, 0]), (), _MXFP4, _MO, (1, 32)),
    Row("modelopt", "FP8", _opt("FP8", [4, 3], axis=None), (), _TENSOR, _MO, note=_STATIC),
    Row("modelopt", "FP8_PER_CHANNEL_PER_TOKEN", {
        "algo": "FP8_PER_CHANNEL_PER_TOKEN", "group_size": 0, "weight": {"num_bits": [4, 3], "axis": 0},
        "input": {"num_bits": [4, 3], "axis": None, "type": "dynamic", "block_sizes": {"-1": None}}},
        (), ("fp8-row-torchao",), _MO),
    Row("transformer-engine", "NVFP4, 16 x 16 weights", _engine(
        "NVFP4BlockScaling", disable_rht=True, disable_stochastic_rounding=True), ("nvfp4-te",), (), _TE, (16, 16)),
    Row("transformer-engine", "NVFP4", _engine("NVFP4BlockScaling", disable_rht=True, disable_stochastic_rounding=True,
        disable_2d_quantization=True), ("nvfp4",), _NVFP4, _TE, (16, 16)),
    Row("transformer-engine", "MXFP8", _engine("MXFP8BlockScaling"), ("mxfp8-te",), _UP + _MXFP8, _TE, (32, 32)),
    Row("transformer-engine", "current scaling", _engine("Float8CurrentScaling"), ("fp8-tensor",), (), _TE, (16, 16)),
    Row("transformer-engine", "delayed scaling", _engine("DelayedScaling", amax_history_len=1024), ("fp8-delayed",), (), _TE,
        (16, 16)),
    Row("transformer-engine", "blocks", _engine("Float8BlockScaling"), ("fp8-1x128-te",), _BLOCKS, _TE, (16, 16)),
]
FRAMEWORKS = tuple(dict.fromkeys(row.framework for row in ROWS))


def path_of(recipe: Recipe) -> Path:
    return find_path(recipe.arch, recipe.dtype, recipe.scaling, recipe.policy)


def unscaled(recipe: Recipe) -> bool:
    """Whether its elements are the numbers themselves, in a narrower type (bf16): nothing that frameworks quantize."""
    path = path_of(recipe)
    return not (path.scale or path.factor_per_lane or path.factor_per_tensor)


def names_of(recipe: Recipe) -> List[str]:
    """Names in RECIPES under which a layer gets the same elements, scales and order of sums, that recipe's GPU first."""
    def arithmetic(one: Recipe) -> Tuple[Any, ...]:
        return one.dtype, path_of(one).scaling, one.policy, one.history
    same = [name for name, one in RECIPES.items() if arithmetic(one) == arithmetic(recipe)]
    return sorted(same, key=lambda name: RECIPES[name].arch != recipe.arch)


def row_for(framework: str, recipe: Recipe) -> Optional[Tuple[Row, bool]]:
    """The row of a recipe, and whether it has the recipe's bytes."""
    names, rows = names_of(recipe), [row for row in ROWS if row.framework == framework and row.written]
    for exact in (True, False):
        for row in rows:
            if any(name in (row.exact if exact else row.nearest) for name in names):
                return row, exact
    return None


def read_as(row: Row) -> Optional[Tuple[str, bool]]:
    """The recipe that a row is read as, and whether it has the row's bytes; None while RECIPES has none."""
    return next(((name, name in row.exact) for name in (*row.exact, *row.nearest) if name in RECIPES), None)
