"""Whom a shard asks for the turn of a host that is not its own."""

from __future__ import annotations

import asyncio

from recrawl.cluster.placement import bucket_of, owners
from recrawl.cluster.remote_turns import RemoteTurns
from recrawl.crawl.fetching.borrowed_turns import Turn, TurnReport

URL = "https://example.org/feed"
MEMBERS = ("shard-0", "shard-1", "shard-2")
OWNER = owners(MEMBERS)[bucket_of(URL)]
OTHER = next(name for name in MEMBERS if name != OWNER)


class Street:
    """Neighbours that answer as they were told to."""

    def __init__(self, answer: Turn | None) -> None:
        self.answer = answer
        self.asked: list[tuple[str, str]] = []
        self.returned: list[tuple[str, str]] = []

    def borrow(self, shard: str, url: str, loan: str, delay_s: float) -> Turn | None:
        self.asked.append((shard, loan))
        return self.answer

    def give_back(self, shard: str, url: str, loan: str, report: TurnReport) -> None:
        self.returned.append((shard, loan))


def entered(street: Street, *, name: str = OTHER, members: tuple[str, ...] = MEMBERS, leaves: bool = False) -> Turn:
    turns = RemoteTurns(name, street, lambda bucket: 0.0)
    turns.members(members)

    async def scene() -> Turn:
        turn = await turns.borrow(URL, "loan", 0.0)
        if leaves:
            turns.give_back(URL, "loan", TurnReport(status=200))
        return turn

    turn = asyncio.run(scene())
    turns._returning.shutdown(wait=True)
    return turn


def test_the_owner_is_asked_and_gets_it_back() -> None:
    street = Street(Turn(seconds=5.0))
    assert entered(street, leaves=True).seconds == 5.0
    assert street.asked == street.returned == [(OWNER, "loan")]


def test_a_turn_that_was_refused_is_not_given_back() -> None:
    street = Street(Turn(refused="host busy"))
    assert entered(street, leaves=True).refused == "host busy"
    assert street.returned == []


def test_one_whose_answer_was_lost_is() -> None:
    street = Street(None)
    assert OWNER in entered(street, leaves=True).refused
    assert street.returned == [(OWNER, "loan")]


def test_nobody_is_asked_for_what_is_between_two_owners() -> None:
    street = Street(Turn())
    assert entered(street, name=OWNER).refused
    assert entered(street, members=()).refused
    assert street.asked == []


def test_nothing_is_sent_after_the_grant_whatever_was_lent() -> None:
    turns = RemoteTurns(OTHER, Street(Turn(seconds=9.0)), lambda bucket: 0.0, lambda: 2.0)
    turns.members(MEMBERS)
    assert asyncio.run(turns.borrow(URL, "loan", 0.0)).seconds == 2.0


def test_what_is_under_lease_is_ours() -> None:
    turns = RemoteTurns(OWNER, Street(None), lambda bucket: 3.0 if bucket == bucket_of(URL) else 0.0)
    assert turns.ours(URL)
    assert turns.lasts_s(URL) == 3.0
    assert not turns.ours("https://example.net/")
