"""Scenarios: which traces to replay, when, at what budgets, and what counts.

A scenarios file is TOML with one `[[scenario]]` table each::

    name, description
    kind                     "freshness" or "news" (pages), "ephemeral" or "discovery" (items)
    corpora                  which corpora the targets come from
    clean                    pages: drop changes marked `revert`, and those of a `batch` > 50 (default true)
    page_modulus             pages: keep pages whose id is a multiple of this (default 1)
    lists                    pages: lists (sitemaps) may be crawled too, for a token each (default false)
    min_items                items: keep sources with at least this many `n_items_in_window` (default 1)
    max_midnight_share       items: drop sources of which a larger share of items is stamped exactly 00:00:00 UTC
    starts_at, scored_from, ends_at   UTC; what comes before `scored_from` is warm-up
    tick_s                   length of a tick in seconds
    budgets_fetches_per_day  budgets to run, each over all targets together
    half_life_h              ephemeral, news: half-life of the value of an item or a change in hours
    weight                   ephemeral: "unit", every item has weight 1

Everything wrong with a file is said by the name of the scenario and of the field.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from recrawl.errors import ParameterError

Kind = Literal["freshness", "news", "ephemeral", "discovery"]
KINDS: tuple[Kind, ...] = ("freshness", "news", "ephemeral", "discovery")
PAGES: tuple[Kind, ...] = ("freshness", "news")
DAY_S = 86400


@dataclass(frozen=True)
class Scenario:
    """One scenario; times are UTC Unix seconds, see the module for the meaning of the fields."""

    name: str
    kind: Kind
    corpora: tuple[str, ...]
    starts_at: int
    scored_from: int
    ends_at: int
    tick_s: int
    budgets_fetches_per_day: tuple[float, ...]
    description: str = ""
    clean: bool = True
    page_modulus: int = 1
    min_items: int = 1
    max_midnight_share: float | None = None
    half_life_h: float | None = None
    weight: str = "unit"
    lists: bool = False

    @property
    def pages(self) -> bool:
        """Whether its targets are pages, of which a crawl shows only whether they changed."""
        return self.kind in PAGES

    @property
    def objective(self) -> str:
        """What policies that have an objective are told: changes that are news fade like items."""
        return "ephemeral" if self.kind == "news" else self.kind

    @property
    def ticks(self) -> int:
        """Number of ticks; tick k = 1..ticks ends at starts_at + k·tick_s."""
        return (self.ends_at - self.starts_at) // self.tick_s

    @property
    def scored_days(self) -> float:
        """Length of the scored window in days."""
        return (self.ends_at - self.scored_from) / DAY_S

    def income(self, budget: float) -> int:
        """What a tick brings at `budget` fetches per day, in units of 1/86400 token: whole, so nothing is rounded."""
        if not 0.0 < budget < float("inf"):
            raise ParameterError("budget", "a finite number of fetches per day above 0", budget)
        return round(budget * self.tick_s)

    def spendable(self, wanted: float) -> float:
        """The budget nearest to `wanted` that gives whole tokens per tick, or one token every few ticks.

        In between, the cap of one tick's worth would eat a fraction of every tick's income.
        """
        per_tick = wanted * self.tick_s / DAY_S
        snapped = round(per_tick) if per_tick >= 1 else 1 / round(1 / per_tick)
        budget = snapped * DAY_S / self.tick_s
        return int(budget) if budget == int(budget) else budget


def read_scenarios(path: Path) -> list[Scenario]:
    """All scenarios of a file, checked."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8")).get("scenario")
    except OSError as error:
        raise ParameterError("SCENARIOS", "a readable TOML file", f"{path} ({error.strerror})") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ParameterError("SCENARIOS", "a TOML file", f"{path} ({error})") from error
    if not isinstance(tables, list) or not tables:
        raise ParameterError("SCENARIOS", "a TOML file with [[scenario]] tables", path)
    found = [scenario_of(table, place) for place, table in enumerate(tables)]
    names = [scenario.name for scenario in found]
    for name in names:
        if names.count(name) > 1:
            raise ParameterError(f"scenario {name!r}", "named once", f"{names.count(name)} scenarios of that name")
    return found


def scenario_of(table: Mapping[str, Any], place: int = 0) -> Scenario:
    """A scenario from its table; `place` names it in errors until its own name is known."""
    name = table.get("name")
    if not isinstance(name, str) or not name:
        raise ParameterError(f"scenario number {place + 1}, field name", "a name", repr(name))
    _refuse_misspelt(name, table)
    given: dict[str, Any] = {}
    for field in fields(Scenario):
        if field.name in table:
            given[field.name] = _read(name, field.name, table[field.name])
        elif field.name in _REQUIRED:
            raise ParameterError(f"scenario {name!r}, field {field.name}", "given", "nothing")
    scenario = Scenario(**given)
    _check_together(scenario)
    return scenario


def _refuse_misspelt(name: str, table: Mapping[str, Any]) -> None:
    """A field nobody knows may be a note; one that nearly is a known field is a mistake."""
    known = [field.name for field in fields(Scenario)]
    for field in table:
        if field not in known and (meant := difflib.get_close_matches(field, known, n=1, cutoff=0.8)):
            raise ParameterError(f"scenario {name!r}, field {field}", f"spelt {meant[0]}", field)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError
    return value


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError
    return value


def _moment(value: Any) -> int:
    moment = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    seconds = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    if seconds != int(seconds):
        raise ValueError
    return int(seconds)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _positive(value: float) -> bool:
    return 0 < value < float("inf")


# Per field: how to read it, what holds of it, and how to say so.
_Rule = tuple[Callable[[Any], Any], Callable[[Any], bool], str]
_MOMENT: _Rule = (_moment, lambda _: True, 'a UTC time in whole seconds such as "2024-07-01T00:00:00Z"')
_RULES: dict[str, _Rule] = {
    "name": (_text, bool, "a name"),
    "description": (_text, lambda _: True, "a text"),
    "kind": (_text, lambda kind: kind in KINDS, f"one of {', '.join(KINDS)}"),
    "corpora": (lambda names: tuple(_text(name) for name in list(names)), bool, "a list of names of corpora"),
    "clean": (_flag, lambda _: True, "true or false"),
    "page_modulus": (_whole, lambda n: n >= 1, "a whole number >= 1"),
    "min_items": (_whole, lambda n: n >= 0, "a whole number >= 0"),
    "max_midnight_share": (_number, lambda share: 0 <= share <= 1, "a share in [0, 1]"),
    "starts_at": _MOMENT,
    "scored_from": _MOMENT,
    "ends_at": _MOMENT,
    "tick_s": (_whole, lambda n: n >= 1, "a whole number of seconds >= 1"),
    "budgets_fetches_per_day": (
        lambda budgets: tuple(_number(budget) for budget in list(budgets)),
        lambda budgets: bool(budgets) and all(map(_positive, budgets)),
        "a list of positive numbers",
    ),
    "half_life_h": (_number, _positive, "a positive number of hours"),
    "lists": (_flag, lambda _: True, "true or false"),
    "weight": (_text, lambda weight: weight == "unit", '"unit"'),
}
_REQUIRED = ("kind", "corpora", "starts_at", "scored_from", "ends_at", "tick_s", "budgets_fetches_per_day")


def _read(scenario: str, field: str, value: Any) -> Any:
    reader, holds, expected = _RULES[field]
    try:
        result = reader(value)
        fine = holds(result)
    except (TypeError, ValueError):
        fine = False
    if not fine:
        raise ParameterError(f"scenario {scenario!r}, field {field}", expected, repr(value))
    return result


def _check_together(scenario: Scenario) -> None:
    def refuse(field: str, expected: str) -> ParameterError:
        return ParameterError(f"scenario {scenario.name!r}, field {field}", expected, getattr(scenario, field))

    if scenario.ends_at <= scenario.starts_at:
        raise refuse("ends_at", "after starts_at")
    if not scenario.starts_at <= scenario.scored_from < scenario.ends_at:
        raise refuse("scored_from", "from starts_at to before ends_at")
    if (scenario.ends_at - scenario.starts_at) % scenario.tick_s:
        raise refuse("tick_s", "a whole part of the time from starts_at to ends_at")
    if scenario.objective == "ephemeral" and scenario.half_life_h is None:
        raise refuse("half_life_h", f"given for a scenario of kind {scenario.kind}")
    if scenario.lists and not scenario.pages:
        raise refuse("lists", f"false for a scenario of kind {scenario.kind}: lists name pages")


def select(scenarios: list[Scenario], names: tuple[str, ...]) -> list[Scenario]:
    """The scenarios of these names, in the order of the file; all of them where none is named."""
    known = {scenario.name for scenario in scenarios}
    for name in names:
        if name not in known:
            raise ParameterError("--scenario", f"one of {', '.join(sorted(known))}", repr(name))
    return [scenario for scenario in scenarios if not names or scenario.name in names]


def half_life_s(scenario: Scenario) -> float | None:
    """The half-life of an item's value in seconds, where the scenario has one."""
    return None if scenario.half_life_h is None else 3600.0 * scenario.half_life_h
