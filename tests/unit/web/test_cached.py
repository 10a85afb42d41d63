from __future__ import annotations

import threading

from recrawl.clock import ManualClock
from recrawl.errors import StoreError
from recrawl.web.cached import Cached


def test_an_answer_is_kept_for_its_time() -> None:
    clock = ManualClock(0.0)
    cached, made = Cached(clock), iter(range(10))
    assert [cached.get("a", 2.0, lambda: next(made)) for _ in range(3)] == [0, 0, 0]
    clock.advance(2.0)
    assert cached.get("a", 2.0, lambda: next(made)) == 1
    cached.forget()
    assert cached.get("a", 2.0, lambda: next(made)) == 2


def test_many_who_ask_at_once_cost_one_answer() -> None:
    cached, made, gate = Cached(ManualClock(0.0)), [], threading.Barrier(8)

    def ask() -> None:
        gate.wait()
        cached.get("a", 1.0, lambda: made.append(1))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [1]


def test_an_old_answer_is_given_while_the_next_is_made() -> None:
    clock = ManualClock(0.0)
    cached, begun, go, done = Cached(clock), threading.Event(), threading.Event(), threading.Event()

    def slow() -> str:
        begun.set()
        go.wait(5)
        done.set()
        return "new"

    assert cached.soon("a", 1.0, lambda: "old") == "old"
    clock.advance(2.0)
    assert cached.soon("a", 1.0, slow) == "old"
    assert begun.wait(5)
    assert cached.soon("a", 1.0, slow) == "old"
    go.set()
    assert done.wait(5)
    for _ in range(1000):
        if cached.soon("a", 9.0, slow) == "new":
            return
        threading.Event().wait(0.005)
    raise AssertionError


def test_after_a_time_without_visitors_the_answer_is_made_at_once() -> None:
    clock = ManualClock(0.0)
    cached = Cached(clock)
    cached.soon("a", 5.0, lambda: 0)
    clock.advance(150.0)
    assert cached.soon("a", 5.0, threading.get_ident) == threading.get_ident()


def test_who_finds_it_far_too_old_waits_for_the_thread_that_makes_the_next() -> None:
    clock = ManualClock(0.0)
    cached, begun, go, made = Cached(clock), threading.Event(), threading.Event(), iter(["new", "newer"])

    def slow() -> str:
        begun.set()
        assert go.wait(5)
        return next(made)

    cached.soon("a", 1.0, lambda: "old")
    clock.advance(2.0)
    assert cached.soon("a", 1.0, slow) == "old"
    assert begun.wait(5)
    clock.advance(60.0)
    given: list[str] = []
    visitor = threading.Thread(target=lambda: given.append(cached.soon("a", 1.0, slow)))
    visitor.start()
    go.set()
    visitor.join(5)
    assert given == ["new"]


def test_a_store_that_fails_meanwhile_leaves_the_old_answer() -> None:
    clock = ManualClock(0.0)
    cached, tried = Cached(clock), threading.Event()

    def failing() -> str:
        tried.set()
        raise StoreError("closed")

    cached.soon("a", 1.0, lambda: "old")
    clock.advance(2.0)
    assert cached.soon("a", 1.0, failing) == "old"
    assert tried.wait(5)
    assert cached.soon("a", 9.0, failing) == "old"


def test_answers_are_bounded() -> None:
    cached = Cached(ManualClock(0.0), size=3)
    for k in range(10):
        cached.get(k, 1.0, lambda: 0)
    assert len(cached._answers) == 3
