"""What lists have said is kept with each source: after a restart it is believed as before, and bad bytes do no harm."""

from __future__ import annotations

import functools
import warnings

import msgspec
import numpy as np
import pytest

from listed import DAY, HOUR, NOW, World, weekly
from oracles.lists import Law
from recrawl import Visits
from recrawl.learning.belief_rows import MARK
from recrawl.policies.learned_whittle import LearnedWhittle

PAGES = 50
EVERYONE = np.arange(PAGES)
LABELS = [f"https://a.example/{'news' if k % 2 else 'shop'}/{k}" for k in range(PAGES)] + [
    f"https://a.example/sitemap{k}.xml" for k in range(2)
]
ALL = np.arange(PAGES + 2)


@functools.cache
def lived(objective: str = "freshness") -> tuple[World, LearnedWhittle]:
    """Two lists, one of which names the odd pages each day; and pushes of some pages; no test changes it."""
    odd = Law(1.0, per_time=1 / DAY)
    world = World(weekly(PAGES), [(EVERYONE, Law(0.9)), (EVERYONE[1::2], odd)], seed=5)
    policy = world.begun(objective, LABELS)
    for day in range(40):
        world.run(policy, 1, 3, 4 * HOUR)
        policy.signal(EVERYONE[day % 5 :: 7], world.now)
    world.now += HOUR
    stated = np.where(EVERYONE < 20, world.now - 0.5 * HOUR, world.stated[0])
    policy.observe(Visits([PAGES], world.now, sitemap=[(EVERYONE, stated)]))  # type: ignore[arg-type]
    return world, policy


def resumed(policy: LearnedWhittle, now: float, rows: list[bytes], ids: np.ndarray = ALL) -> LearnedWhittle:
    """A new policy with what the old one wrote."""
    twin = LearnedWhittle(policy.objective)
    twin.start(0, now)
    assert twin.load_shared(policy.shared())
    twin.add(len(ids), labels=[LABELS[i] for i in ids.tolist()])
    last, visited = policy.kept.last[ids], policy.kept.visited[ids]
    twin.load_rows(np.arange(len(ids)), rows, np.where(visited, last, np.nan))
    return twin


@pytest.mark.parametrize("objective", ["freshness", "changes", "ephemeral", "discovery"])
def test_after_a_restart_sources_are_wanted_as_before_it(objective: str) -> None:
    world, policy = lived(objective)
    policy.learned.recompute()
    twin = resumed(policy, world.now, policy.rows(ALL))
    everyone, later = np.arange(PAGES), world.now + 7 * HOUR
    ours, theirs = policy.beliefs(everyone), twin.beliefs(everyone)
    np.testing.assert_allclose(theirs.value, ours.value, rtol=0.02)
    np.testing.assert_allclose(theirs.rate, ours.rate, rtol=0.02)
    np.testing.assert_allclose(twin.index(everyone, later), policy.index(everyone, later), rtol=0.02)
    since = policy.kept.since[everyone]
    np.testing.assert_allclose(twin.due(everyone) - since, policy.due(everyone) - since, rtol=0.02, atol=1.0)
    for before, after in zip(policy.heard(everyone), twin.heard(everyone), strict=True):
        assert (before is None) == (after is None)
        if before and after:
            assert (before.list, before.stated, before.signalled) == (after.list, after.stated, after.signalled)
            assert after.chance == pytest.approx(before.chance, rel=0.02, abs=1e-6)
            assert after.told == pytest.approx(before.told, rel=0.02, abs=1e-3)


def test_after_a_restart_lists_and_their_folders_are_trusted_as_before_it() -> None:
    world, policy = lived()
    twin = resumed(policy, world.now, policy.rows(ALL))
    old = {each.id: each for each in policy.lists(world.now)}
    new = {each.id: each for each in twin.lists(world.now)}
    assert old.keys() == new.keys() == {PAGES, PAGES + 1, -1}
    for name, before in old.items():
        after = new[name]
        assert (after.trust, after.recall) == pytest.approx((before.trust, before.recall), rel=0.02, abs=1e-3)
        assert (after.pages, after.said, after.waiting) == (before.pages, before.said, before.waiting)
        assert (after.signals, after.visits) == pytest.approx((before.signals, before.visits), rel=0.01)
    twin.due(EVERYONE)
    parts = [{name for names in each.learned.signals.lists.parts.values() for name in names} for each in (policy, twin)]  # type: ignore[union-attr]
    assert parts[0] == parts[1] == {"news", "shop"}
    for each in (policy, twin):
        sources = each.learned.signals.lists.sources  # type: ignore[union-attr]
        row = each.learned.signals.lists.row_of[PAGES]  # type: ignore[union-attr]
        assert (sources.part[sources.places_in(EVERYONE, row)] >= 0).all()


def test_rows_come_back_as_they_were_written() -> None:
    """Written, read, and written once more: nothing drifts; signals of a batch wait on with the same doubt."""
    world, policy = lived()
    once = policy.rows(ALL)
    twin = resumed(policy, world.now, once)
    again = resumed(twin, world.now, twin.rows(ALL))
    for target, before, after in zip(ALL.tolist(), twin.rows(ALL), again.rows(ALL), strict=True):
        assert before == after, target
    assert sum(row.count(MARK) for row in once) == PAGES + 2


def test_rows_of_sources_that_no_list_names_are_what_they_were() -> None:
    alone, beside = LearnedWhittle("freshness"), LearnedWhittle("freshness")
    for policy in (alone, beside):
        policy.start(6, NOW)
        for day in range(20):
            changed = np.random.default_rng(day).random(4) < 0.3
            policy.observe(Visits(np.arange(4), NOW + day * DAY, changed=changed))  # type: ignore[arg-type]
    before = beside.rows(np.arange(4))
    assert before == alone.rows(np.arange(4))
    beside.observe(Visits([5], NOW + 20 * DAY, sitemap=[(np.array([4]), np.array([NOW]))]))  # type: ignore[arg-type]
    assert beside.rows(np.arange(4)) == before
    assert all(MARK not in row for row in before)
    assert MARK in beside.rows([4])[0]
    assert MARK in beside.rows([5])[0]


def harmless(policy: LearnedWhittle, now: float, rows: list[bytes], ids: np.ndarray) -> None:
    """Some sources with any bytes for rows, beside others: everything is finite, and goes on."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        twin = resumed(policy, now, rows, ids)
        numbers = np.arange(len(ids))
        index = twin.index(numbers, now + DAY)
        assert not np.isinf(index).any()
        assert np.isfinite(index[np.isin(ids, SOUND)]).all()
        assert not np.isnan(twin.due(numbers)).any()
        for each in twin.lists(now):
            assert 0.0 <= each.trust <= 1.0
            assert 0.0 <= each.recall <= 1.0
        for said in twin.heard(numbers):
            assert said is None or (0.0 <= said.chance <= 1.0 and 0.0 <= said.told <= 1.0)
        chosen = twin.choose(now + DAY, 3)
        twin.observe(Visits(chosen, now + DAY, changed=np.ones(len(chosen), dtype=bool)))


SOUND = EVERYONE[2:6]
"""Sources whose rows are good, in all that follows."""


def garbled(row: bytes, random: np.random.Generator) -> bytes:
    """What lists have said, spoilt in one of several ways; what stands before it is left."""
    start = row.index(MARK) + len(MARK)
    body = bytearray(row[start:-4])
    way = random.integers(5)
    if way == 0:
        return row[: random.integers(start, len(row))]
    if way == 1:
        for _ in range(random.integers(1, 6)):
            body[random.integers(len(body))] = random.integers(256)
    elif way == 2:
        body = body[: random.integers(len(body))]
    elif way == 3:
        at = random.integers(len(body))
        body[at : at + 8] = random.choice([b"\xff" * 8, b"\x00\x00\xc0\x7f" * 2, b"\x00\x00\x80\xff" * 2, b"\x7f" * 8])
    else:
        body = bytearray(random.bytes(random.integers(400)))
    return row[:start] + bytes(body) + len(body).to_bytes(4, "big")


def test_garbled_bytes_raise_nothing_and_spoil_nothing() -> None:
    """A hundred times what was said of a page by three witnesses, half of the time what was kept of a list too."""
    world, policy = lived()
    ids = np.array([1, *SOUND.tolist(), PAGES])
    rows, random = policy.rows(ids), np.random.default_rng(0)
    for k in range(100):
        spoilt = [garbled(rows[0], random), *rows[1:5], garbled(rows[5], random) if k % 2 else rows[5]]
        harmless(policy, world.now, spoilt, ids)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("stated", np.inf),
        ("counted_to", -1e300),
        ("covered_from", np.nan),
        ("signalled", np.inf),
        ("count", np.nan),
        ("count", -1.0),
        ("time", np.inf),
        ("pending", -5),
        ("doubt", 2.0),
        ("doubt", np.nan),
        ("evidence", np.nan),
        ("owner_key", -3),
    ],
)
def test_a_place_that_nobody_can_have_written_is_not_taken_in(name: str, value: float) -> None:
    """Of a page that three witnesses name, one place is spoilt: two are left, or it is unknown to lists."""
    world, policy = lived()
    ids = np.array([1, *SOUND.tolist(), PAGES])
    rows, layout = policy.rows(ids), policy.learned.signals.lists.sources.layout  # type: ignore[union-attr]
    start = rows[0].index(MARK) + len(MARK)
    fastest, places, itself = msgspec.msgpack.decode(rows[0][start:-4])
    found = np.frombuffer(places, layout).copy()
    assert len(found) == 3
    found[name][0] = value
    body = msgspec.msgpack.encode([fastest, found.tobytes(), itself])
    rows[0] = rows[0][:start] + body + len(body).to_bytes(4, "big")
    harmless(policy, world.now, rows, ids)
    twin = resumed(policy, world.now, rows, ids)
    assert len(twin.learned.signals.lists.sources.rings(np.array([0]))[1]) == 2  # type: ignore[union-attr]


def test_places_written_twice_are_taken_in_once() -> None:
    world, policy = lived()
    ids = np.array([1, *SOUND.tolist(), PAGES])
    rows = policy.rows(ids)
    start = rows[0].index(MARK) + len(MARK)
    fastest, places, itself = msgspec.msgpack.decode(rows[0][start:-4])
    body = msgspec.msgpack.encode([fastest, places * 4, itself])
    rows[0] = rows[0][:start] + body + len(body).to_bytes(4, "big")
    harmless(policy, world.now, rows, ids)
    twin = resumed(policy, world.now, rows, ids)
    assert len(twin.learned.signals.lists.sources.rings(np.array([0]))[1]) == 3  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "pushes",
    [
        [[2**64 - 1, b""]],
        [["x", b"\x93"]],
        [[5, b"garbage"]],
        [[5, msgspec.msgpack.encode([0.0, 2**64 - 1, [b"", b"", [0.0, 0.0, 0.0], b"", b""], {}])]],
        [[5, msgspec.msgpack.encode([0.0, 1, [b"\x00", b"", [0.0, 0.0, 0.0], b"", b""], {}])]],
        [[5, msgspec.msgpack.encode([0.0, 1, [b"", b"", [float("nan"), 0.0, 0.0], b"", b""], {}])]],
        7,
    ],
)
def test_a_common_record_that_nobody_can_have_written_is_refused_and_no_push_is_known(pushes: object) -> None:
    _, policy = lived()
    state = msgspec.msgpack.decode(policy.shared())
    state["mind"]["signals"]["pushes"] = [*state["mind"]["signals"]["pushes"], *pushes] if pushes != 7 else pushes  # type: ignore[misc]
    twin = LearnedWhittle("freshness")
    twin.start(0, NOW)
    assert not twin.load_shared(msgspec.msgpack.encode(state))
    assert twin.lists(NOW) == []


@pytest.mark.parametrize("objective", ["ephemeral", "discovery"])
def test_feeds_that_are_pushed_are_wanted_after_a_restart_as_before_it(objective: str) -> None:
    """Pushed whenever something came, they are looked at less for themselves, and so they are afterwards."""
    policy, random, now = LearnedWhittle(objective), np.random.default_rng(0), NOW  # type: ignore[arg-type]
    ids = EVERYONE[:12]
    policy.start(len(ids), now, labels=LABELS[: len(ids)])
    waits: list[list[float]] = [[] for _ in ids]
    for hour in range(24 * 25):
        now += HOUR
        came = np.flatnonzero(random.random(len(ids)) < np.geomspace(0.1, 2.0, len(ids)) / 24)
        for feed in came.tolist():
            waits[feed].append(now - 60.0)
        policy.signal(came, now)
        chosen = policy.choose(now, 0.3 if hour % 3 else 1.0)
        if len(chosen):
            policy.observe(Visits(chosen, now, published=[waits[feed] for feed in chosen.tolist()]))
            for feed in chosen.tolist():
                waits[feed] = []
    assert policy.lists(now)[0].trust > 0.95
    policy.learned.recompute()
    twin = resumed(policy, now, policy.rows(ids), ids)
    np.testing.assert_allclose(twin.index(ids, now + HOUR), policy.index(ids, now + HOUR), rtol=0.02)
    hidden = [each.learned.signals.hidden(ids) for each in (policy, twin)]  # type: ignore[union-attr]
    np.testing.assert_allclose(hidden[1], hidden[0], atol=0.01)
    assert hidden[0].max() < 0.5
