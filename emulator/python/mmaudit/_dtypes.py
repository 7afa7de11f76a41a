"""What others call the formats, as the library's table says: a row per format that has a type somewhere. Raw bits stand
for the others."""
from typing import Dict, NamedTuple, Optional

from . import _library


class Names(NamedTuple):
    """The names of a format's type; None: there is no such type."""

    numpy: Optional[str] = None
    ml: Optional[str] = None  #: in ml_dtypes
    torch: Optional[str] = None
    file: Optional[str] = None  #: in a safetensors file, and as `mmaudit convert --out` names it


def _text(name: Optional[bytes]) -> Optional[str]:
    return None if name is None else name.decode()


_ALL = {one.name.decode(): one for one in _library.formats()}

NAMES: Dict[str, Names] = {
    name: names
    for name, one in _ALL.items()
    if any(names := Names(_text(one.numpy), _text(one.ml_dtypes), _text(one.torch), _text(one.file)))
}

#: Floats that files hold, by format: what tensors from outside may be. tf32 travels as f32.
FILED: Dict[str, str] = {}
for _name, _names in NAMES.items():
    if _names.file and not _ALL[_name].is_integer and _names.file not in FILED.values():
        FILED[_name] = _names.file
