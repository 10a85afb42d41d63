"""Policies as people write them: `NAME`, or `NAME:option,option=value`."""

from __future__ import annotations

from typing import Any


def parse(text: str) -> tuple[str, tuple[tuple[str, Any], ...]]:
    """Name and options; an option without a value is switched on.

    >>> parse("azar:filled,floor=0.2")
    ('azar', (('filled', True), ('floor', 0.2)))
    """
    name, _, rest = text.partition(":")
    return name, tuple(_option(part) for part in rest.split(",") if part)


def _option(text: str) -> tuple[str, Any]:
    key, given, value = text.partition("=")
    if not given:
        return key, True
    for reader in (int, float):
        try:
            return key, reader(value)
        except ValueError:
            continue
    return key, {"true": True, "false": False, "none": None}.get(value.lower(), value)
