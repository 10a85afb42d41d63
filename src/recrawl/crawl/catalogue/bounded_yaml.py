"""YAML of strangers: read event by event, so that nothing in it can nest, repeat or make objects without bound.

Scalars, lists and mappings, anchors and `<<`; what an alias stands for is shared and not copied.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from recrawl.errors import ParameterError, require

LARGEST, DEEPEST, MOST_NODES, MOST_ALIASES = 2 * 2**20, 20, 100_000, 2_000
_SPOKEN: dict[str, Any] = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False,
                           "null": None, "~": None, "": None}  # fmt: skip


def documents(text: str, name: str) -> Iterator[tuple[int, Any]]:
    """Each document with the line it begins on; ParameterError, with the list's name, for what is no YAML."""
    yaml = require("yaml", "a list in YAML", "yaml")
    if len(text) > LARGEST:
        raise ParameterError(name, f"YAML of at most {LARGEST // 2**20} MiB", f"{len(text):,} characters")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        yield from _Reader(yaml, name).documents(yaml.parse(text, Loader=loader))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1} of {name}" if mark is not None else name
        raise ParameterError(where, "YAML", str(getattr(error, "problem", None) or "something else")) from error


class _Reader:
    """Keeps what is open, outermost first."""

    def __init__(self, yaml: Any, name: str) -> None:
        self._yaml, self._name = yaml, name
        self._nodes = self._aliases = 0

    def documents(self, events: Iterator[Any]) -> Iterator[tuple[int, Any]]:
        yaml = self._yaml
        line, whole, anchors = 1, list[Any](), dict[str, Any]()
        opened: list[tuple[Any, list[Any]]] = []
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                line, whole, anchors = event.end_mark.line + 1, [], {}
                opened = [(None, whole)]
            elif isinstance(event, yaml.DocumentEndEvent):
                yield line, whole[0] if whole else None
            elif isinstance(event, (yaml.SequenceStartEvent, yaml.MappingStartEvent)):
                if not whole and len(opened) == 1:
                    line = event.start_mark.line + 1
                self._count(event, len(opened))
                opened.append((event, []))
            elif isinstance(event, (yaml.SequenceEndEvent, yaml.MappingEndEvent)):
                start, parts = opened.pop()
                value = parts if isinstance(event, yaml.SequenceEndEvent) else _mapping(parts)
                _put(value, start.anchor, opened, anchors)
            elif isinstance(event, yaml.ScalarEvent):
                self._count(event, len(opened))
                _put(_scalar(event), event.anchor, opened, anchors)
            elif isinstance(event, yaml.AliasEvent):
                self._count(event, len(opened), alias=True)
                _put(anchors.get(event.anchor), None, opened, anchors)

    def _count(self, event: Any, depth: int, alias: bool = False) -> None:
        self._nodes += 1
        self._aliases += alias
        if depth > DEEPEST or self._nodes > MOST_NODES or self._aliases > MOST_ALIASES:
            raise ParameterError(
                f"line {event.start_mark.line + 1} of {self._name}",
                f"YAML no deeper than {DEEPEST}, with at most {MOST_NODES:,} values and {MOST_ALIASES:,} aliases",
                "more",
            )


def _put(value: Any, anchor: str | None, opened: list[tuple[Any, list[Any]]], anchors: dict[str, Any]) -> None:
    if anchor is not None:
        anchors[anchor] = value
    opened[-1][1].append(value)


def _scalar(event: Any) -> Any:
    """Text, but for what is plainly a truth value or nothing; a number stays as it is written."""
    return _SPOKEN.get(event.value.lower(), event.value) if event.implicit[0] else event.value


def _mapping(parts: list[Any]) -> dict[str, Any]:
    """Keys and values in turn; what is merged counts less than what is said here."""
    found: dict[str, Any] = {}
    merged: dict[str, Any] = {}
    for key, value in zip(parts[::2], parts[1::2], strict=True):
        if key == "<<":
            for each in value if isinstance(value, list) else [value]:
                if isinstance(each, dict):
                    merged = {**each, **merged}
        elif isinstance(key, (str, bool)) or key is None:
            found[str(key)] = value
    return {**merged, **found} if merged else found
