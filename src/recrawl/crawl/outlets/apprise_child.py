"""Run by its path in a process of its own, never imported: sends one message through Apprise, and says what came of it.

Nothing of recrawl is loaded here, so that a message costs a third of a second. On standard input one JSON object,
`addresses` and perhaps a `message`; on standard output a list, per address: whether Apprise knows it, how much it
takes, and, of a message, whether it arrived, with the last complaint and HTTP status. Addresses may be secrets, so
they come by no other way, and are taken out of what is said.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from typing import Any
from urllib.parse import unquote

import apprise

STATUS = re.compile(r"error=(\d{3})\b")


class Heard(logging.Handler):
    """The last complaint, and the last HTTP status in one."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.said, self.status = "", 0

    def emit(self, record: logging.LogRecord) -> None:
        """Keep it."""
        self.said = record.getMessage()
        found = STATUS.search(self.said)
        self.status = int(found[1]) if found else self.status


def without(address: str, text: str) -> str:
    """The text with all parts of an address taken out, as written and decoded: any may be a secret."""
    pieces = {piece for piece in re.split(r"[:/@?&=,#]+", address.partition("://")[2]) if len(piece) > 2}
    for piece in sorted(pieces | {unquote(piece) for piece in pieces}, key=len, reverse=True):
        text = text.replace(piece, "…")
    return text


def told(address: str, message: dict[str, str] | None, heard: Heard) -> dict[str, Any]:
    """What became of it."""
    asset = apprise.AppriseAsset(
        async_mode=False, interpret_emojis=False, app_id="recrawl", app_desc="recrawl", app_url=""
    )
    service = apprise.Apprise.instantiate(address, asset=asset, suppress_exceptions=True)
    if service is None:
        return {"known": False}
    found = {"known": True, "room": service.body_maxlen - service.title_maxlen}
    if message is None:
        return found
    if "overflow=" not in address:
        service.overflow_mode = apprise.OverflowMode.TRUNCATE
    queue = apprise.Apprise(asset=asset)
    queue.add(service)
    arrived = queue.notify(title=message["title"], body=message["body"], body_format=apprise.NotifyFormat.TEXT)
    return found | {"arrived": bool(arrived), "why": without(address, heard.said)[:200], "status": heard.status}


def main() -> None:
    """One question, one answer."""
    asked = json.load(sys.stdin)
    heard = Heard()
    logger = logging.getLogger("apprise")
    logger.addHandler(heard)
    logger.propagate = False
    json.dump([told(address, asked.get("message"), heard) for address in asked["addresses"]], sys.stdout)


if __name__ == "__main__":
    main()
