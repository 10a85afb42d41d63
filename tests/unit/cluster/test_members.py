"""Who belongs to the fleet."""

from __future__ import annotations

from recrawl.cluster.members import SILENT_S, STARTING_S, Members
from recrawl.cluster.messages import Report


def says(name: str, incarnation: str = "1", **more: float) -> Report:
    return Report(shard=name, incarnation=incarnation, **more)  # type: ignore[arg-type]


def test_those_wanted_are_members_until_they_are_silent_for_too_long() -> None:
    members = Members(["a", "b"], 0.0)
    assert members.members(1.0) == ("a", "b")
    members.hear(says("a"), 10.0)
    members.hear(says("b"), 1.0)
    assert members.members(SILENT_S + 2.0) == ("a",)
    members.hear(says("b"), 30.0)
    assert members.members(30.0) == ("b",)


def test_a_new_life_within_that_time_stays_a_member() -> None:
    members = Members(["a"], 0.0)
    members.hear(says("a", "1"), 1.0)
    members.hear(says("a", "2"), 9.0)
    assert members.members(20.0) == ("a",)


def test_sums_go_on_over_lives_and_an_old_life_adds_nothing() -> None:
    members = Members(["a"], 0.0)
    gained = [
        members.hear(each, 1.0).requests
        for each in (
            says("a", "1", requests=5),
            says("a", "1", requests=8),
            says("a", "2", requests=2),
            says("a", "1", requests=90),
            says("a", "2", requests=3),
        )
    ]
    assert gained == [5, 3, 2, 0, 1]


def test_a_life_that_was_cut_off_and_comes_back_is_not_the_shard() -> None:
    members = Members(["a"], 0.0)
    members.hear(says("a", "new", buckets=9, requests=5), 1.0)
    for second in range(2, 30):
        assert members.hear(says("a", "old", requests=100), float(second)).requests == 0
        assert members.hear(says("a", "new", buckets=9, requests=5 + second), float(second)).requests > 0
    entry = members.entry("a")
    assert entry is not None
    assert entry.report.incarnation == "new"


def test_whoever_has_the_buckets_is_the_shard_whoever_was_heard_of_first() -> None:
    members = Members(["a"], 0.0)
    members.hear(says("a", "old"), 1.0)
    members.hear(says("a", "new", buckets=9), 1.1)
    members.hear(says("a", "old"), 2.0)
    entry = members.entry("a")
    assert entry is not None
    assert entry.report.incarnation == "new"


def test_spend_is_a_mean_over_the_last_seconds() -> None:
    members = Members(["a"], 0.0)
    for second in range(30):
        members.hear(says("a", spent=4.0 * second), float(second))
    entry = members.entry("a")
    assert entry is not None
    assert entry.spend() == 4.0


def test_those_no_longer_wanted_go_when_they_have_nothing_left_or_are_gone() -> None:
    members = Members(["a", "b"], 0.0)
    members.hear(says("a", buckets=3), 1.0)
    members.hear(says("b", buckets=3), 1.0)
    members.want(["a"], 2.0)
    assert members.surplus(3.0) == []
    members.hear(says("b", buckets=0), 4.0)
    assert members.surplus(4.0) == ["b"]
    members.hear(says("b", buckets=3), 5.0)
    assert members.surplus(5.0 + SILENT_S) == ["b"]


def test_a_newcomer_is_waited_for() -> None:
    members = Members(["a"], 0.0)
    members.hear(says("a"), 99.0)
    members.want(["a", "b"], 100.0)
    assert members.members(99.0 + SILENT_S - 0.1) == ("a", "b")
    members.hear(says("a"), 101.0 + STARTING_S)
    assert members.members(101.0 + STARTING_S) == ("a",)
