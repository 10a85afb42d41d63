"""Which parts of a page count, and why the others do not: for owners who want to see what is compared."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from itertools import groupby

from recrawl.crawl.reading.findings import Part
from recrawl.crawl.reading.main_text import LEFT_OUT, LEFT_OUT_END, MARK, Text
from recrawl.crawl.reading.noise import MOST_STAMPS, Marked, noise_in
from recrawl.crawl.reading.page_selection import WhatCounts, compiled

MOST_CHARACTERS = 200_000
"""That are shown."""
CLOCK = "clock, if it moves with the time of the visit"
RESTLESS = "it changes at nearly every visit"
REASONS = {"age": "age", "token": "random token", "count": "counter of visits", "clock": CLOCK}
_MARKS = re.compile(f"({LEFT_OUT}[^{MARK}]*{MARK}|{LEFT_OUT_END})")


def parts_of(text: Text, counts: WhatCounts, now: float) -> tuple[tuple[Part, ...], ...]:
    """The lines of a marked text, each in parts.

    Parameters
        now: of the fetch, Unix seconds
    """
    lines = _taken_apart(text.lines)
    if counts.digest == "raw":  # every byte counts
        return tuple((Part(line.text, ""),) for line in lines if line.text.strip())
    _leave_out_matches(lines, counts.ignore_text)
    if counts.ignore_noise:
        _leave_out_noise(lines, text.firm, now)
    return tuple(line.parts() for line in lines if line.text.strip())


def without_restless(
    lines: Sequence[tuple[Part, ...]], text: str, restless: Container[int]
) -> tuple[tuple[Part, ...], ...]:
    """Lines of a page with those marked that have proved restless.

    Parameters
        text: of the page, as it is compared
        restless: the numbers of its lines that are
    """
    counted, number, marked = text.split("\n"), 0, []
    for line in lines:
        said = "".join(part.text for part in line if not part.why or part.why in REASONS.values())
        if number < len(counted) and " ".join(said.split()) == counted[number]:
            if number in restless:
                line = tuple(Part(part.text, part.why or RESTLESS) for part in line)
            number += 1
        marked.append(line)
    return tuple(marked)


def with_kept(lines: Sequence[tuple[Part, ...]], text: Text) -> tuple[tuple[Part, ...], ...]:
    """Lines of a page with those as they are compared that always count."""
    kept = [text.lines[number] for number in sorted(text.kept)]
    if not kept or not lines:
        return tuple(lines)
    shown = []
    for line in lines:
        whole = " ".join("".join(part.text for part in line).split())
        shown.append((Part(whole),) if whole in kept else line)
    there = {line[0].text for line in shown if len(line) == 1}
    return (*shown, *((Part(line),) for line in kept if line not in there))


def left_out_for(line: Sequence[Part]) -> str:
    """Why all of a line is left out; nothing if some of it counts."""
    return line[0].why if all(part.why or not part.text.strip() for part in line) else ""


class _Line:
    """The characters of a line, and for each why it does not count."""

    def __init__(self) -> None:
        self.text, self.why = "", list[str]()

    def add(self, text: str, why: str) -> None:
        self.text += text
        self.why += [why] * len(text)

    @property
    def places(self) -> list[int]:
        """Of the characters that count."""
        return [place for place, why in enumerate(self.why) if not why]

    def counted(self) -> str:
        return "".join(self.text[place] for place in self.places)

    def leave_out(self, places: list[int], why: str) -> None:
        for place in places:
            self.why[place] = why

    def parts(self) -> tuple[Part, ...]:
        runs = groupby(zip(self.text, self.why, strict=True), key=lambda each: each[1])
        return tuple(Part("".join(character for character, _ in run), why) for why, run in runs)


def _taken_apart(lines: list[str]) -> list[_Line]:
    """The marks may begin in one line and end in another, and lie within each other: the outermost says why."""
    shown, reasons, size = [], list[str](), 0
    for text in lines:
        line = _Line()
        for piece in _MARKS.split(text):
            if piece.startswith(LEFT_OUT):
                reasons.append(piece[1:-1])
            elif piece == LEFT_OUT_END:
                reasons.pop()
            elif piece:
                line.add(piece, reasons[0] if reasons else "")
        size += len(line.text)
        if size > MOST_CHARACTERS:
            break
        shown.append(line)
    return shown


def _leave_out_matches(lines: list[_Line], patterns: tuple[str, ...]) -> None:
    for pattern in patterns:
        places = [(line, place) for line in lines for place in [*line.places, -1]]
        whole = "".join("\n" if place < 0 else line.text[place] for line, place in places)
        for found in compiled(pattern).finditer(whole):
            for line, place in places[found.start() : found.end()]:
                if place >= 0:
                    line.why[place] = f"ignored: {pattern}"


def _leave_out_noise(lines: list[_Line], firm: set[int], now: float) -> None:
    stamps, marked = 0, Marked.of([line.counted() for line in lines])
    for number, line in enumerate(lines):
        places = line.places
        for noise in noise_in(line.counted(), number in firm, now, MOST_STAMPS - stamps, marked):
            stamps += noise.stamp is not None
            if noise.stamp is None or noise.stamp.near:
                line.leave_out(places[noise.start : noise.end], REASONS[noise.why])
