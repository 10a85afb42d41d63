"""What may be said of one source beyond its address and its worth, and what counts where nothing is said.

A source's own words come first, then those of its tags (`[tags.NAME]` in the settings, in the order of its tags), then
the settings. :class:`Defaults` is the one place where that is decided.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

import msgspec

from recrawl.units import parse_duration

if TYPE_CHECKING:
    from recrawl.config.settings import Config

Digest = Literal["text", "raw"]
MOST_KNOWN = 10_000


class SourceOptions(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, forbid_unknown_fields=True):
    """What its owner said of a source; None and empty mean nothing was said.

    Parameters
        digest: what of a page is compared: its text, or every byte
        ignore: CSS selectors of what does not count
        ignore_text: regular expressions of text that does not count
        ignore_noise: whether a page's own clock, "x minutes ago", nonces and counters of visits are left out
        robots: whether robots.txt is obeyed
        hints: whether the publisher's own words about its pace count
        interval: fixed time between fetches, seconds
        active_hours: hours in which it may be fetched, written as quiet hours are
        notify: whether what is found is handed to the outlets
    """

    digest: Digest | None = None
    ignore: tuple[str, ...] = ()
    ignore_text: tuple[str, ...] = ()
    ignore_noise: bool | None = None
    robots: bool | None = None
    hints: bool | None = None
    interval: float | None = None
    active_hours: tuple[str, ...] = ()
    notify: bool | None = None


USUAL = SourceOptions()
"""Nothing was said: so it is of nearly all sources."""


class TagSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """`[tags.NAME]`: what counts for the sources with a tag that say nothing else themselves. Times as text."""

    importance: float | None = None
    half_life: str = ""
    max_age: str = ""
    digest: Digest | None = None
    ignore: tuple[str, ...] = ()
    ignore_text: tuple[str, ...] = ()
    ignore_noise: bool | None = None
    robots: bool | None = None
    hints: bool | None = None
    interval: str = ""
    active_hours: tuple[str, ...] = ()
    notify: bool | None = None


class Effective(msgspec.Struct, frozen=True, kw_only=True):
    """What counts for one source. `half_life` and `max_age` are None where the settings' own count. Times in seconds.

    `interval` is None and `active_hours` are empty where nothing of the kind was asked for.
    """

    importance: float = 1.0
    half_life: float | None = None
    max_age: float | None = None
    digest: Digest = "text"
    ignore: tuple[str, ...] = ()
    ignore_text: tuple[str, ...] = ()
    ignore_noise: bool = True
    robots: bool = True
    hints: bool = True
    interval: float | None = None
    active_hours: tuple[str, ...] = ()
    notify: bool = True


class Described(Protocol):
    """What is asked of a source."""

    @property
    def importance(self) -> float:
        """What an item of it is worth; 1 is usual, and then a tag may say otherwise."""
        ...

    @property
    def half_life(self) -> float | None:
        """In seconds."""
        ...

    @property
    def max_age(self) -> float | None:
        """In seconds."""
        ...

    @property
    def tags(self) -> tuple[str, ...]:
        """In its owner's order."""
        ...

    @property
    def select(self) -> str:
        """The part of a page that is compared; empty for all."""
        ...

    @property
    def options(self) -> SourceOptions:
        """What its owner said."""
        ...


@dataclass(frozen=True)
class Defaults:
    """What counts for sources that say nothing themselves: the settings' words, and those of tags."""

    digest: Digest = "text"
    robots: bool = True
    tags: Mapping[str, TagSettings] = field(default_factory=dict)
    _known: dict[tuple[object, ...], Effective] = field(default_factory=dict, repr=False, compare=False)
    """Many sources are said the same of."""

    @classmethod
    def of(cls, config: Config) -> Defaults:
        """As the settings say."""
        return cls(config.pages.digest, config.politeness.robots, config.tags)

    def effective(self, source: Described) -> Effective:
        """What counts for a source: its own words, else its tags', else the settings'."""
        own = source.options
        tagged = [self.tags[tag] for tag in source.tags if tag in self.tags] if self.tags else []
        if not tagged and own == USUAL:
            return Effective(
                importance=source.importance,
                half_life=source.half_life,
                max_age=source.max_age,
                digest=self.digest,
                robots=self.robots,
                ignore_noise=not source.select,
            )
        key = (own, source.tags, not source.select, source.importance, source.half_life, source.max_age)
        if key not in self._known:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[key] = self._weighed(source, tagged)
        return self._known[key]

    def _weighed(self, source: Described, tagged: Sequence[TagSettings]) -> Effective:
        own = source.options
        said = _first_said(own, tagged)
        noise = said("ignore_noise")
        return Effective(
            importance=_importance(source.importance, tagged),
            half_life=source.half_life or _time("half_life", tagged),
            max_age=source.max_age or _time("max_age", tagged),
            digest=said("digest") or self.digest,
            ignore=said("ignore") or (),
            ignore_text=said("ignore_text") or (),
            ignore_noise=not source.select if noise is None else noise,
            robots=_unless_said(said("robots"), self.robots),
            hints=_unless_said(said("hints"), True),
            interval=own.interval or _time("interval", tagged),
            active_hours=said("active_hours") or (),
            notify=_unless_said(said("notify"), True),
        )


def effective(source: Described, config: Config) -> Effective:
    """What counts for a source under these settings."""
    return Defaults.of(config).effective(source)


def _first_said(own: SourceOptions, tagged: Sequence[TagSettings]) -> Callable[[str], Any]:
    """By name, the first that says something; None if nobody does."""
    places: list[SourceOptions | TagSettings] = [own, *tagged]
    return lambda name: next((said for place in places if (said := getattr(place, name)) not in (None, ())), None)


def _unless_said(said: bool | None, usual: bool) -> bool:
    return usual if said is None else said


def _importance(own: float, tagged: Sequence[TagSettings]) -> float:
    return own if own != 1.0 else next((each.importance for each in tagged if each.importance is not None), 1.0)


def _time(name: str, tagged: Sequence[TagSettings]) -> float | None:
    """The first time, in seconds, that a tag gives."""
    return next((parse_duration(name, text) for each in tagged if (text := getattr(each, name))), None)
