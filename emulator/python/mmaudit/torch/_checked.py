"""Arguments that are refused in one line before anything runs."""
import operator
from typing import Any, Sequence


def patterns(field: str, given: Any) -> "Sequence[str]":
    """Globs. One str would be taken letter by letter."""
    if isinstance(given, (str, bytes)) or not isinstance(given, (list, tuple, set, frozenset)):
        raise ValueError(f"{field}: found a {type(given).__name__}, allowed: a list of patterns")
    for one in given:
        if not isinstance(one, str):
            raise ValueError(f"{field}: found {one!r} in the list, allowed: patterns, each a str")
    return tuple(given)


def whole(field: str, given: Any, least: int, most: int) -> int:
    try:
        number = least - 1 if isinstance(given, bool) else operator.index(given)
    except TypeError:
        number = least - 1
    if not least <= number <= most:
        raise ValueError(f"{field}: found {given!r}, allowed: a whole number from {least} to {most}")
    return number
