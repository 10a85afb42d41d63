"""People are told of what was found: of all that waits in one message, when it may be, once if nothing breaks."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable
from typing import Any, TypeVar

import pytest

from notified import http_sink, mail_server
from recrawl.clock import ManualClock
from recrawl.config import load
from recrawl.config.digest_times import digest_after
from recrawl.config.notice_template import FIELDS, filled, template
from recrawl.config.notification_settings import Notification
from recrawl.config.quiet_hours import QuietHours
from recrawl.crawl.events import addressed, change_event, item_events, source_event
from recrawl.crawl.outlets import NotDeliveredError, NotificationOutlet, Outlets, OutletStatus, RefusedError
from recrawl.crawl.outlets.notices import SHOWN, Message, Waiting, fields
from recrawl.crawl.outlets.notification import services
from recrawl.crawl.reading.findings import Number
from recrawl.errors import ConfigError, MissingExtraError, ParameterError
from recrawl.store.records import Event, Item, Source, Version
from until import soon as happening

NINE = 9 * 3600.0 + 86_400.0 * 20_000
"""Nine in the morning, UTC."""
HOUR = 3600.0
Result = TypeVar("Result")


def soon(work: Awaitable[Result]) -> Result:
    async def main() -> Result:
        async with asyncio.timeout(60.0):
            return await work

    return asyncio.run(main())


def a_source(**more: Any) -> Source:
    return Source(id=1, url="https://shop.example/chair", title="Chair", **more)


def an_item(number: int, worth: float = 1.0, title: str = "", at: float = NINE) -> Event:
    item = Item(source=1, key=number, title=title or f"Item {number}", link=f"https://a.example/{number}", summary="S")
    return item_events(a_source(tags=("news",)), [(item, worth)], at)[0]


def a_change(diff: str = "@@ -1,1 +1,1 @@\n same\n-80 EUR\n+75 EUR", **more: Any) -> Event:
    return change_event(a_source(), Version(source=1, at=NINE, digest="d", diff=diff), 1.0, NINE, **more)


class Store:
    """The part of a store that outlets need, in memory."""

    def __init__(self) -> None:
        self.all: list[Event] = []
        self.cursors: dict[str, int] = {}
        self.notes: dict[str, bytes] = {}

    def commit(self, *events: Event) -> None:
        for event in events:
            event.seq = len(self.all) + 1
            self.all.append(event)

    def events(self, after: int, limit: int = 1000) -> list[Event]:
        return self.all[after : after + limit]

    def cursor(self, outlet: str) -> int:
        return self.cursors.setdefault(outlet, len(self.all))

    def advance(self, outlet: str, seq: int) -> None:
        self.cursors[outlet] = seq

    def note(self, name: str) -> bytes | None:
        return self.notes.get(name)

    def write_note(self, name: str, text: bytes | None) -> None:
        self.notes.pop(name, None)
        if text is not None:
            self.notes[name] = text


class Told(NotificationOutlet):
    """Keeps what it is to send; each try fails as it is told to first."""

    def __init__(self, *failures: Exception, name: str = "me", everybody: tuple[str, ...] = ("me",), **said: Any):
        super().__init__(name, "json://127.0.0.1", Notification(to="json://127.0.0.1", **said), everybody)
        self.failures, self.sent, self.tries = list(failures), list[Message](), list[Message]()

    async def send(self, message: Message) -> None:
        self.tries.append(message)
        if self.failures:
            raise self.failures.pop(0)
        self.sent.append(message)


class Stepping(ManualClock):
    """A clock on which every wait is over at once, and has taken its time, until it has come to the end of a test."""

    def __init__(self, now: float, end: float) -> None:
        super().__init__(now)
        self.end, self.over = end, asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        if self.now() + seconds > self.end:
            self.over.set()
            await asyncio.Event().wait()
        self.advance(seconds)


async def delivered(
    store: Store, outlet: NotificationOutlet, since: float = NINE, until: float = NINE + 48 * HOUR
) -> list[OutletStatus]:
    """A run of a program from one time to another."""
    clock = Stepping(since, until)
    outlets = Outlets(store, [outlet], clock)
    await outlets.open()
    running = asyncio.create_task(outlets.run())
    await happening(lambda: clock.over.is_set() or not store.all or outlets.standing()[0].position == len(store.all))
    standing = await outlets.drain(0.0)
    await running
    return standing


def run(store: Store, outlet: NotificationOutlet, *events: Event, **span: float) -> list[Message]:
    async def main() -> None:
        store.cursor(outlet.name)
        store.commit(*events)
        await delivered(store, outlet, **span)

    soon(main())
    return outlet.sent if isinstance(outlet, Told) else []


# -- what they say


def test_of_one_event_people_are_told_in_full_and_of_several_in_lines():
    (one,) = run(Store(), Told(), an_item(1))
    assert one == Message("New: Item 1", "S\nhttps://a.example/1\n\nrecrawl 1")
    (all_of_them,) = run(Store(), Told(), an_item(1), a_change(), source_event(a_source(note="410"), "retired", NINE))
    assert all_of_them.title == "1 new item, 1 changed page, 1 source moved or gone"
    assert all_of_them.body.split("\n\n") == [
        "New: Item 1\nhttps://a.example/1",
        "Changed: Chair\nhttps://shop.example/chair",
        "Gone: Chair\nhttps://shop.example/chair",
        "recrawl 1-3",
    ]


def test_of_a_change_people_see_what_went_and_came_the_number_and_the_condition():
    event = a_change(number=Number("price", 75.0, "75 EUR", "EUR"), met="number < 80")
    (told,) = run(Store(), Told(title="{number}: {condition}", body="{text}|{added}|{removed}"), event)
    assert told == Message("75 EUR: number < 80", "- 80 EUR\n+ 75 EUR|75 EUR|80 EUR")


def test_a_message_about_very_many_is_bounded_and_counts_the_others():
    (told,) = run(Store(), Told(), *(an_item(n) for n in range(SHOWN + 240)))
    assert told.title == "260 new items"
    assert "and 240 more" in told.body
    assert told.body.endswith(f"recrawl 1-{SHOWN + 240}")
    (short,) = run(Store(), Told(line="{title} " + "x" * 900), *(an_item(n) for n in range(300)))
    assert len(short.body) < 8_000
    assert "and 292 more" in short.body


def test_the_backlog_of_a_first_visit_is_no_news():
    outlet = Told()
    assert run(Store(), outlet, an_item(1, worth=0.0), an_item(2)) == [
        Message("New: Item 2", "S\nhttps://a.example/2\n\nrecrawl 2")
    ]


def test_text_from_the_web_fills_no_fields_and_calls_nobody():
    (told,) = run(Store(), Told(), an_item(1, title="{link} @everyone <!channel> me@example.org"))
    assert told.title == "New: {link} @\u2060everyone <\u2060!channel> me@example.org"


def test_every_documented_field_is_filled():
    waiting = Waiting("me", Notification(to="x"), ["me"])
    waiting.take([an_item(1)])
    assert set(fields(waiting.first[0], "1")) == set(FIELDS)


def test_an_event_of_another_version_is_told_and_not_fatal():
    (told,) = run(Store(), Told(), Event(at=NINE, body=b'{"type":7}'))
    assert told.title == "source:"


@pytest.mark.parametrize("text", ["{titel}", "{title", "}", "{title.upper}", "{title!r}", "{title:>9}", "{0}", "{}"])
def test_a_wrong_field_is_an_error_that_names_it(text: str):
    with pytest.raises(ParameterError, match="title must be a text"):
        template("title", text)


def test_braces_are_written_twice():
    assert filled(template("title", "{{{title}}}"), {"title": "x"}) == "{x}"


# -- who is told


def test_a_source_that_names_somebody_is_told_to_nobody_else():
    events = [an_item(1), addressed(an_item(2), ["phone"]), addressed(an_item(3), ["gone"])]
    everybody = ("me", "phone")
    assert [each.title for each in run(Store(), Told(title="{id}", everybody=everybody), *events)] == ["2 new items"]
    phone = Told(name="phone", everybody=everybody, named_only=True)
    assert [each.title for each in run(Store(), phone, *events)] == ["New: Item 2"]
    assert json.loads(events[1].body)["to"] == ["phone"]


# -- when


def test_at_once_means_at_once():
    store, outlet = Store(), Told()
    assert len(run(store, outlet, an_item(1), until=NINE)) == 1
    assert len(run(store, outlet, an_item(2), since=NINE + 1, until=NINE + 1)) == 2


def test_a_digest_comes_once_in_a_period_and_restarts_do_not_change_that():
    store, outlet = Store(), Told(digest="12:00 UTC")
    assert run(store, outlet, an_item(1), an_item(2), until=NINE + 2.9 * HOUR) == []
    outlet = Told(digest="12:00 UTC")
    assert [each.title for each in run(store, outlet, since=NINE + 2.95 * HOUR)] == ["2 new items"]
    # What was found before it was sent, but came into the store later, is of the next day's.
    late = Told(digest="12:00 UTC")
    run(store, late, an_item(3, at=NINE + 2.9 * HOUR), since=NINE + 3.1 * HOUR, until=NINE + 26.9 * HOUR)
    assert late.sent == []
    assert len(run(store, late, since=NINE + 26.95 * HOUR)) == 1


def test_a_digest_that_was_missed_is_sent_when_the_program_runs_again():
    store = Store()
    run(store, Told(digest="6h"), an_item(1), until=NINE + HOUR)
    assert len(run(store, Told(digest="6h"), since=NINE + 500 * HOUR, until=NINE + 500 * HOUR)) == 1


def test_in_quiet_hours_nothing_is_sent_and_then_all_of_it_at_once():
    store = Store()
    events = [an_item(1, at=NINE + 14 * HOUR), an_item(2, at=NINE + 15 * HOUR)]
    outlet = Told(quiet_hours=("22:00-07:00 UTC",))
    assert run(store, outlet, *events, since=NINE + 15 * HOUR, until=NINE + 21.9 * HOUR) == []
    again = Told(quiet_hours=("22:00-07:00 UTC",))
    assert [each.title for each in run(store, again, since=NINE + 21.95 * HOUR)] == ["2 new items"]


def test_a_digest_due_in_quiet_hours_waits_for_their_end():
    outlet = Told(digest="23:00 UTC", quiet_hours=("22:00-07:00 UTC",))
    outlet.waiting.take([an_item(1)])
    assert outlet.due(0.0, NINE) == NINE + 22 * HOUR


@pytest.mark.parametrize(("said", "moment", "due"), [
    ("6h", NINE, NINE + 3 * HOUR), ("6h", NINE + 3 * HOUR, NINE + 9 * HOUR),
    ("09:00 UTC", NINE, NINE + 24 * HOUR), ("09:00 UTC", NINE - 1, NINE), ("09:00 UTC", NINE + 59, NINE + 24 * HOUR),
    ("23:59 UTC", NINE, NINE + 14 * HOUR + 59 * 60),
])  # fmt: skip
def test_when_a_digest_is_due(said: str, moment: float, due: float):
    assert digest_after("digest", said)(moment) == due


def test_a_digest_by_the_clock_of_a_place_is_at_its_hour_in_summer_and_winter():
    moment, hours = NINE, QuietHours.parse("x", "08:00-08:01 Europe/Berlin")
    for _ in range(400):
        after = digest_after("digest", "08:00 Europe/Berlin")(moment)
        assert 0.0 < after - moment <= 25 * HOUR
        assert hours.until(after) is not None
        moment = after


@pytest.mark.parametrize("said", ["often", "30s", "32d", "24:00", "8", "08:00 Mars/Base", "-1h"])
def test_a_wrong_digest_is_refused(said: str):
    with pytest.raises(ParameterError, match="digest must be a time"):
        digest_after("digest", said)


# -- failures


def test_what_did_not_arrive_is_told_again_with_what_came_meanwhile():
    outlet = Told(NotDeliveredError("down"), NotDeliveredError("down"))
    assert [each.title for each in run(Store(), outlet, an_item(1))] == ["New: Item 1"]
    assert len({each.body for each in outlet.tries}) == 1


def test_a_refused_message_is_tried_without_the_web_in_it_and_then_passed_over():
    store = Store()
    refusals = [RefusedError("answered 400", 5) for _ in range(5)]
    outlet = Told(*refusals[:3])
    (told,) = run(store, outlet, an_item(1, title="poison"))
    assert "poison" not in told.title + told.body
    again = Told(*refusals)
    assert run(store, again, an_item(2)) == []
    assert len(again.tries) == 5
    assert store.cursors["notify:me"] == 2


def test_refusals_are_counted_over_restarts():
    store, runs = Store(), []
    while store.cursors.get("notify:me", 0) == 0 and len(runs) < 9:
        runs.append(Told(RefusedError("answered 400", 5), RefusedError("answered 400", 5)))
        run(store, runs[-1], *([] if store.all else [an_item(1)]), until=NINE)
    assert sum(len(each.tries) for each in runs) == len(runs) == 5


def test_a_fault_of_one_does_not_end_it():
    assert len(run(Store(), Told(ValueError("odd")), an_item(1))) == 1


def test_nothing_is_told_before_it_may_be_when_the_program_ends():
    store, outlet = Store(), Told(digest="12:00 UTC")
    run(store, outlet, an_item(1), until=NINE)
    assert outlet.sent == []
    assert store.cursors["notify:me"] == 0


# -- real ones


def real(to: str, **said: Any) -> NotificationOutlet:
    (service,) = services({"me": to})
    return NotificationOutlet("me", to, Notification(to=to, **said), ["me"], service.room)


def test_a_mail_arrives():
    with mail_server() as box:
        run(Store(), real(box.address), a_change())
    assert box.subjects == ["Changed: Chair"]
    assert box.text().split() == ["-", "80", "EUR", "+", "75", "EUR", "https://shop.example/chair", "recrawl", "1"]


def test_a_mail_that_the_server_cannot_take_now_arrives_later():
    with mail_server(refusing=2) as box:
        run(Store(), real(box.address), an_item(1), an_item(2))
    assert box.subjects == ["2 new items"]


def test_an_http_service_is_told_and_told_again_until_it_takes_it():
    with http_sink(503, 429, 302, 404) as sink:
        run(Store(), real(sink.address), an_item(1))
    assert sink.titles == ["New: Item 1"]
    assert sink.tries == 5


def test_an_http_service_that_refuses_the_words_of_the_web_gets_a_bare_message():
    with http_sink(400, 422, 413) as sink:
        run(Store(), real(sink.address), an_item(1, title="poison"))
    assert sink.titles == ["1 new item"]


def test_a_service_that_does_not_answer_is_given_up_and_its_process_killed():
    with http_sink() as sink:
        sink.open.clear()
        outlet = NotificationOutlet("me", sink.address + "?rto=30", Notification(to="x"), ["me"], timeout_s=3.0)
        with pytest.raises(NotDeliveredError, match="no answer within 3 s"):
            soon(outlet.send(Message("title", "body")))


def test_what_is_said_of_a_failure_has_no_part_of_the_address():
    with http_sink(401) as sink:
        to = sink.address.replace("json://", "json://user:canary%20key@").replace("/hook", "/canary/hook?+X-Key=canary")
        with pytest.raises(NotDeliveredError) as caught:
            soon(real(to).send(Message("title", "body")))
    assert "canary" not in str(caught.value)
    assert "401" in str(caught.value)


@pytest.mark.parametrize("to", ["foo://canary", "tgram://canary", "slack://", "ntfy://"])
def test_an_address_that_apprise_does_not_know_is_refused_and_not_repeated(to: str):
    with pytest.raises(ParameterError, match=r"notify\.me\.to must be an address") as caught:
        services({"me": to})
    assert "canary" not in str(caught.value)


def test_without_apprise_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("recrawl.crawl.outlets.notification.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"\[notify\.me\] needs .* pip install 'recrawl\[notify\]'"):
        services({"me": "json://127.0.0.1"})


# -- settings

WRONG: list[tuple[str, str]] = [
    ('[notify.me]\nto = "canary"', r"line 2: notify\.me\.to must be an address of Apprise"),
    ("[notify.me]\nto = 7", r"line 2: notify\.me\.to must be text in quotes"),
    ("[notify.me]\ndigest = '6h'", r"line 1: notify\.me\.to must be an address here, or .* got neither"),
    ('[notify.me]\nto = "a://b"\nto_env = "X"', r"line 2: notify\.me\.to .* got both"),
    ('[notify.me]\nto = "a://b"\ntitle = "{tilte}"', r"line 3: notify\.me\.title must be .*\{tilte\}.*'title'"),
    ('[notify.me]\nto = "a://b"\nquiet_hours = ["x"]', r"line 3: notify\.me\.quiet_hours\[0\] must be hours"),
    ('[notify.me]\nto = "a://b"\nquite_hours = []', r"line 3: unknown setting notify\.me\.quite_hours"),
    ('[notify."a b"]\nto = "a://b"', r"line 1: notify\.a b must be the name of an outlet"),
    ('notify = "a://canary"', r"line 1: notify must be a table"),
    ('[notify]\nme = "a://canary"', r"line 2: notify\.me must be a table"),
    ('[notify.me]\nto = "a://b"\n[tags.x]\nnotify_to = ["mee"]', r"line 4: tags\.x\.notify_to\[0\] .*'mee'.*'me'"),
]


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_wrong_settings_are_named_with_their_line_and_secrets_are_not_repeated(text: str, message: str, tmp_path: Any):
    file = tmp_path / "recrawl.toml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=message) as caught:
        load(file)
    assert "canary" not in str(caught.value)
