"""Hubs and sites that call in from outside: no login, and nothing to gain for anybody else."""

from __future__ import annotations

import asyncio
import hmac
import json

import pytest

from recrawl.clock import ManualClock
from recrawl.config import Config, Push
from recrawl.crawl.push import index_now, subscriptions
from recrawl.crawl.push.index_now import Verdict
from recrawl.store import sql_push
from recrawl.store.records import Signal, Source, Subscription
from recrawl.store.sqlite import SqliteStore
from recrawl.web.app import make_app
from recrawl.web.pages import indexnow
from recrawl.web.safety import callers
from recrawl.web.safety.access import make_access
from visitor import Answer, Visitor

TOKEN, SECRET, TOPIC = "t" * 43, "s3cret", "https://a.example/feed"
CALLBACK = subscriptions.PATH + TOKEN
KEY = "0123456789abcdef"
PUSH = Push(callback="https://me.example/", indexnow=True)


def opened(store: SqliteStore, clock: ManualClock, push: Push = PUSH) -> Visitor:
    """A hub or a site, at a page that is locked, by the public name."""
    access = make_access("127.0.0.1", "recrawl.db", {"RECRAWL_TOKEN": "only for programs"}, push=push)
    app = make_app(store, Config(push=push), clock, access=access)
    return Visitor(app, host="me.example", browser=False, address="203.0.113.7")


@pytest.fixture
def hub(store: SqliteStore, clock: ManualClock) -> Visitor:
    store.add([Source(url="https://a.example/feed"), Source(url="https://a.example/page")])
    asked = Subscription(
        token=TOKEN, source=1, hub="https://h.example/", topic=TOPIC, secret=SECRET, asked=1.0, tries=1
    )
    store.write_subscriptions([asked])
    return opened(store, clock)


site = hub


def question(**said: str) -> str:
    usual = {"mode": "subscribe", "topic": TOPIC, "challenge": "c-h", "lease_seconds": "10000"} | said
    return CALLBACK + "?" + "&".join(f"hub.{name}={value}" for name, value in usual.items())


def deliver(hub: Visitor, body: bytes = b"<feed/>", secret: str = SECRET, path: str = CALLBACK) -> Answer:
    signed = "sha256=" + hmac.new(secret.encode(), body, "sha256").hexdigest()
    return hub.ask("POST", path, body, {"X-Hub-Signature": signed, "Content-Type": "application/atom+xml"})


class TestVerification:
    def test_what_was_asked_for_is_confirmed_and_the_lease_noted(self, hub: Visitor, store: SqliteStore) -> None:
        answer = hub.get(question())
        assert (answer.status, answer.text) == (200, "c-h")
        assert (answer.header("content-type") or "").startswith("text/plain")
        assert answer.header("set-cookie") is None
        kept = store.subscription(TOKEN)
        assert kept is not None
        assert (kept.until - kept.confirmed, kept.due - kept.confirmed, kept.tries) == (10000.0, 8000.0, 0)

    @pytest.mark.parametrize("said", [{"mode": "unsubscribe"}, {"topic": "https://b.example/"}, {"challenge": ""},
                                      {"mode": "x"}])  # fmt: skip
    def test_what_was_not_is_refused(self, hub: Visitor, store: SqliteStore, said: dict[str, str]) -> None:
        assert hub.get(question(**said)).status == 404
        kept = store.subscription(TOKEN)
        assert kept is not None
        assert kept.until == 0.0

    def test_leaving_is_confirmed_and_forgotten(self, hub: Visitor, store: SqliteStore) -> None:
        kept = store.subscription(TOKEN)
        assert kept is not None
        store.write_subscriptions([subscriptions.leaving(kept, 5.0)])
        assert deliver(hub).status == 410
        assert hub.get(question()).status == 404
        assert hub.get(question(mode="unsubscribe")).text == "c-h"
        assert store.subscription(TOKEN) is None

    def test_a_denial_is_noted_with_its_reason(self, hub: Visitor, store: SqliteStore, clock: ManualClock) -> None:
        assert hub.get(question(mode="denied", reason="no%0Asuch")).status == 200
        kept = store.subscription(TOKEN)
        assert kept is not None
        assert kept.note == "the hub refuses: no such"
        assert kept.due == clock.now() + 7 * 86400.0

    def test_a_challenge_is_sent_back_as_text_that_no_browser_runs(self, hub: Visitor) -> None:
        answer = hub.get(question(challenge="<script>alert(1)</script>"))
        assert answer.header("x-content-type-options") == "nosniff"
        assert (answer.header("content-type") or "").startswith("text/plain")


class TestDelivery:
    def test_what_is_signed_is_a_signal_and_nothing_of_it_is_kept(
        self, hub: Visitor, store: SqliteStore, clock: ManualClock
    ) -> None:
        assert deliver(hub, b"<feed><entry><title>stored nowhere</title></entry></feed>").status == 202
        (signal,) = store.signals()
        assert (signal.source, signal.by, signal.at) == (1, "websub", clock.now())
        assert store.items() == []

    @pytest.mark.parametrize("header", ["", "sha256=00", "sha256=" + "0" * 64, "md5=" + "0" * 32])
    def test_what_is_not_is_answered_alike_and_ignored(self, hub: Visitor, store: SqliteStore, header: str) -> None:
        assert hub.ask("POST", CALLBACK, b"<feed/>", {"X-Hub-Signature": header}).status == 202
        assert deliver(hub, secret="another").status == 202
        assert store.signals() == []

    def test_a_message_longer_than_any_feed_is_refused(
        self, hub: Visitor, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("recrawl.web.pages.websub.MOST_MESSAGE", 100)
        assert deliver(hub, b"x" * 101).status == 413
        assert deliver(hub, b"x" * 100).status == 202
        assert len(store.signals()) == 1

    def test_messages_of_one_source_do_not_pile_up(self, hub: Visitor, store: SqliteStore) -> None:
        assert {deliver(hub).status for _ in range(50)} == {202}
        assert len(store.signals()) == 1

    def test_a_hub_of_a_subscription_that_is_gone_learns_so(self, hub: Visitor, store: SqliteStore) -> None:
        assert deliver(hub, path=subscriptions.PATH + "u" * 43).status == 410
        store.remove([1])
        assert deliver(hub).status == 202
        assert store.signals() == []

    def test_whoever_guesses_tokens_is_told_to_wait_and_hubs_are_not(self, hub: Visitor, store: SqliteStore) -> None:
        answers = [hub.get(subscriptions.PATH + f"{k:043d}") for k in range(40)]
        assert {each.status for each in answers[:30]} == {404}
        assert answers[-1].status == 429
        assert answers[-1].header("retry-after") == "2"
        assert deliver(hub).status == 202


class TestWhoMayCall:
    def test_by_the_public_name_only_these_answer(self, hub: Visitor) -> None:
        assert hub.get(question()).status == 200
        for path in ("/", "/sources", "/api/v1/sources", "/healthz", "/push", "/indexnow/", "/push/other"):
            assert hub.get(path).status == 421

    def test_by_other_names_they_do_not(self, hub: Visitor) -> None:
        hub.host = "evil.example"
        assert hub.get(question()).status == 421
        assert deliver(hub).status == 421

    def test_heads_are_bounded_here_too(self, hub: Visitor) -> None:
        assert hub.get(CALLBACK + "?" + "x" * 9000).status == 414
        assert hub.ask("GET", CALLBACK, b"x").status == 400
        assert hub.get(question(), **{f"x-{k}": "y" for k in range(100)}).status == 431

    @pytest.mark.parametrize("push", [Push(), Push(enabled=False, callback="https://me.example/", indexnow=True)])
    def test_without_the_settings_nobody_is_there(self, store: SqliteStore, clock: ManualClock, push: Push) -> None:
        visitor = opened(store, clock, push)
        visitor.host = "localhost"
        assert visitor.get(question()).status == 404
        assert visitor.get("/indexnow?url=https://a.example/&key=" + KEY).status == 404


def ping(site: Visitor, *urls: str, **said: object) -> Answer:
    body = {"host": "a.example", "key": KEY, "urlList": list(urls)} | said
    return site.ask("POST", callers.INDEXNOW, json.dumps(body).encode(), {"content-type": "application/json"})


def waiting(store: SqliteStore) -> list[Signal]:
    return [signal for proof in store.proofs() for signal in store.signals(proof=proof)]


class TestIndexNow:
    def test_what_is_in_the_catalogue_waits_for_the_key(self, site: Visitor, store: SqliteStore) -> None:
        assert ping(site, "https://a.example/page", "https://a.example/unknown").status == 202
        (signal,) = waiting(store)
        assert (signal.source, signal.by, signal.proof) == (2, "indexnow", f"https://a.example/{KEY}.txt {KEY}")
        assert store.signals() == []

    def test_with_a_key_that_was_seen_it_counts_at_once(
        self, site: Visitor, store: SqliteStore, clock: ManualClock
    ) -> None:
        index_now.keep_verdict(store, Verdict(f"https://a.example/{KEY}.txt {KEY}", True, clock.now() + 86400.0))
        assert site.get(f"/indexnow?url=https://A.example/page&key={KEY}").status == 200
        assert [signal.source for signal in store.signals()] == [2]
        clock.advance(86401.0)
        assert ping(site, "https://a.example/page").status == 202

    def test_with_a_wrong_key_it_does_not(self, site: Visitor, store: SqliteStore, clock: ManualClock) -> None:
        index_now.keep_verdict(store, Verdict(f"https://a.example/{KEY}.txt {KEY}", False, clock.now() + 60.0))
        assert ping(site, "https://a.example/page").status == 403
        assert waiting(store) == store.signals() == []

    def test_for_what_nobody_watches_nothing_waits(self, site: Visitor, store: SqliteStore) -> None:
        assert ping(site, "https://b.example/", host="b.example").status == 202
        assert waiting(store) == []

    @pytest.mark.parametrize(
        ("said", "status"), [({"host": "b.example"}, 422), ({"key": "short"}, 422), ({"urlList": []}, 400),
                             ({"key": 5}, 400)],
    )  # fmt: skip
    def test_what_cannot_be_read_or_be_so_is_answered_by_the_protocol(
        self, site: Visitor, said: dict[str, object], status: int
    ) -> None:
        assert ping(site, "https://a.example/page", **said).status == status

    def test_many_pings_from_one_place_are_too_many(self, site: Visitor) -> None:
        answers = [ping(site, "https://a.example/page").status for _ in range(70)]
        assert answers.count(202) == 60
        assert answers[-1] == 429

    def test_only_so_many_keys_wait_to_be_looked_at(
        self, site: Visitor, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sql_push, "PROOFS", 3)
        keys = [f"{KEY}{k}" for k in range(5)]
        assert [ping(site, "https://a.example/page", key=key).status for key in keys] == [202] * 3 + [429] * 2
        assert ping(site, "https://a.example/feed", key=keys[0]).status == 202

    def test_one_address_may_let_few_keys_wait_and_another_still_may(self, site: Visitor, store: SqliteStore) -> None:
        store.add([Source(url=f"https://{k}.example/") for k in range(13)])

        def by(k: int) -> int:
            return ping(site, f"https://{k}.example/", host=f"{k}.example").status

        assert [by(k) for k in range(12)] == [202] * 10 + [429] * 2
        assert by(3) == 202  # waits already
        site.address = "203.0.113.8"
        assert by(12) == 202

    def test_a_long_list_counts_for_many_pings(self, site: Visitor) -> None:
        urls = [f"https://a.example/{k}" for k in range(7000)]
        assert ping(site, *urls).status == 202
        answer = ping(site, "https://a.example/page")
        assert (answer.status, answer.header("retry-after")) == (429, "12")

    def test_who_has_to_wait_is_told_before_a_list_is_read(
        self, site: Visitor, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for _ in range(60):
            ping(site, "https://a.example/page")
        monkeypatch.setattr(indexnow, "read_within", None)
        assert ping(site, "https://a.example/page").status == 429

    def test_a_list_that_does_not_arrive_is_given_up(self, site: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
        async def never(*_: object) -> None:
            await asyncio.Event().wait()

        monkeypatch.setattr(indexnow, "read_within", never)
        monkeypatch.setattr(indexnow, "READ_S", 0.01)
        assert ping(site, "https://a.example/page").status == 408

    def test_a_key_about_to_end_counts_and_is_looked_at_again(
        self, site: Visitor, store: SqliteStore, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        index_now.keep_verdict(store, Verdict(f"https://a.example/{KEY}.txt {KEY}", True, clock.now() + 60.0))
        assert ping(site, "https://a.example/page").status == 200
        assert [signal.source for signal in waiting(store)] == [2]
        monkeypatch.setattr(sql_push, "UNPROVEN", 0)
        assert ping(site, "https://a.example/feed").status == 200
        assert [signal.source for signal in store.signals()] == [1]

    def test_a_list_too_long_to_be_one_is_not_read(self, site: Visitor) -> None:
        assert ping(site, "https://a.example/page", more="x" * callers.MOST_PING).status == 413
