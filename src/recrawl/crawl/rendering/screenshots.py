"""How the last two states of a page looked that a browser showed."""

from __future__ import annotations

import msgspec

from recrawl.crawl.rendering.messages import MOST_PICTURE

JPEG = b"\xff\xd8\xff"


class Screenshots(msgspec.Struct, frozen=True, kw_only=True):
    """Of one page: the state before, and the latest, each a JPEG, with when it was taken (Unix seconds; 0 for none)."""

    before_at: float = 0.0
    before: bytes = b""
    after_at: float = 0.0
    after: bytes = b""

    def followed_by(self, picture: bytes, at: float) -> Screenshots:
        """With another state."""
        return Screenshots(before_at=self.after_at, before=self.after, after_at=at, after=picture)


NONE = Screenshots()
_DECODER: msgspec.msgpack.Decoder[Screenshots] = msgspec.msgpack.Decoder(Screenshots)


def is_picture(picture: bytes) -> bool:
    """Whether it is what it should be: the browser that took it had a stranger's page in it."""
    return picture.startswith(JPEG) and len(picture) <= MOST_PICTURE


def packed(screenshots: Screenshots) -> bytes:
    """As they are stored."""
    return msgspec.msgpack.encode(screenshots)


def unpacked(stored: bytes | None) -> Screenshots:
    """What is stored."""
    return _DECODER.decode(stored) if stored else NONE
