"""What a scheduler has learned and not written yet: reports, holds that changed, and a line of the price history."""

from __future__ import annotations

from collections.abc import Iterable

from recrawl.crawl.decider import Decider
from recrawl.crawl.maintenance import FIRST_S
from recrawl.store.records import Batch, Hold, Price, Progress, Signal, VisitUpdate

ACCOUNTS_S = 60.0
"""Time between two lines of the price history, and two writes of the learner's shared record."""


class PendingWrites:
    """Collects until it is taken; what could not be written is put back."""

    def __init__(self, decider: Decider, now: float) -> None:
        self._decider, self.since = decider, now
        self._batch = Batch()
        self._unscheduled: list[int] = []
        """The policy's numbers of the last updates, whose schedules the decider has yet to add."""
        self._named: set[int] = set()
        """Sources of which something was said, whose schedules are yet to be written."""
        self._accounted, self._account_s = now, FIRST_S
        self._requests, self._captured, self._errors = 0, 0.0, 0

    def __len__(self) -> int:
        """How many reports wait."""
        return len(self._batch.updates)

    def report(self, number: int, update: VisitUpdate, now: float, budget: float) -> None:
        """A fetch was reported."""
        crawl = update.crawl
        self._requests += crawl.requests
        self._captured += crawl.captured
        self._errors += int(crawl.outcome in ("failed", "refused"))
        self._batch.updates.append(update)
        self._unscheduled.append(number)
        if now - self._accounted >= self._account_s:
            self._account_s = min(2.0 * self._account_s, ACCOUNTS_S)
            self.account(now, budget)

    def hold(self, holds: Iterable[Hold], progress: Iterable[Progress] = ()) -> None:
        """Holds of hosts changed, and those of sources, which may have been reported before."""
        changed = {each.source: each for each in progress}
        for update in self._batch.updates:
            update.progress = changed.get(update.crawl.source, update.progress)
        self._batch.progress += changed.values()
        self._batch.holds += holds

    def unheard(self, signals: Iterable[Signal]) -> list[Signal]:
        """Those of the signals in the store that were not learned from already."""
        heard = {each.id for each in self._batch.heard}
        return [each for each in signals if each.id not in heard]

    def learned(self, progress: Iterable[Progress], heard: Iterable[Signal] = ()) -> None:
        """Other schedules, and the learner's shared record, by what others said."""
        self.hold((), progress)
        self._batch.heard += heard
        self._batch.shared = self._decider.memory.shared()

    def account(self, now: float, budget: float) -> None:
        """Write a line of the price history, and the learner's shared record."""
        self._batch.price = Price(
            at=now,
            price=self._decider.policy.price,
            budget=budget,
            requests=self._requests,
            captured=self._captured,
            errors=self._errors,
        )
        self._batch.shared = self._decider.memory.shared()
        self._accounted, self._requests, self._captured, self._errors = now, 0, 0.0, 0

    def take(self, now: float) -> Batch:
        """All of it, to be written now."""
        if self._unscheduled:
            self._decider.add_schedules(self._unscheduled, self._batch.updates[-len(self._unscheduled) :])
            # Of those that were reported themselves, the new schedule is in their update.
            self._named.update(self._decider.named_anew(self._unscheduled))
            self._batch.progress += self._decider.scheduled(sorted(self._named))
            self._named.clear()
        batch, self._batch, self._unscheduled, self.since = self._batch, Batch(), [], now
        return batch

    def put_back(self, batch: Batch) -> None:
        """It could not be written."""
        then = self._batch
        self._batch = Batch(
            updates=batch.updates + then.updates,
            progress=batch.progress + then.progress,
            holds=batch.holds + then.holds,
            heard=batch.heard + then.heard,
            price=then.price or batch.price,
            shared=then.shared or batch.shared,
        )
