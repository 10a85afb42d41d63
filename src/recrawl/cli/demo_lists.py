"""A lying sitemap is found out: three sites of pages, whose sitemaps tell of changes honestly, forgetfully, or not.

The pages and their sitemaps are those of a synthetic web, played in virtual time: two months in a few seconds. It is
done in a process of its own beside the crawl, so that the demo takes no longer for it, and nobody waits for more than
`LONGEST_WAIT_S` where code has to be compiled first.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recrawl.records import FloatArray
    from recrawl.report.tables import Cell, Table
    from recrawl.sim.list_contest import ListContest, Standing
    from recrawl.sim.traces import Trace
    from recrawl.synthweb.world import World

LAWS = ("honest", "forgetful", "rebuilt")
DOES = {"honest": "tells of every change", "forgetful": "leaves out 40 %", "rebuilt": "all is new each night"}
PAGES, DAYS, WARM_DAYS, PER_DAY, TICK_S = 60, 60, 20, 48.0, 1800
"""Pages of a site, length of the play, days not scored, budget."""
CHANGES_PER_DAY, SPREAD = 0.1, 1.0
"""Median pace of a page, and the standard deviation of its logarithm."""
ASKED_ON = [3.0, 5.0, 60.0]
START = 1_700_006_400
LONGEST_WAIT_S = 10.0
NICE = 10
CHILD = "import sys; sys.path[:] = sys.argv[2:]; from recrawl.cli.demo_lists import main; main()"


def figures(seed: int) -> ListContest:
    """What lists were worth on these sites."""
    from recrawl.sim.list_contest import compete_with_lists
    from recrawl.sim.scenarios import DAY_S, Scenario
    from recrawl.synthweb.world import World

    world = World.make(
        PAGES * len(LAWS), len(LAWS), seed, "pages",
        law="steady", median_rate=CHANGES_PER_DAY / 24.0, rate_spread=SPREAD, lists=",".join(LAWS),
    )  # fmt: skip
    scenario = Scenario(
        "lists", "freshness", (), START, START + WARM_DAYS * DAY_S, START + DAYS * DAY_S, TICK_S, (PER_DAY,), lists=True
    )
    return compete_with_lists(scenario, trace_of(world, DAYS), PER_DAY, ASKED_ON)


def trace_of(world: World, days: int) -> Trace:
    """So many virtual days of a world of pages, with what its lists said of them, as replays take it."""
    import numpy as np

    from recrawl.sim.trace_lists import TraceList
    from recrawl.sim.traces import Trace

    def seconds(hours: FloatArray) -> FloatArray:
        return START + np.ceil(hours * 3600.0)

    end, lists = 24.0 * days, []
    for host in world.lists:
        told = {page.number: world.listed(page.number).told(end) for page in world.pages(host)}
        owners = np.repeat(list(told), [len(each.at) for each in told.values()])
        at, lastmod = (np.concatenate([getattr(each, name) for each in told.values()]) for name in ("at", "lastmod"))
        lists.append(
            TraceList.of(
                host, f"http://{world.lists[host].name}.example/sitemap.xml", owners, seconds(at), seconds(lastmod)
            )
        )
    changes = [world.events(page.number, 0.0, end) for page in world.sources]
    owners = np.repeat(np.arange(len(changes)), [len(each) for each in changes])
    labels = [f"http://{world.lists[page.host].name}.example{page.path}" for page in world.sources]
    trace = Trace.of(np.arange(len(changes)), labels, owners, seconds(np.concatenate(changes)))
    return replace(trace, lists=tuple(lists))


@contextmanager
def computing(seed: int) -> Iterator[Computing]:
    """Have the figures computed beside the block, which is not to be slowed down by it; nothing is left running."""
    command = [sys.executable, "-P", "-c", CHILD, str(seed), *sys.path]
    quiet = subprocess.DEVNULL
    child = subprocess.Popen(command, stdin=quiet, stdout=subprocess.PIPE, stderr=quiet)
    try:
        yield Computing(child)
    finally:
        child.kill()
        child.communicate()


class Computing:
    """The process that computes the figures."""

    def __init__(self, child: subprocess.Popen[bytes]) -> None:
        self._child = child

    @property
    def ended(self) -> bool:
        """Whether it has come to its end."""
        return self._child.poll() is not None

    def figures(self) -> ListContest | str:
        """What it found, or why there is nothing."""
        import msgspec

        from recrawl.sim.list_contest import ListContest

        try:
            said, _ = self._child.communicate(timeout=LONGEST_WAIT_S)
        except subprocess.TimeoutExpired:
            return "is not ready: code is compiled, once on this machine. Run the demo again."
        if self._child.returncode:
            return f"cannot be shown: its process ended with exit status {self._child.returncode}."
        return msgspec.json.decode(said, type=ListContest)


def main() -> None:
    """Compute the figures for another process, and leave the machine to others meanwhile."""
    import msgspec

    os.nice(NICE)
    sys.stdout.buffer.write(msgspec.json.encode(figures(int(sys.argv[1]))))


def table(found: ListContest) -> Table:
    """How trust in each sitemap developed."""
    from recrawl.report.tables import Column, Table

    asked = found.lists[0].days
    columns = [Column("sitemap"), Column("what it does"), *(Column(f"day {day:g}", digits=0) for day in asked)]
    columns += [Column(name, digits=0) for name in ("taken as right", "truly right", "tells of")]
    rows = [
        [
            law,
            DOES[law],
            *(_hundredths(trust) for trust in each.trust),
            _hundredths(each.right if _is_believed(each) else None),
            _hundredths(each.truly_right),
            _hundredths(each.tells if _is_believed(each) else None),
        ]
        for law, each in zip(LAWS, found.lists, strict=True)
    ]
    return Table(columns, rows, caption="Trust in three sitemaps, as visits to their pages judge them, in %")


def worth(found: ListContest) -> Table:
    """How fresh the pages were."""
    from recrawl.report.tables import Column, Table

    shares = {
        "without lists": found.without,
        "every list taken at its word": found.believed,
        "each list trusted as far as it was right": found.learned,
    }
    rows: list[list[Cell]] = [[name, 100.0 * share] for name, share in shares.items()]
    return Table([Column("policy"), Column("fresh", digits=1)], rows, caption="Share of time fresh at one budget, in %")


def sentences(found: ListContest) -> list[str]:
    """What was played, and what became of each sitemap; each fits a line."""
    return [
        f"Three sites with {found.pages} pages, which change {found.changes / found.days:.0f} times a day;"
        f" {found.budget_per_day:.0f} requests",
        f"a day, sitemaps included, for {found.days:.0f} virtual days. Only later visits to pages can",
        "tell whether a sitemap was right:",
        *(f"  {law}: {_became(each)}" for law, each in zip(LAWS, found.lists, strict=True)),
    ]


def _became(each: Standing) -> str:
    right, missed = _of_100(each.right), _of_100(None if each.tells is None else 1.0 - each.tells)
    if each.found_out_after == 0:
        return f"never believed, and truly right {_of_100(each.truly_right)} of 100 times"
    if each.found_out_after is not None:
        return f"found out after {_visits(each.found_out_after)}; truly right {_of_100(each.truly_right)} of 100 times"
    if each.believed_after is not None:
        return f"believed after {_visits(each.believed_after)}; right {right} of 100 times, misses {missed} of 100"
    return f"not judged yet; right {right} of 100 times"


def _is_believed(each: Standing) -> bool:
    trust = each.trust[-1]
    return trust is not None and trust > 0.5


def _visits(count: int) -> str:
    return f"{count} visit{'' if count == 1 else 's'}"


def _of_100(share: float | None) -> str:
    return "–" if share is None else f"{100.0 * share:.0f}"


def _hundredths(share: float | None) -> float | None:
    return None if share is None else 100.0 * share
