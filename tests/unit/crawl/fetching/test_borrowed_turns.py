"""Two crawlers that share the web: a host's turns are kept in one place, whoever uses them and whatever happens."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import math
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recrawl.clock import ManualClock
from recrawl.config import Fetching, Politeness
from recrawl.crawl.fetching import borrowed_turns
from recrawl.crawl.fetching.borrowed_turns import SEND_S, HostOwners, Turn, TurnLender, TurnReport
from recrawl.crawl.fetching.fetcher import MAX_WAIT_S, SOON_S, Fetcher, FetchResult
from recrawl.crawl.fetching.politeness import HostSlots
from recrawl.crawl.fetching.robots import RobotsCache
from recrawl.crawl.fetching.transport import Request, Response, TransportError

START = 1_700_000_000.0
HERE, THERE = "https://here.example", "https://there.example"
"""A host of the first crawler, and one of the second."""
Page = Response | TransportError


def page(body: str = "", status: int = 200, **headers: str) -> Response:
    return Response("", status, {name.replace("_", "-"): text for name, text in headers.items()}, body.encode())


def away(to: str) -> Response:
    return page(status=302, location=to)


class Web:
    """Answers from a table; notes when requests to a host begin and end, and never takes one after its turn."""

    def __init__(self, clock: ManualClock, pages: dict[str, Page], random: Random) -> None:
        self.clock, self.pages, self.random = clock, pages, random
        self.takes_s = 0.0
        self.log: list[tuple[float, float, str]] = []
        self.hanging: asyncio.Event | None = None

    async def fetch(self, request: Request) -> Response:
        if request.lent_until is not None and self.clock.now() >= request.lent_until:
            raise TransportError("permit", "too late")
        began = self.clock.now()
        try:
            for _ in range(self.random.randrange(4)):
                await asyncio.sleep(0)
            if self.hanging is not None:
                await self.hanging.wait()
            self.clock.advance(self.takes_s)
        finally:
            self.log.append((began - START, self.clock.now() - START, request.url))
        found = self.pages.get(request.url, page(status=404))
        if isinstance(found, TransportError):
            raise found
        return found

    async def close(self) -> None:
        pass

    def asked(self, host: str = "") -> list[str]:
        return [url for _, _, url in self.log if url.startswith(host)]


class FreeBudget:
    async def pay(self) -> None:
        pass

    def give_back(self, amount: float) -> None:
        pass


class Crossing:
    """Who is responsible for what, as one of the two crawlers sees it: messages take a while, and overtake nothing."""

    def __init__(self, hosts: set[str], random: Random) -> None:
        self.hosts, self.random = hosts, random
        self.other: Fetcher | None = None
        self.lasts = math.inf
        self.left: list[tuple[str, TurnReport]] = []

    def ours(self, url: str) -> bool:
        return any(url.startswith(f"{host}/") for host in self.hosts)

    def lasts_s(self, url: str) -> float:
        return self.lasts if self.ours(url) else 0.0

    async def borrow(self, url: str, loan: str, delay_s: float) -> Turn:
        await self._post()
        if self.other is None:  # nobody there
            await asyncio.Event().wait()
        assert self.other is not None
        asking = asyncio.ensure_future(self.other.lender.lend(url, loan, delay_s))  # goes on there if we are cancelled
        turn = await asyncio.shield(asking)
        await self._post()
        return turn

    def give_back(self, url: str, loan: str, report: TurnReport) -> None:
        self.left.append((url, report))
        if self.other is not None:
            asyncio.get_running_loop().call_soon(self.other.lender.returned, url, loan, report)

    async def _post(self) -> None:
        for _ in range(self.random.randrange(5)):
            await asyncio.sleep(0)


class Crawl:
    """One crawler of a scene."""

    def __init__(self, scene: Scene, hosts: set[str], delay: str, robots: bool) -> None:
        self.slots = HostSlots(Politeness(delay=delay), START, Random(1))
        self.crossing = Crossing(hosts, scene.random)
        self.heeded: list[str] = []
        self.fetcher = Fetcher(
            scene.web,
            RobotsCache("recrawl", lambda _: None),
            self.slots,
            FreeBudget(),
            scene.clock,
            Fetching(),
            obey_robots=robots,
            owners=self.crossing,
            turn_changed=self.heeded.append,
        )


class Scene:
    """Two crawlers, `here` and `there`, in one made-up web and one virtual time."""

    def __init__(self, pages: dict[str, Page], *, delay: str = "5s", robots: bool = False, seed: int = 1) -> None:
        self.clock, self.random = ManualClock(START), Random(seed)
        self.web = Web(self.clock, pages, self.random)
        self.here, self.there = Crawl(self, {HERE}, delay, robots), Crawl(self, {THERE}, delay, robots)
        self.here.crossing.other, self.there.crossing.other = self.there.fetcher, self.here.fetcher

    def visit(self, url: str) -> FetchResult:
        """By the first crawler."""

        async def visit() -> FetchResult:
            fetched = await self.here.fetcher.visit(url)
            await self.settle()
            return fetched

        return asyncio.run(asyncio.wait_for(visit(), 10))

    async def settle(self) -> None:
        """Let every message arrive."""
        for _ in range(20):
            await asyncio.sleep(0)

    def __enter__(self) -> Scene:
        return self

    def __exit__(self, *_: object) -> None:
        for each in (self.here, self.there):
            asyncio.run(each.fetcher.close())


LED_ABROAD = {HERE + "/1": away(THERE + "/2"), THERE + "/2": page("news")}


def lent(lender: TurnLender) -> list[str]:
    """URLs whose hosts' turns others have now."""
    return [url for url, _ in lender._lent.values()]


def the_key(url: str) -> str:
    return url.removeprefix("https://")


# -- going abroad


def test_a_turn_is_borrowed_used_and_given_back() -> None:
    with Scene(dict(LED_ABROAD)) as scene:
        fetched = scene.visit(HERE + "/1")
        assert fetched.response is not None
        assert (fetched.response.body, fetched.final_url, fetched.requests) == (b"news", THERE + "/2", 2)
        assert scene.here.crossing.left == [(THERE + "/2", TurnReport(200))]
        assert lent(scene.there.fetcher.lender) == []
        assert scene.there.slots.free_at(the_key(THERE)) == scene.clock.now() + 5.0
        assert scene.there.heeded == [THERE + "/2"] * 2


def test_the_owner_waits_after_a_visitor_and_a_visitor_after_the_owner() -> None:
    with Scene({**LED_ABROAD, THERE + "/own": page("own")}) as scene:

        async def by_turns() -> None:
            for _ in range(2):
                assert (await scene.there.fetcher.visit(THERE + "/own")).response is not None
                assert (await scene.here.fetcher.visit(HERE + "/1")).response is not None
                await scene.settle()

        asyncio.run(by_turns())
        times = [began for began, _, url in scene.web.log if url.startswith(THERE)]
        assert times == [5.0, 10.0, 15.0, 20.0]


def test_owners_of_nothing_else_change_nothing() -> None:
    pages: dict[str, Page] = {HERE + "/1": away(HERE + "/2"), HERE + "/2": page("x", retry_after="9")}
    with Scene(pages, robots=True) as scene:
        alone = Fetcher(
            Web(clock := ManualClock(START), pages, Random(1)),
            RobotsCache("recrawl", lambda _: None),
            HostSlots(Politeness(delay="5s"), START, Random(1)),
            FreeBudget(),
            clock,
            Fetching(),
        )
        expected = [asyncio.run(alone.visit(HERE + path)) for path in ("/1", "/2", "/3")]
        assert [scene.visit(HERE + path) for path in ("/1", "/2", "/3")] == expected
        assert clock.now() == scene.clock.now()
        assert scene.here.fetcher.drain_robots() == alone.drain_robots()


def test_robots_txt_and_where_it_leads_are_visits_abroad_too() -> None:
    pages = {**LED_ABROAD, HERE + "/robots.txt": away(THERE + "/rules"), THERE + "/rules": page("User-agent: *\n")}
    with Scene(pages, robots=True) as scene:
        assert scene.visit(HERE + "/1").response is not None
        abroad = [THERE + "/rules", THERE + "/robots.txt", THERE + "/2"]
        assert scene.web.asked(THERE) == abroad
        assert [url for url, _ in scene.here.crossing.left] == abroad


# -- what hosts say reaches the owner


def test_retry_after_reaches_the_owner() -> None:
    with Scene({**LED_ABROAD, THERE + "/2": page(status=503, retry_after="600")}) as scene:
        scene.visit(HERE + "/1")
        until, why = scene.there.slots.held(the_key(THERE), scene.clock.now())
        assert until == scene.clock.now() + 600.0
        assert why.startswith("status 503")
        (hold,) = scene.there.fetcher.drain_holds()
        assert (hold.host, hold.until) == (the_key(THERE), until)


def test_failures_reach_the_owner_and_are_held_against_the_host_from_the_second_on() -> None:
    with Scene({**LED_ABROAD, THERE + "/2": TransportError("connect", "nobody there")}) as scene:
        assert scene.visit(HERE + "/1").error == "nobody there"
        assert scene.there.slots.held(the_key(THERE), scene.clock.now()) == (0.0, "")
        scene.visit(HERE + "/1")
        assert scene.there.slots.held(the_key(THERE), scene.clock.now())[1] == "connect, 2 in a row"


@pytest.mark.parametrize("reason", ["permit", "address", "reset", "too large"])
def test_what_is_not_the_hosts_fault_is_not_told_as_such(reason: str) -> None:
    failure = TransportError(reason, "no")  # type: ignore[arg-type]
    with Scene({**LED_ABROAD, THERE + "/2": failure}) as scene:
        for _ in range(3):
            assert scene.visit(HERE + "/1").reason == reason
        assert scene.there.slots.held(the_key(THERE), scene.clock.now()) == (0.0, "")
        assert lent(scene.there.fetcher.lender) == []


def test_a_crawl_delay_learnt_abroad_is_kept_by_the_owner() -> None:
    asks = page("User-agent: *\nCrawl-delay: 20")
    with Scene({**LED_ABROAD, THERE + "/robots.txt": asks, THERE + "/own": page("x")}, robots=True) as scene:

        async def both() -> None:
            await scene.here.fetcher.visit(HERE + "/1")
            await scene.settle()
            await scene.there.fetcher.visit(THERE + "/own")

        asyncio.run(both())
        times = [began for began, _, url in scene.web.log if url.startswith(THERE)]
        assert len(times) == 4
        assert all(later - earlier >= 20.0 for earlier, later in itertools.pairwise(times))


def test_a_crawl_delay_comes_back_with_the_turn_of_a_host_the_owner_never_heard_of() -> None:
    with Scene({}) as scene:
        scene.clock.advance(1000.0)

        async def borrow() -> None:
            assert not (await scene.there.fetcher.lender.lend(THERE + "/2", "1", 20.0)).refused
            scene.there.fetcher.lender.returned(THERE + "/2", "1", TurnReport(200, delay_s=20.0))

        asyncio.run(borrow())
        assert scene.there.slots.free_at(the_key(THERE)) == scene.clock.now() + 20.0


# -- refusals


def test_a_host_that_its_owner_holds_is_busy_for_everybody_for_as_long() -> None:
    with Scene(dict(LED_ABROAD)) as scene:
        scene.there.slots.hold(the_key(THERE), START + 3600.0, "status 503, asked to come back in 1h")
        fetched = scene.visit(HERE + "/1")
        assert fetched.refused == "status 503, asked to come back in 1h"
        assert (fetched.reason, fetched.retry_at, fetched.requests) == ("busy", START + 3600.0, 1)
        assert scene.web.asked(THERE) == []
        assert scene.here.crossing.left == []  # nothing was lent
        assert scene.here.slots.free_at(the_key(THERE)) < math.inf


def test_what_is_not_its_own_a_crawler_does_not_lend() -> None:
    with Scene(dict(LED_ABROAD)) as scene:
        scene.there.crossing.hosts.clear()
        fetched = scene.visit(HERE + "/1")
        assert fetched.refused == "another crawler's"
        assert fetched.retry_at == scene.clock.now() + SOON_S


def test_an_owner_that_does_not_answer_makes_the_host_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    with Scene(dict(LED_ABROAD)) as scene:
        scene.here.crossing.other = None
        monkeypatch.setattr(borrowed_turns, "ANSWER_S", 0.01 - MAX_WAIT_S)  # in real time
        fetched = scene.visit(HERE + "/1")
        assert (fetched.refused, fetched.reason) == ("no answer from the crawler that visits its host", "busy")
        assert fetched.retry_at == scene.clock.now() + SOON_S
        assert [url for url, _ in scene.here.crossing.left] == [THERE + "/2"]  # it may have been lent all the same


def test_visits_that_wait_here_ask_for_one_turn_at_a_time() -> None:
    pages: dict[str, Page] = {f"{HERE}/{n}": away(f"{THERE}/{n}") for n in range(5)}
    with Scene(pages, delay="1s") as scene:
        asking = most = 0
        enter = scene.here.crossing.borrow

        async def counted(url: str, loan: str, delay_s: float) -> Turn:
            nonlocal asking, most
            asking += 1
            most = max(most, asking)
            try:
                return await enter(url, loan, delay_s)
            finally:
                asking -= 1

        scene.here.crossing.borrow = counted  # type: ignore[method-assign]

        async def all_at_once() -> list[FetchResult]:
            return list(await asyncio.gather(*(scene.here.fetcher.visit(f"{HERE}/{n}") for n in range(5))))

        assert all(each.response is not None for each in asyncio.run(asyncio.wait_for(all_at_once(), 10)))
        assert (most, len(scene.web.asked(THERE))) == (1, 5)


# -- loans and their limits


def lending(scene: Scene, loan: str = "1", url: str = THERE + "/2") -> Turn:
    return asyncio.run(scene.there.fetcher.lender.lend(url, loan))


def test_a_turn_is_lent_for_as_long_as_it_was_waited_for_and_a_little_more() -> None:
    with Scene({}) as scene:
        assert lending(scene) == Turn(seconds=5.0 + SEND_S)


def test_a_turn_is_lent_for_no_longer_than_the_host_is_the_owners() -> None:
    with Scene({}) as scene:
        scene.there.crossing.lasts = 3.0
        assert lending(scene) == Turn(seconds=5.0 + 3.0)


def test_an_owner_that_is_none_any_more_when_the_turn_comes_does_not_lend_it() -> None:
    with Scene({}) as scene:
        scene.there.crossing.lasts = 0.0
        assert lending(scene) == Turn("another crawler's")
        assert scene.there.slots.free_at(the_key(THERE)) == scene.clock.now() + 5.0


def test_a_request_is_not_sent_when_the_turn_lent_for_it_is_over() -> None:
    """As of a process that was stopped after it got the turn."""
    with Scene(dict(LED_ABROAD)) as scene:
        fetch = scene.web.fetch

        async def stopped(request: Request) -> Response:
            if request.url.startswith(THERE):
                scene.clock.advance(SEND_S)
            return await fetch(request)

        scene.web.fetch = stopped  # type: ignore[method-assign]
        fetched = scene.visit(HERE + "/1")
        assert (fetched.reason, fetched.requests) == ("permit", 1)
        assert scene.web.asked(THERE) == []


@pytest.fixture
def short_loans(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(borrowed_turns, "SEND_S", 0.01)
    monkeypatch.setattr(borrowed_turns, "MARGIN_S", 0.01)


@pytest.mark.usefixtures("short_loans")
def test_the_turn_of_a_borrower_that_died_is_taken_back() -> None:
    with Scene({THERE + "/own": page("own")}) as scene:
        scene.there.fetcher.lender._fetch_s = 0.01

        async def die() -> None:
            assert not (await scene.there.fetcher.lender.lend(THERE + "/2", "1")).refused
            assert lent(scene.there.fetcher.lender) == [THERE + "/2"]
            lent_at = scene.clock.now()
            visit = asyncio.create_task(scene.there.fetcher.visit(THERE + "/own"))
            await scene.settle()
            assert scene.web.log == []
            assert (await visit).response is not None
            assert scene.clock.now() >= lent_at + 5.0
            assert lent(scene.there.fetcher.lender) == []

        asyncio.run(asyncio.wait_for(die(), 10))
        assert scene.there.heeded == [THERE + "/2"] * 2


@pytest.mark.usefixtures("short_loans")
def test_a_turn_returned_after_it_was_taken_back_ends_nobody_elses() -> None:
    with Scene({}) as scene:
        fetcher = scene.there.fetcher
        fetcher.lender._fetch_s = 0.01

        async def wake_late() -> None:
            await fetcher.lender.lend(THERE + "/2", "1")
            await fetcher._turn_ended(the_key(THERE), 10.0)
            fetcher.lender._fetch_s = 60.0
            assert not (await fetcher.lender.lend(THERE + "/3", "2")).refused
            fetcher.lender.returned(THERE + "/2", "1", TurnReport(429, "600"))
            assert lent(fetcher.lender) == [THERE + "/3"]
            assert scene.there.slots.free_at(the_key(THERE)) == math.inf
            assert scene.there.slots.held(the_key(THERE), scene.clock.now())[0] > 0.0  # but what it heard counts
            fetcher.lender.returned(THERE + "/3", "2", TurnReport(200))
            fetcher.lender.returned(THERE + "/3", "2", TurnReport(200))
            assert scene.there.slots.free_at(the_key(THERE)) < math.inf

        asyncio.run(asyncio.wait_for(wake_late(), 10))


def test_a_visit_cancelled_while_it_waits_for_a_turn_abroad_never_gets_it() -> None:
    with Scene({**LED_ABROAD, THERE + "/own": page("own")}) as scene:
        scene.web.hanging = asyncio.Event()

        async def give_up() -> None:
            assert scene.web.hanging is not None
            first = asyncio.create_task(scene.there.fetcher.visit(THERE + "/own"))
            await scene.settle()
            second = asyncio.create_task(scene.here.fetcher.visit(THERE + "/2"))
            await scene.settle()
            second.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await second
            await scene.settle()
            scene.web.hanging.set()
            await first
            await scene.settle()
            scene.clock.advance(5.0)
            await scene.settle()
            assert lent(scene.there.fetcher.lender) == []
            assert scene.there.slots.free_at(the_key(THERE)) < math.inf

        asyncio.run(asyncio.wait_for(give_up(), 10))
        assert scene.web.asked(THERE) == [THERE + "/own"]


def test_a_visit_cancelled_under_way_gives_the_turn_back_at_once() -> None:
    with Scene(dict(LED_ABROAD)) as scene:
        scene.web.hanging = asyncio.Event()

        async def give_up() -> None:
            visit = asyncio.create_task(scene.here.fetcher.visit(THERE + "/2"))
            await scene.settle()
            assert lent(scene.there.fetcher.lender) == [THERE + "/2"]
            visit.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await visit
            await scene.settle()

        asyncio.run(asyncio.wait_for(give_up(), 10))
        assert lent(scene.there.fetcher.lender) == []
        assert scene.there.slots.free_at(the_key(THERE)) == scene.clock.now() + 5.0


def test_loans_given_back_unasked_or_twice_are_none() -> None:
    with Scene({}) as scene:
        lender, slots = scene.there.fetcher.lender, scene.there.slots

        async def give_back() -> None:
            lender.returned(THERE + "/2", "x", TurnReport())
            assert not (await lender.lend(THERE + "/2", "x")).refused
            assert slots.in_use() == [the_key(THERE)]
            lender.returned(THERE + "/2", "x", TurnReport())
            assert (lent(lender), slots.in_use()) == ([], [])
            assert not (await lender.lend(THERE + "/2", "z")).refused
            lender.returned(THERE + "/2", "x", TurnReport())
            assert (lent(lender), slots.in_use()) == ([THERE + "/2"], [the_key(THERE)])
            waiting = asyncio.create_task(lender.lend(THERE + "/2", "y"))
            await scene.settle()
            lender.returned(THERE + "/2", "y", TurnReport())
            lender.returned(THERE + "/2", "z", TurnReport())
            assert await waiting == Turn("not wanted any more")
            assert (lent(lender), slots.in_use()) == ([], [])

        asyncio.run(asyncio.wait_for(give_back(), 10))


def test_the_host_owners_of_these_tests_are_host_owners() -> None:
    owners: HostOwners = Crossing(set(), Random(1))
    assert not owners.ours(HERE)


# -- whoever sends, whenever


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    visits=st.lists(st.tuples(st.booleans(), st.integers(0, 30), st.booleans()), min_size=2, max_size=14),
    takes_s=st.sampled_from([0.0, 0.5, 7.0]),
    crawl_delay_s=st.sampled_from([0, 3]),
)
def test_turns_never_overlap_and_every_delay_is_kept_whoever_sends(
    seed: int, visits: list[tuple[bool, int, bool]], takes_s: float, crawl_delay_s: int
) -> None:
    """Each visit: by the owner or the other, begun after so many steps of the loop, given up halfway or not."""
    pages: dict[str, Page] = {f"{HERE}/{n}": away(f"{THERE}/{n}") for n in range(20)}
    pages |= {f"{THERE}/{n}": page("x") for n in range(20)}
    if crawl_delay_s:
        pages[THERE + "/robots.txt"] = page(f"User-agent: *\nCrawl-delay: {crawl_delay_s}")
    with Scene(pages, delay="1s", robots=True, seed=seed) as scene:
        scene.web.takes_s = takes_s

        async def one(number: int, owner: bool, steps: int, give_up: bool) -> FetchResult | None:
            for _ in range(steps):
                await asyncio.sleep(0)
            fetcher, host = (scene.there.fetcher, THERE) if owner else (scene.here.fetcher, HERE)
            visit = asyncio.create_task(fetcher.visit(f"{host}/{number}"))
            if not give_up:
                return await visit
            for _ in range(scene.random.randrange(60)):
                await asyncio.sleep(0)
            visit.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await visit
            return None

        async def everybody() -> list[FetchResult | None]:
            deliveries = await asyncio.gather(*(one(n, *each) for n, each in enumerate(visits)))
            await scene.settle()
            return list(deliveries)

        deliveries = asyncio.run(asyncio.wait_for(everybody(), 20))
        assert lent(scene.there.fetcher.lender) == []
        assert scene.there.slots.free_at(the_key(THERE)) < math.inf
    for fetched in deliveries:
        assert fetched is None or fetched.response is not None or fetched.reason in ("busy", "permit")
    log = sorted(each for each in scene.web.log if each[2].startswith(THERE))
    for (_, end, before), (start, _, after) in itertools.pairwise(log):
        both_rules = before.endswith("/robots.txt") and after.endswith("/robots.txt")
        assert start - end >= max(1.0, 0.0 if both_rules else crawl_delay_s) - 1e-6, log
