"""What people are told of events: a message about one in full, or about many in a line each.

Everything here is bounded, however much was found: of many events the first are told and the others counted. Text from
the web stays text: names that services take for a call to everybody are broken.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from recrawl.config.notice_template import filled
from recrawl.config.notification_settings import Notification
from recrawl.crawl.reading.diffs import added_lines, without_noise
from recrawl.store.records import Event

SHOWN = 20
"""Of the events in one message; the others are counted."""
LONGEST_TITLE, LONGEST_TEXT, LONGEST_BODY = 200, 2000, 8000
_WHAT = {"item": "New", "change": "Changed", "moved": "Moved", "retired": "Gone"}
_COUNTED = {"item": ("new item", "new items"), "change": ("changed page", "changed pages"),
            "source": ("source moved or gone", "sources moved or gone")}  # fmt: skip
_CALL = re.compile(r"(?<=@)(?=(?:everyone|here|channel|all)\b)|(?<=<)(?=[@!#])", re.IGNORECASE)
_BREAK = "\u2060"
"""A word joiner: it is not seen, and no service knows the name any more."""


class Message(NamedTuple):
    """What is sent."""

    title: str
    body: str


class _Told(msgspec.Struct, frozen=True):
    """The body of an event, as far as people are told of it."""

    id: str = ""
    type: str = ""
    at: float = 0.0
    source: dict[str, Any] = {}
    worth: float = 0.0
    item: dict[str, Any] = {}
    diff: str = ""
    what: str = ""
    note: str = ""
    number: dict[str, Any] = {}
    condition: str = ""
    to: tuple[str, ...] = ()


_told = msgspec.json.Decoder(_Told)


class Waiting:
    """What waits to be told to one outlet: the first events in full, of the others how many.

    Parameters
        name: of the outlet
        everybody: the names of all outlets of this kind; one who names none of them names nobody
    """

    def __init__(self, name: str, settings: Notification, everybody: Collection[str]) -> None:
        self._name, self._settings, self._everybody = name, settings, frozenset(everybody)
        self.clear()

    def clear(self) -> None:
        """They were told."""
        self.first: list[_Told] = []
        self.counts: Counter[str] = Counter()
        self.first_seq = self.last_seq = 0
        self.since = 0.0

    @property
    def total(self) -> int:
        """How many events."""
        return self.counts.total()

    def take(self, events: Sequence[Event]) -> None:
        """Those of them that are meant for the outlet."""
        for event in events:
            told = _read(event)
            if not self._is_for_us(told):
                continue
            if not self.total:
                self.first_seq, self.since = event.seq, event.at
            self.last_seq = event.seq
            self.counts[told.type] += 1
            if len(self.first) < SHOWN:
                self.first.append(told)

    def _is_for_us(self, told: _Told) -> bool:
        if told.type != "source" and not told.worth > 0.0:
            return False  # the backlog of a first visit is no news
        named = self._everybody.intersection(told.to)
        return self._name in named if named else not self._settings.named_only

    def message(self, longest: int = LONGEST_BODY, *, bare: bool = False) -> Message:
        """One about all of them; a bare one has nothing of the web in it."""
        if bare:
            text = f"What was found could not be shown here: see `recrawl items`.\n\nrecrawl {self._delivery}"
            return Message(self._counted, text[:longest])
        if self.total == 1:
            return self._about_one(longest)
        return Message(self._counted, self._lines(longest))

    @property
    def _delivery(self) -> str:
        return str(self.first_seq) if self.total == 1 else f"{self.first_seq}-{self.last_seq}"

    @property
    def _counted(self) -> str:
        parts = (f"{count:,} {_COUNTED[kind][count != 1]}" for kind, count in self.counts.items() if kind in _COUNTED)
        return ", ".join(parts) or "recrawl"

    def _about_one(self, longest: int) -> Message:
        values = fields(self.first[0], self._delivery)
        title = " ".join(filled(self._settings.title, values).split())[:LONGEST_TITLE]
        return Message(title or self._counted, _cut(_tidy(filled(self._settings.body, values)), longest))

    def _lines(self, longest: int) -> str:
        ending = f"\n\nrecrawl {self._delivery}"
        room, told, parts = longest - len(ending) - len("\n\nand 1,000,000,000 more"), 0, list[str]()
        for each in self.first:
            text = _cut(_tidy(filled(self._settings.line, fields(each, self._delivery))), LONGEST_TEXT)
            if len(text) + 2 > room:
                break
            room, told = room - len(text) - 2, told + 1
            parts.append(text)
        if self.total > told:
            parts.append(f"and {self.total - told:,} more" if told else f"{self.total:,} in all")
        return "\n\n".join(parts) + ending


def fields(told: _Told, delivery: str) -> dict[str, str]:
    """By the names of `config.notice_template.FIELDS`; from the web, so nothing in them is ever looked into.

    >>> fields(_Told(type="item", item={"title": "@everyone: a < b"}), "7")["title"].replace(_BREAK, "|")
    '@|everyone: a < b'
    """
    source = str(told.source.get("title") or told.source.get("url") or "")
    added, removed = added_lines(told.diff), "\n".join(_removed(told.diff))
    texts = {"item": str(told.item.get("summary") or ""), "source": told.note}
    values = {
        "what": _WHAT.get(told.what or told.type, told.type),
        "title": str(told.item.get("title") or source),
        "link": str(told.item.get("link") or told.source.get("url") or ""),
        "text": texts.get(told.type, "\n".join(_changes(told.diff))),
        "added": added,
        "removed": removed,
        "diff": told.diff,
        "number": str(told.number.get("said", "")),
        "condition": told.condition,
        "source": source,
        "url": str(told.source.get("url") or ""),
        "tags": ", ".join(map(str, told.source.get("tags") or ())),
        "at": _moment(told.at),
        "published": _moment(told.item.get("published")),
        "worth": f"{told.worth:.3g}",
        "id": told.id,
        "delivery": delivery,
    }
    return {name: _CALL.sub(_BREAK, _cut(value, LONGEST_TEXT)) for name, value in values.items()}


def _read(event: Event) -> _Told:
    try:
        return _told.decode(event.body)
    except msgspec.MsgspecError:  # of another version: told without what is not understood
        return _Told(id=f"event {event.seq}", type="source", at=event.at)


def _removed(diff: str) -> Iterator[str]:
    return (line[1:] for line in without_noise(diff).split("\n") if line.startswith("-"))


def _changes(diff: str) -> Iterator[str]:
    """The lines that went and came, with their signs; or the sentence that stands for them."""
    lines = without_noise(diff).split("\n")
    signed = [f"{line[0]} {line[1:]}" for line in lines if line[:1] in ("+", "-")]
    return iter(signed or lines)


def _moment(at: float | None) -> str:
    try:
        return "" if at is None else datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError, OSError, TypeError):
        return ""


def _tidy(text: str) -> str:
    """Without the empty lines that fields without a value leave."""
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: max(longest - 1, 0)].rstrip() + "…"
