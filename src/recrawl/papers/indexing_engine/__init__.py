"""The dynamics of the indexing engine, which `tcns2018` leaves to the future: when they matter, and by how much.

What a crawl finds is worth something once readers can find it in the index. Three engines: one that is late, one that
works in batches, and one that has not room for everything (:mod:`recrawl.kernels.indexing_engine`). Each is met by
policies that know of it and by policies that do not, on the same catalogues.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from recrawl.kernels.indexing_engine import exponential_delay_share
from recrawl.papers.indexing_engine import lab
from recrawl.papers.indexing_engine.lab import Catalogue
from recrawl.papers.reproduction import Reproduction
from recrawl.papers.results import Result, compare
from recrawl.records import FloatArray
from recrawl.report import Section, Text, draw
from recrawl.report.figures import INK, PALETTE
from recrawl.report.progress import ProgressCallback, silent
from recrawl.sim.metrics import interval95

TITLE = "The dynamics of the indexing engine"
REMEMBER = "A delay matters only where half-lives differ; with batches, what pays is to fetch right before them."
SPREADS = (0.0, 0.5, 1.0, 1.5)
SPREAD = 1.0
"""Where the spread is not what is varied."""
EXPONENTIAL = f"{SPREAD:g}-exponential"
TICKS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0)
SHOWN_DELAY, SHOWN_BATCH, SHOWN_ROOM = 2.0, 1.0, 0.2
Curves = Mapping[str, FloatArray]
"""By name: a row per catalogue, a column per place."""


class Length(NamedTuple):
    """Catalogues, batches per run, and how many places a curve has."""

    catalogues: int
    batches: int
    places: int


FULL, QUICK = Length(8, 200, 8), Length(3, 40, 4)


class Measured(NamedTuple):
    """Shares captured along three axes."""

    delays: FloatArray
    late: Curves
    batches: FloatArray
    batched: Curves
    rooms: FloatArray
    bounded: Curves


def reproduce(quick: bool = False, seed: int = 0, progress: ProgressCallback = silent) -> Reproduction:
    """Measure all three; `quick` on fewer catalogues, and more coarsely."""
    length = QUICK if quick else FULL
    found = measured(length, seed, progress)
    results = [*_late_results(found), *_batch_results(found), *_room_results(found)]
    by_id = {result.id: result.measured for result in results}
    lead = (
        "A delay that all share moves nobody where everything fades alike; with half-lives that differ by a factor e, "
        f"knowing of a delay of two half-lives captures {by_id['engine/delay/spread-1']:.1f} % more. With batches it "
        f"pays to save crawls for the moment before them ({by_id['engine/batch/saving']:.0f} % more at a batch per "
        f"half-life); spread evenly, crawls that know of batches capture {by_id['engine/batch/waiting']:.1f} % more. "
        "An engine without room for everything is a second price: the index stops growing at the age at which an item "
        "is no longer worth indexing. Delays and batches run live (index_delay, index_batch); capacity is in the lab "
        "alone."
    )
    sections = [_late(found), _batched(found), _bounded(found)]
    return Reproduction("indexing_engine", TITLE, lead, results, sections, remember=REMEMBER)


def measured(length: Length, seed: int, progress: ProgressCallback = silent) -> Measured:
    """Every curve."""
    delays = np.linspace(0.0, 4.0, 2 * length.places + 1)
    batches = np.unique(np.append(np.geomspace(0.125, 4.0, length.places), SHOWN_BATCH))
    rooms = np.unique(np.append(np.linspace(0.1, 1.0, 2 * length.places - 1), SHOWN_ROOM))
    late, seeds = {}, [seed * 1000 + number for number in range(length.catalogues)]
    for spread in SPREADS:
        drawn = [Catalogue.drawn(each, spread) for each in seeds]
        late[f"{spread:g}"] = _table(drawn, delays, _knowing_gains)
        if spread == SPREAD:
            late[EXPONENTIAL] = _table(drawn, delays, _knowing_gains_exponential)
    progress("indexing engine", 0.1)
    drawn = [Catalogue.drawn(each, SPREAD) for each in seeds]
    batched: dict[str, FloatArray] = {"saving": _table(drawn, batches, lab.captured_by_saving)}
    for done, (name, make) in enumerate(lab.EVEN.items(), 1):
        batched[name] = _table(drawn, batches, _in_batches(make, length.batches))
        progress("indexing engine", 0.1 + 0.27 * done)
    within = [[lab.captured_within(each, room) for room in rooms.tolist()] for each in drawn]
    bounded = {name: np.array([[cell[name] for cell in row] for row in within]) for name in within[0][0]}
    progress("indexing engine", 1.0)
    return Measured(delays, late, batches, batched, rooms, bounded)


def _table(drawn: Sequence[Catalogue], places: FloatArray, share: Callable[[Catalogue, float], float]) -> FloatArray:
    return np.array([[share(each, place) for place in places.tolist()] for each in drawn])


def _knowing_gains(catalogue: Catalogue, delay: float) -> float:
    """By how many percent more is captured by a policy that knows of the delay."""
    return _more(lab.captured_late(catalogue, delay, True), lab.captured_late(catalogue, delay, False))


def _knowing_gains_exponential(catalogue: Catalogue, delay: float) -> float:
    """The same with delays that are exponential, of this mean."""
    shares = [lab.captured_late(catalogue, delay, knows, exponential_delay_share) for knows in (True, False)]
    return _more(*shares)


def _in_batches(make: type[lab.Ignoring], batches: int) -> Callable[[Catalogue, float], float]:
    return lambda catalogue, batch: lab.captured_in_batches(catalogue, batch, make, batches)


def _more(one: Any, other: Any) -> Any:
    return 100.0 * (one / other - 1.0)


def _at(places: FloatArray, shown: float) -> int:
    return int(np.argmin(np.abs(places - shown)))


def _result(name: str, percent: FloatArray, note: str) -> Result:
    return compare(f"engine/{name}", float(percent.mean()), ci95=interval95(percent), note=note)


def _late_results(found: Measured) -> list[Result]:
    place = _at(found.delays, SHOWN_DELAY)
    note = f"% more captured by knowing of a delay of {SHOWN_DELAY:g} median half-lives; half-lives of this spread σ"
    ends = {name: ", delays exponential of that mean." if name == EXPONENTIAL else "." for name in found.late}
    return [_result(f"delay/spread-{name}", curve[:, place], note + ends[name]) for name, curve in found.late.items()]


def _batch_results(found: Measured) -> list[Result]:
    place = _at(found.batches, SHOWN_BATCH)
    ignoring = found.batched["ignoring"][:, place]
    note = f"% more captured than by ignoring batches of {SHOWN_BATCH:g} median half-life."
    return [
        _result(f"batch/{name}", _more(found.batched[name][:, place], ignoring), note)
        for name in ("waiting", "priced", "saving")
    ]


def _room_results(found: Measured) -> list[Result]:
    place = _at(found.rooms, SHOWN_ROOM)
    chance = found.bounded["chance"][:, place]
    note = f"% more captured than by an engine that takes any {100 * SHOWN_ROOM:g} % of all items."
    return [
        _result(f"room/{name.replace(' ', '-')}", _more(found.bounded[name][:, place], chance), note)
        for name in ("choosy", "two prices")
    ]


def _late(found: Measured) -> Section:
    text = (
        "Finds are visible a time D after the crawl. The index is multiplied by the mean of e^(−μD), whatever the law "
        "of D. Sources that fade alike keep their order, so nothing changes; where half-lives differ, what fades fast "
        "is worth fewer crawls, because it is gone before anybody sees it."
    )

    def paint(axes: Any) -> None:
        for colour, (spread, curve) in zip(PALETTE, found.late.items(), strict=False):
            name = f"σ = {SPREAD:g}, exponential delays" if spread == EXPONENTIAL else f"σ = {spread}"
            _line(axes, found.delays, curve, name, colour, "--" if spread == EXPONENTIAL else "-")
        axes.set(xlabel="delay, or its mean, in median half-lives", ylabel="% more captured by knowing")
        axes.legend(fontsize=8)

    caption = "Crawls at one price that knows of the delay, over crawls at one price that does not; 95 % intervals."
    return Section("An engine that is late", [Text(text), draw("indexing-engine-delay", caption, paint)])


def _batched(found: Measured) -> Section:
    text = (
        "Finds wait for the next batch. Of several crawls of a source between two batches all but the last find what "
        "the last would have found in time. So the best moment is right before the batch, and the source is one in "
        "slots of the batch's length: Theorem 1 says how many to let pass. That takes crawls saved up. If they are "
        "spread evenly, some must be early: the index at the moment of the choice, times what is left at the batch "
        "(waiting; what runs live), sends first what fades slowly. A price for each moment of the batch (priced) sends "
        "first whatever loses least by being early."
    )
    names = {"saving": "saved for the batch", "priced": "evenly, a price per moment",
             "waiting": "evenly, knowing of batches", "ignoring": "evenly, ignoring them"}  # fmt: skip

    def paint(axes: Any) -> None:
        for colour, (name, label) in zip((INK, *PALETTE), names.items(), strict=False):
            _line(axes, found.batches, 100 * found.batched[name], label, colour)
        axes.set(xscale="log", xlabel="time between batches, in median half-lives", ylabel="% of all interest captured")
        axes.minorticks_off()
        axes.set_xticks(TICKS, [f"{tick:g}" for tick in TICKS])
        axes.legend(fontsize=8)

    caption = (
        f"Half-lives of spread σ = {SPREAD:g}, {lab.PACE:g} crawls per source and median half-life; 95 % intervals."
    )
    return Section("An engine that works in batches", [Text(text), draw("indexing-engine-batches", caption, paint)])


def _bounded(found: Measured) -> Section:
    text = (
        "The engine takes only so many items. With a price per item it takes those still worth it, which are those "
        "younger than A. What these cost grows with age as they do, and cancels in the index; older bring nothing. "
        "So the index stays what it is up to A, and stops growing there: what would be too old is not crawled for."
    )
    names = {"two prices": "two prices (the bound)", "choosy": "the engine takes the best", "chance": "it takes any"}

    def paint(axes: Any) -> None:
        for colour, (name, label) in zip((INK, *PALETTE), names.items(), strict=False):
            _line(axes, 100 * found.rooms, 100 * found.bounded[name], label, colour)
        axes.set(xlabel="room of the engine, in % of all items", ylabel="% of all interest captured")
        axes.legend(fontsize=8)

    caption = f"Half-lives of spread σ = {SPREAD:g}; every item is worth the same when it appears; 95 % intervals."
    return Section("An engine without room for everything", [Text(text), draw("indexing-engine-room", caption, paint)])


def _line(axes: Any, places: FloatArray, curve: FloatArray, label: str, colour: str, style: str = "-") -> None:
    """The mean over catalogues, and its interval as a band."""
    bands = np.array([interval95(column) or (column[0], column[0]) for column in curve.T])
    axes.plot(places, curve.mean(axis=0), style, color=colour, label=label, linewidth=1.5)
    axes.fill_between(places, bands[:, 0], bands[:, 1], color=colour, alpha=0.15, linewidth=0)
