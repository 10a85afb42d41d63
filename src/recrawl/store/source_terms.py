"""What counts for one source: its own words first, then those of its tags, then the settings.

Tags speak through `[tags.NAME]` in the settings, in the order in which the source has them. This is the one place where
that is decided: ask :meth:`recrawl.store.records.Source.terms`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from recrawl.config import Config, SourceOptions, TagSettings
from recrawl.config.settings import HALF_LIFE_S, MAX_AGE_S
from recrawl.config.source_options import NONE, SWITCHED_OFF, USUAL, Digest, Render
from recrawl.units import parse_duration

if TYPE_CHECKING:
    from recrawl.store.records import Source

MOST_KNOWN = 10_000


class EffectiveOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What counts for one source. Times in seconds.

    Parameters
        half_life_s, max_age_s: its own, else its tags', else the settings'
        own_half_life, own_max_age: the same without the settings'; None where only these speak
        interval, active_hours: None and empty where nothing of the kind was asked for
        index_delay, index_batch: when what is found becomes visible; 0 for at once
    """

    importance: float = 1.0
    half_life_s: float = HALF_LIFE_S
    max_age_s: float = MAX_AGE_S
    own_half_life: float | None = None
    own_max_age: float | None = None
    digest: Digest = "text"
    ignore: tuple[str, ...] = ()
    ignore_text: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    keep_text: tuple[str, ...] = ()
    number: str = ""
    when: tuple[str, ...] = ()
    render: Render = "auto"
    steps: tuple[str, ...] = ()
    ignore_noise: bool = True
    restless: bool = True
    robots: bool = True
    hints: bool = True
    interval: float | None = None
    active_hours: tuple[str, ...] = ()
    notify: bool = True
    notify_to: tuple[str, ...] = ()
    follow: bool = False
    content: bool = False
    articles: bool = False
    index_delay: float = 0.0
    index_batch: float = 0.0

    def visible_share(self, now: float) -> float:
        """What is left of the interest in what is fetched at `now` when it is visible to readers."""
        if not self.index_delay and not self.index_batch:
            return 1.0
        from recrawl.kernels.indexing_engine import batch_wait  # whoever looks at a catalogue does without arrays
        from recrawl.kernels.worth import remaining

        return remaining(self.index_delay + float(batch_wait(now, self.index_batch)), self.half_life_s)


@dataclass(frozen=True)
class Defaults:
    """What counts for sources that say nothing themselves: the settings' words, and those of tags."""

    digest: Digest = "text"
    render: Render = "auto"
    robots: bool = True
    tags: Mapping[str, TagSettings] = field(default_factory=dict)
    half_life_s: float = HALF_LIFE_S
    max_age_s: float = MAX_AGE_S
    index_delay: float = 0.0
    index_batch: float = 0.0
    content: bool = False
    _known: dict[tuple[object, ...], EffectiveOptions] = field(default_factory=dict, repr=False, compare=False)
    """The same is said of many sources."""

    @classmethod
    def of(cls, config: Config) -> Defaults:
        """As the settings say."""
        return cls(
            config.pages.digest,
            config.pages.render,
            config.politeness.robots,
            config.tags,
            config.half_life_s,
            config.max_age_s,
            config.index_delay_s,
            config.index_batch_s,
            config.pages.content,
        )

    def terms(self, source: Source) -> EffectiveOptions:
        """What counts for a source."""
        key = (source.options, source.tags, not source.select, source.importance, source.half_life, source.max_age)
        known = self._known.get(key)
        if known is None:
            known = self._weighed(source)
            if len(self._known) < MOST_KNOWN:
                self._known[key] = known
        return known

    def _weighed(self, source: Source) -> EffectiveOptions:
        own = source.options
        tagged = [self.tags[tag] for tag in source.tags if tag in self.tags] if self.tags else []
        if not tagged and own == USUAL:
            return EffectiveOptions(
                importance=source.importance,
                half_life_s=source.half_life or self.half_life_s,
                max_age_s=source.max_age or self.max_age_s,
                own_half_life=source.half_life,
                own_max_age=source.max_age,
                digest=self.digest,
                render=self.render,
                robots=self.robots,
                content=self.content,
                ignore_noise=not source.select,
                restless=not source.select,
                index_delay=self.index_delay,
                index_batch=self.index_batch,
            )
        said = _first_said(own, tagged)
        noise = said("ignore_noise")
        half_life = source.half_life or _time("half_life", tagged)
        max_age = source.max_age or _time("max_age", tagged)
        return EffectiveOptions(
            importance=_importance(source.importance, tagged),
            half_life_s=half_life or self.half_life_s,
            max_age_s=max_age or self.max_age_s,
            own_half_life=half_life,
            own_max_age=max_age,
            digest=said("digest") or self.digest,
            ignore=said("ignore") or (),
            ignore_text=said("ignore_text") or (),
            keep=said("keep") or (),
            keep_text=said("keep_text") or (),
            number=said("number") or "",
            when=said("when") or (),
            render=_shown(said("render") or self.render, said("steps")),
            steps=said("steps") or (),
            ignore_noise=not source.select if noise is None else noise,
            restless=_unless_said(said("restless"), not source.select),
            robots=_unless_said(said("robots"), self.robots),
            hints=_unless_said(said("hints"), True),
            interval=own.interval or _time("interval", tagged),
            active_hours=said("active_hours") or (),
            notify=_unless_said(said("notify"), True),
            notify_to=said("notify_to") or (),
            follow=_unless_said(said("follow"), False),
            content=_unless_said(said("content"), self.content),
            articles=_unless_said(said("articles"), False),
            index_delay=_span("index_delay", own, tagged, self.index_delay),
            index_batch=_span("index_batch", own, tagged, self.index_batch),
        )


def _first_said(own: SourceOptions, tagged: Sequence[TagSettings]) -> Callable[[str], Any]:
    """By name, the first that says something; None if nobody does, or that says that there is none."""
    places: list[SourceOptions | TagSettings] = [own, *tagged]

    def first(name: str) -> Any:
        said = next((said for place in places if (said := getattr(place, name)) not in (None, (), "")), None)
        return None if name in SWITCHED_OFF and said in (NONE, (NONE,)) else said

    return first


def _shown(render: Render, steps: tuple[str, ...] | None) -> Render:
    """Steps are done by a browser, also on a page that says enough without one."""
    return "browser" if steps and render == "auto" else render


def _unless_said(said: bool | None, usual: bool) -> bool:
    return usual if said is None else said


def _span(name: str, own: SourceOptions, tagged: Sequence[TagSettings], usual: float) -> float:
    """A time that may be 0, in seconds."""
    said: float | None = getattr(own, name)
    tag = _time(name, tagged) if said is None else said
    return usual if tag is None else tag


def _importance(own: float, tagged: Sequence[TagSettings]) -> float:
    return own if own != 1.0 else next((each.importance for each in tagged if each.importance is not None), 1.0)


def _time(name: str, tagged: Sequence[TagSettings]) -> float | None:
    """The first time, in seconds, that a tag gives."""
    return next((parse_duration(name, text) for each in tagged if (text := getattr(each, name))), None)
