"""Policies as written on the command line, refused with the nearest name or option where one is misspelt."""

from __future__ import annotations

import inspect
from collections.abc import Collection
from difflib import get_close_matches

from recrawl import policies
from recrawl.errors import ParameterError, RecrawlError
from recrawl.sim.comparison import THROUGH_STORE, Contender

GROUPING = ("groups", "first_copies", "seed")
"""What a policy takes as well where it is in charge of groups."""


def entry_of(text: str) -> Contender:
    """`NAME`, or `NAME:option,option=value`, as `--policy` takes it.

    >>> entry_of("azar:filled").label
    'azar:filled'
    """
    entry = Contender.parse(text)
    _check("--policy", entry.name, policies.NAMES)
    taken = _options(entry) if entry.options else []
    for option, _ in entry.options if taken else ():
        _check(f"an option of --policy {entry.name}", option, taken)
    return entry


def _options(entry: Contender) -> list[str]:
    """The options it takes; none if that cannot be told."""
    try:
        given = inspect.signature(type(policies.make(entry.name)).__init__).parameters
    except RecrawlError:  # it cannot be made without options, or without an extra
        return []
    if any(each.kind is inspect.Parameter.VAR_KEYWORD for each in given.values()):
        return []
    names = {
        *given,
        "grouped",
        THROUGH_STORE,
        *(GROUPING if entry.grouped else ()),
        *(("scaled",) if "scale" in given else ()),
    }
    return sorted(names - {"self"})


def _check(what: str, name: str, known: Collection[str]) -> None:
    if name in known:
        return
    near = get_close_matches(name.lower(), known)
    meant = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
    raise ParameterError(what, f"one of {', '.join(known)}", f"{name!r}{meant}")
