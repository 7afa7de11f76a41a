"""Refusals in one line and one grammar, as the library says its own: "FIELD: found X, allowed: Y"."""
from difflib import get_close_matches
from typing import Iterable, Type


def listed(names: Iterable[object]) -> str:
    """What is allowed, from the table it speaks of."""
    return ", ".join(str(name) for name in names)


def with_nearest(found: str, names: Iterable[str]) -> str:
    """What was found, quoted, and the names that it is nearest to, three at most: those that go on from it, then others."""
    known, typed = {name.lower(): name for name in names}, found.lower()
    longer = sorted((name for name in known if found and name.startswith(typed)), key=lambda name: name != typed)
    near = [known[name] for name in (longer + [name for name in get_close_matches(typed, known) if name not in longer])[:3]]
    return repr(found) + (f" (did you mean {' or '.join(near)}?)" if near else "")


def refused(field: str, found: object, allowed: object, of: Type[Exception] = ValueError) -> Exception:
    """The exception to raise."""
    return of(f"{field}: found {found}, allowed: {allowed}")
