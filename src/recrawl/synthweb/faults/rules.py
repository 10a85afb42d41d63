"""Which requests meet which fault."""

from __future__ import annotations

import random
from collections.abc import Sequence
from zlib import crc32

import msgspec

from recrawl.errors import ParameterError

ROBOTS_PREFIX = "/robots.txt"
ALIASES = ("/moved", "/guest")
"""Where redirecting faults send clients; those faults do not strike there again."""


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """A fault and the requests it strikes.

    Parameters
        name: of the fault
        host: as in URLs, with the port; empty for all
        prefix: of the path; empty for all but robots.txt (faults of robots.txt: robots.txt alone)
        share: of the requests, at random; with `sticky`, of the paths, always the same ones
        times: at most so often
        seconds: how long it asks to wait, or takes between bytes, where the fault has such a thing
        size: in bytes after decompression (of `many_entries` in entries, of `deep_xml` in levels)
    """

    name: str
    host: str = ""
    prefix: str = ""
    share: float = 1.0
    sticky: bool = False
    seed: int = 0
    times: int | None = None
    seconds: float | None = None
    size: int | None = None

    @property
    def aims_at_robots(self) -> bool:
        """Whether it is a fault of robots.txt."""
        return self.name.startswith("robots_")

    def covers(self, host: str, path: str) -> bool:
        """Whether it concerns this document at all."""
        if self.host and self.host != host:
            return False
        if self.prefix:
            return path.startswith(self.prefix)
        return path.startswith(ROBOTS_PREFIX) == self.aims_at_robots


class FaultRules:
    """The faults now in force. The first that strikes a request is the one it meets."""

    def __init__(self, known: frozenset[str]) -> None:
        self._known = known
        self.rules: list[Rule] = []
        self._chance: list[random.Random] = []
        self._struck: list[int] = []

    def set(self, rules: Sequence[Rule]) -> None:
        """Replace all."""
        for place, rule in enumerate(rules):
            if rule.name not in self._known:
                raise ParameterError("name", f"one of {', '.join(sorted(self._known))}", repr(rule.name), (place,))
            if not 0.0 <= rule.share <= 1.0:
                raise ParameterError("share", "in [0, 1]", rule.share, (place,))
        self.rules = list(rules)
        self._chance = [random.Random(f"{rule.seed} {rule.name} {rule.prefix}") for rule in rules]
        self._struck = [0] * len(rules)

    def add(self, rule: Rule) -> None:
        """One more, after the others; their counts start again."""
        self.set([*self.rules, rule])

    def strike(self, host: str, path: str) -> tuple[Rule, int] | None:
        """The fault this request meets, if any, and how often it has struck before."""
        for place, rule in enumerate(self.rules):
            if rule.times is not None and self._struck[place] >= rule.times:
                continue
            if not rule.covers(host, path) or (
                rule.name.startswith(("redirect", "moved")) and path.startswith(ALIASES)
            ):
                continue
            if rule.share < 1.0 and self._draw(place, rule, path) >= rule.share:
                continue
            turn = self._struck[place]
            self._struck[place] += 1
            return rule, turn
        return None

    def _draw(self, place: int, rule: Rule, path: str) -> float:
        if rule.sticky:
            return crc32(f"{rule.seed} {rule.name} {path}".encode()) / 2**32
        return self._chance[place].random()


def parse(text: str) -> Rule:
    """A rule as the command line writes it: NAME or NAME:SHARE.

    >>> parse("never:0.1").share
    0.1
    """
    name, colon, share = text.partition(":")
    try:
        return Rule(name=name, share=float(share) if colon else 1.0)
    except ValueError as error:
        raise ParameterError("--fault", "NAME or NAME:SHARE with a share in [0, 1]", repr(text)) from error
