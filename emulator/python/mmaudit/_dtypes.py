"""What others call the formats: one row per format that has a type somewhere. Raw bits stand for the others."""
from typing import Dict, NamedTuple, Optional


class Names(NamedTuple):
    """The names of a format's type; None: there is no such type."""

    numpy: Optional[str] = None
    ml: Optional[str] = None  #: in ml_dtypes
    torch: Optional[str] = None
    file: Optional[str] = None  #: in a safetensors file, and as `mmaudit convert --out` names it


NAMES: Dict[str, Names] = {
    "f64": Names("float64", None, "float64", "F64"),
    "f32": Names("float32", None, "float32", "F32"),
    "tf32": Names("float32", None, "float32"),
    "f16": Names("float16", None, "float16", "F16"),
    "bf16": Names(None, "bfloat16", "bfloat16", "BF16"),
    "e4m3": Names(None, "float8_e4m3fn", "float8_e4m3fn", "F8_E4M3"),
    "e5m2": Names(None, "float8_e5m2", "float8_e5m2", "F8_E5M2"),
    "e3m2": Names(None, "float6_e3m2fn"),
    "e2m3": Names(None, "float6_e2m3fn"),
    "e2m1": Names(None, "float4_e2m1fn"),
    "ue8m0": Names(None, "float8_e8m0fnu", "float8_e8m0fnu"),
    "s32": Names("int32", None, "int32"),
    "s8": Names("int8", None, "int8"),
    "s4": Names("int8", None, "int8"),
}

#: Floats that files hold, by format: what tensors from outside may be.
FILED: Dict[str, str] = {name: one.file for name, one in NAMES.items() if one.file}
