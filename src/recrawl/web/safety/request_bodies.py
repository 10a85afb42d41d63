"""Bodies of requests: read whole within a bound, and forms read out of them by hand.

A form is taken apart only if it is whole and small in every respect: fields, names and, in one with files, the head of
each part. The work is a few searches through the bytes, however they were made. Parts within parts are text like any
other.
"""

from __future__ import annotations

import re
from urllib.parse import parse_qsl

from starlette.datastructures import Headers
from starlette.types import Message, Receive

MOST_FIELDS = 200
MOST_PART_HEAD = 2048
"""Bytes of the lines before a part's content."""
URLENCODED, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"
CUT = "What was sent ended before its end, and nothing was done."

_BOUNDARY = re.compile(r";\s*boundary=(?:\"([^\"]{1,70})\"|([^\s;,\"]{1,70}))", re.IGNORECASE)
_NAME = re.compile(
    rb"\r\ncontent-disposition:[ \t]*form-data\b[^\r\n]*?;[ \t]*name=\"([^\"\r\n]{0,200})\"", re.IGNORECASE
)


class BodyError(Exception):
    """A body that is not taken.

    Parameters
        status: of the answer
        words: what is wrong with it
    """

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status, self.words = status, words


def kind_of(headers: Headers) -> str:
    """The content type without its parameters, in lower case."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def announced(headers: Headers) -> int | None:
    """How many bytes are to come; None if that is not said beforehand.

    >>> announced(Headers({"content-length": "12"})), announced(Headers({"transfer-encoding": "chunked"}))
    (12, None)
    """
    if "transfer-encoding" in headers:
        return None
    length = headers.get("content-length", "0").strip()
    return int(length) if length.isascii() and length.isdecimal() and len(length) <= 18 else None


async def read_body(receive: Receive, limit: int, length: int | None = None) -> bytes:
    """All of a body; BodyError past the limit, and where it ends early.

    Parameters
        length: as announced, if it was
    """
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise BodyError(400, CUT)
        part = message.get("body", b"")
        size += len(part)
        if size > limit:
            raise BodyError(413, "What was sent is too large.")
        parts.append(part)
        if not message.get("more_body", False):
            break
    if length is not None and size < length:
        raise BodyError(400, CUT)
    return b"".join(parts)


def replayed(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives a body already read, and then goes on as before."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


def form_fields(content_type: str, body: bytes) -> dict[str, str]:
    """The fields of a form, the last one of each name; files as text. What is no form has none.

    BodyError for a form that cannot be read, has too many fields, or ends before its end.

    >>> form_fields("application/x-www-form-urlencoded", b"a=1&b=x+y&a=2")
    {'a': '2', 'b': 'x y'}
    """
    kind = content_type.partition(";")[0].strip().lower()
    if kind == URLENCODED:
        return _urlencoded(body)
    return _multipart(content_type, body) if kind == MULTIPART else {}


def _urlencoded(body: bytes) -> dict[str, str]:
    if body.count(b"&") >= MOST_FIELDS:
        raise BodyError(400, f"A form of more than {MOST_FIELDS} fields is not read.")
    return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, errors="replace"))


def _multipart(content_type: str, body: bytes) -> dict[str, str]:
    said = _BOUNDARY.search(content_type)
    if said is None:
        raise BodyError(400, "A form in parts must say what is between them.")
    between = b"\r\n--" + (said[1] or said[2]).encode("latin-1", "replace")
    if body.count(between) > MOST_FIELDS + 1:
        raise BodyError(400, f"A form of more than {MOST_FIELDS} fields is not read.")
    pieces = (b"\r\n" + body).split(between)
    if len(pieces) < 2 or not pieces[-1].startswith(b"--"):
        raise BodyError(400, CUT)
    return dict(_field(piece) for piece in pieces[1:-1])


def _field(piece: bytes) -> tuple[str, str]:
    """Name and content of a part: a few lines, an empty one, and the content."""
    end = piece.find(b"\r\n\r\n", 0, MOST_PART_HEAD)
    name = _NAME.search(piece, 0, max(end, 0))
    if name is None:
        raise BodyError(400, "The form cannot be read.")
    return name[1].decode("utf-8", "replace"), piece[end + 4 :].decode("utf-8-sig", "replace")
