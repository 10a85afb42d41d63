"""What changed between two texts, as a unified diff a person can read, in bounded time and space.

Long lines are broken into sentences, and these at spaces, so that one changed word shows its sentence and not a
paragraph. What both texts begin and end with is set aside; on the rest `difflib` works, in a time that grows with its
square. Past `MOST_LINES` the diff becomes coarse: lines that are only in the old text, then lines that are only in the
new one.

Changes of what is noise (`restless`) stand in hunks of their own, which say so behind their `@@`.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

MOST_LINES = 600
"""Lines on either side, past which the diff is coarse: so many take 0.02 s at worst, 1500 would take 0.13 s."""
MOST_CHARACTERS = 20_000
CONTEXT = 2
WIDTH = 100
RESTLESS = " restless"
"""Behind the second `@@` of a hunk of noise."""
_BINARY = re.compile(r"binary, ([0-9,]+) bytes")
"""What is kept of what is neither text nor markup (`pages.read_bytes`)."""
_BINARY_CHANGE = re.compile(r"changed \(binary, [0-9,]+(?: → [0-9,]+)? bytes\)")
_SENTENCE_END = re.compile(r"(?<=[.!?;]) ")


class Noise(NamedTuple):
    """The numbers of the lines of both texts that are noise."""

    old: Collection[int] = ()
    new: Collection[int] = ()


NONE = Noise()


def unified(old: str, new: str, limit: int = MOST_CHARACTERS, noise: Noise = NONE) -> str:
    """The diff without file names, at most `limit` characters long; empty if both say the same.

    >>> print(unified("a\\nb\\nc", "a\\nB\\nc"))
    @@ -1,3 +1,3 @@
     a
    -b
    +B
     c
    """
    if old == new:
        return ""
    before, after = _wrapped(old, noise.old), _wrapped(new, noise.new)
    start, end = _shared_ends(before, after)
    lead = max(start - CONTEXT, 0)
    trail = max(end - CONTEXT, 0)
    changed_old, changed_new = before[lead : len(before) - trail], after[lead : len(after) - trail]
    if max(len(changed_old), len(changed_new)) > MOST_LINES:
        return _bounded(_coarse(changed_old, changed_new), limit)
    return _bounded(_fine(changed_old, changed_new, lead), limit)


def added_lines(diff: str) -> str:
    """What a diff says is new, a line each; of what is no text, the sentence that it is.

    >>> added_lines("@@ -1,2 +1,2 @@\\n same\\n-old\\n+new")
    'new'
    """
    if tells_sizes(diff):
        return diff
    return "\n".join(line[1:] for line in without_noise(diff).split("\n") if line.startswith("+"))


def without_noise(diff: str) -> str:
    """A diff without the hunks of what is noise.

    >>> without_noise("@@ -1,1 +1,1 @@ restless\\n-1 view\\n+2 views\\n@@ -9,1 +9,1 @@\\n-old\\n+new")
    '@@ -9,1 +9,1 @@\\n-old\\n+new'
    """
    if RESTLESS not in diff:
        return diff
    kept, noisy = [], False
    for line in diff.split("\n"):
        noisy = is_noisy(line) if line.startswith("@@") else noisy
        if not noisy:
            kept.append(line)
    return "\n".join(kept)


def is_noisy(head: str) -> bool:
    """Whether the first line of a hunk says that it is noise."""
    return head.endswith(f"@@{RESTLESS}")


def is_binary(text: str) -> bool:
    """Whether this is what is kept of what is neither text nor markup."""
    return _BINARY.fullmatch(text) is not None


def tells_sizes(diff: str) -> bool:
    """Whether it is the sentence about what is no text, instead of lines."""
    return _BINARY_CHANGE.fullmatch(diff) is not None


def difference(old: str, new: str, noise: Noise = NONE) -> str:
    """Of a page that changed: the diff of its text, or in a line what changed instead; never empty.

    >>> difference("binary, 12,345 bytes", "binary, 12,400 bytes"), difference("binary, 312 bytes", "binary, 312 bytes")
    ('changed (binary, 12,345 → 12,400 bytes)', 'changed (binary, 312 bytes)')
    """
    before, after = _BINARY.fullmatch(old), _BINARY.fullmatch(new)
    if after is None or (old and before is None):
        return unified(old, new, noise=noise) or "@@ changed, but not in the text that is kept of it @@"
    sizes = after[1] if before is None or before[1] == after[1] else f"{before[1]} → {after[1]}"
    return f"changed (binary, {sizes} bytes)"


class _Line(NamedTuple):
    """A line as it is shown, and whether it is noise."""

    text: str
    noise: bool = False


class _Entry(NamedTuple):
    """A line of the diff: its sign, and how many lines of either text stand before it."""

    sign: str
    line: _Line
    old: int
    new: int


def _fine(old: list[_Line], new: list[_Line], offset: int) -> Iterator[str]:
    for hunk in _hunks([*_entries(old, new)]):
        first = hunk[0]
        gone, come = sum(each.sign != "+" for each in hunk), sum(each.sign != "-" for each in hunk)
        kind = RESTLESS if any(each.sign != " " and each.line.noise for each in hunk) else ""
        yield f"@@ -{first.old + offset + 1},{gone} +{first.new + offset + 1},{come} @@{kind}"
        yield from (each.sign + each.line.text for each in hunk)


def _entries(old: list[_Line], new: list[_Line]) -> Iterator[_Entry]:
    """All lines of both; where noise lies beside other changes, these come first."""
    matcher = difflib.SequenceMatcher(None, [line.text for line in old], [line.text for line in new])
    for tag, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        if tag == "equal":
            places = zip(range(old_start, old_end), range(new_start, new_end), strict=True)
            yield from (_Entry(" ", old[place], place, other) for place, other in places)
            continue
        went, came = old[old_start:old_end], new[new_start:new_end]
        before, after = old_start, new_start
        for noise in (False, True):
            for line in (each for each in went if each.noise == noise):
                yield _Entry("-", line, before, after)
                before += 1
            for line in (each for each in came if each.noise == noise):
                yield _Entry("+", line, before, after)
                after += 1


def _hunks(entries: list[_Entry]) -> Iterator[list[_Entry]]:
    """Changes of one kind with what stands around them."""
    start = end = -1
    for number, entry in enumerate(entries):
        if entry.sign == " ":
            continue
        if start >= 0 and (number - end > 2 * CONTEXT + 1 or entry.line.noise != entries[end].line.noise):
            yield _with_context(entries, start, end, number)
            start = -1
        start, end = number if start < 0 else start, number
    if start >= 0:
        yield _with_context(entries, start, end, len(entries))


def _with_context(entries: list[_Entry], start: int, end: int, following: int) -> list[_Entry]:
    """Without other changes: the next one begins at `following`, and the last one ended before what is equal."""
    lead = start
    while lead > max(start - CONTEXT, 0) and entries[lead - 1].sign == " ":
        lead -= 1
    return entries[lead : min(end + CONTEXT + 1, following)]


def _coarse(old: list[_Line], new: list[_Line]) -> Iterator[str]:
    real = [line for line in old if not line.noise], [line for line in new if not line.noise]
    gone, come = ([*_only(one, others)] for one, others in (real, real[::-1]))
    if gone or come:
        yield "@@ lines gone, then lines come @@"
    else:
        yield f"@@ lines gone, then lines come @@{RESTLESS}"
        gone, come = [*_only(old, new)], [*_only(new, old)]
    yield from chain((f"-{line}" for line in gone), (f"+{line}" for line in come))


def _only(lines: Sequence[_Line], others: Sequence[_Line]) -> Iterator[str]:
    left = Counter(line.text for line in others)
    for line in lines:
        if left[line.text] > 0:
            left[line.text] -= 1
        else:
            yield line.text


def _shared_ends(old: list[_Line], new: list[_Line]) -> tuple[int, int]:
    """How many lines both begin with, and how many of the rest both end with."""
    shortest = min(len(old), len(new))
    start = next((k for k in range(shortest) if old[k].text != new[k].text), shortest)
    end = next((k for k in range(shortest - start) if old[-1 - k].text != new[-1 - k].text), shortest - start)
    return start, end


def _wrapped(text: str, noise: Collection[int]) -> list[_Line]:
    lines: list[_Line] = []
    for number, line in enumerate(text.split("\n")):
        is_noise = number in noise
        if len(line) <= WIDTH:
            lines.append(_Line(line, is_noise))
        else:
            pieces = (piece for sentence in _SENTENCE_END.split(line) for piece in _broken(sentence))
            lines.extend(_Line(piece, is_noise) for piece in pieces)
    return lines


def _broken(sentence: str) -> Iterator[str]:
    """At spaces where there are any."""
    place = 0
    while len(sentence) - place > WIDTH:
        space = sentence.rfind(" ", place + 1, place + WIDTH + 1)
        end = place + WIDTH if space < 0 else space
        yield sentence[place:end]
        place = end if space < 0 else end + 1
    yield sentence[place:]


def _bounded(lines: Iterable[str], limit: int) -> str:
    kept: list[str] = []
    size = dropped = 0
    for line in lines:
        size += len(line) + 1
        if size > limit:
            dropped += 1
        else:
            kept.append(line)
    return "\n".join([*kept, f"… and {dropped} more lines"] if dropped else kept)
