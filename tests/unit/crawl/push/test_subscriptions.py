from __future__ import annotations

from urllib.parse import parse_qs

import msgspec
import pytest

from recrawl.crawl.push import subscriptions as rules
from recrawl.crawl.push.subscriptions import DAY_S, Advert
from recrawl.crawl.reading.findings import Findings
from recrawl.store.records import Subscription

NOW = 1_700_000_000.0
ADVERT = Advert("https://hub.example/", "https://a.example/feed?a=ä")


def wanted() -> Subscription:
    return rules.wanted(7, ADVERT, NOW)


def test_a_document_without_a_name_of_its_own_is_known_by_its_address() -> None:
    hubs = ("https://hub.example/", "https://other.example/")
    assert rules.advert_of(Findings(kind="feed"), "https://a.example/") is None
    assert rules.advert_of(Findings(kind="feed", hubs=hubs), "https://a.example/") == (hubs[0], "https://a.example/")
    assert rules.advert_of(Findings(kind="feed", hubs=hubs, topic="t"), "https://a.example/") == (hubs[0], "t")


def test_nobody_guesses_what_a_subscription_is_called() -> None:
    made = [wanted() for _ in range(100)]
    assert len({each.token for each in made} | {each.secret for each in made}) == 200
    assert all(rules.is_token(each.token) for each in made)
    assert all(len(each.secret) < 200 for each in made)  # [WebSub, 5.1]


@pytest.mark.parametrize("text", ["", "x" * 42, "x" * 44, "x" * 42 + "/", "x" * 42 + "é", "x" * 42 + "\n"])
def test_what_cannot_be_a_token_is_not_looked_for(text: str) -> None:
    assert not rules.is_token(text)


def test_a_hub_that_does_not_answer_is_asked_ever_more_seldom() -> None:
    subscription, waits = wanted(), []
    for _ in range(20):
        subscription = rules.asked(subscription, NOW)
        waits.append(subscription.due - NOW)
    assert waits[:4] == [60.0, 120.0, 240.0, 480.0]
    assert waits[-1] == DAY_S


def test_what_is_asked_for_is_said_as_the_specification_has_it() -> None:
    subscription = wanted()
    form = parse_qs(rules.form_of(subscription, "https://me.example/x/", 864000.0).decode(), strict_parsing=True)
    assert form == {
        "hub.callback": [f"https://me.example/x/push/websub/{subscription.token}"],
        "hub.mode": ["subscribe"],
        "hub.topic": [ADVERT.topic],
        "hub.lease_seconds": ["864000"],
        "hub.secret": [subscription.secret],
    }
    left = parse_qs(rules.form_of(rules.leaving(subscription, NOW), "https://me.example", 1.0).decode())
    assert left.keys() == {"hub.callback", "hub.mode", "hub.topic"}
    assert left["hub.mode"] == ["unsubscribe"]


@pytest.mark.parametrize(
    ("said", "seconds"),
    [("7200", 7200.0), (" 7200 ", 7200.0), ("", DAY_S), ("-5", DAY_S), ("soon", DAY_S),
     ("9" * 30, 365.0 * DAY_S), ("999999999", 365.0 * DAY_S)],
)  # fmt: skip
def test_a_lease_is_what_the_hub_grants_within_reason(said: str, seconds: float) -> None:
    lease = rules.lease_of(said, DAY_S, NOW)
    assert lease == pytest.approx((NOW + seconds, NOW + 0.8 * seconds))


@pytest.mark.parametrize("said", ["0", "10", "3600"])
def test_a_short_lease_ends_before_the_hub_is_asked_again(said: str) -> None:
    assert rules.lease_of(said, DAY_S, NOW) == (NOW + float(said), NOW + 3600.0)


def test_a_hub_is_told_a_secret_by_https_alone() -> None:
    plain = Findings(kind="feed", hubs=("http://hub.example/",))
    assert rules.advert_of(plain, "t") == ("https://hub.example/", "t")
    assert rules.by_https("http://127.evil.example/") == "https://127.evil.example/"
    assert rules.by_https("http://[::1]:8080/") == "http://[::1]:8080/"


def test_it_is_over_when_the_hub_was_never_asked_or_has_been_told_or_knows_itself() -> None:
    left = rules.leaving(rules.asked(wanted(), NOW), NOW)
    assert not rules.is_over(wanted(), NOW)
    assert not rules.is_over(left, NOW)
    assert rules.is_over(rules.leaving(wanted(), NOW), NOW)
    assert rules.is_over(msgspec.structs.replace(left, tries=rules.FAREWELLS), NOW)
    assert rules.is_over(msgspec.structs.replace(left, until=NOW), NOW)
    assert not rules.is_over(msgspec.structs.replace(left, until=NOW + 1.0), NOW)


@pytest.mark.parametrize(("status", "refused"), [(400, True), (404, True), (410, True), (302, True), (429, False),
                                                 (408, False), (500, False), (503, False)])  # fmt: skip
def test_some_answers_say_that_asking_again_is_no_use(status: int, refused: bool) -> None:
    assert rules.is_refusal(status) is refused


def test_a_source_follows_what_it_advertises() -> None:
    first = rules.asked(wanted(), NOW)
    later = NOW + rules.SETTLED_S
    other = Advert("https://other.example/", ADVERT.topic)
    assert rules.changed(7, ADVERT, [first], later) == []
    left, new = rules.changed(7, other, [first], later)
    assert (left.token, left.mode, left.due) == (first.token, "unsubscribe", later)
    assert (new.hub, new.source, new.mode, new.due) == (other.hub, 7, "subscribe", later)
    assert [each.mode for each in rules.changed(7, None, [first], later)] == ["unsubscribe"]
    assert [each.hub for each in rules.changed(7, ADVERT, [left], later)] == [ADVERT.hub]


def test_it_is_not_followed_from_hub_to_hub_at_every_visit() -> None:
    first, other = rules.asked(wanted(), NOW), Advert("https://other.example/", "t")
    assert rules.is_settled([], other, NOW)
    assert rules.is_settled([first], ADVERT, NOW)
    assert not rules.is_settled([first], other, NOW + 3599.0)
    assert not rules.is_settled([rules.leaving(first, NOW)], None, NOW + 3599.0)
    assert rules.is_settled([first], other, NOW + 3600.0)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({}, "https://hub.example/ is to be asked to tell of changes"),
        (
            {"asked": NOW - 5.0, "due": NOW + 60.0},
            "https://hub.example/ does not tell of changes: it was asked, and has not called back; asked again in 1m",
        ),
        (
            {"asked": NOW - 5.0, "due": NOW + 60.0, "note": "the hub refuses"},
            "https://hub.example/ does not tell of changes: the hub refuses; asked again in 1m",
        ),
        (
            {"asked": NOW - 5.0, "until": NOW + DAY_S},
            "https://hub.example/ tells of changes for 1d more; nothing told so far",
        ),
        (
            {"asked": NOW - 5.0, "until": NOW + DAY_S, "delivered": NOW - 120.0},
            "https://hub.example/ tells of changes for 1d more; last told 2m ago",
        ),
        (
            {"asked": NOW - 5.0, "confirmed": NOW - 4.0, "until": NOW - 1.0, "due": NOW + 60.0},
            "https://hub.example/ does not tell of changes: its lease has ended; asked again in 1m",
        ),
        ({"mode": "unsubscribe"}, ""),
    ],
)
def test_its_owner_is_told_how_far_it_has_got(more: dict[str, object], words: str) -> None:
    assert rules.in_words([msgspec.structs.replace(wanted(), **more)], NOW) == words
