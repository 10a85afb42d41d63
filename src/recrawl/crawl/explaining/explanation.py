"""Why a source is fetched when it is: its beliefs, its index, the price, and what stands between them.

The numbers are those the policy ranks by (:mod:`recrawl.crawl.explaining.ranking`), and what they are made of is
said beside them. What makes up the index of each form stands in docs/commands.md. With λ the price and τ the age::

    crossing age: the first τ at which the index is λ
    due = last + min(crossing age, max age), not before last + min interval, nor before any hold ends,
          nor in quiet hours or outside its own

Pure: it is told `now`, what is in the store and what the policy says, and fetches, learns and decides nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec

from recrawl.config import Config, QuietHours, active_from, quiet_until
from recrawl.config.settings import HALF_LIFE_S, MAX_AGE_S
from recrawl.crawl.explaining.list_words import AsList, NamedBy
from recrawl.crawl.explaining.pace import arrivals_per_s, first_wait, pace_in_words, stated_pace
from recrawl.crawl.explaining.page_rendering import PageRendering
from recrawl.crawl.explaining.ranking import UNPRICED, Rank
from recrawl.crawl.explaining.restless_text import RestlessText
from recrawl.crawl.own_holds import OwnHold, due_at, own_hold
from recrawl.crawl.requested_crawls import is_asked
from recrawl.kernels.credible_interval import lognormal_interval
from recrawl.store.records import Crawl, Hold, Progress, Source
from recrawl.store.source_terms import Defaults
from recrawl.units import DAY_S, show_duration

INTERVALS = "90 % of the lognormal law with this mean and standard deviation"
SOON_S = 1.0
AHEAD_S = 400 * DAY_S
"""What is due later than that falls into hours nobody asks about."""
BOUNDED = ("closed", "averaged")
"""Forms whose index stays below what the source is worth once ripe."""
USUAL = 0.15
"""An hour that differs less from the mean is not worth a word."""


class Circumstances(msgspec.Struct, frozen=True, kw_only=True):
    """What a source shares with the others. Times in seconds.

    Parameters
        price: of a unit of cost now; NaN before the first
        half_life_s, max_age_s: that count for it
        min_interval_s: no source is fetched more often
        host_held_until, host_held_by: the hold on its host, Unix seconds, and why; 0 for none
        quiet_until: end of the quiet hours it is in, Unix seconds; 0 if it is in none
        first_wait_s: how long a new source waits for its first fetch at this budget; NaN if nobody can say
        interval_s: the fixed time between two fetches its owner asked for; 0 for none
        active_from: when the hours begin in which it may be fetched, Unix seconds; 0 if it has none
        quiet_hours, active_hours: those of the settings in which nothing is fetched, and its own in which it may be
        importance: what counts where its tags say something; None for its own
        objective: what a fetch is worth
        in_flight: it is handed out, and nobody has said yet what that brought
    """

    price: float = math.nan
    half_life_s: float = HALF_LIFE_S
    max_age_s: float = MAX_AGE_S
    min_interval_s: float = 0.0
    host_held_until: float = 0.0
    host_held_by: str = ""
    quiet_until: float = 0.0
    first_wait_s: float = math.nan
    interval_s: float = 0.0
    active_from: float = 0.0
    quiet_hours: tuple[QuietHours, ...] = ()
    active_hours: tuple[QuietHours, ...] = ()
    importance: float | None = None
    objective: str = "ephemeral"
    in_flight: bool = False


def circumstances(
    config: Config, source: Source, now: float, *, price: float, hold: Hold | None, waiting: int, budget: float
) -> Circumstances:
    """What counts for a source beside what is known of it: its owner's words, its tags', and the settings in force.

    Parameters
        hold: on its host, if there is one
        waiting: how many sources were never fetched, if it is one of them; otherwise 0
        budget: requests per second
    """
    terms = source.terms(Defaults.of(config))
    hours = tuple(QuietHours.parse("active_hours", text) for text in terms.active_hours)
    return Circumstances(
        price=price,
        half_life_s=terms.half_life_s,
        max_age_s=terms.max_age_s,
        min_interval_s=config.politeness.min_interval_s,
        host_held_until=hold.until if hold else 0.0,
        host_held_by=hold.reason if hold else "",
        quiet_until=quiet_until(config.politeness.quiet, now),
        first_wait_s=first_wait(waiting, budget, config.newcomers_share),
        interval_s=terms.interval or 0.0,
        active_from=active_from(hours, now) if hours else 0.0,
        quiet_hours=config.politeness.quiet,
        active_hours=hours,
        importance=terms.importance,
        objective=config.objective,
    )


class Obstacle(msgspec.Struct, frozen=True):
    """Something that keeps a source from being fetched before a time (Unix seconds; inf: until somebody acts)."""

    until: float
    reason: str


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """All there is to say about one source. Unknown numbers are NaN; a crossing age of inf means never.

    Parameters
        value, rate_per_s: what is believed, importance not included; low and high as `intervals` says
        pace_per_day: items or changes a day that follow from it; `pace` in words
        index: what a fetch is worth now per unit of cost; `ceiling` what it is worth once ripe
        form, reasons: how the index comes about, and the numbers it is made of, by names that say the unit
        worth_at: when the index meets the price; `floor_at` when the maximum age is reached; Unix seconds
        due: when it will be fetched, Unix seconds; inf for never
        held_back: what keeps it, the longest first
        as_list: what it is as a list, if it names watched pages; `named_by` what lists say of it, if any names it
        why: all of it in one sentence
        hub: who tells of its changes, in words; empty for nobody
        restless: text of a page that is left out because it changes at nearly every visit
        rendering: of a page that a browser shows, why, and what that takes
        number: the number of a page that is watched, in words; empty if none is
        when: conditions under which a change of it counts
        last_state: of the state of the page that was kept last, why it is no change; empty if it is one
    """

    id: int
    url: str
    title: str
    kind: str
    state: str
    note: str
    why: str
    importance: float
    cost: float
    half_life_s: float
    max_age_s: float
    min_interval_s: float
    value: float
    value_low: float
    value_high: float
    rate_per_s: float
    rate_low: float
    rate_high: float
    intervals: str = INTERVALS
    pace_per_day: float
    pace: str
    last: float | None
    age_s: float
    visits: int
    failures: int
    captured: float
    index: float
    form: str = ""
    reasons: dict[str, float] = {}
    ceiling: float
    price: float
    crossing_age_s: float
    worth_at: float
    floor_at: float
    due: float
    held_back: list[Obstacle] = []
    as_list: AsList | None = None
    named_by: NamedBy | None = None
    crawls: list[Crawl] = []
    hub: str = ""
    restless: list[RestlessText] = []
    rendering: PageRendering | None = None
    number: str = ""
    when: list[str] = []
    last_state: str = ""


def explain(
    source: Source,
    progress: Progress,
    now: float,
    around: Circumstances,
    standing: Rank,
    crawls: Sequence[Crawl] = (),
    in_vain: bool = False,
) -> Explanation:
    """Why and when `source` will be fetched, seen at `now` (Unix seconds), from where it stands in the ranking.

    `in_vain` says that the crawl its owner asked for was made, and brought nothing.
    """
    value_low, value_high = lognormal_interval(standing.value, standing.value_sd)
    rate_low, rate_high = lognormal_interval(standing.rate, standing.rate_sd)
    max_age = standing.reasons.get("max_age_s", around.max_age_s)
    last = math.nan if progress.last is None else progress.last
    per_day = _per_day(standing, around.objective)
    asked = is_asked(source.wanted, progress.last or 0.0) and not in_vain
    own = own_hold(last, around.min_interval_s, around.interval_s, progress.held_until)
    found = Explanation(
        **_same(source, ("id", "url", "title", "kind", "state", "note", "cost")),
        **_same(progress, ("last", "visits", "failures", "captured")),
        **_same(standing, ("value", "index", "form", "reasons")),
        why="",
        importance=source.importance if around.importance is None else around.importance,
        half_life_s=around.half_life_s,
        max_age_s=max_age,
        min_interval_s=max(around.min_interval_s, around.interval_s),
        value_low=value_low,
        value_high=value_high,
        rate_per_s=standing.rate,
        rate_low=rate_low,
        rate_high=rate_high,
        pace_per_day=per_day,
        pace=pace_in_words(per_day, source.kind),
        age_s=math.nan if progress.last is None else max(now - progress.last, 0.0),
        ceiling=math.nan,
        price=around.price,
        crossing_age_s=standing.meets - last,
        worth_at=standing.meets if progress.last is not None else math.nan,
        floor_at=last + max_age,
        due=math.nan,
        held_back=_obstacles(source, progress, None if asked else own, now, around),
        crawls=list(crawls),
    )
    wanted, ceiling = _due(found, standing, None if asked else own, now, around), _ceiling(found, standing)
    why = _why(msgspec.structs.replace(found, due=wanted, ceiling=ceiling), asked, now, around)
    due = _in_hours(wanted, asked, now, around)
    if due > wanted:
        why = f"{why.removesuffix('.')}; the hours do not allow it then, so it is fetched {_when(due, now)}."
    return msgspec.structs.replace(found, due=due, ceiling=ceiling, why=why)


def _same(record: msgspec.Struct, names: Sequence[str]) -> dict[str, Any]:
    """What an explanation tells as it is."""
    return {name: getattr(record, name) for name in names}


def _per_day(standing: Rank, objective: str) -> float:
    """Items or changes a day: as the policy says, or as follows from value and rate."""
    stated = stated_pace(standing.reasons)
    return DAY_S * arrivals_per_s(standing.value, standing.rate, objective) if math.isnan(stated) else stated


def _ceiling(found: Explanation, standing: Rank) -> float:
    """What a fetch is worth once the source is ripe; inf where that never ends."""
    if math.isnan(standing.index) or standing.form in UNPRICED:
        return math.nan
    bounded = standing.form != "planned" and standing.rate > 0.0
    ripe = found.importance * standing.value / found.cost
    return ripe * standing.reasons.get("visible_share", 1.0) if bounded else math.inf


def _obstacles(
    source: Source, progress: Progress, own: OwnHold | None, now: float, around: Circumstances
) -> list[Obstacle]:
    """What keeps it, whatever it is worth; the longest first. Where somebody asked for it now, nothing of its own."""
    found = []
    if source.state == "paused":
        found.append(Obstacle(math.inf, "paused by its owner"))
    if source.state == "retired":
        found.append(Obstacle(math.inf, f"retired: {source.note}" if source.note else "retired"))
    if around.host_held_until > now:
        found.append(Obstacle(around.host_held_until, f"its host is held: {around.host_held_by or 'no reason given'}"))
    if around.quiet_until > now:
        found.append(Obstacle(around.quiet_until, "quiet hours"))
    if own is not None:
        found += _own_obstacles(progress, own, now, around)
    return sorted(found, key=lambda each: -each.until)


def _own_obstacles(progress: Progress, own: OwnHold, now: float, around: Circumstances) -> list[Obstacle]:
    found = []
    told = around.host_held_until > now and progress.held_by == around.host_held_by  # of its host, already
    if own.visit > now and not told:
        found.append(Obstacle(own.visit, progress.held_by or "held"))
    if own.interval > now:
        found.append(Obstacle(own.interval, f"its owner wants it fetched every {show_duration(around.interval_s)}"))
    elif own.min_interval > now:
        least = f"fetched less than {show_duration(around.min_interval_s)} ago (politeness.min_interval)"
        found.append(Obstacle(own.min_interval, least))
    if around.active_from > now:
        found.append(Obstacle(around.active_from, "outside the hours its owner set"))
    return found


def _due(found: Explanation, standing: Rank, own: OwnHold | None, now: float, around: Circumstances) -> float:
    """When it will be fetched; NaN where nobody can say. Nothing of its own holds it where somebody asked for it."""
    held = max((each.until for each in found.held_back), default=0.0)
    if math.isinf(held):
        return math.inf
    if around.in_flight:
        return math.nan
    if own is None:
        return max(now, held)
    if found.last is None:
        return max(now + (0.0 if math.isnan(around.first_wait_s) else around.first_wait_s), held)
    if math.isnan(standing.due) and found.floor_at > now and not around.interval_s:
        return math.nan
    ranked = found.floor_at if math.isnan(standing.due) else min(standing.due, found.floor_at)
    return due_at(ranked, max(held, own.until), around.interval_s)


def _in_hours(due: float, asked: bool, now: float, around: Circumstances) -> float:
    """The first moment from `due` on that is in no quiet hours, and in its own unless somebody asked for it."""
    own, moment = () if asked else around.active_hours, max(due, now)
    if not due < now + AHEAD_S or not (own or around.quiet_hours):
        return due
    for _ in range(4):
        open_at = active_from(own, quiet_until(around.quiet_hours, moment))
        if open_at <= moment:
            break
        moment = open_at
    return due if moment <= max(due, now) else moment


def _why(found: Explanation, asked: bool, now: float, around: Circumstances) -> str:
    if found.state == "retired":
        return f"Retired and not fetched again: {found.note or 'its server says it is gone'}."
    if found.state == "paused":
        return "Paused by its owner: it is not fetched until it is resumed."
    if around.in_flight:
        return "Handed out: it waits for its report."
    hold = found.held_back[0] if found.held_back and found.held_back[0].until >= found.due - SOON_S else None
    if hold is not None:
        return f"Held for {show_duration(hold.until - now)}: {hold.reason}{_otherwise(found, now)}."
    if asked:
        return "Due now: somebody asked for it to be fetched at once."
    if found.last is None:
        return _why_first(found, around)
    if around.interval_s:
        return f"Due {_when(found.due, now)}: its owner wants it fetched every {show_duration(around.interval_s)}."
    if found.form in UNPRICED:
        at_least = f"it is looked at every {show_duration(found.max_age_s)} at least"
        return f"Due {_when(found.due, now)}, by the rule that runs; {at_least}."
    if math.isnan(found.index):
        return "Fetched, but nothing is known of its pace yet."
    return _why_worth(found, now)


def _why_first(found: Explanation, around: Circumstances) -> str:
    tries = "after one try" if found.failures == 1 else f"after {found.failures} tries"
    so_far = f"No answer yet {tries}" if found.failures else "Never fetched yet"
    if math.isnan(around.first_wait_s):
        return f"{so_far}: it waits for its turn among the new sources."
    if around.first_wait_s <= SOON_S:
        return f"{so_far}: new sources are fetched first, at once at this budget."
    wait = show_duration(math.ceil(around.first_wait_s))
    return f"{so_far}: new sources are fetched first, within about {wait} at this budget."


def _why_worth(found: Explanation, now: float) -> str:
    pace = f"at its pace of {found.pace}" if found.pace.startswith("about") else f"with {found.pace}"
    worth = f"{pace}{_beside(found)} a fetch is worth {found.index:.3g} now"
    if math.isnan(found.price):
        enough = "no price yet, because there was budget for everything so far"
        return f"Due {_when(found.due, now)}: {worth}; {enough}."
    price = f"the price is {found.price:.3g}"
    floor = show_duration(found.max_age_s)
    when = _when(found.due, now)
    if math.isinf(found.crossing_age_s):
        most = f"{pace} a fetch is worth {found.ceiling:.3g} at most" if found.form in BOUNDED else worth
        most = f"{most}, and {price}"
        return f"Not worth a fetch at this price: {most}; it is looked at anyway every {floor}, next {when}."
    if found.floor_at < found.worth_at:
        return f"Due {when}, because it is looked at every {floor} at least: {worth}, and {price}."
    return f"Due {when}: {worth}, and {price}."


def _beside(found: Explanation) -> str:
    """What else the index rests on, in a few words."""
    said = found.reasons
    if found.form == "planned" and said.get("planned_rate_per_s", 0.0) > 0.0:
        return f", for which a fetch every {show_duration(1.0 / said['planned_rate_per_s'])} is planned,"
    hour, wait = said.get("profile_now", 1.0), said.get("index_wait_s", 0.0)
    beside = [f"{hour:.2g} times the usual at this hour"] if abs(hour - 1.0) > USUAL else []
    beside += [f"visible {show_duration(wait)} after it is fetched"] if wait >= SOON_S else []
    return f", {', '.join(beside)}," if beside else ""


def _when(due: float, now: float) -> str:
    if math.isnan(due) or math.isinf(due):
        return "at a time nobody knows before"
    return "now" if due <= now + SOON_S else f"in {show_duration(due - now)}"


def _otherwise(found: Explanation, now: float) -> str:
    """What would be without the hold."""
    if found.last is None or math.isnan(found.worth_at):
        return ""
    return f"; otherwise due {_when(min(found.worth_at, found.floor_at), now)}"
