import math

import msgspec
import pytest

import rankers
from rankers import standing
from recrawl.config import Config, SourceOptions
from recrawl.config.loading import replaced
from recrawl.crawl.explaining import explanation
from recrawl.crawl.explaining.explanation import Circumstances, Explanation
from recrawl.crawl.explaining.pace import arrivals_per_s, first_wait, pace_in_words
from recrawl.crawl.explaining.ranking import reasons_in_words
from recrawl.policies.contract import Reason
from recrawl.store.records import Crawl, Progress, Source

NOW = 1_800_000_000.0
HOUR, DAY = 3600.0, 86400.0
MU = math.log(2) / (12 * HOUR)


def source(**changes):
    return Source(**{"id": 7, "url": "https://example.org/feed", "kind": "feed", **changes})


def progress(items_a_day=4.0, age=2 * HOUR, **changes):
    value = items_a_day / DAY / MU
    known = {"last": NOW - age, "visits": 9, "value": value, "value_sd": 0.3 * value, "rate": MU, "rate_sd": 0.0}
    return Progress(**{"source": 7, **known, **changes})


def explain(source, progress, now, around, crawls=()):
    """By a policy that ranks in closed form by what is believed."""
    where = standing(rankers.closed(source, progress, around.max_age_s), progress, now, around.price)
    return explanation.explain(source, progress, now, around, where, crawls)


def told_by(ranker, price, now=NOW, **changes) -> Explanation:
    known = Progress(source=7, last=ranker.last, visits=9)
    around = Circumstances(price=price, **changes)
    return explanation.explain(source(), known, now, around, standing(ranker, known, now, price))


def by_hand_index(value, rate, age, cost):
    s = rate * age
    return value / cost * (1 - (1 + s) * math.exp(-s))


def by_hand_age(value, rate, price, cost):
    low, high = 0.0, 1e9
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if by_hand_index(value, rate, middle, cost) >= price else (middle, high)
    return high


@pytest.mark.parametrize(("importance", "cost"), [(1.0, 1.0), (3.0, 1.0), (1.0, 2.0)])
@pytest.mark.parametrize("price", [0.01, 0.3, 0.9])
def test_every_number_can_be_recomputed_by_hand(importance, cost, price):
    known = progress()
    found = explain(source(importance=importance, cost=cost), known, NOW, Circumstances(price=price))
    worth = importance * known.value
    assert found.index == pytest.approx(by_hand_index(worth, MU, 2 * HOUR, cost), rel=1e-9)
    assert found.crossing_age_s == pytest.approx(by_hand_age(worth, MU, price, cost), rel=1e-6)
    assert found.due == pytest.approx(known.last + found.crossing_age_s)
    assert found.ceiling == pytest.approx(worth / cost)
    assert (found.value, found.rate_per_s, found.importance, found.cost, found.age_s, found.price, found.last) == (
        known.value, MU, importance, cost, 2 * HOUR, price, known.last,
    )  # fmt: skip
    assert found.pace_per_day == pytest.approx(4.0)


def test_intervals_hold_the_mean_and_widen_with_doubt():
    known = progress(rate_sd=MU / 2)
    found = explain(source(), known, NOW, Circumstances(price=0.3))
    assert found.value_low < found.value < found.value_high
    assert found.rate_low < found.rate_per_s < found.rate_high
    assert "lognormal" in found.intervals
    sure = explain(source(), progress(value_sd=0.0), NOW, Circumstances(price=0.3))
    assert sure.value_low == sure.value == sure.value_high


def test_one_sentence_says_when_and_why():
    found = explain(source(), progress(), NOW, Circumstances(price=0.3))
    wait = found.due - NOW
    assert found.why.startswith(f"Due in {int(wait // HOUR)}h")
    assert "at its pace of about 4 items a day a fetch is worth 0.0" in found.why
    assert found.why.endswith("and the price is 0.3.")


def test_past_the_crossing_it_is_due_now():
    found = explain(source(), progress(age=20 * HOUR), NOW, Circumstances(price=0.3))
    assert found.due < NOW
    assert found.why.startswith("Due now: ")


def test_a_new_source_says_within_what_time_it_is_fetched():
    found = explain(source(), Progress(source=7), NOW, Circumstances(price=0.3, first_wait_s=first_wait(60, 1.0, 0.5)))
    assert found.why == "Never fetched yet: new sources are fetched first, within about 2m at this budget."
    assert found.due == NOW + 120.0
    assert math.isnan(found.index)
    assert math.isnan(found.value_low)
    assert found.pace == "not known yet"


def test_a_new_source_that_nobody_can_promise_anything():
    found = explain(source(), Progress(source=7), NOW, Circumstances())
    assert found.why == "Never fetched yet: it waits for its turn among the new sources."


def test_a_source_that_is_never_worth_it_is_still_looked_at():
    known = progress(items_a_day=0.1)
    found = explain(source(), known, NOW, Circumstances(price=0.9))
    assert math.isinf(found.crossing_age_s)
    assert found.due == known.last + 30 * DAY
    assert found.why.startswith("Not worth a fetch at this price: at its pace of about 1 item in ")
    assert "it is looked at anyway every 30d, next in 29d22h." in found.why


def test_its_own_maximum_age_comes_before_the_price():
    known = progress(items_a_day=1.0)
    found = explain(source(max_age=3 * HOUR), known, NOW, Circumstances(price=0.7, max_age_s=3 * HOUR))
    assert found.worth_at > found.floor_at == found.due == known.last + 3 * HOUR
    assert found.why.startswith("Due in 1h, because it is looked at every 3h at least")


@pytest.mark.parametrize(
    ("changes", "around", "until", "reason"),
    [
        ({"held_until": NOW + HOUR, "held_by": "server error 503"}, {}, NOW + HOUR, "server error 503"),
        (
            {},
            {"host_held_until": NOW + HOUR, "host_held_by": "asked to wait"},
            NOW + HOUR,
            "its host is held: asked to",
        ),
        ({}, {"quiet_until": NOW + 2 * HOUR}, NOW + 2 * HOUR, "quiet hours"),
        ({}, {"min_interval_s": 21 * HOUR}, NOW + HOUR, "fetched less than 21h ago (politeness.min_interval)"),
    ],
)
def test_what_holds_it_back_is_named_and_moves_the_due_time(changes, around, until, reason):
    known = progress(age=20 * HOUR, **changes)
    found = explain(source(), known, NOW, Circumstances(price=0.3, **around))
    assert found.due == until
    assert [each.until for each in found.held_back] == [until]
    assert found.why.startswith("Held for ")
    assert reason in found.why
    assert found.why.endswith("; otherwise due now.")


def test_the_longest_of_several_holds_counts():
    known = progress(age=20 * HOUR, held_until=NOW + HOUR, held_by="server error")
    found = explain(source(), known, NOW, Circumstances(price=0.3, quiet_until=NOW + 5 * HOUR))
    assert [each.reason for each in found.held_back] == ["quiet hours", "server error"]
    assert found.due == NOW + 5 * HOUR


def test_a_hold_that_ends_before_it_is_due_changes_nothing():
    known = progress(held_until=NOW + 60, held_by="server error")
    found = explain(source(), known, NOW, Circumstances(price=0.3))
    assert found.due == pytest.approx(known.last + found.crossing_age_s)
    assert found.why.startswith("Due in ")


def test_paused_and_retired_sources_are_not_due():
    paused = explain(source(state="paused"), progress(), NOW, Circumstances(price=0.3))
    assert math.isinf(paused.due)
    assert paused.why.startswith("Paused by its owner")
    retired = explain(source(state="retired", note="gone since May"), progress(), NOW, Circumstances(price=0.3))
    assert math.isinf(retired.due)
    assert retired.why == "Retired and not fetched again: gone since May."


def test_without_a_price_it_is_due_at_once():
    found = explain(source(), progress(), NOW, Circumstances())
    assert found.due <= NOW
    assert found.why.startswith("Due now: at its pace of about 4 items a day a fetch is worth")
    assert found.why.endswith("; no price yet, because there was budget for everything so far.")


def test_fetched_but_nothing_believed_yet():
    found = explain(source(), Progress(source=7, last=NOW - 60, visits=1), NOW, Circumstances(price=0.3))
    assert found.why == "Fetched, but nothing is known of its pace yet."


def test_discovery_has_no_ceiling_and_a_quadratic_index():
    known = progress(value=5 / DAY, rate=0.0)
    found = explain(source(), known, NOW, Circumstances(price=0.01, objective="discovery"))
    assert found.index == pytest.approx(5 / DAY * (2 * HOUR) ** 2 / 2)
    assert found.crossing_age_s == pytest.approx(math.sqrt(2 * 0.01 / (5 / DAY)), rel=1e-6)
    assert math.isinf(found.ceiling)
    assert found.pace_per_day == pytest.approx(5.0)


def test_last_crawls_are_passed_on():
    crawl = Crawl(source=7, at=NOW - HOUR, outcome="unchanged")
    assert explain(source(), progress(), NOW, Circumstances(), [crawl]).crawls == [crawl]


def test_pages_and_feeds_have_the_same_unit():
    change, mu = 3 / DAY, MU
    assert arrivals_per_s(change / (change + mu), change + mu) * DAY == pytest.approx(3.0)
    assert arrivals_per_s(1 / change, change, "freshness") * DAY == pytest.approx(3.0)


def test_of_a_source_never_fetched_nothing_is_known_whatever_its_kin_let_expect():
    expected = Progress(source=7, failures=1, value=2.0, value_sd=1.0, rate=MU, rate_sd=0.0)
    found = explain(source(), expected, NOW, Circumstances(price=0.3))
    assert found.pace == "not known yet"
    assert all(map(math.isnan, (found.value, found.rate_per_s, found.index, found.ceiling, found.worth_at)))
    assert (found.form, found.reasons) == ("", {})


def test_a_planned_index_says_its_plan_and_meets_the_price_on_a_line():
    last = NOW - 2 * HOUR
    found = told_by(rankers.planned(last, changes_a_day=3.0, fetches_a_day=8.0), price=1.0, objective="freshness")
    assert found.index == pytest.approx(8.0 / 12)
    assert found.crossing_age_s == pytest.approx(3 * HOUR)
    assert found.due == pytest.approx(last + 3 * HOUR)
    assert (found.form, found.reasons["planned_rate_per_s"]) == ("planned", 8.0 / DAY)
    assert found.pace_per_day == pytest.approx(3.0)
    assert math.isinf(found.ceiling)
    assert "at its pace of about 3 items a day, for which a fetch every 3h is planned, a fetch is worth" in found.why


def test_a_rhythm_meets_the_price_when_its_busy_hours_begin():
    midnight = NOW - NOW % DAY
    found = told_by(rankers.rhythmic(midnight - 4 * HOUR), price=3.0, now=midnight)
    assert found.index < found.price
    assert found.due == pytest.approx(midnight + 8 * HOUR, abs=1e-3)
    assert found.worth_at == pytest.approx(found.due)
    assert found.why.startswith("Due in 7h59m") or found.why.startswith("Due in 8h")


def test_nothing_is_said_to_be_the_most_where_hours_differ():
    found = told_by(rankers.rhythmic(NOW - HOUR, items_a_day=1.0), price=3.0)
    assert math.isinf(found.crossing_age_s)
    assert found.why.startswith(
        "Not worth a fetch at this price: at its pace of about 1 item a day a fetch is worth 0.0"
    )
    assert "at most" not in found.why


def test_reasons_are_said_in_words_with_their_doubt():
    found = told_by(rankers.planned(NOW - HOUR, 3.0, 8.0), price=1.0)
    assert reasons_in_words(found.reasons) == [("change rate", "3 ± 1 a day"), ("planned rate", "8 a day")]
    found = told_by(rankers.rhythmic(NOW - HOUR), price=3.0)
    assert reasons_in_words(found.reasons) == [("items", "24 ± 3 a day"), ("profile now", "1"), ("items waiting", "2")]


@pytest.mark.parametrize(
    ("profile", "words"), [(2.5, ", 2.5 times the usual at this hour, a fetch"), (1.1, "an hour a fetch")]
)
def test_an_unusual_hour_is_worth_a_word(profile, words):
    ranker = rankers.rhythmic(NOW - HOUR)
    ranker.reason.numbers["profile_now"] = profile
    assert words in told_by(ranker, price=3.0).why


def test_what_is_visible_late_says_so_and_is_worth_less_at_most():
    late, known = {"index_wait_s": 5 * HOUR, "visible_share": 0.75}, progress(age=2 * HOUR)
    ranker = rankers.closed(source(), known, 30 * DAY)
    ceiling = told_by(ranker, price=0.3).ceiling
    ranker.reason.numbers.update(late)
    found = told_by(ranker, price=0.3)
    assert found.ceiling == pytest.approx(0.75 * ceiling)
    assert "a day, visible 5h after it is fetched, a fetch is worth" in found.why
    assert ("index wait", "5h") in reasons_in_words(found.reasons)


def test_where_the_maximum_age_comes_first_the_crossing_is_searched_for_beyond_it():
    ranker = rankers.planned(NOW - HOUR, changes_a_day=1.0, fetches_a_day=0.1)
    ranker.max_age = 3 * DAY
    found = told_by(ranker, price=1.0, max_age_s=3 * DAY)
    assert found.due == ranker.last + 3 * DAY
    assert found.crossing_age_s == pytest.approx(10 * DAY)
    assert found.why.startswith("Due in 2d23h, because it is looked at every 3d at least")
    ranker = rankers.planned(NOW - HOUR, changes_a_day=1.0, fetches_a_day=1e-5)
    assert math.isinf(told_by(ranker, price=1.0).crossing_age_s)


def test_a_timer_has_a_due_time_and_no_index():
    last = NOW - HOUR
    ranker = rankers.FakeRanker(lambda age, _: math.nan, last, max_age=6 * HOUR, reason=Reason("timer"))
    for price in (math.nan, 0.3):
        found = told_by(ranker, price)
        assert found.due == last + 6 * HOUR
        assert math.isnan(found.index)
        assert found.why == "Due in 5h, by the rule that runs; it is looked at every 30d at least."


def test_what_somebody_asked_for_is_due_now():
    wanted = explain(source(wanted=NOW - 60), progress(), NOW, Circumstances(price=0.3))
    assert wanted.due == NOW
    assert wanted.why == "Due now: somebody asked for it to be fetched at once."
    assert wanted.crossing_age_s > 0.0
    done = explain(source(wanted=NOW - 3 * HOUR), progress(), NOW, Circumstances(price=0.3))
    assert done.due > NOW


@pytest.mark.parametrize(
    ("per_day", "words"),
    [(1.0, "about 1 item a day"), (30.0, "about 1 item a hour"), (0.5, "about 4 items a week"),
     (1 / 60, "about 1 item in 9 weeks"), (1 / 200, "about 1 item in 7 months"), (1 / 800, "about 1 item in 2 years"),
     (1e-9, "hardly any items"), (0.0, "hardly any items"), (86400 * 5.0, "about 300 items a minute")],
)  # fmt: skip
def test_a_pace_is_said_as_people_say_it(per_day, words):
    assert pace_in_words(per_day) == words.replace("a hour", "an hour")


def around(config, line, now=NOW, price=0.3):
    return explanation.circumstances(config, line, now, price=price, hold=None, waiting=0, budget=1.0)


def test_a_fixed_interval_says_when_it_is_due_whatever_it_is_worth():
    line = source(options=SourceOptions(interval=3 * HOUR))
    found = explain(line, progress(age=HOUR), NOW, around(Config(), line))
    assert found.due == NOW + 2 * HOUR
    assert found.why.startswith("Held for 2h: its owner wants it fetched every 3h")
    late = explain(line, progress(age=4 * HOUR), NOW, around(Config(), line))
    assert late.why == "Due now: its owner wants it fetched every 3h."


def test_hours_of_its_own_hold_it_until_they_begin():
    line = source(options=SourceOptions(active_hours=("20:00-22:00 UTC",)))  # it is 8 in the morning
    found = explain(line, progress(age=40 * DAY), NOW, around(Config(), line))
    assert found.due == NOW + 12 * HOUR
    assert "outside the hours its owner set" in found.why


def test_what_is_due_outside_its_hours_is_due_when_they_begin():
    line = source(options=SourceOptions(interval=3 * HOUR, active_hours=("06:00-09:00 UTC",)))  # it is 8 in the morning
    found = explain(line, progress(age=HOUR), NOW, around(Config(), line))
    assert found.due == NOW + 22 * HOUR
    assert found.why.endswith("; the hours do not allow it then, so it is fetched in 22h.")
    asked = explain(msgspec.structs.replace(line, wanted=NOW), progress(age=HOUR), NOW, around(Config(), line))
    assert asked.due == NOW


def test_what_is_due_in_quiet_hours_is_due_at_their_end():
    config = replaced(Config(), {"politeness.quiet_hours": ["09:30-12:00 UTC"]})
    line = source(options=SourceOptions(interval=3 * HOUR))
    found = explain(line, progress(age=HOUR), NOW, around(config, line))
    assert found.due == NOW + 4 * HOUR
    late = explain(line, progress(age=27 * HOUR), NOW, around(config, line))  # due within the quiet hours of yesterday
    assert (late.due, late.why) == (NOW - 24 * HOUR, "Due now: its owner wants it fetched every 3h.")


def test_what_tags_say_counts_where_the_source_says_nothing():
    config = replaced(Config(), {"tags": {"press": {"importance": 3.0, "half_life": "2h", "max_age": "5h"}}})
    found = around(config, source(tags=("press",)))
    assert (found.importance, found.half_life_s, found.max_age_s) == (3.0, 2 * HOUR, 5 * HOUR)
    own = around(config, source(tags=("press",), half_life=HOUR))
    assert own.half_life_s == HOUR


def test_a_crawl_somebody_asked_for_waits_for_nothing_of_its_own():
    line = source(wanted=NOW - 1.0)
    known = progress(age=10.0, held_until=NOW + HOUR, held_by="HTTP status 500")
    found = explain(line, known, NOW, Circumstances(price=0.3, min_interval_s=HOUR))
    assert (found.due, found.held_back) == (NOW, [])
    host = explain(line, known, NOW, Circumstances(price=0.3, host_held_until=NOW + 60.0, host_held_by="status 429"))
    assert host.due == NOW + 60.0


def test_a_hold_of_its_host_is_said_once():
    known = progress(held_until=NOW + HOUR, held_by="Crawl-delay 3600 s")
    found = explain(
        source(), known, NOW, Circumstances(price=0.3, host_held_until=NOW + HOUR, host_held_by="Crawl-delay 3600 s")
    )
    assert [each.reason for each in found.held_back] == ["its host is held: Crawl-delay 3600 s"]
