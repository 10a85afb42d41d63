"""Functions that nobody compiled yet, in the interpreter: the same numbers, and no compiling."""

from __future__ import annotations

import math
from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np
import pytest
from numba.core import event
from numba.core.registry import CPUDispatcher

from recrawl.kernels import continuous_index, interpreted
from recrawl.learning.readership import Clicked
from recrawl.policies.compile_ahead import warm_up
from recrawl.policies.learned_whittle import LearnedWhittle
from recrawl.records import Visits

NOW, HOUR = 1.8e9, 3600.0
SOURCES = 12
IDS = np.arange(SOURCES)


@pytest.fixture
def nothing_compiled() -> Iterator[None]:
    """As on a new machine, whatever this process has compiled so far."""
    interpreted.begin()
    interpreted._missing.update(interpreted._functions(interpreted._Patient))
    yield
    interpreted.end()


class Compiles(event.Listener):  # type: ignore[misc]
    """Counts what is compiled."""

    def __init__(self) -> None:
        self.count = 0

    def on_start(self, event: object) -> None:
        self.count += 1

    def on_end(self, event: object) -> None:
        pass


def begun(objective: str = "ephemeral") -> LearnedWhittle:
    policy = LearnedWhittle(objective=objective, half_life=6 * HOUR, max_age=90 * HOUR)  # type: ignore[arg-type]
    policy.start(SOURCES, NOW, groups=IDS // 2, labels=[f"https://h{i // 2}.example/{i}" for i in IDS.tolist()])
    policy.configure(IDS, importance=1.0 + IDS, max_age=math.nan, cost=1.0)
    return policy


def lived(policy: LearnedWhittle, first: int, last: int) -> list[list[int]]:
    """Some hours of crawling feeds and pages, some of which fail."""
    story = []
    for hour in range(first, last):
        now = NOW + hour * HOUR
        ids = policy.choose(now, 3.0)
        story.append(ids.tolist())
        feeds, pages, broken = ids[ids % 4 < 2], ids[ids % 4 == 2], ids[ids % 4 == 3]
        listed = [now - np.arange(1, 1 + int(i) % 5) * (i + 1) * 300.0 for i in feeds.tolist()]
        policy.observe(Visits(feeds, now, published=listed, new=feeds % 2))
        policy.observe(Visits(pages, now, changed=(pages + hour) % 3 == 0))
        policy.observe(Visits(broken, now, failed=np.full(len(broken), hour % 2 == 0)))
        policy.hold_groups(ids // 2, np.full(len(ids), now + 1.0))
        policy.feedback(ids[:1], Clicked(born=now - HOUR, found=now, at=now, clicks=1.0), now=now)
    return story


def test_nothing_is_compiled_while_functions_are_interpreted(nothing_compiled: None) -> None:
    with event.install_listener("numba:compile", counted := Compiles()):
        warm_up(LearnedWhittle(), NOW)
    assert counted.count == 0
    assert interpreted.missing()


@pytest.mark.parametrize("objective", ["ephemeral", "freshness", "discovery", "changes"])
def test_a_policy_that_goes_over_is_as_one_that_was_compiled_from_the_start(
    nothing_compiled: None, objective: str
) -> None:
    late = begun(objective)
    first = lived(late, 1, 30)
    rows, shared = late.rows(IDS), late.shared()
    interpreted.end()
    early = begun(objective)
    assert lived(early, 1, 30) == first
    heir = begun(objective)
    assert heir.load_shared(shared)
    assert heir.load_rows(IDS, rows, late.kept.last[:SOURCES]).all()  # written before it went over, read after
    for name in ("value", "value_sd", "rate", "rate_sd"):
        told, expected = getattr(late.beliefs(IDS), name), getattr(early.beliefs(IDS), name)
        np.testing.assert_allclose(told, expected, rtol=1e-5)
    np.testing.assert_allclose(late.due(IDS), early.due(IDS), rtol=0, atol=1.0)
    np.testing.assert_allclose(late.index(IDS, NOW + 40 * HOUR), early.index(IDS, NOW + 40 * HOUR), rtol=1e-5)
    assert lived(late, 30, 60) == lived(early, 30, 60)


def test_it_gives_what_compiled_code_gives_where_python_raises() -> None:
    exp, log, floor = interpreted.LENIENT.exp, interpreted.LENIENT.log, interpreted.LENIENT.floor
    with np.errstate(all="ignore"):
        assert (exp(1e4), exp(-1e4), log(0.0)) == (math.inf, 0.0, -math.inf)
        assert math.isnan(log(-1.0))
    assert floor(2.5) == 2
    assert floor(math.inf) == floor(math.nan) == -(2**63)


def test_what_is_compiled_already_is_used_as_it_is() -> None:
    compiled = continuous_index.ripening(0.25, 0.75)
    interpreted.begin()
    try:
        assert continuous_index.ripening(0.25, 0.75) == compiled
        assert not interpreted.missing()
    finally:
        interpreted.end()


def test_afterwards_functions_are_numbas_own_again(nothing_compiled: None) -> None:
    patient = interpreted._functions(interpreted._Patient)
    interpreted.end()
    assert patient == interpreted._functions(CPUDispatcher)


class ReadOnly:
    """A dispatcher whose class cannot be set, as one of another numba."""

    def __init__(self) -> None:
        self.py_func, self._compiler = begun, SimpleNamespace(compile=begun)

    def __setattr__(self, name: str, value: object) -> None:
        if name == "__class__":
            raise TypeError("__class__ assignment only supported for types with the same layout")
        object.__setattr__(self, name, value)


class Bare:
    """A dispatcher of another numba that has nothing of what is touched."""


@pytest.mark.parametrize("strange", [ReadOnly, Bare])
def test_with_another_numba_the_compiler_is_waited_for(monkeypatch: pytest.MonkeyPatch, strange: type) -> None:
    ours, other = interpreted._functions(CPUDispatcher), strange()
    before = {id(each): each._compiler for each in ours}
    kept = dict(vars(other))
    monkeypatch.setattr(interpreted, "_functions", lambda kind: [*ours, other] if kind is CPUDispatcher else [])
    interpreted.begin()
    assert vars(other) == kept
    assert all(type(each) is CPUDispatcher and each._compiler is before[id(each)] for each in ours)
    assert continuous_index.ripening(0.25, 0.75) > 0.0
    assert not interpreted.missing()
