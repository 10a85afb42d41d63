"""What changed between two texts, as a unified diff a person can read, in bounded time and space.

Long lines are broken into sentences, and these at spaces, so that one changed word shows its sentence and not a
paragraph. What both texts begin and end with is set aside; on the rest `difflib` works, in a time that grows with its
square. Past `MOST_LINES` the diff becomes coarse: lines that are only in the old text, then lines that are only in the
new one.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Iterator

MOST_LINES = 600
"""Lines on either side, past which the diff is coarse: so many take 0.02 s at worst, 1500 would take 0.13 s."""
MOST_CHARACTERS = 20_000
CONTEXT = 2
WIDTH = 100
_BINARY = re.compile(r"binary, ([0-9,]+) bytes")
"""What is kept of what is neither text nor markup (`pages.read_bytes`)."""
_BINARY_CHANGE = re.compile(r"changed \(binary, [0-9,]+(?: → [0-9,]+)? bytes\)")
_SENTENCE_END = re.compile(r"(?<=[.!?;]) ")


def unified(old: str, new: str, limit: int = MOST_CHARACTERS) -> str:
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
    before, after = _wrapped(old), _wrapped(new)
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
    return "\n".join(line[1:] for line in diff.split("\n") if line.startswith("+"))


def is_binary(text: str) -> bool:
    """Whether this is what is kept of what is neither text nor markup."""
    return _BINARY.fullmatch(text) is not None


def tells_sizes(diff: str) -> bool:
    """Whether it is the sentence about what is no text, instead of lines."""
    return _BINARY_CHANGE.fullmatch(diff) is not None


def difference(old: str, new: str) -> str:
    """Of a page that changed: the diff of its text, or in a line what changed instead; never empty.

    >>> difference("binary, 12,345 bytes", "binary, 12,400 bytes"), difference("binary, 312 bytes", "binary, 312 bytes")
    ('changed (binary, 12,345 → 12,400 bytes)', 'changed (binary, 312 bytes)')
    """
    before, after = _BINARY.fullmatch(old), _BINARY.fullmatch(new)
    if after is None or (old and before is None):
        return unified(old, new) or "@@ changed, but not in the text that is kept of it @@"
    sizes = after[1] if before is None or before[1] == after[1] else f"{before[1]} → {after[1]}"
    return f"changed (binary, {sizes} bytes)"


def _fine(old: list[str], new: list[str], offset: int) -> Iterator[str]:
    matcher = difflib.SequenceMatcher(None, old, new)
    for group in matcher.get_grouped_opcodes(CONTEXT):
        first, last = group[0], group[-1]
        yield (f"@@ -{first[1] + offset + 1},{last[2] - first[1]} +{first[3] + offset + 1},{last[4] - first[3]} @@")
        for tag, old_start, old_end, new_start, new_end in group:
            if tag == "equal":
                yield from (" " + line for line in old[old_start:old_end])
                continue
            yield from ("-" + line for line in old[old_start:old_end])
            yield from ("+" + line for line in new[new_start:new_end])


def _coarse(old: list[str], new: list[str]) -> Iterator[str]:
    yield "@@ lines gone, then lines come @@"
    yield from ("-" + line for line in _only(old, new))
    yield from ("+" + line for line in _only(new, old))


def _only(lines: list[str], others: list[str]) -> Iterator[str]:
    left = Counter(others)
    for line in lines:
        if left[line] > 0:
            left[line] -= 1
        else:
            yield line


def _shared_ends(old: list[str], new: list[str]) -> tuple[int, int]:
    """How many lines both begin with, and how many of the rest both end with."""
    shortest = min(len(old), len(new))
    start = next((k for k in range(shortest) if old[k] != new[k]), shortest)
    end = next((k for k in range(shortest - start) if old[-1 - k] != new[-1 - k]), shortest - start)
    return start, end


def _wrapped(text: str) -> list[str]:
    lines: list[str] = []
    for line in text.split("\n"):
        if len(line) <= WIDTH:
            lines.append(line)
        else:
            for sentence in _SENTENCE_END.split(line):
                lines.extend(_broken(sentence))
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
