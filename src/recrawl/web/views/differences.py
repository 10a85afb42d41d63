"""What changed, as people read it: a diff line by line, and in lines that became others, word by word.

A line that went and one that came are shown as one line that changed where they have enough in common. The same rows
make up both views, one line under the other and side by side.
"""

from __future__ import annotations

import re
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


def difference(diff: str) -> Difference:
    """From a unified diff, as it is stored.

    >>> [line.how for line in difference("@@ -1,2 +1,2 @@\\n Title\\n-5 euros\\n+6 euros").hunks[0].lines]
    ['same', 'changed']
    """
    lines = diff.split("\n") if diff else []
    shown = lines[:MOST_LINES]
    if not diff or tells_sizes(diff) or not any(line[:1] in "+-" for line in shown if line):
        return Difference([], visible(" ".join(line.strip("@ ") for line in shown)))
    hunks, note = [Hunk()], ""
    gone: list[str] = []
    come: list[str] = []
    for line in [*shown, "@@"]:
        sign, text = line[:1], visible(line[1:])
        if sign == "-" and not come:
            gone.append(text)
        elif sign == "+":
            come.append(text)
        else:
            hunks[-1].lines.extend(_paired(gone, come))
            gone, come = ([text], []) if sign == "-" else ([], [])
            if line.startswith("@@"):
                hunks.append(Hunk(is_noisy(line)))
            elif sign == " ":
                hunks[-1].lines.append(Line([Piece(text)], [Piece(text)], [Piece(text)]))
            elif sign == "…":
                note = visible(line)
    return Difference([hunk for hunk in hunks if hunk.lines], note, len(lines) - len(shown))


class _Chain(NamedTuple):
    """Pairs of lines, one behind the other, and how much they have in common together."""

    likeness: float = 0.0
    pair: tuple[int, int] | None = None
    rest: _Chain | None = None


def _paired(gone: Sequence[str], come: Sequence[str]) -> Iterator[Line]:
    """Lines that went and came, those that are alike as one, in the order of both."""
    old = new = 0
    for number, other in [*_pairs(gone, come), (len(gone), len(come))]:
        yield from (Line([Piece(text, "gone")], [Piece(text, "gone")], None) for text in gone[old:number])
        yield from (Line([Piece(text, "come")], None, [Piece(text, "come")]) for text in come[new:other])
        if number < len(gone) and other < len(come):
            yield _changed(gone[number], come[other])
        old, new = number + 1, other + 1


def _pairs(gone: Sequence[str], come: Sequence[str]) -> list[tuple[int, int]]:
    """Which of them are alike, in the order of both: those that have the most in common together."""
    if len(gone) * len(come) > MOST_PAIRS:
        return [(k, k) for k in range(min(len(gone), len(come))) if _likeness(gone[k], come[k]) >= ALIKE]
    best: list[list[_Chain]] = [[_Chain()] * (len(come) + 1) for _ in range(len(gone) + 1)]
    for number in range(len(gone) - 1, -1, -1):
        for other in range(len(come) - 1, -1, -1):
            choices = [best[number + 1][other], best[number][other + 1]]
            if (likeness := _likeness(gone[number], come[other])) >= ALIKE:
                rest = best[number + 1][other + 1]
                choices.append(_Chain(rest.likeness + likeness, (number, other), rest))
            best[number][other] = max(choices, key=lambda each: each.likeness)
    found: list[tuple[int, int]] = []
    chain: _Chain | None = best[0][0]
    while chain is not None and chain.pair is not None:
        found.append(chain.pair)
        chain = chain.rest
    return found


def _likeness(one: str, other: str) -> float:
    return SequenceMatcher(None, _WORDS.findall(one), _WORDS.findall(other), autojunk=False).ratio()


def _changed(old: str, new: str) -> Line:
    went, came = _WORDS.findall(old), _WORDS.findall(new)
    pieces: list[Piece] = []
    for tag, start, end, from_, to in SequenceMatcher(None, went, came, autojunk=False).get_opcodes():
        if tag == "equal":
            pieces.append(Piece("".join(went[start:end])))
            continue
        if start < end:
            pieces.append(Piece("".join(went[start:end]), "gone"))
        if from_ < to:
            pieces.append(Piece("".join(came[from_:to]), "come"))
    before, after = ([each for each in pieces if each.how != how] for how in ("come", "gone"))
    return Line(pieces, before, after)
