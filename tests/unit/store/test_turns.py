"""Threads that write one after the other."""

from __future__ import annotations

import threading
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from recrawl.store.sqlite.turns import Turns

WAIT_S = 30.0


def free(turns: Turns) -> bool:
    """Whether another thread could take a turn now."""
    found: list[bool] = []

    def look() -> None:
        found.append(turns._free.acquire(blocking=False))
        if found[0]:
            turns._free.release()

    other = threading.Thread(target=look)
    other.start()
    other.join(WAIT_S)
    return found[0]


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
        assert not free(turns)
    assert free(turns)


@pytest.mark.parametrize("within", [False, True])
@pytest.mark.parametrize("in_hand", [False, True])
def test_one_that_is_interrupted_while_it_takes_its_turn_does_not_keep_it(within: bool, in_hand: bool) -> None:
    turns = Turns()
    lock = turns._free
    interrupted = SimpleNamespace(release=lock.release)

    def acquire() -> None:
        if in_hand or within:  # nothing is waited for within, so it is in hand there when the interruption is noticed
            lock.acquire()
        raise KeyboardInterrupt

    interrupted.acquire = acquire
    with turns if within else nullcontext():
        turns._free = interrupted  # type: ignore[assignment]
        with pytest.raises(KeyboardInterrupt), turns:
            pass
        turns._free = lock
        assert free(turns) != within
    assert free(turns)


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
