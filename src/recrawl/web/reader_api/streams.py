"""Which items are asked for: a stream, what to leave out of it, since when, and on from where.

A page goes on from the number of the last item of the one before (`c`). What is found meanwhile has a larger number, so
that nothing is missed and nothing comes twice, in either direction.
"""

from __future__ import annotations

from dataclasses import dataclass

from recrawl.store.reader_records import Reader, Stream
from recrawl.web.reader_api.parameters import AskedWrongError, Parameters
from recrawl.web.reader_api.stream_ids import StreamId, stream_id
from recrawl.web.reader_api.subscriptions import Subscriptions

LATE_S = 60.0
"""What is found is written a little later, so `ot` gives what was found shortly before as well: programs that ask for
what came since they asked last would miss it otherwise, and what they have they know by its number."""
USUAL = 20
MOST_NARROWED = 100
"""Streams that one is narrowed by: each is held against all that somebody subscribes to."""
_UNKNOWN = "no such stream: {!r}"


@dataclass(frozen=True)
class Asked:
    """A question for a page of a stream.

    Parameters
        name: of the stream, as given
        stream: what the store is asked for; None where nothing can match
    """

    name: str
    stream: Stream | None
    limit: int


def asked(reader: Reader, subscriptions: Subscriptions, given: Parameters, most: int, name: str | None = None) -> Asked:
    """What a request asks for: the stream `name`, or `s`."""
    text = name or given.first("s", "user/-/state/com.google/reading-list")
    limit = given.number("n", USUAL, most)
    narrowed = _Narrowed(subscriptions)
    narrowed.begin(known(reader, text))
    kept, left_out = given.all("it"), given.all("xt")
    if len(kept) + len(left_out) > MOST_NARROWED:
        raise AskedWrongError(f"it and xt must name at most {MOST_NARROWED} streams", 413)
    for each in kept:
        narrowed.keep(known(reader, each))
    for each in left_out:
        narrowed.leave_out(known(reader, each))
    stream = narrowed.stream
    since = given.time("ot")
    stream.since, stream.until = None if since is None else since - LATE_S, given.time("nt")
    stream.oldest_first = given.first("r") == "o"
    stream.after = _continued(given.first("c"))
    stream.limit = limit + 1
    return Asked(text, None if narrowed.nothing else stream, limit)


def known(reader: Reader, text: str) -> StreamId:
    """A stream of this reader's; AskedWrongError for any other."""
    found = stream_id(text, (str(reader.id), reader.name))
    if found is None:
        raise AskedWrongError(_UNKNOWN.format(text[:200]), 404)
    return found


class _Narrowed:
    """A stream that gets narrower."""

    def __init__(self, subscriptions: Subscriptions) -> None:
        self._subscriptions = subscriptions
        self.stream = Stream()
        self.nothing = False

    def begin(self, id: StreamId) -> None:
        """All of a stream."""
        if id.kind == "label":
            self.stream.label = id.name
            self.stream.sources = self._subscriptions.in_label(id.name)
        else:
            self.keep(id)

    def keep(self, id: StreamId) -> None:
        """Nothing but what is in this one, too."""
        if id.kind == "state":
            self._keep_state(id.name)
        else:
            self._among(set(self._sources(id)))

    def _keep_state(self, name: str) -> None:
        if name in ("read", "kept-unread", "unread"):
            self._read(name == "read")
        elif name == "starred":
            self.nothing |= self.stream.starred is False
            self.stream.starred = True
        elif name != "reading-list":  # what nobody has: broadcast, like and others
            self.nothing = True

    def leave_out(self, id: StreamId) -> None:
        """Nothing of this one."""
        if id.kind == "state":
            if id.name in ("read", "kept-unread", "unread"):
                self._read(id.name != "read")
            elif id.name == "starred":
                self.nothing |= self.stream.starred is True
                self.stream.starred = False
            elif id.name == "reading-list":
                self.nothing = True
            return
        self._among({each.source for each in self._subscriptions.all} - set(self._sources(id)))

    def _read(self, wanted: bool) -> None:
        self.nothing |= self.stream.read is (not wanted)
        self.stream.read = wanted

    def _sources(self, id: StreamId) -> list[int]:
        if id.kind == "label":
            return self._subscriptions.in_label(id.name)
        feed = self._subscriptions.feed(id.name)
        return [feed.source] if feed is not None else []

    def _among(self, sources: set[int]) -> None:
        before = self.stream.sources
        self.stream.sources = sorted(sources if before is None else sources.intersection(before))


def _continued(text: str) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) <= 20):
        raise AskedWrongError(f"c must be a continuation as given, not {text[:50]!r}")
    return int(text)
