"""What is known of the regions of a page: how often each changed, and whether changes of it are noise.

A region is *restless* if it has changed at nearly every comparison lately: after `LEAST` changes, at a share of
`RESTLESS` or more of comparisons, in a count that forgets (`MEMORY` a comparison); and until that share falls below
`RESTS`.

It *flips* if it keeps going back to what it said before: the two headings of a test, a notice that every other reader
gets. After `FLIPS` such changes in a row, at a share of `FLIPPING` or more of comparisons in a count that forgets
slowly (`LONG_MEMORY`), what it said before is noise. Something new never is. What is sold out and back now and then is
no flipping as long as it is visited often enough to stand still in between, and by then its owner was told of it.

Of a region that changes by the *order* of its lines, another line counts, as long as at least half of its changes (in
the count that forgets) were nothing but another order.

A line may stand still while everything around it changes: "In stock", between a price and an advertisement. Of a region
of some lines, each *place* is judged by itself, too. One is firm if its line was steady when the region came to be, or
has stood through `FIRM_AFTER` changes since, and until it changes as the others do; what changes there counts.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from hashlib import blake2b
from operator import ne

import msgspec

LEAST, RESTLESS, RESTS = 4, 0.8, 0.5
MEMORY = 0.8
"""What a comparison still counts after another one: about the last five tell."""
FLIPS, FLIPPING = 8, 0.2
LONG_MEMORY = 0.95
MOST_STATES = 6
"""That a region is known to go back to."""
FIRM_AFTER, MOST_PLACES = 5, 16
"""Changes of a region through which a line has stood that counts by itself, and lines of one of which that is known."""
UNKNOWN = -1
NO_TEXT = 0
MARK_BYTES = 7
"""Of a fingerprint."""


class Region(msgspec.Struct, array_like=True, omit_defaults=True):
    """What is known of the text between two anchors.

    Parameters
        before, after: fingerprints of the anchors; 0 for the beginning and the end of the page
        shown: what it said last, shortened
        seen, moved: comparisons and changes, as far as they are not forgotten
        changes: how often it changed since it last rested
        changed: the number of the visit that found it changed last
        restless: whether all changes of it are noise
        most: lines it had at most
        lead, trail: how many of its first and last words have always been the same, if it is one line
        broken: whether these were others at its last change
        soonest_s: the shortest time in which it changed, seconds
        states: fingerprints of what it said, the latest first
        returns: changes in a row that led back to one of these
        long_seen, long_moved: comparisons and changes, forgotten slowly
        kept: whether lines have stood in it that always count
        places: of each of its lines, if they are some: how often lately it changed, if it is firm; else, below 0, how
            many changes it has yet to stand through
        shuffled: changes that were nothing but another order, as far as they are not forgotten
    """

    before: int
    after: int
    shown: str = ""
    seen: float = 0.0
    moved: float = 0.0
    changes: int = 0
    changed: int = 0
    restless: bool = False
    most: int = 0
    lead: int = UNKNOWN
    trail: int = UNKNOWN
    broken: bool = False
    soonest_s: float = 0.0
    states: list[int] = []
    returns: int = 0
    long_seen: float = 0.0
    long_moved: float = 0.0
    kept: bool = False
    places: list[int] = []
    shuffled: float = 0.0

    @property
    def shuffles(self) -> bool:
        """Whether it is its order that changes."""
        return self.moved > 0.0 and self.shuffled >= RESTS * self.moved

    @property
    def share(self) -> float:
        """Of comparisons that found it changed."""
        return self.moved / self.seen if self.seen else 0.0

    @property
    def flips(self) -> bool:
        """Whether it is noise that it goes back to what it said before."""
        return self.returns >= FLIPS and self.long_moved >= FLIPPING * self.long_seen

    def pass_by(self, comparisons: int) -> None:
        """It stood still so often."""
        if not comparisons:
            return
        self.stay(comparisons)
        kept = LONG_MEMORY**comparisons
        self.long_moved *= kept
        self.long_seen = self.long_seen * kept + (1.0 - kept) / (1.0 - LONG_MEMORY)

    def stay(self, comparisons: int = 1) -> None:
        """So often, less than half of it went."""
        kept = MEMORY**comparisons
        self.moved *= kept
        self.shuffled *= kept
        self.seen = self.seen * kept + (1.0 - kept) / (1.0 - MEMORY)
        if self.share < RESTS:
            self.restless, self.changes = False, 0

    def note_turnover(self, gap_s: float, shuffled: bool = False) -> None:
        """A comparison found at least half of it gone, or all of it in another order."""
        self.moved, self.seen = self.moved * MEMORY + 1.0, self.seen * MEMORY + 1.0
        self.shuffled = self.shuffled * MEMORY + shuffled
        self.changes += 1
        self.soonest_s = min(self.soonest_s or gap_s, gap_s)
        if self.share < RESTS:
            self.changes = 1
        if self.changes >= LEAST and self.share >= RESTLESS:
            self.restless = True

    def note_places(self, went: Sequence[int], came: Sequence[int], young: Collection[int]) -> bool:
        """A comparison found these lines of it to be those; whether one at a firm place went."""
        if not 1 < len(went) <= MOST_PLACES:
            self.places = []
            return False
        if len(self.places) != len(went):
            self.places = [-FIRM_AFTER if mark in young else 0 for mark in went]
        gone = any(place >= 0 and mark not in came for place, mark in zip(self.places, went, strict=True))
        if len(came) == len(went):
            moved = map(ne, went, came)
            self.places = [self._next(*each) for each in zip(self.places, moved, strict=True)]
        else:
            known = dict(zip(went, self.places, strict=True))
            self.places = [known.get(mark, -FIRM_AFTER) for mark in came] if 1 < len(came) <= MOST_PLACES else []
        return gone

    def moving(self, lines: range) -> Sequence[int]:
        """Of the lines that stand in it now, those of which changes are noise."""
        if not self.restless or len(self.places) != len(lines):
            return lines
        return [line for line, place in zip(lines, self.places, strict=True) if place < 0]

    def _next(self, place: int, moved: bool) -> int:
        if not moved:
            # One that was not firm before has to prove itself: it is believed half as often.
            return max(place - 1, 0) if place >= 0 else place + 1 or LEAST // 2
        return place + 1 if 0 <= place < LEAST - 1 and self.restless else -FIRM_AFTER

    def note_state(self, before: int, now: int, visit: int) -> bool:
        """A comparison found it saying something else; whether it had said that before."""
        known = now in self.states
        self.returns = self.returns + 1 if known else 0
        others = [each for each in (before, *self.states) if each != now]
        self.states = list(dict.fromkeys([now, *others]))[:MOST_STATES]
        self.long_moved = self.long_moved * LONG_MEMORY + 1.0
        self.long_seen = self.long_seen * LONG_MEMORY + 1.0
        self.changed = visit
        return known


class Record(msgspec.Struct, array_like=True):
    """What is known of a page, as it is stored.

    Parameters
        visits: the number of the visit it was written at
        regions: those that changed
        young: the visits at which lines came that are not steady yet, by fingerprint
    """

    visits: int = 0
    regions: list[Region] = []
    young: dict[int, int] = {}

    @property
    def noisy(self) -> list[Region]:
        """Those of which changes are noise."""
        return [region for region in self.regions if not region.kept and (region.restless or region.flips)]


_encoder, _decoder = msgspec.msgpack.Encoder(), msgspec.msgpack.Decoder(Record)


def packed(record: Record) -> bytes:
    """As it is stored."""
    return _encoder.encode(record)


def unpacked(stored: bytes | None) -> Record:
    """As it was stored; an empty one if there is none, or of another version."""
    if not stored:
        return Record()
    try:
        return _decoder.decode(stored)
    except msgspec.MsgspecError:
        return Record()


def state_of(marks: Sequence[int]) -> int:
    """A fingerprint of lines by theirs."""
    if not marks:
        return NO_TEXT
    written = b"".join(mark.to_bytes(MARK_BYTES, "big") for mark in marks)
    return int.from_bytes(blake2b(written, digest_size=MARK_BYTES).digest(), "big") or 1
