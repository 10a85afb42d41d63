"""Threads that write one after the other."""

from __future__ import annotations

import threading

from recrawl.store.sqlite.turns import Turns

WAIT_S = 30.0


def test_whoever_waits_comes_before_one_who_writes_again_at_once() -> None:
    turns, order, waiting = Turns(), [], threading.Event()

    def wait() -> None:
        waiting.set()
        with turns:
            order.append("waited")

    with turns:
        other = threading.Thread(target=wait)
        other.start()
        assert waiting.wait(WAIT_S)
        while not turns._next.locked():  # until it stands in line
            pass
    with turns:
        order.append("again")
    other.join(WAIT_S)
    assert order == ["waited", "again"]


def test_one_that_has_its_turn_may_take_it_again_within() -> None:
    turns = Turns()
    with turns, turns:
        assert turns._free.locked()
    assert not turns._free.locked()


def test_no_two_have_a_turn_at_once() -> None:
    turns, inside, most = Turns(), [0], [0]

    def work() -> None:
        for _ in range(300):
            with turns:
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                inside[0] -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(WAIT_S)
    assert most == [1]
