"""A fleet and one process side by side: the same world, the same budget, the same stretch of the world's time.

Each contender has a synthetic web of its own, made from the same seed, and a schema of its own in one PostgreSQL. They
run at the same time, so that whatever else the machine does slows all alike. What counts is what the webs' own logs
show: the value of the crawls in the stretch that begins `learn_s` after every contender has fetched every source once.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fleet import ENVIRONMENT, SETTINGS, Fleet, Nodes
from postgres import Server
from processes import RECRAWL
from recrawl.synthweb.ledger import SeenRequest, SourceTruth, score_log
from recrawl.synthweb.process import Served, running
from until import until

FLEET, ALONE, CONTROL = "fleet", "one process", "one process again"
START_S = 240.0


@dataclass(frozen=True)
class Terms:
    """What all contenders have in common.

    Parameters
        budget: requests per second in all
        learn_s, count_s: how long they crawl after everything was fetched once, and then while value is counted
    """

    seed: int = 0
    sources: int = 400
    hosts: int = 100
    budget: float = 25.0
    delay_s: float = 0.1
    shards: int = 4
    learn_s: float = 60.0
    count_s: float = 120.0
    world: tuple[str | int | float, ...] = ()


@dataclass(frozen=True)
class Gain:
    """Of one contender in the stretch that counts.

    Parameters
        captured: value by the web's log
        offered: value of everything published then
        spent: share of the budget that was used
        broken: rules the web saw broken over the whole run, and how often
        first_s: from its first request until everything was fetched once
    """

    captured: float
    offered: float
    spent: float
    crawls: int
    first_s: float
    broken: dict[str, int]


def compared(
    folder: Path, database: Server, nodes: Nodes, terms: Terms, names: Sequence[str] = (FLEET, ALONE)
) -> dict[str, Gain]:
    """Let them crawl; what each has gained."""
    with ExitStack() as ends:
        webs = {name: ends.enter_context(running(*_world(terms))) for name in names}
        made = {name: _made(folder, database, nodes, terms, name, web) for name, web in webs.items()}
        for name, contender in made.items():  # the fleet first: the others begin when it does
            ends.enter_context(_crawling(contender, name, terms))
        began = _all_seen(webs, terms.sources)
        late = _later({name: web.truths() for name, web in webs.items()})
        start = {name: began + terms.learn_s + by for name, by in late.items()}
        time.sleep(max(max(start.values()) + terms.count_s - time.time(), 0.0))  # what is counted is spent over time
        logs = {name: web.log() for name, web in webs.items()}
        truths = {name: web.truths() for name, web in webs.items()}
        broken = {name: contender.broken_rules(logs[name]) for name, contender in made.items()}
    return {name: _gain(truths[name], logs[name], broken[name], start[name], terms) for name in names}


def _world(terms: Terms) -> tuple[str | int | float, ...]:
    return ("--sources", terms.sources, "--hosts", terms.hosts, "--seed", terms.seed, "--speed", 3600, *terms.world)


def _made(folder: Path, database: Server, nodes: Nodes, terms: Terms, name: str, web: Served) -> Fleet:
    """A contender with its catalogue filled. One process is a fleet that never goes up."""
    home = folder / f"{name.replace(' ', '_')}_{terms.seed}"
    home.mkdir()
    url = database.url(schema=home.name)
    text = f'store = "{url}"\nbudget = "{terms.budget}/s"\n{SETTINGS.replace("DELAY", str(terms.delay_s))}'
    (home / "recrawl.toml").write_text(text)
    (home / "urls.txt").write_text("\n".join(web.urls()))
    contender = Fleet(database, nodes, web, home, url, terms.budget, max(1.0, terms.budget), terms.delay_s)
    done = contender.command("import", str(home / "urls.txt"))
    assert done.returncode == 0, done.stderr
    return contender


@contextmanager
def _crawling(contender: Fleet, name: str, terms: Terms) -> Iterator[None]:
    if name != FLEET:
        with alone(contender):
            yield
        return
    up = begun(contender, terms.shards)
    try:
        until(contender.web.log, START_S, again_s=0.5)
        yield
    finally:
        up.wait(START_S)
        contender.down()


def begun(fleet: Fleet, shards: int) -> subprocess.Popen[bytes]:
    """`recrawl cluster up`, on its way."""
    command = [*RECRAWL, "cluster", "up", "--shards", str(shards), "--address", fleet.nodes.address]
    return _command(fleet, command)


@contextmanager
def alone(contender: Fleet) -> Iterator[subprocess.Popen[bytes]]:
    """`recrawl run` over the same settings, asked to finish at the end of the block."""
    child = _command(contender, [*RECRAWL, "run", "--json"])
    try:
        yield child
        assert child.poll() is None, (contender.folder / "output.txt").read_text()[-2000:]
    finally:
        if child.poll() is None:
            child.terminate()
        try:
            child.wait(30.0)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def _command(contender: Fleet, command: Sequence[str]) -> subprocess.Popen[bytes]:
    settings = ["--config", str(contender.folder / "recrawl.toml")]
    with open(contender.folder / "output.txt", "wb") as said:
        return subprocess.Popen(
            [*command, *settings], cwd=contender.folder, env=ENVIRONMENT, stdout=said, stderr=subprocess.STDOUT
        )


def _all_seen(webs: dict[str, Served], sources: int) -> float:
    """The moment from which on every web had shown every source."""
    left = dict(webs)

    def seen() -> bool:
        for name, web in list(left.items()):
            if len({each.source for each in web.log() if each.shown is not None}) >= sources:
                del left[name]
        return not left

    until(seen, START_S, again_s=0.5)
    return time.time()


def _later(truths: dict[str, list[SourceTruth]]) -> dict[str, float]:
    """By how many seconds each web began later than the first: the same items are published so much later there."""
    firsts = {name: next(truth.times[0] for truth in found if truth.times) for name, found in truths.items()}
    return {name: moment - min(firsts.values()) for name, moment in firsts.items()}


def _gain(
    truths: list[SourceTruth], log: list[SeenRequest], broken: dict[str, list[Any]], start: float, terms: Terms
) -> Gain:
    end = start + terms.count_s
    until_start = [each for each in log if each.start < start]
    until_end = [each for each in log if each.start < end]
    before, after = score_log(truths, until_start, start), score_log(truths, until_end, end)
    firsts: dict[int, float] = {}
    for each in log:
        if each.source is not None and each.shown is not None:
            firsts.setdefault(each.source, each.start)
    return Gain(
        captured=after.total.captured - before.total.captured,
        offered=after.total.offered - before.total.offered,
        spent=(len(until_end) - len(until_start)) / (terms.budget * terms.count_s),
        crawls=after.total.crawls - before.total.crawls,
        first_s=max(firsts.values()) - min(each.start for each in log),
        broken={name: len(cases) for name, cases in broken.items()},
    )
