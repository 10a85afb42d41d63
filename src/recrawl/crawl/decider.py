"""Decides what to fetch, and takes in what fetches brought: pure bookkeeping between catalogue, policy and politeness.

No clock, no network, no disk: it is told `now`, emits intents, and turns visits into what is to be stored. The policy
counts sources from 0 without gaps, the store gives them ids; this is where the two numberings meet.

The policy's numbers are never used twice. A source that leaves takes all that is kept here with it, but its number
stays taken in the policy's arrays: about a kilobyte for every source that has ever come, until the program is started
anew.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice

import msgspec
import numpy as np

from recrawl.config import Effective
from recrawl.config.live_policies import LEARNED
from recrawl.crawl.causes import free
from recrawl.crawl.events import source_event
from recrawl.crawl.feedback import Heard
from recrawl.crawl.intents import Intent, Terms, Visit
from recrawl.crawl.politeness import MAX_RETRY_AFTER_S, Slots
from recrawl.crawl.ranking import Ranking
from recrawl.crawl.roster import Roster
from recrawl.crawl.settled import Lesson, Settled
from recrawl.crawl.settling import settle
from recrawl.crawl.standing import Standing
from recrawl.crawl.why_nothing import HOST, INTERVAL, Wait
from recrawl.policies.cold_start import ALONE
from recrawl.policies.contract import LivePolicy, Readers
from recrawl.policies.remembering import Memory
from recrawl.policies.surveying import Survey
from recrawl.records import FloatArray, IntArray, Visits
from recrawl.store.base import Hold, Progress, Settlement, Source

AT_ONCE_S = 0.001
"""The maximum age of a source whose owner asked for a crawl: it goes before all others."""
TOGETHER_S = 0.05
"""Visits that end within so long are learned from together, as if they had ended with the last of them."""
JUST_FETCHED = "it was fetched a short while ago (politeness.min_interval)"
AT_A_TIME = 10_000
"""Sources given back to the policy at a time, so that not all records are in memory at once."""


class Decider:
    """Who is next, and what a visit leads to.

    Parameters
        policy: ranks the sources; a newly made one
        memory: its records, and those of other policies; by default as `learned_whittle`
    """

    def __init__(self, policy: LivePolicy, slots: Slots, terms: Terms, memory: Memory | None = None) -> None:
        self.policy, self.slots, self.terms = policy, slots, terms
        self.memory = memory or Memory({LEARNED: policy})
        self._alone = slots.scope == "url"
        """Every source is a host of its own: the policy needs no groups, and holds of hosts are those of sources."""
        self._roster = Roster()
        self._host: list[int] = []
        self._group: dict[str, int] = {}
        self._keys: list[str] = []
        self._family: dict[str, int] = {}
        """The policy's numbers of sites whose sources were found there: they share what one newcomer is owed."""
        self._residents: dict[int, int] = {}
        """Per group, how many sources of the catalogue it has."""
        self._busy: dict[int, int] = {}
        self._dearest = 1.0
        self.once = False
        """Fetch no source a second time."""
        self._done: set[int] = set()
        """Those it has fetched, then."""
        self._only: frozenset[int] | None = None
        """Fetch no others, by the store's ids."""
        self._flying: set[int] = set()
        self._wanted: dict[int, float] = {}
        """When owners asked for crawls at once, by the policy's number."""
        self._granted: dict[int, float] = {}
        self._lifted: list[Progress] = []
        self._standing = Standing()
        self._now = -math.inf
        """The latest time it was told of."""

    # -- the catalogue

    def load(self, sources: Sequence[Source], progress: Iterable[Progress], shared: bytes | None, now: float) -> None:
        """Begin with a catalogue as it was left; sources that never got anywhere have no progress."""
        lines, self._now = list(sources), now
        for source in lines:
            self._enter(source)
        urls = [self._roster.url(number) for number in range(len(lines))]
        self.policy.start(len(urls), now, groups=self._groups_from(0), labels=urls)
        if shared is not None:
            self.memory.load_shared(shared)
        everyone = np.arange(len(urls))
        self._configure(everyone, lines)
        del lines, sources  # as objects they are large
        rest = iter(progress)
        while some := list(islice(rest, AT_A_TIME)):
            self._recall(some, now)
        self._reconfigure(list(self._wanted))
        self._hold_back(everyone)
        if not self._alone:
            self._hold_hosts(list(range(len(self._keys))), now)

    def admit(
        self, sources: Sequence[Source], now: float, progress: Iterable[Progress] = (), holds: Iterable[Hold] = ()
    ) -> None:
        """Take in new sources, and changes to known ones.

        New ones may have a past (`progress`): somebody else has crawled them, and their hosts, up to this moment. A
        host that had no source here before counts as visited now, and `holds` of others are kept to.
        """
        self._now = now
        for source in sources:
            if source.id in self._roster.numbers:
                self._amend(self._roster.numbers[source.id], source, now)
        fresh = [source for source in sources if source.id not in self._roster.numbers]
        if not fresh:
            return
        new, first = {source.id for source in fresh}, self._roster.end
        strangers = {key for key in map(self.slots.key_of, (s.url for s in fresh)) if not self._lives_here(key)}
        for source in fresh:
            self._enter(source)
        urls = [source.url for source in fresh]
        ids = self.policy.add(len(fresh), groups=self._groups_from(first), labels=urls)
        self._configure(ids, fresh)
        self._recall([each for each in progress if each.source in new], now)
        self._reconfigure([number for number in ids.tolist() if number in self._wanted])
        self._respect(ids.tolist(), strangers, holds, now)
        self._hold_back(ids)

    def _respect(self, numbers: list[int], strangers: set[str], holds: Iterable[Hold], now: float) -> None:
        """Spare the hosts of newcomers what others have asked of them."""
        keys = {n: self._key(n) for n in numbers}
        for number, key in keys.items():
            progress = self._roster.progress(number)
            if key in strangers and (progress.last is not None or progress.failures):
                self.slots.visited(key, now)
        theirs = set(keys.values())
        self.slots.recall([hold for hold in holds if hold.host in theirs], now)
        if not self._alone:
            self._hold_hosts([g for g in {self._host[n] for n in numbers} if self._host_free_at(g, now) > now], now)

    def knows(self, id: int) -> bool:
        """Whether a source is in the catalogue, by the store's id."""
        return id in self._roster.numbers

    @property
    def hosts(self) -> int:
        """How many hosts (URLs, domains: the scope) the catalogue's sources are on."""
        return len(self._roster) if self._alone else len(self._residents)

    def dismiss(self, ids: Iterable[int]) -> None:
        """Sources were removed from the catalogue."""
        numbers = [self._roster.numbers[id] for id in ids if id in self._roster.numbers]
        self._leave(numbers)
        self._bury(numbers)

    def _leave(self, numbers: list[int]) -> None:
        for number in numbers:
            self._roster.leave(number)
            if not self._alone:
                self._move_out(self._host[number])
            self._granted.pop(number, None)
            self._wanted.pop(number, None)
            self._standing.forget(number)
        if numbers:
            self.policy.remove(np.array(numbers))
            self.memory.forget(numbers)

    def _move_out(self, group: int) -> None:
        self._residents[group] -= 1
        if not self._residents[group]:
            del self._residents[group]

    def _bury(self, numbers: Iterable[int]) -> None:
        """Forget what is known of removed sources, unless a visit to them is under way."""
        for number in numbers:
            if number not in self._flying and not self._roster.here(number):
                self._roster.bury(number)

    def __len__(self) -> int:
        return len(self._roster)

    @property
    def active(self) -> int:
        """How many sources are neither paused nor retired."""
        return sum(map(self._roster.active, self._roster.numbers.values()))

    def number(self, url: str) -> int | None:
        """The policy's number of a source."""
        return self._roster.urls.get(url)

    def source(self, number: int) -> Source:
        """By the policy's number."""
        return self._roster.source(number)

    def ranking(self) -> Ranking:
        """Where its sources stand, for whoever wants it explained."""
        return Ranking(self.policy, self._roster.numbers)

    def progress(self, number: int) -> Progress:
        """How far a source has got, by the policy's number, with what is believed of it now."""
        progress = self._roster.progress(number)
        if progress.visits or progress.failures:
            self._schedule([number], [progress])
        return progress

    def newcomers(self) -> int:
        """How many active sources were never fetched."""
        roster = self._roster
        return sum(math.isnan(roster.last(n)) and roster.active(n) for n in roster.numbers.values())

    def held(self, now: float) -> list[float]:
        """When the holds of single sources and of hosts end that still stand, Unix seconds."""
        own = (self._own_hold(number) for number in self._roster.numbers.values())
        hosts = (self.slots.free_at(key) for key in (self._roster.urls if self._alone else self._keys))
        return [until for until in (*own, *hosts) if now < until < math.inf]

    def only(self, ids: Collection[int]) -> set[int]:
        """Fetch these alone, by the store's ids, and none twice; the policy's numbers of those that are active."""
        self.once, self._only = True, frozenset(ids)
        others = [number for id, number in self._roster.numbers.items() if id not in ids]
        self._done.update(others)
        self._hold_back(np.array(others, np.int64))
        return {number for id, number in self._roster.numbers.items() if id in ids and self._roster.active(number)}

    def waits(self, now: float) -> Iterator[Wait]:
        """Of active sources that may not be fetched now."""
        for number in self._roster.numbers.values():
            if self._roster.active(number):
                own, (host, why) = self._own_hold(number), self.slots.held(self._key(number), now)
                if self._roster.held_until(number) >= own > now:
                    progress = self._roster.progress(number)
                    yield Wait(progress.held_cause or "held", progress.held_by, max(own, host))
                elif host > now:
                    yield Wait(HOST, why, max(own, host))
                elif own > now:
                    yield Wait(INTERVAL, self._standing.words(number, now) or JUST_FETCHED, own)

    def next_due(self, now: float) -> float:
        """When the first of the sources that nothing holds is due; inf if that is not known, or takes long to say."""
        ready = self.ready(now)
        if not 0 < len(ready) <= AT_A_TIME:
            return math.inf
        return float(np.nanmin(self.policy.due(np.array(sorted(ready))), initial=math.inf))

    def ready(self, now: float) -> set[int]:
        """The policy's numbers of all sources that nothing of their own holds back."""
        everyone = self._roster.numbers.values()
        return {number for number in everyone if self._roster.active(number) and self._own_hold(number) <= now}

    def present(self, numbers: set[int]) -> set[int]:
        """Those that are still in the catalogue, and active."""
        return {n for n in numbers if self._roster.here(n) and self._roster.active(n)}

    def reachable(self, numbers: Iterable[int], by: float) -> bool:
        """Whether any of these may be visited by a certain time, as far as it and its host are concerned."""
        return any(n in self._flying or self._with_host_free(n) <= by for n in numbers)

    # -- deciding

    def choose(self, now: float, tokens: float) -> list[Intent]:
        """The crawls to make now; their costs together are at most `tokens`."""
        if not self._roster:
            return []
        self._now = now
        chosen = self._in_their_hours(now, tokens)
        if not len(chosen):
            return []
        index = self._index_before(chosen, now)
        price = self.policy.price
        intents = []
        for number, merit in zip(chosen.tolist(), index.tolist(), strict=True):
            self._flying.add(number)
            source, progress = self._roster.source(number), self._roster.progress(number)
            options = self.terms.defaults.effective(source)
            alone = self._alone or self._residents[self._host[number]] == 1
            intents.append(Intent(number, source, progress, self._key(number), merit, price, options, alone))
        if not self._alone:
            self._enter_hosts([self._host[n] for n in chosen.tolist()], now)
        return intents

    def _in_their_hours(self, now: float, tokens: float) -> IntArray:
        """What the policy chooses, but for sources whose hours are over: these are held until they begin again."""
        while True:
            chosen = self.policy.choose(now, tokens)
            if not self._standing.any_hours:
                return chosen
            closed = [n for n in chosen.tolist() if self._standing.opens(n, now) > now and not self.is_wished(n)]
            if not closed:
                return chosen
            together = set().union(*map(self._standing.sharing, closed)).difference(self._flying)
            self._hold_back(np.array(sorted(together.union(closed)), np.int64))
            self.policy.release(np.array(closed))
            if len(closed) < len(chosen):
                return chosen[~np.isin(chosen, closed)]

    def _enter_hosts(self, groups: list[int], now: float) -> None:
        for group in groups:
            self._busy[group] = self._busy.get(group, 0) + 1
        self._hold_hosts(groups, now)

    def survey(self, price: float, now: float) -> Survey:
        """What the catalogue would spend at a price, within what politeness allows."""
        return self.policy.survey(price, now, self.terms.min_interval_s, self.slots.delay_s)

    def dearest(self) -> float:
        """What the dearest crawl of the catalogue costs; 1 for an empty one."""
        return self._dearest

    def cost(self, intents: Iterable[Intent]) -> float:
        """What these crawls spend at least."""
        return sum(intent.source.cost for intent in intents)

    def give_back(self, intents: Sequence[Intent], now: float) -> None:
        """These were not carried out after all."""
        if intents:
            self.policy.release(np.array([intent.number for intent in intents]))
            self._flying.difference_update(intent.number for intent in intents)
            self.leave_hosts(intents, now)
            self._bury(intent.number for intent in intents)

    def visits_host(self, url: str) -> bool:
        """Whether any source is, or was, of the host of an URL."""
        return self._met(self.slots.key_of(url))

    def heed(self, url: str, now: float) -> None:
        """Politeness has something new to say about the host of an URL: keep to it from now on."""
        self._heed(self.slots.key_of(url), now)

    def _heed(self, key: str, now: float) -> None:
        if self._alone:
            number = self._roster.urls.get(key)
            if number is not None:
                self._hold_back(np.array([number]))
        elif key in self._group:
            self._hold_hosts([self._group[key]], now)

    # -- settling

    def settle(self, visits: Sequence[Visit], now: float) -> list[Settlement]:
        """Learn from visits, and say what is to be stored; each source's new schedule is part of it."""
        return self.absorb([visit.intent.number for visit in visits], [settle(v, self.terms) for v in visits], now)

    def absorb(self, numbers: list[int], settled: list[Settled], now: float) -> list[Settlement]:
        """Take in what visits led to, whoever made them, and write it down."""
        settlements = self.take_in(numbers, settled, now)
        self.write_down(numbers, settlements)
        return settlements

    def take_in(self, numbers: list[int], settled: list[Settled], now: float) -> list[Settlement]:
        """Go on with what visits led to; `write_down` has to come before it is stored."""
        if self.once:
            self._done.update(numbers)
        self._keep_away(numbers, settled)  # in flight, which is when a hold is but a note to the policy
        self._teach(numbers, settled)
        for number, each in zip(numbers, settled, strict=True):
            self._take_over(number, each, now)
        self._flying.difference_update(numbers)
        self._grant(numbers)
        self._bury(numbers)
        return [each.settlement for each in settled]

    def write_down(self, numbers: Sequence[int], settlements: Sequence[Settlement]) -> None:
        """What is believed after crawls, when each source is due, and the learner's record of it, into what is stored.

        For several crawls at once, as of now: it is the dearest part of a visit, and is needed only when it is stored.
        """
        self._schedule(numbers, [settlement.progress for settlement in settlements])
        for each in settlements:
            crawl, progress = each.crawl, each.progress
            crawl.value, crawl.value_sd = progress.value, progress.value_sd
            crawl.rate, crawl.rate_sd = progress.rate, progress.rate_sd

    def _teach(self, numbers: list[int], settled: list[Settled]) -> None:
        """Let the policy learn, as of when visits were made: they may have waited long to be settled."""
        if len(numbers) == 1:
            self._teach_together([(numbers[0], settled[0].lesson)], settled[0].settlement.crawl.at)
            return
        told = sorted(zip(numbers, settled, strict=True), key=lambda each: each[1].settlement.crawl.at)
        begun = -math.inf
        together: list[list[tuple[int, Settled]]] = []
        for each in told:
            at = each[1].settlement.crawl.at
            if at - begun > TOGETHER_S:
                begun = at
                together.append([])
            together[-1].append(each)
        for group in together:
            lessons = [(number, each.lesson) for number, each in group]
            self._teach_together(lessons, group[-1][1].settlement.crawl.at)

    def _teach_together(self, lessons: list[tuple[int, Lesson]], at: float) -> None:
        for kind in ("items", "page", "failed"):
            some = [(n, lesson) for n, lesson in lessons if lesson.kind == kind]
            if not some:
                continue
            ids = np.array([n for n, _ in some])
            if kind == "items":
                visits = Visits(
                    ids,
                    at,
                    published=[lesson.published for _, lesson in some],
                    new=np.array([lesson.new for _, lesson in some]),
                )
            elif kind == "page":
                visits = Visits(ids, at, changed=np.array([lesson.changed for _, lesson in some]))
            else:
                visits = Visits(ids, at, failed=np.ones(len(some), dtype=bool))
            self.policy.observe(visits)

    def _keep_away(self, numbers: Iterable[int], settled: Iterable[Settled]) -> None:
        """Hold sources as long as their visits ask for."""
        alive = [(n, each) for n, each in zip(numbers, settled, strict=True) if self._roster.here(n)]
        if alive:
            until = np.array([self._not_before(n, each.hold_until) for n, each in alive])
            self.policy.hold(np.array([n for n, _ in alive]), until)

    def _take_over(self, number: int, settled: Settled, now: float) -> None:
        """Make what the visit led to the present state; a move onto a known URL retires the source instead."""
        settlement = settled.settlement
        self._roster.put_progress(number, settlement.progress)
        source = settlement.source
        if source is None or not self._roster.here(number):
            return
        before = self._roster.url(number)
        if source.url != before and (settled.taken or self._roster.urls.get(source.url, number) != number):
            source = msgspec.structs.replace(
                source, url=before, state="retired", note=f"moved to {source.url}, which is in the catalogue"
            )
            settlement.source = source
            if settlement.events:  # none are where its owner wants no notice
                settlement.events = [*settlement.events[:-1], source_event(source, "retired", settlement.crawl.at)]
            settled.hold_until = math.inf
        self._amend(number, source, now)
        self._keep_away([number], [settled])

    def _schedule(self, numbers: Sequence[int], progresses: Sequence[Progress]) -> None:
        """Write beliefs, due time and the learner's record into the progress of sources."""
        if not numbers:
            return
        ids = np.array(numbers)
        beliefs, due, rows = self.policy.beliefs(ids), self.policy.due(ids), self.memory.rows(ids)
        columns = zip(
            progresses,
            beliefs.value.tolist(),
            beliefs.value_sd.tolist(),
            beliefs.rate.tolist(),
            beliefs.rate_sd.tolist(),
            due.tolist(),
            rows,
            strict=True,
        )
        for number, (progress, value, value_sd, rate, rate_sd, when, row) in zip(numbers, columns, strict=True):
            progress.value, progress.value_sd, progress.rate, progress.rate_sd = value, value_sd, rate, rate_sd
            held = self._own_hold(number)
            progress.due = held if self._standing.interval_s(number) else max(when, held)
            progress.belief = row

    @property
    def mark(self) -> int | None:
        """How far readers' clicks have been heard; None if nobody listens."""
        return self.policy.mark if isinstance(self.policy, Readers) else None

    def hear(self, heard: Heard, now: float) -> list[Progress]:
        """Learn from readers' clicks; the new schedule of the sources they touch, to be stored."""
        if not isinstance(self.policy, Readers):
            return []
        numbers = self._roster.numbers
        here = [(numbers[each.source], each) for each in heard.opened if each.source in numbers]
        told = [each for _, each in here]
        touched = self.policy.feedback(
            np.array([number for number, _ in here], np.int64),
            born=np.array([each.born for each in told]),
            found=np.array([each.found for each in told]),
            at=np.array([each.at for each in told]),
            clicks=np.array([each.clicks for each in told], np.float64),
            before=np.array([each.before for each in told], np.float64),
            now=now,
            mark=heard.mark,
        ).tolist()
        schedules = [self._roster.progress(number) for number in touched]
        self._schedule(touched, schedules)
        return schedules

    # -- bookkeeping

    def _enter(self, source: Source) -> None:
        number = self._roster.enter(source)
        self._note_wish(number, source)
        if self._only is not None and source.id not in self._only:
            self._done.add(number)
        if not self._alone:
            group = self._group_of(source.url)
            self._host.append(group)
            self._residents[group] = self._residents.get(group, 0) + 1

    def _note_wish(self, number: int, source: Source) -> None:
        if source.wanted > 0.0:
            self._wanted[number] = source.wanted
        else:
            self._wanted.pop(number, None)

    def _groups_from(self, first: int) -> IntArray | None:
        """The policy's groups of sources from a number on."""
        return None if self._alone else np.array(self._host[first:], np.int64)

    def _key(self, number: int) -> str:
        """What politeness knows the host of a source by."""
        return self._roster.url(number) if self._alone else self._keys[self._host[number]]

    def _group_of(self, url: str) -> int:
        key = self.slots.key_of(url)
        group = self._group.get(key)
        if group is None:
            group = self._group[key] = len(self._keys)
            self._keys.append(key)
        return group

    def _met(self, key: str) -> bool:
        """Whether any source is, or was, of a host."""
        return key in (self._roster.urls if self._alone else self._group)

    def _lives_here(self, key: str) -> bool:
        return self._met(key) and (self._alone or self._group[key] in self._residents)

    def _amend(self, number: int, source: Source, now: float) -> None:
        """A known source has a new line in the catalogue."""
        before = self._roster.source(number)
        self._roster.put_source(number, source)
        self._note_wish(number, source)
        if source.url != before.url and not self._alone and self._group_of(source.url) != self._host[number]:
            self._reseat(number, now)
            return
        if self._roster.held_until(number) > now and not self._stands(self._roster.progress(number), number):
            self.lift(number, now)
        effective = self.terms.defaults.effective
        told = effective(source) != effective(before) or (source.cost, source.wanted) != (before.cost, before.wanted)
        if told:
            self._configure(np.array([number]), [source])
        if (told or source.state != before.state) and number not in self._flying:
            self._hold_back(np.array([number]))

    def _reseat(self, number: int, now: float) -> None:
        """A source moved to another host: the policy gets it anew, with all that was learned."""
        source, progress = self._roster.source(number), self._roster.progress(number)
        progress.belief = self.memory.rows(np.array([number]))[0]
        self._leave([number])
        self.admit([source], now, [progress])

    def _reconfigure(self, numbers: list[int]) -> None:
        if numbers:
            self._configure(np.array(numbers), [self._roster.source(number) for number in numbers])

    def _configure(self, ids: IntArray, chosen: Sequence[Source]) -> None:
        """Tell the policy what owners say of sources."""
        if not chosen:
            return
        self._dearest = max(self._dearest, *(source.cost for source in chosen))
        options = [self.terms.defaults.effective(source) for source in chosen]
        numbers = ids.tolist()
        for number, said in zip(numbers, options, strict=True):
            self._standing.put(number, said)
        self.policy.configure(
            ids,
            importance=np.array([said.importance for said in options]),
            half_life=np.array([said.half_life or math.nan for said in options]),
            max_age=np.array([self._max_age(n, said) for n, said in zip(numbers, options, strict=True)]),
            cost=np.array([s.cost for s in chosen]),
            kin=np.array([self._family_of(s) for s in chosen]),
        )

    def _family_of(self, source: Source) -> int:
        return self._family.setdefault(source.found_on, len(self._family)) if source.found_on else ALONE

    def _max_age(self, number: int, options: Effective) -> float:
        """In seconds; as good as none where its owner asked for a crawl that has not been made yet.

        With a fixed interval it goes before all others once that is over, and is held until then.
        """
        return AT_ONCE_S if self.is_wished(number) else options.interval or options.max_age or math.nan

    def is_wished(self, number: int) -> bool:
        """Whether its owner asked for a crawl that has not been made yet; by the policy's number."""
        wanted = self._wanted.get(number, 0.0)
        return wanted > self._granted.get(number, 0.0) and not self._roster.last(number) >= wanted

    def wishes(self) -> list[tuple[Source, Progress]]:
        """Sources whose owners asked for crawls that have not been made yet, as far as is known here."""
        return [(self._roster.source(n), self._roster.progress(n)) for n in self._wanted if self.is_wished(n)]

    def grant(self, ids: Iterable[int]) -> None:
        """Others have made the crawls that were asked for of sources, by the store's ids."""
        numbers = [self._roster.numbers[id] for id in ids if id in self._roster.numbers]
        self._grant(numbers)
        self._hold_back(np.array([n for n in numbers if n not in self._flying], np.int64))

    def _grant(self, numbers: list[int]) -> None:
        """Crawls that were asked for have been made, whatever came of them."""
        asked = [n for n in numbers if self._wanted.get(n, 0.0) > self._granted.get(n, 0.0)]
        self._granted.update((n, self._wanted[n]) for n in asked)
        self._reconfigure(asked)

    def _recall(self, progress: Iterable[Progress], now: float) -> None:
        """Go on with sources where they were left, and give the policy back what it knew of those tried before."""
        tried = []
        for each in progress:
            number = self._roster.numbers.get(each.source)
            if number is None:
                continue
            self._roster.put_progress(number, self._believable(number, each, now))
            if each.last is not None or each.belief:
                tried.append((number, each))
        if tried:
            last = np.array([each.last for _, each in tried], dtype=np.float64)
            self.memory.load_rows(np.array([n for n, _ in tried]), [each.belief for _, each in tried], last)

    def _not_before(self, number: int, until: float) -> float:
        if not self._roster.active(number) or number in self._done:
            return math.inf
        return self._with_host(number, until)

    def _with_host_free(self, number: int) -> float:
        """When neither its own holds nor its host keep it back."""
        return max(self._own_hold(number), self.slots.free_at(self._key(number)))

    def _with_host(self, number: int, until: float) -> float:
        """A hold of a source's own, and of its host where that has no other source."""
        return max(until, self.slots.free_at(self._key(number))) if self._alone else until

    def _hold_back(self, ids: IntArray) -> None:
        """Paused and retired sources for ever, the others as long as their own holds stand."""
        if len(ids):
            numbers = ids.tolist()
            active = [self._roster.active(n) and n not in self._done for n in numbers]
            until = [self._with_host(n, self._own_hold(n)) for n in numbers]
            self.policy.hold(ids, np.where(active, until, math.inf))

    def _own_hold(self, number: int) -> float:
        """When nothing of its own holds a source back any more; nothing does where its owner asked for a crawl now.

        The least interval counts over restarts too.
        """
        if self.is_wished(number):
            return 0.0
        floor = self._roster.last(number) + max(self.terms.min_interval_s, self._standing.interval_s(number))
        until = max(self._roster.held_until(number), 0.0 if math.isnan(floor) else floor)
        return until if until == math.inf else self._standing.opens(number, max(until, self._now))

    def _believable(self, number: int, progress: Progress, now: float) -> Progress:
        """Mend what a clock that was ahead wrote: nothing was crawled after now, no hold outlasts the longest.

        Holds do not stand without the settings they rest on.
        """
        if progress.last is not None:
            progress.last = min(progress.last, now)
        progress.held_until = min(progress.held_until, now + max(self.terms.max_backoff_s, MAX_RETRY_AFTER_S))
        if progress.held_until > now and not self._stands(progress, number):
            free(progress, now)
            self._lifted.append(progress)
        return progress

    def _stands(self, progress: Progress, number: int) -> bool:
        """Whether the settings that the hold of a source rests on are as they were."""
        if not progress.held_under:
            return True
        source = self._roster.source(number)
        options = self.terms.defaults.effective(source)
        return self.terms.causes.source_stands(progress.held_cause, progress.held_under, source, options)

    def release(self, sources: Iterable[int], hosts: Iterable[str], now: float) -> list[Progress]:
        """Lift holds of sources, by the store's id, and of hosts; the progress of those sources, to be stored."""
        for key in hosts:
            if self.slots.lift(key):
                self._heed(key, now)
        numbers = [self._roster.numbers[id] for id in sources if id in self._roster.numbers]
        for number in numbers:
            self.lift(number, now)
        return [self.progress(number) for number in numbers if number not in self._flying]

    def drain_lifted(self) -> list[Progress]:
        """To be stored: sources that came since the last call with holds that do not stand under the settings."""
        lifted, self._lifted = self._lifted, []
        return lifted

    def lift(self, number: int, now: float) -> None:
        """A hold of a source's own is over."""
        progress = self._roster.progress(number)
        free(progress, now)
        self._roster.put_progress(number, progress)
        if number not in self._flying:
            self._hold_back(np.array([number]))

    def leave_hosts(self, intents: Sequence[Intent], now: float) -> None:
        """The requests of these are over: their hosts are free again as soon as politeness allows."""
        if self._alone:
            self._hold_back(np.array([i.number for i in intents if self.slots.free_at(i.host) > now], np.int64))
            return
        groups = []
        for intent in intents:
            group = self._group[intent.host]
            groups.append(group)
            left = self._busy.get(group, 1) - 1
            if left > 0:
                self._busy[group] = left
            else:
                self._busy.pop(group, None)
        self._hold_hosts(groups, now)

    def _hold_hosts(self, groups: list[int], now: float) -> None:
        """Hold hosts with as many requests in flight as they may have, and others until politeness allows."""
        if not groups:
            return
        distinct = sorted(set(groups))
        until = np.array([self._host_free_at(group, now) for group in distinct])
        self.policy.hold_groups(np.array(distinct, np.int64), until)

    def _host_free_at(self, group: int, now: float) -> float:
        if self._busy.get(group, 0) >= self.terms.parallel_per_host:
            return math.inf
        return max(self.slots.free_at(self._keys[group]), now)

    def _index_before(self, chosen: IntArray, now: float) -> FloatArray:
        """The index at which sources were chosen; NaN for those never fetched, and where the policy has none."""
        never = np.isnan([self._roster.last(number) for number in chosen.tolist()])
        return np.where(never, np.nan, self.policy.index(chosen, now))
