"""Text of an element of a feed, however its publisher put it there: as text, markup, references or base64.

Markup within a line leaves no space (`H<sub>2</sub>O` is H2O), any other does. References to characters that a document
type elsewhere would define (`&eacute;`) are what HTML says they are. Never the whole of a giant.
"""

from __future__ import annotations

import binascii
import codecs
from collections.abc import Iterator
from html import unescape
from itertools import islice
from typing import Any

from lxml import etree

from recrawl.crawl.text import INLINE

MOST_CHARACTERS = 20_000
MOST_PIECES = 5_000
_UNSEEN = frozenset(("script", "style", "template", "noscript", "head"))


def text_of(element: Any) -> str | None:
    """Its text, that of its children included (Atom's xhtml)."""
    if len(element) == 0:
        return element.text
    parts, size = [], 0
    for part in islice(_pieces(element), MOST_PIECES):
        parts.append(part)
        size += len(part)
        if size > MOST_CHARACTERS:
            break
    return "".join(parts)


def words_of(element: Any, binary: bool = False) -> str | None:
    """Text for people: as `text_of`, unpacked where it is base64, as Atom says of all types that are no text.

    Parameters
        binary: it may be anything (Atom's content): what does not unpack to text is none
    """
    kind, text = element.get("type"), text_of(element)
    typed = kind is not None and "/" in kind and not kind.startswith("text/") and not kind.endswith("xml")
    if not text or not (typed or element.get("mode") == "base64"):
        return text
    return _unpacked(text) or (None if binary else text)


def _pieces(element: Any) -> Iterator[str]:
    if element.text:
        yield element.text
    for child in element:
        if child.tag is etree.Entity:
            yield unescape(child.text)
        elif isinstance(child.tag, str):
            name = child.tag.rpartition("}")[2].rpartition(":")[2].lower()  # a prefix nobody declared stays in the name
            space = "" if name in INLINE else " "
            yield space
            if name not in _UNSEEN:
                yield from _pieces(child)
            yield space
        if child.tail:
            yield child.tail


def _unpacked(text: str) -> str | None:
    packed = "".join(text[:MOST_CHARACTERS].split())
    try:
        whole = binascii.a2b_base64(packed[: len(packed) // 4 * 4])
        return codecs.getincrementaldecoder("utf-8")().decode(whole)  # its last character may be cut
    except ValueError:
        return None
