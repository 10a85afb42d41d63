"""Text that changes at nearly every visit while the rest of its page stands still: learned, and forgotten again.

An advertisement, "876 comments", "others also read": such text says nothing when it changes. Which text that is, only
its own history tells, region by region.

*Regions.* A line is *steady* unless it came lately. Steady lines that occur once, in the order of both texts, are
*anchors*; what stands between two neighbouring anchors is a region, known again by them, wherever on the page it is.
Where one of the two went, the other is enough, and the region gets the new one.

*Learning.* A comparison of two visits turns a region over if at least half of its lines went, or all came in another
order: a list that grows at one end is news, not noise. A region that is turned over at nearly every comparison is
restless, and one that keeps going back to what it said before flips (`regions`). Visits without any change count,
though nothing is looked at or stored for them: the number of the visit tells how many there were.

*What still counts in a restless region*: a steady line that goes; another line at a place where one stood still between
those that change, or in one that only changed its order (`regions`); more lines than it ever had; in a region of one
line, another word where its first or last words have always been the same. And where restless regions are more than
half of a page, nothing of it is restless: then it is what the page is about.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import accumulate, pairwise
from operator import itemgetter
from typing import NamedTuple

from msgspec import structs

from recrawl.crawl.reading.regions import MARK_BYTES, UNKNOWN, Record, Region, packed, state_of, unpacked

STEADY_AFTER, STEADY_INSIDE = 3, 8
"""Comparisons for which a line has stood that is steady: elsewhere, and in a restless region."""
MOST_LINES = 5000
"""Of a text; of longer ones nothing is learned."""
MOST_REGIONS, MOST_YOUNG, UNSEEN = 64, 1000, 50
"""Regions and lines that are remembered of a page, and visits without a change after which a region is forgotten."""
SHOWN = 120
Masking = Callable[[Sequence[str]], Sequence[str]]


class Learned(NamedTuple):
    """What a comparison taught: the record as it is now, and the numbers of the lines of both texts that are noise."""

    record: Record
    old: frozenset[int]
    new: frozenset[int]


def compared(
    record: Record,
    old: Sequence[str],
    new: Sequence[str],
    *,
    visit: int,
    gap_s: float,
    masked: Masking = list,
    masked_old: Masking | None = None,
    kept: Collection[int] = (),
) -> Learned:
    """What two texts that differ teach of a page.

    Parameters
        record: of the visits before; it is not changed
        old, new: the lines of the last visit and of this one
        visit: the number of this one; 1 is the one after the first
        gap_s: between the two, seconds
        masked, masked_old: lines of each with placeholders for what certainly is noise
        kept: the numbers of lines of this one that always count
    """
    if max(len(old), len(new)) > MOST_LINES:
        return Learned(record, frozenset(), frozenset())
    record = unpacked(packed(record))
    before, now = _Lines(old, (masked_old or masked)(old)), _Lines(new, masked(new))
    now.kept.update(kept)
    book = _Book(record, visit, gap_s)
    slots = [*_slots(before, now, record.young)]
    judged = [book.judge(slot, before, now) for slot in slots]
    book.close(now)
    if not _is_minor([slot for slot, each in zip(slots, judged, strict=True) if each.quiet], old, new):
        return Learned(record, frozenset(), frozenset())
    of_old = frozenset(number for each in judged for number in each.old)
    return Learned(record, of_old, frozenset(number for each in judged for number in each.new))


def restless_lines(record: Record, lines: Sequence[str], masked: Masking = list) -> dict[int, Region]:
    """Which lines of a text stand in restless regions, by their numbers."""
    if not record.noisy or len(lines) > MOST_LINES:
        return {}
    spans = _spans(record.noisy, _Lines(lines, masked(lines)))
    return {number: region for region, span in spans for number in region.moving(span)}


class _Lines:
    """A text by the fingerprints of its lines."""

    def __init__(self, lines: Sequence[str], masked: Sequence[str]) -> None:
        self.lines = lines
        self.marks = [_mark(line) for line in masked]
        self.all = Counter(self.marks)
        self.kept: set[int] = set()
        self.unique = {mark: number for number, mark in enumerate(self.marks) if self.all[mark] == 1}


class _Slot(NamedTuple):
    """What differs between two neighbouring anchors: in each text from a line up to, without, another.

    `old` and `new` are without the lines with which both begin and end.
    """

    before: int
    after: int
    old: tuple[int, int]
    new: tuple[int, int]
    whole_old: tuple[int, int]
    whole_new: tuple[int, int]


class _Judged(NamedTuple):
    """Whether all of a slot is noise, and the numbers of the lines of both texts that are."""

    quiet: bool = False
    old: Iterable[int] = ()
    new: Iterable[int] = ()


class _Book:
    """Keeps the record of one page while two texts are compared."""

    def __init__(self, record: Record, visit: int, gap_s: float) -> None:
        self._record, self._visit, self._gap_s = record, visit, gap_s
        # Since the record was written, and before there was one, the page stood still.
        for region in record.regions:
            region.pass_by(max(visit - record.visits - 1, 0))
        self._known = [(region.before, region.after, region) for region in record.regions]
        self._met: set[int] = set()
        self._fresh: list[Region] = []
        self._came: dict[int, int] = {}

    def judge(self, slot: _Slot, old: _Lines, new: _Lines) -> _Judged:
        """Note what became of a slot that differs; whether that is noise."""
        went, came = old.marks[slice(*slot.old)], new.marks[slice(*slot.new)]
        survived = Counter(went) & Counter(came)
        shuffled = len(went) == len(came) == survived.total()
        self._came.update(dict.fromkeys(came if shuffled else Counter(came) - survived, self._visit))
        churned = bool(went) and (shuffled or 2 * survived.total() <= len(went))
        region = self._region(slot)
        if region is None:
            region = Region(slot.before, slot.after)
            region.pass_by(max(self._visit - 1, 0))
            self._fresh.append(region)
        elif id(region) in self._met:  # a line that is steady by now has parted it
            region = structs.replace(region, lead=UNKNOWN, trail=UNKNOWN, places=[])
            self._fresh.append(region)
        self._met.add(id(region))
        region.before, region.after = slot.before, slot.after
        steady_went = any(mark not in self._record.young and mark not in new.all for mark in went)
        strange = region.shuffles and not shuffled
        moving = set(region.moving(range(*slot.whole_old)))
        firm_went = region.note_places(
            old.marks[slice(*slot.whole_old)], new.marks[slice(*slot.whole_new)], self._record.young
        )
        bounded = region.restless and len(came) <= region.most and not steady_went
        noise = bounded and not firm_went and not strange
        region.kept = region.kept or any(number in new.kept for number in range(*slot.new))
        flips, known = region.flips, region.note_state(state_of(went), state_of(came), self._visit)
        if churned:
            noise = self._note_turnover(region, slot, old, new, shuffled) and noise
        else:
            region.stay()
        if (known if flips else noise) and not region.kept:
            return _Judged(quiet=True, old=range(*slot.old), new=range(*slot.new))
        if not bounded or region.kept or flips:
            return _Judged()
        return _unchanged(slot, survived, old, new) if strange else _around(slot, moving)

    def _note_turnover(self, region: Region, slot: _Slot, old: _Lines, new: _Lines, shuffled: bool) -> bool:
        """At least half of a region went; whether what always stood in its line still does."""
        went, came = old.lines[slice(*slot.old)], new.lines[slice(*slot.new)]
        framed = _keeps_its_frame(region, old.lines[slice(*slot.whole_old)], new.lines[slice(*slot.whole_new)])
        region.most = max(region.most, len(came), len(went))
        region.shown = _shortened(came or went)
        region.note_turnover(self._gap_s, shuffled)
        return framed

    def close(self, new: _Lines) -> None:
        """The comparison is over: who stood still, which lines are steady by now, what is forgotten."""
        record, visit = self._record, self._visit
        for region in record.regions:
            if id(region) not in self._met:
                region.pass_by(1)
        kept = [each for each in (*record.regions, *self._fresh) if visit - each.changed < UNSEEN]
        record.regions = sorted(kept, key=lambda each: (each.restless, each.changed))[-MOST_REGIONS:]
        spans = _spans([each for each in record.regions if each.restless], new)
        noisy = {mark for _, span in spans for mark in new.marks[span.start : span.stop]}
        known = record.young | self._came
        young = ((mark, known[mark]) for mark in new.marks if mark in known)
        left = [each for each in young if visit - each[1] < (STEADY_INSIDE if each[0] in noisy else STEADY_AFTER)]
        record.young, record.visits = dict(left[-MOST_YOUNG:]), visit

    def _region(self, slot: _Slot) -> Region | None:
        """One that is known by both anchors, or by one, as they were: the restless first.

        A restless one changed lately: known by one anchor, it is what this one has just been part of.
        """
        near = [each for each in self._known if each[0] == slot.before or each[1] == slot.after]
        both = (slot.before, slot.after)
        keys = ((each.restless, (before, after) == both, each.share, each.changed) for before, after, each in near)
        return max(zip(keys, near, strict=True), key=itemgetter(0))[1][2] if near else None


def _slots(old: _Lines, new: _Lines, young: Collection[int]) -> Iterator[_Slot]:
    """Where the texts differ, between neighbouring anchors."""
    anchors = [(-1, -1), *_anchors(old, new, young), (len(old.marks), len(new.marks))]
    for (old_before, new_before), (old_after, new_after) in pairwise(anchors):
        went, came = old.marks[old_before + 1 : old_after], new.marks[new_before + 1 : new_after]
        if went != came:
            before = new.marks[new_before] if new_before >= 0 else 0
            after = new.marks[new_after] if new_after < len(new.marks) else 0
            lead, trail = _frame(went, came)
            lines = (old_before + 1 + lead, old_after - trail), (new_before + 1 + lead, new_after - trail)
            yield _Slot(before, after, *lines, (old_before + 1, old_after), (new_before + 1, new_after))


def _anchors(old: _Lines, new: _Lines, young: Collection[int]) -> list[tuple[int, int]]:
    """Where steady lines stand in both texts, in the order of both: the longest such sequence.

    Without those over which another one moved: of lines in another order, nobody can say which of them moved.
    """
    shared = [
        (place, new.unique[mark])
        for mark, place in old.unique.items()
        if mark in new.unique and mark not in young
    ]  # fmt: skip
    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for number, (_, place) in enumerate(shared):
        length = bisect_left(ends, place)
        ends[length : length + 1] = [place]
        last[length : length + 1] = [number]
        before.append(last[length - 1] if length else -1)
    found = []
    number = last[-1] if last else -1
    while number >= 0:
        found.append(shared[number])
        number = before[number]
    return _not_crossed(found[::-1], set(shared))


def _not_crossed(anchors: list[tuple[int, int]], shared: set[tuple[int, int]]) -> list[tuple[int, int]]:
    before, after = [place for place, _ in anchors], [place for _, place in anchors]
    turns = [0] * (len(anchors) + 1)
    for place, later in shared.difference(anchors):
        start, end = sorted((bisect_left(before, place), bisect_left(after, later)))
        turns[start] += 1
        turns[end] -= 1
    return [anchor for anchor, crossed in zip(anchors, accumulate(turns), strict=False) if not crossed]


def _spans(regions: Sequence[Region], text: _Lines) -> Iterator[tuple[Region, range]]:
    """The numbers of lines that stand in regions of which both anchors are there."""
    for region in regions:
        start = text.unique.get(region.before, None) if region.before else -1
        end = text.unique.get(region.after, None) if region.after else len(text.marks)
        if start is not None and end is not None:
            yield region, range(start + 1, end)


def _unchanged(slot: _Slot, survived: Counter[int], old: _Lines, new: _Lines) -> _Judged:
    """Of a slot that changed more than its order, the lines that are in both texts."""
    found: list[list[int]] = []
    for text, span in ((old, slot.old), (new, slot.new)):
        left = survived.copy()
        found.append([])
        for number in range(*span):
            if left[text.marks[number]] > 0:
                left[text.marks[number]] -= 1
                found[-1].append(number)
    return _Judged(old=found[0], new=found[1])


def _around(slot: _Slot, moving: Collection[int]) -> _Judged:
    """Of a slot in which a line went that had stood still, the others, where each is still at its place."""
    (old_start, old_end), (new_start, new_end) = slot.whole_old, slot.whole_new
    if old_end - old_start != new_end - new_start or len(moving) == old_end - old_start:
        return _Judged()
    moved = [number for number in moving if number in range(*slot.old)]
    return _Judged(old=moved, new=[number - old_start + new_start for number in moved])


def _keeps_its_frame(region: Region, went: Sequence[str], came: Sequence[str]) -> bool:
    """Whether the words still stand with which a line has always begun and ended; what always stood is noted."""
    if len(went) != 1 or len(came) != 1:
        region.lead = region.trail = UNKNOWN
        return True
    lead, trail = _frame(went[0].split(), came[0].split())
    if region.lead == UNKNOWN:
        region.lead, region.trail = lead, trail
        return True
    holds = lead >= region.lead and trail >= region.trail
    if not region.restless or (region.broken and not holds):
        region.lead, region.trail = min(region.lead, lead), min(region.trail, trail)
    region.broken = not holds
    return holds


def _frame(old: Sequence[object], new: Sequence[object]) -> tuple[int, int]:
    """With how many both begin, and with how many of the others both end."""
    shortest = min(len(old), len(new))
    lead = next((k for k in range(shortest) if old[k] != new[k]), shortest)
    trail = next((k for k in range(shortest - lead) if old[-1 - k] != new[-1 - k]), shortest - lead)
    return lead, trail


def _is_minor(slots: Sequence[_Slot], old: Sequence[str], new: Sequence[str]) -> bool:
    """Whether no more than half of either text stands in these."""
    sizes = ((sum(map(len, old[slice(*slot.old)])), sum(map(len, new[slice(*slot.new)]))) for slot in slots)
    of_old, of_new = map(sum, zip((0, 0), *sizes, strict=True))
    return 2 * of_old <= sum(map(len, old)) and 2 * of_new <= sum(map(len, new))


def _shortened(lines: Sequence[str]) -> str:
    said = " / ".join(lines)
    return said if len(said) <= SHOWN else said[: SHOWN - 1] + "…"


def _mark(line: str) -> int:
    return int.from_bytes(blake2b(line.encode("utf-8", "replace"), digest_size=MARK_BYTES).digest(), "big") or 1
