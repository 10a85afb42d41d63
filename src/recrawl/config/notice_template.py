"""Texts of notifications with named fields: `{title}` stands for what is said of an event, `{{` for a brace.

There is nothing else: no attributes, no formats, no code. A field that nobody knows is an error where the settings are
read, so that none is found out by a message that does not come.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from recrawl.arguments import meant
from recrawl.errors import ParameterError

FIELDS: Mapping[str, str] = {
    "what": "New, Changed, Moved or Gone",
    "title": "of the item; of a page, its title or address",
    "link": "of the item; of a page, its address",
    "text": "the summary of an item; the lines that came and went of a change; the note of a source",
    "added": "of a change, the lines that came",
    "removed": "of a change, the lines that went",
    "diff": "of a change, its unified diff",
    "number": "of a change, the watched number with its unit, as the page has it",
    "condition": "of a change, the condition that is met",
    "source": "title of the source, or its address",
    "url": "address of the source",
    "tags": "of the source, with commas between",
    "at": "when it was found, local time",
    "published": "when the item was published, local time",
    "worth": "interest captured by finding it",
    "id": "of the event: the same if it is repeated",
    "delivery": "numbers of the events in the message: the same if it is repeated",
}
LONGEST = 4000
_PIECE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


def template(name: str, text: str) -> str:
    """One whose fields are all known, as it was written."""
    if len(text) > LONGEST:
        raise ParameterError(name, f"a text of at most {LONGEST} characters", len(text))
    for piece in _PIECE.finditer(text):
        field = piece[1]
        if piece[0] in ("{{", "}}") or field in FIELDS:
            continue
        if field is None:
            raise ParameterError(name, "a text in which a brace is written twice ({{ or }}) or is a field", piece[0])
        expected = "a text with fields of " + ", ".join(f"{{{each}}}" for each in FIELDS)
        raise ParameterError(name, expected, f"{{{field[:40]}}}" + meant(field, list(FIELDS)))
    return text


def filled(text: str, values: Mapping[str, str]) -> str:
    """The text with the values in place of its fields; a value is never looked into.

    >>> filled("{title} {{kept}}", {"title": "{link}"})
    '{link} {kept}'
    """
    return _PIECE.sub(lambda piece: values[piece[1]] if piece[1] is not None else piece[0][0], text)
