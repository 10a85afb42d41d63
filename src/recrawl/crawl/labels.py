"""What a document's header and its own first bytes say its encoding is.

HTML says it in a `meta` element, which is looked for as browsers do: by a scan of bytes that knows comments, tags and
quotes but no tree, and that gives up where the bytes end inside a tag. XML says it in its declaration. A document that
could be read so far is not UTF-16, whatever it says: it is taken for UTF-8.
"""

from __future__ import annotations

import re

from recrawl.crawl.charsets import encoding_of

LOOKED_AT = 16_384
"""Bytes of a document; browsers look at 1024 first, but change their mind later."""
LONGEST_HEADER = 1000
_CHARSET = r"charset[\t\n\f\r ]*=[\t\n\f\r ]*(?:\"([^\"]*)\"|'([^']*)'|([^\"'\t\n\f\r ;,][^\t\n\f\r ;,]*))"
_IN_HEADER = re.compile(_CHARSET, re.IGNORECASE)
_IN_CONTENT = re.compile(_CHARSET.encode(), re.IGNORECASE)
_XML = re.compile(rb"<\?xml[^>]{0,200}?encoding\s{0,9}=\s{0,9}[\"']([A-Za-z0-9_:.+ -]{1,40})", re.IGNORECASE)
_MARKUP = re.compile(rb"<(?:(!--)|(meta)[\t\n\f\r /]|/?[a-z][^\t\n\f\r >]*|([!/?]))", re.IGNORECASE)
_ATTRIBUTE = re.compile(rb"[\t\n\f\r /]*(?:(>)|([^\t\n\f\r />][^\t\n\f\r />=]*)[\t\n\f\r ]*)")
_VALUE = re.compile(rb"=[\t\n\f\r ]*(?:\"([^\"]*)\"|'([^']*)'|(?![\"'])([^\t\n\f\r >]*))")


def of_header(content_type: str) -> str | None:
    """The encoding a Content-Type names; None if it names none that is known.

    >>> of_header('text/html; charset="Latin1"'), of_header("text/html")
    ('windows-1252', None)
    """
    said = _IN_HEADER.search(content_type[:LONGEST_HEADER])
    return None if said is None else encoding_of(said[1] or said[2] or said[3] or "")


def of_document(body: bytes) -> str | None:
    """The encoding a document itself names; None if it names none that is known."""
    if (declared := _XML.search(body, 0, 2048)) and (name := encoding_of(declared[1].decode("ascii"))):
        return _readable(name)
    head, place = body[:LOOKED_AT], 0
    while found := _MARKUP.search(head, place):
        comment, meta, other = found.groups()
        if comment or other:
            place = head.find(b"-->" if comment else b">", found.start() + 2) + 1
            if not place:
                return None
            continue
        attributes, place = _attributes(head, found.end())
        if not place:
            return None
        if meta and (name := _of_meta(attributes)):
            return _readable(name)
    return None


def _of_meta(attributes: dict[bytes, bytes]) -> str | None:
    if b"charset" in attributes:
        return _named(attributes[b"charset"])
    if attributes.get(b"http-equiv", b"").lower() != b"content-type":
        return None
    said = _IN_CONTENT.search(attributes.get(b"content", b""))
    return None if said is None else _named(said[1] or said[2] or said[3] or b"")


def _attributes(head: bytes, place: int) -> tuple[dict[bytes, bytes], int]:
    """The attributes of a tag, the first of each name, and where it ends; 0 where the bytes end first."""
    attributes: dict[bytes, bytes] = {}
    while found := _ATTRIBUTE.match(head, place):
        place = found.end()
        if found[1]:
            return attributes, place
        value = b""
        if head[place : place + 1] == b"=":
            said = _VALUE.match(head, place)
            if said is None:
                break
            value, place = said[1] or said[2] or said[3] or b"", said.end()
        attributes.setdefault(found[2].lower(), value)
    return attributes, 0


def _named(label: bytes) -> str | None:
    return encoding_of(label[:100].decode("ascii", "replace"))


def _readable(name: str) -> str:
    """Of a declaration that could be read byte by byte."""
    return {"utf-16be": "utf-8", "utf-16le": "utf-8", "x-user-defined": "windows-1252"}.get(name, name)
