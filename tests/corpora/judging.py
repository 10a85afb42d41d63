"""Compares what our readers say with what others expect, and keeps the books.

A case is *equal*, *accepted* (it differs, and `accepted.toml` says why that is right) or *wrong*, which fails the test.
An entry of `accepted.toml` that fits no case that differs is wrong too, so that the list cannot rot. Every case has a
time limit of its own: a hang is a finding, not a silence.
"""

from __future__ import annotations

import faulthandler
import fnmatch
import signal
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from recrawl.crawl.reading.findings import UnreadableError

LIMIT_S = 20
"""For one case; a thousand times what a usual one takes."""
HARD_LIMIT_S = 120
"""Then the whole run is ended, with a traceback: something does not even let a signal in."""
UNREADABLE = "unreadable"


class Accepted(NamedTuple):
    """Cases that differ for a reason."""

    corpus: str
    patterns: tuple[str, ...]
    count: int | None
    reason: str


class Figures(NamedTuple):
    """One line of the table."""

    corpus: str
    cases: int
    equal: int
    accepted: int
    wrong: int


class Corpus:
    """One corpus under judgement."""

    def __init__(self, name: str, accepted: list[Accepted]) -> None:
        self.name = name
        self._accepted = accepted
        self.equal = 0
        self.differing: dict[str, str] = {}

    def check(self, case: str, expected: Any, reader: Callable[[], Any]) -> Any:
        """Whether a reader gives what is expected; UnreadableError counts as the value `UNREADABLE`."""
        try:
            with time_limit():
                found = reader()
        except UnreadableError:
            found = UNREADABLE
        except Exception as error:  # whatever a reader raises is a finding about this case
            found = f"raised {type(error).__name__}: {error}"
        if found == expected:
            self.equal += 1
        else:
            self.differing[case] = _difference(expected, found)
        return found

    def settle(self) -> tuple[Figures, list[str]]:
        """The figures, and everything that is wrong in words."""
        reasons: dict[str, str] = {}
        complaints: list[str] = []
        for entry in self._accepted:
            fitting = [case for case in self.differing if any(_fits(case, pattern) for pattern in entry.patterns)]
            reasons |= dict.fromkeys(fitting, entry.reason)
            if not fitting or entry.count not in (None, len(fitting)):
                said = entry.count if entry.count is not None else "some"
                complaints.append(f"accepted.toml: {entry.patterns} fits {len(fitting)} cases that differ, not {said}")
        wrong = {case: said for case, said in self.differing.items() if case not in reasons}
        complaints += [f"{case}: {said}" for case, said in wrong.items()]
        total = self.equal + len(self.differing)
        return Figures(self.name, total, self.equal, len(reasons), len(wrong)), complaints


def accepted_in(name: str) -> list[Accepted]:
    """What `accepted.toml` has to say about one corpus."""
    entries = tomllib.loads((Path(__file__).parent / "accepted.toml").read_text()).get("accepted", [])
    return [
        Accepted(entry["corpus"], tuple(entry["cases"]), entry.get("count"), entry["reason"])
        for entry in entries
        if entry["corpus"] == name
    ]


def table(lines: list[Figures]) -> str:
    """The books, to be read."""
    width = max(len(line.corpus) for line in lines)
    head = f"{'corpus':<{width}}  {'cases':>7} {'equal':>7} {'accepted':>8} {'wrong':>6}"
    rows = [f"{f.corpus:<{width}}  {f.cases:>7} {f.equal:>7} {f.accepted:>8} {f.wrong:>6}" for f in lines]
    return "\n".join([head, *rows])


@contextmanager
def time_limit() -> Iterator[None]:
    """TimeoutError after `LIMIT_S`, the end of the process after `HARD_LIMIT_S`."""
    before = signal.signal(signal.SIGALRM, _too_long)
    faulthandler.dump_traceback_later(HARD_LIMIT_S, exit=True)
    signal.setitimer(signal.ITIMER_REAL, LIMIT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        faulthandler.cancel_dump_traceback_later()
        signal.signal(signal.SIGALRM, before)


def _too_long(*_: object) -> None:
    raise TimeoutError(f"took more than {LIMIT_S} s")


def _fits(case: str, pattern: str) -> bool:
    return case == pattern or fnmatch.fnmatchcase(case, pattern)


def _difference(expected: Any, found: Any) -> str:
    """In words; of long texts from where they part."""
    if isinstance(expected, str) and isinstance(found, str):
        same = next((k for k, (a, b) in enumerate(zip(expected, found, strict=False)) if a != b), 0)
        start = max(0, same - 10)
        return f"expected {_short(expected[start:])}, found {_short(found[start:])}" + (f" at {same}" if same else "")
    return f"expected {_short(expected)}, found {_short(found)}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else text[:197] + "…"
