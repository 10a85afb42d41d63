import math

import numpy as np
import pytest

import recrawl
from recrawl.errors import ParameterError
from recrawl.scheduling import capacity
from recrawl.scheduling.calendar import Calendar
from recrawl.scheduling.scan import scan
from recrawl.scheduling.state import AWAKE

UNIX = 1_800_000_000.0


def some(size, seed=0):
    rng = np.random.default_rng(seed)
    rate = rng.lognormal(-5, 1, size)
    return rng.lognormal(0, 2, size), rate, UNIX - rng.exponential(200, size)


def test_it_is_a_public_name():
    assert recrawl.Calendar is Calendar


def test_a_source_never_crawled_is_as_ripe_as_it_can_be():
    calendar = Calendar(value=[1.0, 3.0, 2.0], rate=0.1)
    assert calendar.choose(0.0, 3).tolist() == [1, 2, 0]


def test_never_crawled_beats_any_age_in_the_quadratic_form():
    calendar = Calendar(value=[1e9, 1.0, 1.0], rate=0.0, last=[0.0, -math.inf, -math.inf])
    assert calendar.choose(100.0, 2).tolist() == [1, 2]


def test_equal_indices_go_to_the_lower_id():
    calendar = Calendar(value=np.ones(1000), rate=0.1, last=0.0)
    assert calendar.choose(5.0, 10).tolist() == list(range(10))
    assert calendar.choose(6.0, 10).tolist() == list(range(10, 20))


def test_nothing_is_chosen_that_has_nothing_to_give():
    calendar = Calendar(value=[0.0, 1.0], rate=0.1, last=0.0)
    assert calendar.choose(10.0, 5).tolist() == [1]
    assert calendar.choose(10.0, 5).tolist() == []


def test_the_price_follows_the_index_of_the_last_one_chosen():
    calendar = Calendar(value=[4.0, 2.0, 1.0], rate=1.0)
    assert math.isnan(calendar.price)
    calendar.choose(0.0, 2)
    assert calendar.price == 2.0


def test_the_walk_stops_at_the_first_that_does_not_fit():
    calendar = Calendar(value=[9.0, 8.0, 1.0], rate=1.0, cost=[1.0, 3.0, 0.5])
    assert calendar.choose(0.0, 2.0).tolist() == [0]


def test_ten_tenths_fit_into_one():
    calendar = Calendar(value=np.ones(20), rate=1.0, cost=0.1)
    assert len(calendar.choose(0.0, 1.0)) == 10
    assert len(calendar.choose(0.0, 0.3)) == 3


def test_one_per_group_the_best_of_it():
    calendar = Calendar(value=[1.0, 5.0, 4.0, 2.0], rate=0.1, group=[0, 1, 1, 2])
    assert calendar.choose(0.0, 4).tolist() == [1, 3, 0]


def test_a_held_group_comes_back_by_itself():
    calendar = Calendar(value=[1.0, 5.0], rate=0.1, last=0.0, group=[0, 1])
    calendar.hold([1], until=20.0)
    assert calendar.choose(10.0, 2).tolist() == [0]
    assert calendar.choose(19.0, 2).tolist() == [0]
    assert calendar.choose(20.0, 1).tolist() == [1]


def test_a_hold_can_be_taken_back():
    value, rate, last = some(5000)
    group = np.arange(5000) % 700
    calendar = Calendar(value, rate, last=last, group=group, now=UNIX)
    best = calendar.choose(UNIX, 5)[0]
    calendar.crawled([best], -math.inf)
    calendar.hold(group[[best]], UNIX + 1e6)
    for tick in range(1, 30):
        assert best not in calendar.choose(UNIX + tick, 5)
    calendar.hold(group[[best]], UNIX)
    assert calendar.choose(UNIX + 31, 1).tolist() == [best]


def test_a_deferred_source_waits_and_returns():
    calendar = Calendar(value=[1.0, 5.0], rate=0.1, last=0.0)
    calendar.defer([1], until=50.0)
    assert calendar.choose(49.0, 2).tolist() == [0]
    assert calendar.choose(50.0, 1).tolist() == [1]


def test_a_source_below_the_price_is_visited_for_its_max_age():
    value = np.append(np.full(50, 10.0), 1e-6)
    calendar = Calendar(value, rate=1.0, last=0.0, max_age=np.append(np.full(50, np.inf), 100.0))
    visits = [t for t in range(1, 401) if 50 in calendar.choose(float(t), 1)]
    assert visits == [100, 200, 300, 400]


def test_a_crawl_by_the_caller_counts():
    calendar = Calendar(value=[5.0, 1.0], rate=0.1, last=0.0)
    calendar.crawled([0], at=9.0)
    assert calendar.choose(10.0, 1).tolist() == [1]


def test_ids_go_on_where_they_ended_and_are_not_used_again():
    calendar = Calendar(value=[1.0, 2.0], rate=0.1)
    calendar.remove([1])
    assert calendar.add([3.0, 4.0], 0.1).tolist() == [2, 3]
    assert len(calendar) == 3
    assert calendar.choose(0.0, 9).tolist() == [3, 2, 0]


def test_the_names_in_a_saved_file_are_those_of_earlier_versions(tmp_path):
    Calendar(value=[1.0], rate=[1.0]).save(tmp_path / "calendar")
    with np.load(tmp_path / "calendar") as file:
        kinds = {name.partition(".")[0] for name in file.files if "." in name}
    assert kinds == {"Catalogue", "Chains", "Wards", "Hosts", "number"}


def test_a_saved_calendar_goes_on_as_if_nothing_had_happened(tmp_path):
    value, rate, last = some(20_000)
    group = np.arange(20_000) % 3000
    calendar = Calendar(value, rate, last=last, group=group, now=UNIX)
    for tick in range(50):
        calendar.hold(group[calendar.choose(UNIX + tick, 30)], UNIX + tick + 10)
    calendar.save(tmp_path / "calendar")
    twin = Calendar.load(tmp_path / "calendar")
    for tick in range(50, 150):
        assert np.array_equal(calendar.choose(UNIX + tick, 30), twin.choose(UNIX + tick, 30))
    assert twin.price == calendar.price
    assert len(twin) == len(calendar)


def test_a_file_that_is_no_calendar_is_refused(tmp_path):
    (tmp_path / "other").write_bytes(b"not a calendar")
    with pytest.raises(ParameterError, match="path"):
        Calendar.load(tmp_path / "other")


def test_few_are_awake_however_many_there_are():
    value, rate, last = some(200_000)
    calendar = Calendar(value, rate, last=last, now=UNIX)
    for tick in range(100):
        calendar.choose(UNIX + 0.1 * tick, 100)
    assert calendar._wards.knob[0, AWAKE] < 1000


def test_no_record_and_no_block_lies_across_two_lines_of_the_cache():
    calendar = Calendar(*some(1000)[:2], last=0.0)
    calendar.add(*some(5000)[:2], last=0.0)
    assert calendar._catalogue.record.ctypes.data % 64 == calendar._chains.blocks.ctypes.data % 64 == 0


def test_those_crawled_before_take_no_room_among_newcomers():
    value, rate, last = some(100_000)
    calendar = Calendar(value, rate, last=last, now=UNIX)
    assert len(calendar._chains.newcomers) == 0
    assert calendar.nbytes < 45 * 100_000


def test_a_host_with_most_of_the_sources_does_not_fill_the_pool():
    value, rate, last = some(100_000)
    group = np.where(np.arange(100_000) < 60_000, 0, np.arange(100_000) % 5000)
    calendar = Calendar(value, rate, last=last, group=group, now=UNIX)
    mine = last.copy()
    for tick in range(150):
        now = UNIX + 0.1 * tick
        chosen = calendar.choose(now, 50)
        assert np.array_equal(chosen, scan(value, rate, last=mine, now=now, budget=50, group=group))
        mine[chosen] = now
    assert calendar._wards.knob[:, AWAKE].sum() < 3000


def test_a_large_cold_catalogue_of_equals_is_served_in_order():
    calendar = Calendar(value=np.ones(50_000), rate=0.0)
    served = np.concatenate([calendar.choose(float(t), 100) for t in range(100)])
    assert np.array_equal(served, np.arange(10_000))
    assert calendar._wards.knob[0, AWAKE] < 12_000


def test_a_change_of_beliefs_counts_at_once_after_the_clock_stepped_back():
    value, rate, last = some(3000)
    calendar = Calendar(value, rate, last=last, now=UNIX)
    calendar.choose(UNIX, 10)
    calendar.choose(UNIX - 50.0, 10)
    least = int(np.argmin(np.where(last < UNIX - 100.0, value, np.inf)))
    calendar.update([least], value=1e9)
    assert calendar.choose(UNIX - 50.0, 1).tolist() == [least]


def test_everybody_is_found_after_the_clock_stepped_back():
    """The wheel's clock goes on, or those in its last slots would sleep through the fall of the price."""
    rng = np.random.default_rng(2)
    value, rate = rng.lognormal(0, 2, 60), rng.lognormal(-4, 1.5, 60)
    last = -rng.exponential(300, 60)
    calendar = Calendar(value, rate, last=last, now=0.0)
    chosen = [*calendar.choose(0.0, 38), *calendar.choose(0.0, 1)]
    late = [*calendar.choose(-17.0, 1000)]
    assert sorted([*chosen, *late]) == [k for k in range(60) if k in chosen or last[k] < -17.0]


def test_a_price_that_falls_a_thousandfold_finds_everybody():
    value, rate, last = some(30_000)
    calendar = Calendar(value, rate, last=last, now=UNIX)
    for tick in range(200):
        now = UNIX + tick
        budget = 10 if tick < 100 else 3000
        chosen = calendar.choose(now, budget)
        assert np.array_equal(chosen, scan(value, rate, last=last, now=now, budget=budget))
        last[chosen] = now


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"value": [-1.0], "rate": 0.1}, "value"),
        ({"value": [1.0, math.nan], "rate": 0.1}, r"value\[1\]"),
        ({"value": 1.0, "rate": math.inf}, "rate"),
        ({"value": 1.0, "rate": 0.1, "cost": 0.0}, "cost"),
        ({"value": 1.0, "rate": 0.1, "last": math.nan}, "last"),
        ({"value": 1.0, "rate": 0.1, "group": [-1]}, "group"),
        ({"value": [1.0, 2.0], "rate": 0.1, "group": [0.5, 1.0]}, "group"),
        ({"value": [1.0, 2.0], "rate": [0.1, 0.1, 0.1]}, "shapes"),
        ({"value": 1.0, "rate": 0.1, "now": math.inf}, "now"),
        ({"value": 1.0, "rate": 0.1, "max_age": 0.0}, "max_age"),
    ],
)
def test_bad_input_is_named(arguments, named):
    with pytest.raises(ParameterError, match=named):
        Calendar(**arguments)


@pytest.mark.parametrize(
    "call",
    [
        lambda c: c.choose(math.nan, 1),
        lambda c: c.choose(0.0, -1),
        lambda c: c.update([5], value=1.0),
        lambda c: c.update([0], value=-1.0),
        lambda c: c.update([0, 0], value=1.0),
        lambda c: c.update([0], value=[1.0, 2.0]),
        lambda c: c.defer([0.5], 1.0),
        lambda c: c.hold([0], 1.0),
        lambda c: c.add(1.0, 1.0, group=[0]),
    ],
)
def test_bad_calls_are_refused(call):
    calendar = Calendar(value=[1.0, 2.0], rate=0.1)
    with pytest.raises(ParameterError):
        call(calendar)


def test_a_source_that_is_gone_cannot_be_changed():
    calendar = Calendar(value=[1.0, 2.0], rate=0.1)
    calendar.remove([1])
    with pytest.raises(ParameterError, match="ids"):
        calendar.update([1], value=1.0)


def test_a_call_at_the_time_of_the_start_ends_though_nobody_may_be_chosen() -> None:
    count = 20_000
    calendar = Calendar(np.ones(count), 3e-5, last=1.75e9 - 1.0, now=1.75e9)
    calendar.defer(np.arange(count), np.inf)
    assert len(calendar.choose(1.75e9, 1.0)) == 0


def test_costs_and_maximum_ages_may_change() -> None:
    calendar = Calendar([3.0, 2.0, 1.0], 0.1, last=0.0)
    calendar.configure([0], cost=10.0)
    assert calendar.choose(50.0, 1.0).tolist() == [1]
    calendar.configure([2], max_age=5.0)
    assert calendar.choose(51.0, 1.0).tolist() == [2]


@pytest.mark.parametrize("budget", [1, 10, 1000])
@pytest.mark.parametrize("hold", [1.0, 30.0, math.inf])
def test_thousands_of_one_host_added_in_portions_are_served_one_after_the_other(budget, hold):
    calendar = Calendar(value=[1.0], rate=0.0, last=-math.inf, group=[0])
    for _ in range(6):
        calendar.add(np.ones(500), 0.0, last=-math.inf, group=np.zeros(500, np.int64))
    for second in range(40):
        calendar.hold([0], -math.inf)
        assert calendar.choose(float(second), budget).tolist() == [second]
        calendar.defer([second], math.inf)
        calendar.hold([0], second + hold)


def test_whatever_runs_compiled_has_room_for_all_it_may_write(monkeypatch):
    """Here with never more room than was counted for the one call, so that a miscount shows."""
    monkeypatch.setattr(capacity, "generous", lambda needed, present: needed)
    rng = np.random.default_rng(3)
    calendar = Calendar(value=[1.0], rate=0.01, last=-math.inf, group=[0])
    for second in range(300):
        count = int(rng.integers(1, 60))
        last = np.where(rng.random(count) < 0.5, -math.inf, second - rng.exponential(50, count))
        calendar.add(rng.lognormal(0, 2, count), 0.01, last=last, group=rng.integers(0, second // 3 + 1, count))
        chosen = calendar.choose(float(second), int(rng.integers(0, 30)))
        calendar.defer(chosen, second + rng.exponential(20, len(chosen)))
        calendar.hold(rng.integers(0, 200, 10), second + float(rng.choice([-1.0, 1.0, 30.0, math.inf])))


def test_a_chain_without_room_is_an_error_and_not_a_write_past_the_end(monkeypatch):
    monkeypatch.setattr(capacity, "chains_for", lambda chains, *counted: chains)
    calendar = Calendar(value=[], rate=[])
    with pytest.raises(IndexError, match="no room"):
        calendar.add(np.ones(1000), 0.1, last=0.0)


def test_a_crowded_host_whose_sources_became_worthless_does_not_divide_by_zero():
    """Its ward has a mark, that of everybody else, before its wheel has a speed."""
    size, crowd = 3000, 40
    value = np.full(size, 5.0)
    value[:crowd] = 1000.0
    group = np.arange(1, size + 1)
    group[:crowd] = 0
    calendar = Calendar(value, 0.01, last=-300.0, group=group)
    calendar.choose(0.0, 1)
    calendar.update([0, 1], value=1e-3)
    calendar.remove(np.arange(2, crowd))
    calendar.crawled([0, 1], 1.0)
    for second in range(1, 5):
        assert len(calendar.choose(float(second), 10)) == 10


def test_one_source_of_boundless_worth_makes_nobody_oversleep():
    value, rate, last = some(500)
    value[0] = 1e120
    calendar = Calendar(value, rate, last=last, now=UNIX)
    for step in range(1, 100):
        now = UNIX + 5.0 * step
        expected = scan(value, rate, last=last, now=now, budget=3)
        assert calendar.choose(now, 3).tolist() == expected.tolist()
        last[expected] = now


def test_an_empty_calendar_can_be_saved_and_added_to(tmp_path):
    Calendar(value=[], rate=[]).save(tmp_path / "calendar")
    calendar = Calendar.load(tmp_path / "calendar")
    calendar.add([1.0, 2.0], 0.1)
    assert calendar.choose(1.0, 2).tolist() == [1, 0]


def test_the_walk_is_not_ended_by_a_source_that_ranks_below_newcomers():
    """Those whose beliefs were changed have left the heap: one of them may be dear, and rank below one in it."""
    calendar = Calendar(value=[30.0, 3.0, *range(20, 10, -1)], rate=0.1, cost=[1.0, 30.0, *[1.0] * 10])
    calendar.update([0, 1], value=[30.0, 3.0])
    assert calendar.choose(1.0, 10.0).tolist() == [0, *range(2, 11)]
