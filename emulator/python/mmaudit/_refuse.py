"""Refusals in one line and one grammar, as the library says its own: "FIELD: found X, allowed: Y"."""
from typing import Iterable, Type


def listed(names: Iterable[object]) -> str:
    """What is allowed, from the table it speaks of."""
    return ", ".join(str(name) for name in names)


def refused(field: str, found: object, allowed: object, of: Type[Exception] = ValueError) -> Exception:
    """The exception to raise."""
    return of(f"{field}: found {found}, allowed: {allowed}")
