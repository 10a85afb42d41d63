"""Bodies of requests: read whole within a bound, and forms read out of them by hand."""

from __future__ import annotations

from email.parser import BytesParser
from email.policy import HTTP
from urllib.parse import parse_qsl

from starlette.types import Message, Receive

MOST_FIELDS = 200


class TooLargeError(Exception):
    """A body longer than allowed."""


async def read_body(receive: Receive, limit: int) -> bytes:
    """All of a body; TooLargeError past the limit."""
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return b"".join(parts)
        part = message.get("body", b"")
        size += len(part)
        if size > limit:
            raise TooLargeError
        parts.append(part)
        if not message.get("more_body", False):
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

    >>> form_fields("application/x-www-form-urlencoded", b"a=1&b=x+y&a=2")
    {'a': '2', 'b': 'x y'}
    """
    kind = content_type.partition(";")[0].strip().lower()
    if kind == "application/x-www-form-urlencoded":
        return _urlencoded(body)
    return _multipart(content_type, body) if kind == "multipart/form-data" else {}


def _urlencoded(body: bytes) -> dict[str, str]:
    try:
        text = body.decode("utf-8", "replace")
        return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="replace"))
    except ValueError:
        return {}


def _multipart(content_type: str, body: bytes) -> dict[str, str]:
    head = b"Content-Type: " + content_type.encode("latin-1", "replace").replace(b"\n", b"").replace(b"\r", b"")
    try:
        message = BytesParser(policy=HTTP).parsebytes(head + b"\r\n\r\n" + body)
        parts = list(message.iter_parts()) if message.is_multipart() else []
    except (ValueError, LookupError, AttributeError, KeyError, IndexError, TypeError):
        return {}
    fields = {}
    for part in parts[:MOST_FIELDS]:
        try:
            name = part.get_param("name", header="content-disposition")
            data = part.get_payload(decode=True)
        except (ValueError, LookupError, AttributeError, TypeError):
            continue
        if isinstance(name, str) and isinstance(data, bytes):
            fields[name] = data.decode("utf-8-sig", "replace")
    return fields
