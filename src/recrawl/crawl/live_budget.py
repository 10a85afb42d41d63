"""The budget of a running crawler, changed from outside: a note in the store that it follows.

It holds for that run. The next crawler drops it (`stored_settings.leave_settings`) and begins with the budget it is
given. A crawler that takes no other budget while it runs (a comparison, a fleet, a foreign fetcher) leaves no note.
"""

from __future__ import annotations

import msgspec

from recrawl.crawl.stored_settings import BUDGET as NOTE
from recrawl.store.roles import Notes


class BudgetNote(msgspec.Struct, kw_only=True, frozen=True):
    """What a run began with and what was asked for since, tokens per second.

    Parameters
        owner: who runs, in the words it claimed the store with
        begun: the budget it was started with
        wanted, at: the budget asked for while it runs, and when, Unix seconds; None if nobody did
    """

    owner: str
    begun: float
    wanted: float | None = None
    at: float = 0.0

    @property
    def per_second(self) -> float:
        """What holds now."""
        return self.begun if self.wanted is None else self.wanted


def begin(store: Notes, owner: str, per_second: float) -> None:
    """A run begins with this budget, and follows what is asked for."""
    store.write_note(NOTE, msgspec.json.encode(BudgetNote(owner=owner, begun=per_second)))


def ask(store: Notes, note: BudgetNote, per_second: float, now: float) -> BudgetNote:
    """Ask the run that left a note for another budget."""
    asked = msgspec.structs.replace(note, wanted=per_second, at=now)
    store.write_note(NOTE, msgspec.json.encode(asked))
    return asked


def read(store: Notes) -> BudgetNote | None:
    """What stands there; None for nothing, or what another version wrote."""
    said = store.note(NOTE)
    try:
        return None if said is None else msgspec.json.decode(said, type=BudgetNote)
    except msgspec.MsgspecError:
        return None
