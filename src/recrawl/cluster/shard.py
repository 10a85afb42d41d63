"""A shard: the crawler of the single program over the buckets it has under lease, on an allowance that runs out.

Three loops on one event loop. The crawler itself. The lease loop holds the leases of the buckets that are this shard's
by the list of members, takes those that become free and hands over those that are another's. The report loop reports
once a second and puts the answer in force. None of them waits for another.
"""

from __future__ import annotations

import asyncio
import math
import os
import socket
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Protocol, TypeVar

import msgspec
import structlog

from recrawl import wiring
from recrawl.clock import Clock
from recrawl.cluster.duty_cycle import BackgroundShare
from recrawl.cluster.messages import Grant, Report, membership_of
from recrawl.cluster.placement import bucket_of, bucket_of_host, buckets_of, scope
from recrawl.cluster.remote_turns import OtherShards, RemoteTurns
from recrawl.cluster.shared_learning import Exchange
from recrawl.config import Config
from recrawl.crawl.fetching.borrowed_turns import Turn, TurnReport
from recrawl.crawl.fetching.http_transport import HttpTransport
from recrawl.crawl.outlets import Outlets
from recrawl.errors import StoreError
from recrawl.policies.demand_survey import Survey
from recrawl.store.postgres import PostgresStore
from recrawl.store.postgres.slice import Slice

Answer = TypeVar("Answer")
LEASE_S = 10.0
"""Of buckets."""
RENEW_S, TALK_S = 2.0, 1.0
"""Time between two renewals, and between two reports."""
SURVEYS, LONGEST_S = 50.0, 10.0
"""A survey is said again until it took no more than one part in so many of the time, but not for longer than this."""
ABLE_MORE, FULL = 1.1, 0.9
"""A shard that has saved up such a part of its burst says it could spend so many times what it does."""
NAME = "{shard}"
"""In the user agent of the settings: stands for the shard's name."""


class FleetLink(OtherShards, Protocol):
    """How a shard reaches the others. Calls block for a bounded time."""

    def tell(self, report: bytes) -> bytes:
        """A report to the coordinator; its grant, or nothing if nobody answered."""
        ...


class Shard:
    """One incarnation of a shard. `run` ends when it is told to stop, or with the error that ended it."""

    def __init__(self, name: str, config: Config, store: PostgresStore, link: FleetLink, clock: Clock) -> None:
        self.name, self.incarnation = name, uuid.uuid4().hex
        named = config.fetch.user_agent.replace(NAME, name)
        config = msgspec.structs.replace(config, fetch=msgspec.structs.replace(config.fetch, user_agent=named))
        self._config, self._link, self._clock = config, link, clock
        self._slice = Slice(
            store,
            name=name,
            owner=f"{name} ({wiring.owner()})",
            seconds=LEASE_S,
            now=clock.now,
            scope=scope,
            bucket_of_host=bucket_of_host,
        )
        self._remote_turns = RemoteTurns(name, link, self._lasts_s, lambda: self._grant_until - self._clock.now())
        self.crawler = wiring.make_crawler(
            config,
            self._slice,
            clock=clock,
            transport=HttpTransport(config.fetch, clock, permit=self._permit),
            host_owners=self._remote_turns,
            allotted=True,
            outlets=Outlets(self._slice, [], clock),
            sweeps=False,
        )
        self._grant = Grant(leader=0, number=0)
        self._grant_until = -math.inf
        self._members: tuple[str, ...] = ()
        self._renewed = -math.inf
        self._followed: frozenset[int] = frozenset()
        self._paid = (clock.now(), 0.0)
        self._spend = 0.0
        self._trouble = ""
        self._exchange = Exchange()
        self._surveying = BackgroundShare(SURVEYS, LONGEST_S)
        self._surveyed, self._surveyed_at, self._survey_at = Survey(), math.nan, -math.inf
        self._told = ThreadPoolExecutor(1, thread_name_prefix="line")
        self._kept = ThreadPoolExecutor(1, thread_name_prefix="leases")
        self._log = structlog.get_logger("recrawl.fleet").bind(shard=name)

    # -- start and end

    async def run(self) -> None:
        """Crawl what is this shard's until told to stop."""
        loops = [asyncio.create_task(self._keep_leases()), asyncio.create_task(self._report_for_ever())]
        crawling = asyncio.create_task(self.crawler.run())
        try:
            ended, _ = await asyncio.wait([crawling, *loops], return_when=asyncio.FIRST_COMPLETED)
            self.crawler.stop()
            await crawling
            for each in ended:
                each.result()
        finally:
            for loop in loops:
                loop.cancel()
            await asyncio.gather(*loops, return_exceptions=True)
            await self._hand_in()
            self._remote_turns.close()
            self._told.shutdown(wait=False, cancel_futures=True)
            self._kept.shutdown(wait=False, cancel_futures=True)

    def stop(self) -> None:
        """Finish what is under way; `run` returns then."""
        self.crawler.stop()

    async def _hand_in(self) -> None:
        """Nothing is under way any more: others may have the buckets at once."""
        try:
            await self._with_leases(lambda: self._slice.let_go(set(self._slice.held)))
        except StoreError as error:
            self._log.warning("the leases will run out by themselves", reason=str(error))

    async def _with_leases(self, work: Callable[[], Answer]) -> Answer:
        return await asyncio.get_running_loop().run_in_executor(self._kept, work)

    # -- what it may fetch

    def _lasts_s(self, bucket: int) -> float:
        """How long a bucket is ours for certain, in seconds from now."""
        return self._slice.until - self._clock.now() if bucket in self._slice.held else 0.0

    def _permit(self, url: str) -> str:
        """Why a request in a turn of our own must not be sent now; nothing if it may."""
        now = self._clock.now()
        if now >= self._grant_until:
            return "the grant has run out"
        return "" if self._slice.valid(bucket_of(url), now) else "its domain is not under lease"

    # -- for other shards

    async def lend(self, url: str, loan: str, delay_s: float) -> Turn:
        """The turn of a host of ours."""
        return await self.crawler.fetcher.lender.lend(url, loan, delay_s)

    def returned(self, url: str, loan: str, report: TurnReport) -> None:
        """It comes back."""
        self.crawler.fetcher.lender.returned(url, loan, report)

    # -- leases

    async def _keep_leases(self) -> None:
        while True:
            try:
                await self._keep()
            except StoreError as error:
                self._trouble = str(error)
                self._log.warning("leases could not be kept", reason=str(error))
            await self._clock.sleep(TALK_S)

    async def _keep(self) -> None:
        """Renew, take what is ours, hand over what is not.

        Without a grant nothing can be fetched: then leases run out too, so that others may take the buckets.
        """
        if self._clock.now() >= self._grant_until:
            return
        mine = buckets_of(self.name, self._members)
        if self._clock.now() - self._renewed >= RENEW_S:
            asked = self._clock.now()
            await self._with_leases(self._slice.renew)
            self._renewed = asked
            self._put_in_force()
        if self._followed - self._slice.held:
            await self._follow()
        missing, surplus = mine - self._slice.held, self._slice.held - mine - self._slice.retiring
        if missing and not self._leftovers():
            await self._with_leases(lambda: self._slice.acquire(missing))
        if surplus:
            self._slice.retire(surplus)
        self._remote_turns.members(self._members)
        if surplus or self._followed != self._slice.held:
            await self._follow()
            self._put_in_force()
        await self._hand_over()

    async def _follow(self) -> None:
        """Let the crawler see which buckets there are."""
        held = self._slice.held
        await self.crawler.refresh()
        self._followed = held

    def _leftovers(self) -> bool:
        """Whether visits are under way to sources whose buckets were lost.

        What such a visit builds on is out of date once another has had the bucket: nothing is taken before it is over,
        and before the crawler has forgotten what it knew.
        """
        return any(self._slice.bucket_of(source) is None for source in self.crawler.under_way())

    async def _hand_over(self) -> None:
        """Let go of what is another's once no visit to it is under way: of its own sources, of others that redirects
        led there, or of other shards that have its turn."""
        if not self._slice.retiring:
            return
        busy = {self._slice.bucket_of(source) for source in self.crawler.under_way()}
        asked = {bucket_of_host(key) for key in self.crawler.fetcher.in_use()}
        free = self._slice.retiring - busy - asked
        if free:
            await self._with_leases(lambda: self._slice.let_go(free))

    # -- reporting

    async def _report_for_ever(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            sent = self._clock.now()
            report = msgspec.msgpack.encode(self._report(sent))
            answer = await loop.run_in_executor(self._told, self._link.tell, report)
            if answer:
                self._apply_grant(msgspec.msgpack.decode(answer, type=Grant), sent)
            await self._clock.sleep(max(sent + TALK_S - self._clock.now(), 0.0))

    def _apply_grant(self, grant: Grant, sent: float) -> None:
        """Put a grant in force, unless a later coordinator was heard of already."""
        if (grant.leader, grant.number) < (self._grant.leader, self._grant.number):
            return
        if grant.members is not None:
            self._members = grant.members
        self._grant, self._grant_until = grant, sent + grant.seconds
        self._learn(grant)
        self._put_in_force()

    def _learn(self, grant: Grant) -> None:
        """What the others know of what is common to the catalogue."""
        pooling = self.crawler.pooling
        if pooling is not None and grant.others:
            self._exchange.hear(pooling, grant.others, self._clock.now())
        if grant.asks:
            self._exchange.asked()

    def _put_in_force(self) -> None:
        """The allowance ends with the grant, and with the leases: then nothing may be fetched anyway.

        Where there are none at all, visits to what was lost wait for tokens in order to be refused, and end.
        """
        until = min(self._grant_until, self._slice.until) if self._slice.held else self._grant_until
        self.crawler.allot(self._grant.rate, self._grant.burst, until)

    def _report(self, now: float) -> Report:
        crawler, grant, stats = self.crawler, self._grant, self.crawler.stats
        left = self._grant_until - now
        self._count_spend(now)
        survey = self._survey(now)
        newcomers = survey.newcomers or (0 if survey.sources else len(crawler.under_way()))
        return Report(
            shard=self.name,
            incarnation=self.incarnation,
            node=socket.gethostname(),
            pid=os.getpid(),
            leader=grant.leader,
            granted=grant.number,
            rate=grant.rate if left > 0.0 else 0.0,
            burst=grant.burst if left > 0.0 else 0.0,
            left_s=max(left, 0.0),
            able=self._able(),
            demand=survey.demand,
            slope=survey.slope,
            price=self._surveyed_at,
            own_price=crawler.decider.policy.price,
            backlog=survey.backlog,
            newcomers=newcomers,
            siblings=survey.siblings,
            dearest=crawler.decider.dearest,
            sources=survey.sources + newcomers,
            hosts=len(crawler.decider.hosts),
            buckets=len(self._slice.held),
            spent=crawler.request_budget.spent,
            requests=stats.requests,
            crawls=stats.crawls,
            new=stats.new,
            changed=stats.changed,
            failed=stats.failed,
            captured=stats.captured,
            trouble=self._why_nothing(left),
            membership=membership_of(self._members),
            summary=b"" if crawler.pooling is None else self._exchange.word(crawler.pooling, now),
        )

    def _survey(self, now: float) -> Survey:
        """What the sources would spend at the fleet's price; of many, what they would have a few seconds ago."""
        if now >= self._survey_at or math.isnan(self._surveyed_at):
            price = self._grant.price
            self._surveyed, self._surveyed_at = (
                self._surveying.do(lambda: self.crawler.decider.survey(price, now)),
                price,
            )
            self._survey_at = now + self._surveying.rest_s - 0.5 * TALK_S
            return self._surveyed
        count, known = self.crawler.decider.survey(math.nan, now), self._surveyed
        return replace(known, newcomers=count.newcomers, siblings=count.siblings, sources=count.sources)

    def _count_spend(self, now: float) -> None:
        """Tokens per second, smoothed over a few reports."""
        (before, paid), spent = self._paid, self.crawler.request_budget.spent
        if now > before:
            self._spend += 0.3 * ((spent - paid) / (now - before) - self._spend)
            self._paid = (now, spent)

    def _able(self) -> float:
        """What could be spent: anything, unless tokens lie about unspent. Those for half a crawl do not."""
        request_budget = self.crawler.request_budget
        much = max(FULL * request_budget.burst, min(self.crawler.decider.dearest, request_budget.burst))
        unspent = request_budget.burst > 0.0 and request_budget.available() >= much
        return ABLE_MORE * self._spend if unspent else math.inf

    def _why_nothing(self, left: float) -> str:
        if left <= 0.0:
            return "waiting for the coordinator"
        if self._slice.held and self._slice.until <= self._clock.now():
            return self._trouble or "the leases have run out"
        self._trouble = ""
        return self.crawler.stats.trouble
