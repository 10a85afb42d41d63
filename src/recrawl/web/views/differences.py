"""What changed, as people read it: a diff line by line, and in lines that became others, word by word.

A line that went and one that came are shown as one line that changed where they have enough in common. The same rows
make up both views, one line under the other and side by side.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

from recrawl.crawl.reading.diffs import is_noisy, tells_sizes
from recrawl.crawl.reading.plain_text import visible

MOST_LINES = 400
ALIKE = 0.4
"""From so much in common on, a line is another state of one, and not another line."""
MOST_PAIRS = 144
"""Of lines that are compared with each other; in larger hunks the first is paired with the first."""
MOST_STEPS = 500_000_000
"""On one page of the web, of comparing words: seconds at worst."""
_WORDS = re.compile(r"[0-9]+(?:[.,][0-9]+)*|\w+|\s+|[^\w\s]")

How = Literal["same", "gone", "come"]


class Piece(NamedTuple):
    """Some text, and what became of it."""

    text: str
    how: How = "same"


@dataclass(frozen=True, slots=True)
class Line:
    """A line as it was and as it is; None where there was none. `pieces` are both in one."""

    pieces: list[Piece]
    old: list[Piece] | None
    new: list[Piece] | None

    @property
    def how(self) -> Literal["same", "gone", "come", "changed"]:
        """What became of it."""
        if self.old is None:
            return "come"
        if self.new is None:
            return "gone"
        return "changed" if any(piece.how != "same" for piece in self.pieces) else "same"


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines that stand together; `noise` if what changed there changes at nearly every visit."""

    noise: bool = False
    lines: list[Line] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Difference:
    """A diff; or, where there is nothing to compare line by line, a sentence. `more` lines are not shown."""

    hunks: list[Hunk]
    note: str = ""
    more: int = 0


def difference(diff: str, comparisons: Comparisons | None = None) -> Difference:
    """From a unified diff, as it is stored. Beyond what may be spent, lines are shown whole.

    >>> [line.how for line in difference("@@ -1,2 +1,2 @@\\n Title\\n-5 euros\\n+6 euros").hunks[0].lines]
    ['same', 'changed']
    """
    lines = diff.split("\n") if diff else []
    shown = lines[:MOST_LINES]
    if not diff or tells_sizes(diff) or not any(line[:1] in "+-" for line in shown if line):
        return Difference([], visible(" ".join(line.strip("@ ") for line in shown)))
    hunks, note = [Hunk()], ""
    comparisons = comparisons or Comparisons()
    gone: list[str] = []
    come: list[str] = []
    for line in [*shown, "@@"]:
        sign, text = line[:1], visible(line[1:])
        if sign == "-" and not come:
            gone.append(text)
        elif sign == "+":
            come.append(text)
        else:
            hunks[-1].lines.extend(_paired(gone, come, comparisons))
            gone, come = ([text], []) if sign == "-" else ([], [])
            if line.startswith("@@"):
                hunks.append(Hunk(is_noisy(line)))
            elif sign == " ":
                hunks[-1].lines.append(Line([Piece(text)], [Piece(text)], [Piece(text)]))
            elif sign == "…":
                note = visible(line)
    return Difference([hunk for hunk in hunks if hunk.lines], note, len(lines) - len(shown))


class _Compared(NamedTuple):
    """Two lines word by word, and how much of both they have in common."""

    likeness: float
    pieces: list[Piece]

    @property
    def line(self) -> Line:
        """As one that changed."""
        before, after = ([each for each in self.pieces if each.how != how] for how in ("come", "gone"))
        return Line(self.pieces, before, after)


class Comparisons:
    """What may still be spent, on one page of the web, on comparing lines word by word.

    Parameters
        left: steps; a comparison takes the product of the words of both lines, times those of the shorter one, at worst
    """

    def __init__(self, left: int = MOST_STEPS) -> None:
        self.left = left

    def compared(self, went: Sequence[str], came: Sequence[str]) -> _Compared | None:
        """Two lines by their words; None where they have too little in common, or too little is left to tell."""
        total = len(went) + len(came)
        if 2 * (Counter(went) & Counter(came)).total() < ALIKE * total:
            return None
        lead, trail = _shared_ends(went, came)
        old, new = went[lead : len(went) - trail], came[lead : len(came) - trail]
        steps = len(old) * len(new) * min(len(old), len(new))
        if steps > self.left:
            return None
        self.left -= steps
        pieces, matched = [Piece("".join(went[:lead]))] if lead else [], lead + trail
        for tag, start, end, from_, to in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            if tag == "equal":
                matched += end - start
                pieces.append(Piece("".join(old[start:end])))
                continue
            if start < end:
                pieces.append(Piece("".join(old[start:end]), "gone"))
            if from_ < to:
                pieces.append(Piece("".join(new[from_:to]), "come"))
        if trail:
            pieces.append(Piece("".join(went[len(went) - trail :])))
        return _Compared(2 * matched / total, pieces) if 2 * matched >= ALIKE * total else None


class _Pair(NamedTuple):
    """A line that became another, by their numbers, word by word."""

    number: int
    other: int
    compared: _Compared


class _Chain(NamedTuple):
    """Pairs of lines, one behind the other, and how much they have in common together."""

    likeness: float = 0.0
    pair: _Pair | None = None
    rest: _Chain | None = None


def _paired(gone: Sequence[str], come: Sequence[str], comparisons: Comparisons) -> Iterator[Line]:
    """Lines that went and came, those that are alike as one, in the order of both."""
    old = new = 0
    for pair in [*_pairs(gone, come, comparisons), None]:
        number, other = (len(gone), len(come)) if pair is None else (pair.number, pair.other)
        yield from (Line([Piece(text, "gone")], [Piece(text, "gone")], None) for text in gone[old:number])
        yield from (Line([Piece(text, "come")], None, [Piece(text, "come")]) for text in come[new:other])
        if pair is not None:
            yield pair.compared.line
        old, new = number + 1, other + 1


def _pairs(gone: Sequence[str], come: Sequence[str], comparisons: Comparisons) -> list[_Pair]:
    """Which of them are alike, in the order of both: those that have the most in common together."""
    went, came = ([_WORDS.findall(line) for line in lines] for lines in (gone, come))
    if len(gone) * len(come) > MOST_PAIRS:
        side = enumerate(zip(went, came, strict=False))
        found = (_Pair(k, k, like) for k, lines in side if (like := comparisons.compared(*lines)) is not None)
        return [*found]
    best: list[list[_Chain]] = [[_Chain()] * (len(come) + 1) for _ in range(len(gone) + 1)]
    for number in range(len(gone) - 1, -1, -1):
        for other in range(len(come) - 1, -1, -1):
            choices = [best[number + 1][other], best[number][other + 1]]
            if (like := comparisons.compared(went[number], came[other])) is not None:
                rest = best[number + 1][other + 1]
                choices.append(_Chain(rest.likeness + like.likeness, _Pair(number, other, like), rest))
            best[number][other] = max(choices, key=lambda each: each.likeness)
    pairs: list[_Pair] = []
    chain: _Chain | None = best[0][0]
    while chain is not None and chain.pair is not None:
        pairs.append(chain.pair)
        chain = chain.rest
    return pairs


def _shared_ends(one: Sequence[str], other: Sequence[str]) -> tuple[int, int]:
    """With how many words both begin, and with how many of the others both end."""
    shortest = min(len(one), len(other))
    lead = next((k for k in range(shortest) if one[k] != other[k]), shortest)
    trail = next((k for k in range(shortest - lead) if one[-1 - k] != other[-1 - k]), shortest - lead)
    return lead, trail
