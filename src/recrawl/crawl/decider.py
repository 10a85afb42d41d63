"""Decides what to fetch, and learns from what fetches brought: pure bookkeeping between catalogue, policy, politeness.

No clock, no network, no disk: it is told `now`, emits intents, and turns visits into what is to be stored. Each fact
has one owner, and whoever wants to know asks it:

- `roster`: which sources there are, what is known of each, and which are in flight
- `hosts`: which source is on which host, and until when hosts are left alone
- `schedules`: what owners asked of single sources
- `holds`: until when each source is held
- `lists`: which sources a visited document names, and when it says that they were modified
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import numpy as np

from recrawl.config.live_policies import LEARNED
from recrawl.crawl.click_reader import NewClicks
from recrawl.crawl.fetching.politeness import HostSlots
from recrawl.crawl.holds import Holds
from recrawl.crawl.hosts import Hosts
from recrawl.crawl.named_sources import NamedSources
from recrawl.crawl.observations import teach
from recrawl.crawl.own_holds import due_at
from recrawl.crawl.owner_schedules import OwnerSchedules
from recrawl.crawl.roster import Records, Roster
from recrawl.crawl.signals import Told, outlived
from recrawl.crawl.visit_outcome import keep_address, outcome_of
from recrawl.crawl.visits import CrawlRules, Intent, Visit, VisitOutcome
from recrawl.errors import StoreError
from recrawl.learning.readership import Clicked
from recrawl.policies.contract import Listening, LivePolicy, Readers
from recrawl.policies.demand_survey import Survey
from recrawl.policies.source_columns import ALONE
from recrawl.policies.stored_state import Memory
from recrawl.store.records import Hold, Progress, Source, VisitUpdate
from recrawl.store.rows import pages
from recrawl.store.source_terms import EffectiveOptions

AT_ONCE_S = 0.001
"""The maximum age of a source whose owner asked for a crawl: it goes before all others."""
AT_A_TIME = 10_000
"""Sources given back to the policy at a time, so that not all records are in memory at once."""


class Decider:
    """Who is next, and what a visit leads to.

    Parameters
        policy: ranks the sources; a newly made one
        memory: its records, and those of other policies; by default as `learned_whittle`
        records: where lines of the catalogue and progress are read; None to keep all of it in memory
    """

    def __init__(
        self,
        policy: LivePolicy,
        slots: HostSlots,
        rules: CrawlRules,
        memory: Memory | None = None,
        records: Records | None = None,
    ) -> None:
        self.policy, self.slots, self.rules = policy, slots, rules
        self.memory = memory or Memory({LEARNED: policy})
        self.roster = Roster(records)
        self.hosts = Hosts(self.roster, slots, policy, rules.parallel_per_host)
        self.schedules = OwnerSchedules(self.roster)
        self.holds = Holds(self.roster, self.hosts, self.schedules, policy, rules)
        self.lists = NamedSources(self.roster, self._lists_among)
        self._listening = policy if isinstance(policy, Listening) else None
        """It, if it learns from lists; asked once, for a look at all its methods takes as long as reading an item."""
        self.dearest = 1.0
        """What the dearest crawl of the catalogue costs; 1 for an empty one."""
        self._sites: dict[str, int] = {}
        """The policy's numbers of sites whose sources were found there: they share what one newcomer is owed."""

        self._hashed: tuple[EffectiveOptions | None, int] = (None, 0)

    def __len__(self) -> int:
        """How many sources the catalogue has."""
        return len(self.roster)

    # -- the catalogue

    def load(
        self, sources: Iterable[Source], progress: Iterable[Progress], shared: bytes | None, now: float, count: int = 0
    ) -> None:
        """Begin with a catalogue as it was left; sources that never got anywhere have no progress.

        Both are read a few thousand at a time: as objects they are large. `count` says how many will come, if known.
        """
        self.holds.now = now
        self.roster.expect(count)
        terms, sitemaps, requested = [], list[int](), list[int]()
        for some in pages(sources, AT_A_TIME):
            numbers = self.roster.add_all(some)
            self.hosts.add_all([source.url for source in some], [source.added for source in some])
            asked = [(number, source) for number, source in zip(numbers, some, strict=True) if source.wanted > 0.0]
            for number, source in asked:
                self.schedules.request(number, source.wanted)
            terms.append(self._note_terms(numbers, some))
            sitemaps += [number for number, source in zip(numbers, some, strict=True) if source.kind == "sitemap"]
            requested += [number for number, _ in asked]
        self.policy.start(self.roster.end, now, groups=self.hosts.groups_from(0), labels=self.roster.labels)
        if shared is not None:
            self.memory.load_shared(shared)
        for each in terms:
            self._agree(each)
        terms.clear()
        for tried in pages(progress, AT_A_TIME):
            self._restore(tried, now)
        self._configure(requested)
        self._expect_lists(sitemaps)
        self.holds.tell(range(self.roster.end))
        self.hosts.tell_all(now)

    def upsert(
        self, sources: Sequence[Source], now: float, progress: Iterable[Progress] = (), holds: Iterable[Hold] = ()
    ) -> None:
        """Add new sources, and take over changes to known ones.

        New ones may have a past (`progress`): somebody else has crawled them, and their hosts, up to this moment. A
        host that had no source here before counts as visited now, and `holds` of others are kept to.
        """
        self.holds.now = now
        with self.roster.at_hand(sources, progress=self.looked_at(sources, now)):
            self._upsert(sources, now, progress, holds)

    def _upsert(
        self, sources: Sequence[Source], now: float, progress: Iterable[Progress], holds: Iterable[Hold]
    ) -> None:
        fresh = []
        for source in sources:
            number = self.roster.numbers.get(source.id)
            if number is None:
                fresh.append(source)
            else:
                self._change(number, source, now, stored=True)
        if not fresh:
            return
        new, first = {source.id for source in fresh}, self.roster.end
        keys = {self.slots.key_of(source.url) for source in fresh}
        strangers = {key for key in keys if not self.hosts.has_sources(key)}
        for source in fresh:
            self._add(source)
        urls = [source.url for source in fresh]
        numbers = self.policy.add(len(fresh), groups=self.hosts.groups_from(first), labels=urls).tolist()
        self._configure(numbers, fresh)
        self._restore([each for each in progress if each.source in new], now)
        self._configure([number for number, source in zip(numbers, fresh, strict=True) if source.wanted > 0.0])
        self._expect_lists([number for number, source in zip(numbers, fresh, strict=True) if source.kind == "sitemap"])
        self.hosts.respect(numbers, strangers, holds, now)
        self.holds.tell(numbers)

    def looked_at(self, sources: Iterable[Source], now: float) -> list[int]:
        """Those known of these whose progress `upsert` looks at: they are held, or have moved."""
        roster, known = self.roster, [(self.roster.numbers.get(source.id), source.url) for source in sources]
        return [n for n, url in known if n is not None and (roster.held_until(n) > now or roster.url(n) != url)]

    def remove(self, ids: Iterable[int]) -> None:
        """Sources were removed from the catalogue."""
        self._remove(self.roster.numbers_of(ids))

    def _add(self, source: Source) -> int:
        number = self.roster.add(source)
        self.hosts.add(source.url, source.added)
        self.schedules.request(number, source.wanted)
        self.holds.added(number, source.id)
        return number

    def _remove(self, numbers: list[int]) -> None:
        for number in numbers:
            self.roster.remove(number)
            self.hosts.remove(number)
            self.schedules.forget(number)
            self.lists.forget(number)
        if numbers:
            self.policy.remove(np.array(numbers))
            self.memory.forget(numbers)

    def _change(self, number: int, source: Source, now: float, *, stored: bool) -> None:
        """A known source has a new line in the catalogue; `stored` says that it is the store's."""
        moved, active = source.url != self.roster.url(number), self.roster.active(number)
        self.roster.put_source(number, source, stored=stored)
        self.schedules.request(number, source.wanted)
        if moved and self.hosts.moves(number, source.url):
            self._change_host(number, source, now, stored=stored)
            return
        self.holds.recheck(number, now)
        told = self.roster.note_terms(number, self._said(source, source.terms(self.rules.defaults)))
        if told:
            self._configure([number], [source])
        if (told or active != (source.state == "active")) and number not in self.roster.in_flight:
            self.holds.tell([number])

    def _said(self, source: Source, options: EffectiveOptions) -> int:
        """Stands for what the policy is told of it."""
        if options is not self._hashed[0]:  # mostly the same as of the one before
            self._hashed = options, hash(options)
        return hash((self._hashed[1], source.cost, source.wanted))

    def _change_host(self, number: int, source: Source, now: float, *, stored: bool) -> None:
        """A source moved to another host: the policy gets it anew, with all that was learned."""
        progress, kept = self.roster.progress(number), self.roster.has_unstored_progress(number)
        progress.belief = self.memory.rows(np.array([number]))[0]
        self._remove([number])
        self.upsert([source], now, [progress])
        again = self.roster.numbers[source.id]
        if not stored:
            self.roster.put_source(again, source)
        if kept:
            self.roster.put_progress(again, progress)

    def _configure(self, numbers: Sequence[int], sources: Sequence[Source] | None = None) -> None:
        """Tell the policy what owners say of sources."""
        if len(numbers):
            self._agree(self._note_terms(numbers, self.roster.sources(numbers) if sources is None else sources))

    def _note_terms(self, numbers: Sequence[int], sources: Sequence[Source]) -> dict[str, Any]:
        """Note what owners say of sources; what the policy is to be told of it."""
        self.dearest = max(self.dearest, *(source.cost for source in sources))
        options = [source.terms(self.rules.defaults) for source in sources]
        max_age = []
        for number, source, said in zip(numbers, sources, options, strict=True):
            self.roster.note_terms(number, self._said(source, said))
            self.schedules.put(number, said)
            # With a fixed interval a source goes before all others once that is over, and is held until then.
            usual = said.interval or said.own_max_age or math.nan
            max_age.append(AT_ONCE_S if self.schedules.is_requested(number) else usual)
        return {
            "ids": np.asarray(numbers),
            "importance": np.array([said.importance for said in options]),
            "half_life": np.array([said.own_half_life or math.nan for said in options]),
            "max_age": np.array(max_age),
            "cost": np.array([source.cost for source in sources]),
            "index_delay": np.array([said.index_delay for said in options]),
            "index_batch": np.array([said.index_batch for said in options]),
            "kin": np.array(
                [self._sites.setdefault(s.found_on, len(self._sites)) if s.found_on else ALONE for s in sources]
            ),
        }

    def _agree(self, terms: dict[str, Any]) -> None:
        self.policy.configure(**terms)

    def _lists_among(self, numbers: Sequence[int]) -> set[int]:
        if self._listening is None:
            return set()
        ids = np.array(numbers, np.int64)
        return set(ids[self._listening.are_lists(ids)].tolist())

    def _expect_lists(self, numbers: list[int]) -> None:
        if self._listening is not None:
            self._listening.expect_lists(np.array(numbers, np.int64))

    def _restore(self, progress: Iterable[Progress], now: float) -> None:
        """Go on with sources where they were left, and give the policy back what it knew of those tried before."""
        known = [(self.roster.numbers.get(each.source), each) for each in progress]
        here = [(number, each) for number, each in known if number is not None]
        with self.roster.at_hand(lines=[number for number, each in here if each.held_under and each.is_held(now)]):
            self._go_on(here, now)

    def _go_on(self, here: Sequence[tuple[int, Progress]], now: float) -> None:
        tried = []
        for number, each in here:
            found = each.last, each.held_until
            checked = self.holds.checked(number, each, now)
            self.roster.put_progress(number, checked, stored=found == (checked.last, checked.held_until))
            if each.last is not None or each.belief:
                tried.append((number, each))
        if tried:
            last = np.array([each.last for _, each in tried], dtype=np.float64)
            self.memory.load_rows(np.array([n for n, _ in tried]), [each.belief for _, each in tried], last)

    # -- deciding

    def choose(self, now: float, tokens: float) -> list[Intent]:
        """The crawls to make now; their costs together are at most `tokens`."""
        return self.intents(self.chosen(now, tokens), now)

    def chosen(self, now: float, tokens: float) -> list[int]:
        """The sources to visit now; they are in flight until their intents are carried out or given back, or they are
        given up themselves (`pass_over`)."""
        if not self.roster:
            return []
        self.holds.now = now
        numbers: list[int] = self.holds.choose_open(now, tokens).tolist()
        self.roster.in_flight.update(numbers)
        return numbers

    def intents(self, numbers: Sequence[int], now: float) -> list[Intent]:
        """What to do for those chosen; of those that went meanwhile there is nothing. They are passed over if the store
        cannot be read."""
        if not numbers:
            return []
        try:
            lines = self.roster.lines(numbers)
        except StoreError:
            self.pass_over(numbers)
            raise
        read = [(number, line, progress) for number, (line, progress) in zip(numbers, lines, strict=True)]
        if left := [number for number in numbers if number not in self.roster]:
            self.pass_over(left)
            read = [each for each in read if each[0] in self.roster]
        if gone := [(number, line) for number, line, _ in read if line.state == "retired"]:
            self._put_aside(gone)
            read = [each for each in read if each[1].state != "retired"]
        return self._intents(read, now) if read else []

    def pass_over(self, numbers: Sequence[int]) -> None:
        """Those chosen are not visited after all."""
        self.policy.release(np.array(numbers))
        self.roster.end_visits(numbers)

    def _put_aside(self, gone: Sequence[tuple[int, Source]]) -> None:
        """The store knows no more of these sources, or that they are retired; we shall hear of it."""
        for number, line in gone:
            self.roster.put_source(number, line, stored=True)
        numbers = [number for number, _ in gone]
        self.holds.tell(numbers)
        self.pass_over(numbers)

    def _intents(self, read: Sequence[tuple[int, Source, Progress]], now: float) -> list[Intent]:
        numbers, roster, price = [number for number, _, _ in read], self.roster, self.policy.price
        # The index at which they were chosen; NaN for those never fetched, and where the policy has none.
        never = np.isnan([roster.last(number) for number in numbers])
        index = np.where(never, np.nan, self.policy.index(np.array(numbers), now)).tolist()
        intents = []
        for (number, source, known), merit in zip(read, index, strict=True):
            host, progress = self.hosts.key(number), self._for_visit(number, source, known)
            options, alone = source.terms(self.rules.defaults), self.hosts.has_one_source(number)
            in_full = progress is not known
            intents.append(Intent(number, source, progress, host, merit, price, options, alone, in_full))
        self.hosts.begin_visits(numbers, now)
        return intents

    def _for_visit(self, number: int, source: Source, progress: Progress) -> Progress:
        """The progress of a source; a list is to be read in full if it may name sources that were added since."""
        if (
            source.kind in ("sitemap", "feed")
            and progress.last is not None
            and self.hosts.has_grown_since(number, progress.last)
        ):
            return msgspec.structs.replace(progress, etag="", modified="")
        return progress

    def give_back(self, intents: Sequence[Intent], now: float) -> None:
        """These were not carried out after all."""
        if intents:
            self.give_up(intents)
            self.holds.end_visits(intents, now)

    def give_up(self, intents: Sequence[Intent]) -> None:
        """Nothing will come of these; that their requests are over is said apart (`holds.end_visits`)."""
        self.pass_over([intent.number for intent in intents])

    def requests_made(self, ids: Iterable[int]) -> None:
        """Others have made the crawls that were asked for of sources, by the store's ids."""
        numbers = self.roster.numbers_of(ids)
        with self.roster.at_hand(lines=self.schedules.asked(numbers)):
            self._configure(self.schedules.answer(numbers))
        self.holds.tell([number for number in numbers if number not in self.roster.in_flight])

    def release(self, sources: Iterable[int], hosts: Iterable[str], now: float) -> list[Progress]:
        """Lift holds of sources, by the store's id, and of hosts; the progress of those sources, to be stored."""
        numbers = self.roster.numbers_of(sources)
        with self.roster.at_hand(progress=numbers):
            for number in numbers:
                self.holds.lift(number, now)
        for key in hosts:
            if self.slots.lift(key):
                self.holds.host_changed(key, now)
        return [self.progress(number) for number in numbers if number not in self.roster.in_flight]

    def drain_lifted(self) -> list[Progress]:
        """To be stored: sources whose holds were lifted since the last call as they do not stand under the settings."""
        roster, rechecked = self.roster, self.holds.drain_rechecked()
        numbers = [number for number in rechecked if number in roster and number not in roster.in_flight]
        return self.holds.drain_lifted() + [self.progress(number) for number in numbers]

    def survey(self, price: float, now: float) -> Survey:
        """What the catalogue would spend at a price, within what politeness allows."""
        return self.policy.survey(price, now, self.rules.min_interval_s, self.slots.delay_s)

    # -- what visits lead to

    def learn_from(self, visits: Sequence[Visit], now: float) -> list[VisitOutcome]:
        """Learn from visits, and say what they lead to; each source's new schedule is part of it."""
        outcomes = [outcome_of(visit, self.rules) for visit in visits]
        self.learn([visit.intent.number for visit in visits], outcomes, now)
        return outcomes

    def learn(self, numbers: list[int], outcomes: list[VisitOutcome], now: float) -> None:
        """Take over what visits led to, whoever made them, and complete it with the schedule."""
        self.take_over(numbers, outcomes, now)
        self.add_schedules(numbers, outcomes)

    def take_over(self, numbers: list[int], outcomes: list[VisitOutcome], now: float) -> None:
        """Go on with what visits led to; `add_schedules` has to come before it is stored."""
        with self.roster.at_hand(lines=self.schedules.asked(numbers)):
            self._take_over(numbers, outcomes, now)

    def _take_over(self, numbers: list[int], outcomes: list[VisitOutcome], now: float) -> None:
        self.holds.visited(numbers)
        self.holds.after_visits(numbers, outcomes)  # in flight, which is when a hold is but a note to the policy
        named = self.lists.told(numbers, outcomes) if self.policy.uses_lists else {}
        teach(self.policy, numbers, outcomes, named)
        changed = []
        for number, outcome in zip(numbers, outcomes, strict=True):
            self._keep_strangers(outcome)
            self.roster.put_progress(number, outcome.progress)
            if outcome.source is not None and number in self.roster:
                url = outcome.source.url
                if outcome.taken or self.roster.urls.get(url, number) != number:
                    keep_address(outcome, self.roster.url(number))
                self._change(number, outcome.source, now, stored=False)
                changed.append((number, outcome))
        self.holds.after_visits([number for number, _ in changed], [outcome for _, outcome in changed])
        self._configure(self.schedules.answer(numbers))
        self.roster.end_visits(numbers)

    def _keep_strangers(self, outcome: VisitOutcome) -> None:
        """Of the pages that a list led to, keep those that are not in the catalogue, for which it is read in full
        once more: what it says of them can be heard when they are."""
        if outcome.children:
            known = self.roster.urls
            outcome.children = [each for each in outcome.children if each.kind != "page" or each.url not in known]
            if outcome.children:
                outcome.progress.etag = outcome.progress.modified = ""

    # -- schedules

    def named_anew(self, visited: Iterable[int]) -> list[int]:
        """Sources, but for some, of which something was said since the last call: that is to be stored."""
        if self._listening is None:
            return []
        told = set(self._listening.drain_told().tolist())
        return sorted(number for number in told.difference(visited) if number in self.roster)

    def scheduled(self, numbers: Sequence[int]) -> list[Progress]:
        """The progress of some sources, with what is believed of them now; no more of those nobody has tried yet."""
        schedules = self.roster.progresses(numbers)
        tried = [k for k, each in enumerate(schedules) if each.is_tried]
        self._schedule([numbers[k] for k in tried], [schedules[k] for k in tried])
        new = [k for k, each in enumerate(schedules) if not each.is_tried]
        for k, row in zip(new, self.memory.rows(np.array([numbers[k] for k in new], np.int64)), strict=True):
            schedules[k].belief = row
        return schedules

    def progress(self, number: int) -> Progress:
        """How far a source has got, with what is believed of it now."""
        progress = self.roster.progress(number)
        if progress.is_tried:
            self._schedule([number], [progress])
        return progress

    def add_schedules(self, numbers: Sequence[int], updates: Sequence[VisitUpdate]) -> None:
        """Complete what is stored: beliefs after crawls, when each source is due, and the learner's record of it.

        For several crawls at once, as of now: it is the dearest part of a visit, and is needed only when it is stored.
        """
        self._schedule(numbers, [update.progress for update in updates])
        for each in updates:
            crawl, progress = each.crawl, each.progress
            crawl.value, crawl.value_sd = progress.value, progress.value_sd
            crawl.rate, crawl.rate_sd = progress.rate, progress.rate_sd

    def _schedule(self, numbers: Sequence[int], progresses: Sequence[Progress]) -> None:
        """Write beliefs, due time and the learner's record into the progress of sources."""
        if not numbers:
            return
        ids = np.array(numbers)
        beliefs, due, rows = self.policy.beliefs(ids), self.policy.due(ids), self.memory.rows(ids)
        believed = (beliefs.value, beliefs.value_sd, beliefs.rate, beliefs.rate_sd, due)
        columns = zip(numbers, progresses, rows, *(column.tolist() for column in believed), strict=True)
        for number, progress, row, value, value_sd, rate, rate_sd, when in columns:
            progress.value, progress.value_sd, progress.rate, progress.rate_sd = value, value_sd, rate, rate_sd
            progress.due = due_at(when, self.holds.until(number), self.schedules.interval_s(number))
            progress.belief = row

    # -- clicks

    @property
    def mark(self) -> int | None:
        """How far readers' clicks have been heard; None if nobody listens."""
        return self.policy.mark if isinstance(self.policy, Readers) else None

    def hear(self, heard: NewClicks, now: float) -> list[int]:
        """Learn from readers' clicks; the sources they touch, whose new schedule is to be stored."""
        if not isinstance(self.policy, Readers):
            return []
        numbers = self.roster.numbers
        here = [(numbers[each.source], each) for each in heard.opened if each.source in numbers]
        clicked = Clicked(*(np.array([getattr(each, name) for _, each in here], float) for name in Clicked._fields))
        ids = np.array([number for number, _ in here], np.int64)
        touched: list[int] = self.policy.feedback(ids, clicked, now=now, mark=heard.mark).tolist()
        return touched

    # -- signals

    def signal(self, told: Told, now: float) -> list[Progress]:
        """Learn that sources have changed, as others say; the new schedule of each that was visited, to be stored."""
        if not told.at:
            return []
        with self.roster.at_hand(progress=[*told.at]):
            self.policy.signal(np.array([*told.at]), now, np.array([*told.at.values()]))
            for number in outlived(told, self.roster.progresses([*told.at]), now):
                self.holds.lift(number, now)
            return self.scheduled([number for number in told.at if not math.isnan(self.roster.last(number))])
