"""Telling people, through Apprise: mail, Slack, Telegram, ntfy and a hundred other services, by one kind of address.

Apprise blocks, waits in threads that nobody can end, and writes addresses into its log. So each message has a process
of its own (`apprise_child`), which is killed when its time is over, and says nothing that stands in the address.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Collection, Mapping
from importlib.util import find_spec
from pathlib import Path

import msgspec

from recrawl.config.digest_times import digest_after
from recrawl.config.notification_settings import Notification, address
from recrawl.config.quiet_hours import QuietHours, quiet_until
from recrawl.crawl.outlets.base import NotDeliveredError, RefusedError
from recrawl.crawl.outlets.child import ChildTimeoutError, ran
from recrawl.crawl.outlets.notices import LONGEST_BODY, Message, Waiting
from recrawl.crawl.outlets.webhook import REFUSALS, TRIES
from recrawl.errors import MissingExtraError, ParameterError
from recrawl.redaction import only_host, only_scheme

TIMEOUT_S = 60.0
BARE_FROM = 3
"""Refusals of a message after which it is tried without anything from the web in it."""
SPARE = 100
"""Characters that a service may need beside title and text."""
LEAST_ROOM = 200
_CHILD = [sys.executable, "-P", str(Path(__file__).with_name("apprise_child.py"))]


class Service(msgspec.Struct, frozen=True):
    """What the other process says of an address, and of a message sent there."""

    known: bool = False
    room: int = LONGEST_BODY
    arrived: bool = False
    why: str = ""
    status: int = 0


class NotificationOutlet:
    """One `[notify.NAME]`: what waits is told in one message, as soon as it may be.

    Parameters
        to: an address of Apprise
        everybody: the names of all of them
        room: characters that a message may have, by `services`
    """

    def __init__(
        self,
        name: str,
        to: str,
        settings: Notification,
        everybody: Collection[str],
        room: int = LONGEST_BODY,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self.name = f"notify:{name}"
        self.waiting = Waiting(name, settings, everybody)
        self._to, self._timeout_s = to, timeout_s
        self._room = max(min(room - SPARE, LONGEST_BODY), LEAST_ROOM)
        self._digest_after = digest_after("digest", settings.digest) if settings.digest else None
        self._quiet = [QuietHours.parse("quiet_hours", text) for text in settings.quiet_hours]

    def due(self, told_at: float, now: float) -> float:
        """When what waits may be told, Unix seconds; `told_at` is when something was told last."""
        moment = self.waiting.since
        if self._digest_after is not None:
            moment = self._digest_after(max(moment, told_at))
        return quiet_until(self._quiet, max(moment, now)) if self._quiet else moment

    async def tell(self, refused: int = 0) -> None:
        """Tell all that waits; NotDeliveredError if it did not arrive. `refused`: how often it was refused before."""
        await self.send(self.waiting.message(self._room, bare=refused >= BARE_FROM))

    async def send(self, message: Message) -> None:
        """Send one message."""
        asked = msgspec.json.encode({"addresses": [self._to], "message": message._asdict()})
        try:
            _, said = await ran(_CHILD, asked, self._timeout_s, shown=False)
        except ChildTimeoutError:
            raise NotDeliveredError(f"no answer within {self._timeout_s:g} s") from None
        except OSError as error:
            raise NotDeliveredError(f"no process for it: {error.strerror or error}") from error
        (service,) = _answer(said, 1)
        if service.arrived:
            return
        why = " ".join(only_host(service.why).split()) or "not taken"
        why = "".join(letter for letter in why if letter.isprintable())
        raise RefusedError(why, TRIES) if service.status in REFUSALS else NotDeliveredError(why)

    async def close(self) -> None:
        """Nothing is held between messages."""


def services(addresses: Mapping[str, str]) -> list[Service]:
    """What Apprise knows of addresses, by the names of their outlets; ParameterError names one that it does not know.

    It is asked while the program starts, and blocks.
    """
    for name, to in addresses.items():
        address(f"notify.{name}.to", to)
    if find_spec("apprise") is None:
        raise MissingExtraError(f"[notify.{next(iter(addresses))}]", "notify")
    asked = msgspec.json.encode({"addresses": list(addresses.values())})
    ended = subprocess.run(_CHILD, input=asked, capture_output=True, timeout=TIMEOUT_S, check=False)
    found = _answer(ended.stdout, len(addresses))
    for (name, to), service in zip(addresses.items(), found, strict=True):
        if not service.known:
            expected = "an address that Apprise knows, with all its parts (docs/events.md, Notifications)"
            raise ParameterError(f"notify.{name}.to", expected, only_scheme(to))
    return found


def _answer(said: bytes, count: int) -> list[Service]:
    try:
        found = msgspec.json.decode(said, type=list[Service])
    except msgspec.MsgspecError:
        found = []
    return found if len(found) == count else [Service(known=True, why="its process broke down")] * count
