"""Events are handed on in order and at least once, whatever the outlets and the store do meanwhile."""

from __future__ import annotations

import asyncio
import hmac
import json
import os
import shlex
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import TypeVar

import pytest
from aiohttp import web
from structlog.testing import capture_logs

from recrawl.clock import ManualClock, SystemClock
from recrawl.crawl.events import item_events
from recrawl.crawl.outlets import (
    CommandOutlet,
    FileOutlet,
    NotDeliveredError,
    Outlet,
    OutletClosedError,
    Outlets,
    OutletStatus,
    RefusedError,
    WebhookOutlet,
)
from recrawl.errors import OutputError, ParameterError, StoreError
from recrawl.store.records import Batch, Crawl, Event, Item, Progress, Source, VisitUpdate
from recrawl.store.roles import Store
from recrawl.store.sqlite import SqliteStore

NOW = 1_700_000_000.0
Result = TypeVar("Result")
SOON_S = 20.0
"""Ends a test that would otherwise never end."""


class Told(ManualClock):
    """Waits until told to go on, and says when somebody waits."""

    def __init__(self) -> None:
        super().__init__(NOW)
        self.asked, self.told = asyncio.Event(), asyncio.Event()
        self.waited: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.waited.append(seconds)
        self.asked.set()
        await self.told.wait()


def an_event(number: int, title: str = "", source: int = 1) -> Event:
    item = Item(source=source, key=number, title=title or f"Item {number}", link=f"https://a.example/{number}")
    return item_events(Source(id=source, url="https://a.example/feed"), [(item, 1.0)], NOW)[0]


def number_of(event: Event) -> int:
    return int(json.loads(event.body)["id"].rsplit(":", 1)[1], 16)


class Events:
    """The part of a store that outlets need, in memory."""

    def __init__(self) -> None:
        self.all: list[Event] = []
        self.cursors: dict[str, int] = {}
        self.notes: dict[str, bytes] = {}
        self.threads: set[int] = set()
        self.broken = False

    def commit(self, *numbers: int, title: str = "") -> None:
        for number in numbers:
            event = an_event(number, title)
            event.seq = len(self.all) + 1
            self.all.append(event)

    def events(self, after: int, limit: int = 1000) -> list[Event]:
        self._called()
        return self.all[after : after + limit]

    def cursor(self, outlet: str) -> int:
        self._called()
        return self.cursors.get(outlet, len(self.all))

    def advance(self, outlet: str, seq: int) -> None:
        self._called()
        self.cursors[outlet] = seq

    def note(self, name: str) -> bytes | None:
        self._called()
        return self.notes.get(name)

    def write_note(self, name: str, text: bytes | None) -> None:
        self._called()
        self.notes.pop(name, None)
        if text is not None:
            self.notes[name] = text

    def _called(self) -> None:
        self.threads.add(threading.get_ident())
        if self.broken:
            raise StoreError("the disk is full")


class Recorder:
    """An outlet that keeps what it is given, after doing what it is told to: one answer per try, then success."""

    def __init__(self, *answers: Exception | Callable[[], Awaitable[None]], name: str = "recorder", batch: int = 100):
        self.name, self.batch = name, batch
        self.answers = list(answers)
        self.numbers: list[int] = []
        self.tries: list[list[int]] = []
        self.closed = False

    async def deliver(self, events: Sequence[Event]) -> None:
        self.tries.append([number_of(event) for event in events])
        if self.answers:
            answer = self.answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            await answer()
        self.numbers += self.tries[-1]

    async def close(self) -> None:
        self.closed = True


class Refusing(Recorder):
    """An outlet that wants some events never."""

    def __init__(self, refused: set[int], tries: int = 5) -> None:
        super().__init__()
        self.refused, self.allowed = refused, tries

    async def deliver(self, events: Sequence[Event]) -> None:
        self.tries.append([number_of(event) for event in events])
        if self.refused.intersection(self.tries[-1]):
            raise RefusedError("no", self.allowed)
        self.numbers += self.tries[-1]


class Waits(ManualClock):
    """Remembers how long was waited."""

    def __init__(self) -> None:
        super().__init__(NOW)
        self.waited: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.waited.append(seconds)
        await super().sleep(seconds)


class Stopped(ManualClock):
    """Waits never end by themselves."""

    async def sleep(self, seconds: float) -> None:
        await asyncio.Event().wait()


def test_events_are_delivered_in_order_from_where_the_outlet_was():
    store, outlet = Events(), Recorder(batch=2)
    store.commit(1, 2, 3, 4, 5, 6)
    store.cursors["recorder"] = 1
    assert drained(store, outlet) == [OutletStatus("recorder", 6, 5, 0, 0, "", True, False)]
    assert outlet.tries == [[2, 3], [4, 5], [6]]
    assert store.cursors["recorder"] == 6
    assert outlet.closed


def test_a_new_outlet_gets_what_is_committed_from_its_first_run_on_even_if_that_run_delivers_nothing():
    store = Events()
    store.commit(1, 2)

    async def opened_and_killed() -> None:
        await Outlets(store, [Recorder()], ManualClock()).open()

    asyncio.run(opened_and_killed())
    store.commit(3)
    outlet = Recorder()
    drained(store, outlet)
    assert outlet.numbers == [3]


def test_a_commit_wakes_the_outlets():
    store = Events()

    async def main() -> list[int]:
        delivered = asyncio.Event()
        outlet = Recorder(*[lambda: _set(delivered)] * 2)
        outlets = Outlets(store, [outlet], ManualClock())
        await outlets.open()
        running = asyncio.create_task(outlets.run())
        for number in (1, 2):
            store.commit(number)
            outlets.notify()
            await delivered.wait()
            delivered.clear()
        await outlets.drain(SOON_S)
        await running
        return outlet.numbers

    assert soon(main()) == [1, 2]


def test_the_store_is_never_called_on_the_event_loop():
    store = Events()
    store.commit(1)
    drained(store, Recorder())
    assert store.threads
    assert threading.get_ident() not in store.threads


def test_what_did_not_arrive_is_tried_again_for_ever_with_growing_waits():
    store, clock = Events(), Waits()
    outlet = Recorder(*[NotDeliveredError("down")] * 40)
    delivered(store, outlet, clock, 1, 2)
    assert outlet.tries == [[1, 2]] * 41
    assert all(0.5 * 2.0**n <= wait <= 2.0**n for n, wait in enumerate(clock.waited[:8]))
    assert all(150.0 <= wait <= 300.0 for wait in clock.waited[9:])
    assert len(set(clock.waited)) == 40


def test_a_wait_that_is_asked_for_is_kept_up_to_an_hour():
    store, clock = Events(), Waits()
    year = 365 * 86400.0
    delivered(store, Recorder(NotDeliveredError("busy", 90.0), NotDeliveredError("busy", year)), clock, 1)
    assert clock.waited == [90.0, 3600.0]


def test_a_dead_outlet_holds_back_no_other():
    store = Events()
    dead = Recorder(*[NotDeliveredError("down")] * 5, name="dead")
    alive = Recorder(name="alive")
    store.cursors = {"dead": 0, "alive": 0}
    store.commit(1, 2)
    standings = drained(store, dead, alive, clock=Stopped())
    assert alive.numbers == [1, 2]
    assert [(each.caught_up, each.closed, each.error) for each in standings] == [
        (False, True, "down"),
        (True, False, ""),
    ]
    assert store.cursors == {"dead": 0, "alive": 2}


def test_a_crash_between_delivery_and_note_repeats_the_events():
    store = Events()
    store.cursors["recorder"] = 0
    store.commit(1, 2)

    async def killed_after_delivery() -> None:
        outlets = Outlets(store, [Recorder()], ManualClock())
        await outlets.open()
        store.advance = lambda outlet, seq: None  # type: ignore[method-assign]
        await outlets.drain(SOON_S)

    soon(killed_after_delivery())
    del store.advance
    outlet = Recorder()
    drained(store, outlet)
    assert outlet.numbers == [1, 2]


def test_a_store_that_cannot_note_a_delivery_does_not_repeat_it_in_the_same_run():
    store = Events()
    store.cursors["recorder"] = 0
    store.commit(1, 2)

    async def full() -> None:
        store.broken = True

    async def main() -> None:
        outlet = Recorder(full, batch=1)
        outlets = Outlets(store, [outlet], Mending(store))
        running = asyncio.create_task(outlets.run())
        while store.cursors["recorder"] < 2:
            await asyncio.sleep(0)
        await outlets.drain(SOON_S)
        await running
        assert outlet.numbers == [1, 2]

    soon(main())


def test_only_the_refused_event_is_passed_over():
    class Picky(Recorder):
        async def deliver(self, events: Sequence[Event]) -> None:
            self.tries.append([number_of(event) for event in events])
            if 70 in self.tries[-1]:
                raise RefusedError("answered 400", 5)
            self.numbers += self.tries[-1]

    store, outlet = Events(), Picky()
    with capture_logs() as logs:
        standing = delivered(store, outlet, Waits(), *range(100))
    assert outlet.numbers == [number for number in range(100) if number != 70]
    assert outlet.tries.count([70]) == 5
    assert (standing.skipped, standing.delivered) == (1, 99)
    assert {
        "event": "an event is passed over",
        "log_level": "warning",
        "outlet": "recorder",
        "id": "item:1:0000000000000046",
        "tries": 5,
        "reason": "answered 400",
    } in logs


def test_a_closed_outlet_ends_alone():
    store = Events()
    store.cursors = {"closed": 0, "open": 0}
    store.commit(1)
    closed, other = Recorder(OutletClosedError("nobody reads"), name="closed"), Recorder(name="open")

    async def main() -> list[OutletStatus]:
        outlets = Outlets(store, [closed, other], Stopped())
        running = asyncio.create_task(outlets.run())
        while not (closed.closed and other.numbers):
            await asyncio.sleep(0)
        store.commit(2)
        outlets.notify()
        standings = await outlets.drain(SOON_S)
        await running
        return standings

    assert [(each.closed, each.delivered) for each in soon(main())] == [(True, 0), (False, 2)]
    assert store.cursors == {"closed": 0, "open": 2}


def test_a_fault_of_an_outlet_is_logged_and_tried_again():
    outlet = Recorder(KeyError("a fault"))
    with capture_logs() as logs:
        delivered(Events(), outlet, Waits(), 1)
    assert outlet.numbers == [1]
    assert (logs[0]["event"], logs[0]["error"]) == ("delivery failed", "KeyError: '…'")
    assert "test_outlets.py" in logs[0]["trace"]


def test_the_end_waits_for_no_outlet_longer_than_it_says():
    store = Events()
    store.cursors["recorder"] = 0
    store.commit(1)
    outlet = Recorder(lambda: asyncio.Event().wait())  # type: ignore[arg-type, return-value]
    assert not drained(store, outlet, timeout_s=0.05)[0].caught_up
    assert outlet.closed
    assert store.cursors["recorder"] == 0


def test_a_renewed_end_waits_as_long_as_something_is_delivered() -> None:
    store = Events()
    store.cursors["recorder"] = 0
    store.commit(*range(40))

    async def a_while() -> None:
        await asyncio.sleep(0.02)  # slow outlets are what is tested

    async def scene() -> list[OutletStatus]:
        outlet = Recorder(*[a_while] * 40, batch=1)
        return await Outlets(store, [outlet], SystemClock()).drain(0.5, renewed=True)

    (standing,) = asyncio.run(scene())
    assert standing.caught_up
    assert standing.delivered == 40


def test_the_end_delivers_what_is_taken_and_leaves_what_is_refused():
    store = Events()
    store.cursors["recorder"] = 0
    store.commit(*range(8))
    outlet = Refusing({5, 6})
    for _ in range(3):  # however often it ends
        outlet.tries.clear()
        (standing,) = drained(store, outlet, clock=Stopped())
        assert (standing.skipped, standing.closed, standing.error) == (0, True, "no")
        assert store.cursors["recorder"] == 5
        assert outlet.tries.count([5]) == 1
    outlet.refused.clear()
    drained(store, outlet)
    assert outlet.numbers == list(range(8))


def test_the_end_waits_out_a_short_wait_and_hastens_no_try():
    async def main(patience_s: float) -> tuple[Recorder, OutletStatus, list[float]]:
        store, clock, outlet = Events(), Told(), Recorder(NotDeliveredError("busy", 60.0))
        outlets = Outlets(store, [outlet], clock, random=Random(0))
        await outlets.open()
        store.commit(1)
        running = asyncio.create_task(outlets.run())
        await clock.asked.wait()
        ending = asyncio.create_task(outlets.drain(patience_s))
        for _ in range(100):
            await asyncio.sleep(0)
        assert len(outlet.tries) == 1
        clock.told.set()
        (standing,) = await ending
        await running
        return outlet, standing, clock.waited

    outlet, standing, waited = soon(main(61.0))
    assert (len(outlet.tries), standing.delivered, waited) == (2, 1, [60.0])
    outlet, standing, waited = soon(main(59.0))
    assert (len(outlet.tries), standing.delivered, standing.closed, waited) == (1, 0, True, [60.0])


@pytest.mark.parametrize("tries", [3, 5])
def test_tries_are_counted_over_short_runs_and_none_made_at_the_end(tries: int):
    """A run that is over before the tries are does not block its outlet for ever."""
    store, outlet = Events(), Refusing({1}, tries)
    store.cursors["recorder"] = 0
    store.commit(0, 1, 2)

    async def a_short_run() -> OutletStatus:
        clock = Told()
        outlets = Outlets(store, [outlet], clock, random=Random(0))
        running = asyncio.create_task(outlets.run())
        while not clock.asked.is_set() and not outlets.standing()[0].caught_up:
            await asyncio.sleep(0)
        (standing,) = await outlets.drain(0.0)
        await running
        return standing

    for number in range(1, tries):
        assert soon(a_short_run()).skipped == 0
        assert outlet.tries.count([1]) == number
        assert outlet.numbers == [0]
    assert soon(a_short_run()).skipped == 1
    assert outlet.numbers == [0, 2]
    assert store.notes == {}


def test_a_delivery_is_bounded_in_bytes_but_takes_at_least_one():
    store, outlet = Events(), Recorder()
    store.cursors["recorder"] = 0
    store.commit(1, 2, 3, title="x" * 400_000)
    store.commit(4, title="x" * 2_000_000)
    drained(store, outlet)
    assert outlet.tries == [[1, 2], [3], [4]]


def test_one_place_is_given_once():
    with pytest.raises(ParameterError, match="different places"):
        Outlets(Events(), [FileOutlet("-"), FileOutlet("-")], ManualClock())


def test_no_outlets_are_no_trouble():
    assert drained(Events()) == []


# -- files


def lines_of(path: Path) -> list[int]:
    return [number_of(Event(at=0.0, body=line)) for line in path.read_bytes().splitlines()]


def test_a_file_gets_one_line_per_event_and_keeps_what_it_had(tmp_path: Path):
    path = tmp_path / "events.jsonl"
    path.write_bytes(an_event(1).body + b"\n")
    delivered(Events(), FileOutlet(str(path)), ManualClock(), 2, 3)
    assert lines_of(path) == [1, 2, 3]


def test_a_file_moved_away_is_opened_again(tmp_path: Path):
    path, old = tmp_path / "events.jsonl", tmp_path / "events.jsonl.1"

    async def main() -> None:
        outlet = FileOutlet(str(path))
        await outlet.deliver([an_event(1)])
        await outlet.deliver([an_event(2)])
        path.rename(old)
        await outlet.deliver([an_event(3)])
        path.unlink()
        await outlet.deliver([an_event(4)])
        await outlet.close()

    soon(main())
    assert lines_of(old) == [1, 2]
    assert lines_of(path) == [4]


def test_a_torn_line_spoils_no_other(tmp_path: Path):
    path = tmp_path / "events.jsonl"
    path.write_bytes(an_event(1).body + b"\n" + an_event(2).body[:40])
    delivered(Events(), FileOutlet(str(path)), ManualClock(), 2)
    first, torn, again = path.read_bytes().splitlines()
    assert (first, torn, again) == (an_event(1).body, an_event(2).body[:40], an_event(2).body)


def test_a_full_disk_is_waited_out():
    if not os.path.exists("/dev/full"):
        pytest.skip("needs /dev/full")

    async def main() -> None:
        with pytest.raises(NotDeliveredError, match="No space left on device"):
            await FileOutlet("/dev/full").deliver([an_event(1)])

    soon(main())


def test_a_broken_pipe_ends_the_outlet_with_a_clear_word():
    reader, writer = os.pipe()
    os.close(reader)
    store = Events()
    store.cursors["file:-"] = 0
    store.commit(1)
    standing = drained(store, FileOutlet("-", writer))[0]
    os.close(writer)
    assert (standing.closed, standing.error) == (True, "nobody reads the events any more")
    assert store.cursors["file:-"] == 0


def test_a_pipe_nobody_empties_keeps_nothing_from_ending():
    reader, writer = os.pipe()
    store = Events()
    store.cursors["file:-"] = 0
    store.commit(1, title="x" * 500_000)
    standing = drained(store, FileOutlet("-", writer), timeout_s=0.05)[0]
    assert not standing.caught_up
    assert store.cursors["file:-"] == 0
    writing = [each for each in threading.enumerate() if each.name == "recrawl-events"]
    os.close(reader)
    for each in writing:
        each.join(SOON_S)
    os.close(writer)


def test_a_place_that_cannot_be_written_to_is_refused_at_once(tmp_path: Path):
    with pytest.raises(OutputError, match="is a directory"):
        FileOutlet(str(tmp_path))
    with pytest.raises(OutputError, match="there is no directory"):
        FileOutlet(str(tmp_path / "no" / "events"))


# -- webhooks


class Receiver:
    """A server that answers as told, one status per delivery, then 200."""

    def __init__(self, *statuses: int | tuple[int, dict[str, str]]) -> None:
        self.statuses = list(statuses)
        self.bodies: list[bytes] = []
        self.headers: list[dict[str, str]] = []
        self.elsewhere = 0
        self.url = ""

    async def answer(self, request: web.Request) -> web.Response:
        self.bodies.append(await request.read())
        self.headers.append(dict(request.headers))
        told = self.statuses.pop(0) if self.statuses else 200
        status, headers = (told, {}) if isinstance(told, int) else told
        return web.Response(status=status, headers=headers)

    async def other(self, request: web.Request) -> web.Response:
        self.elsewhere += 1
        return web.Response()

    @property
    def ids(self) -> list[list[str]]:
        return [[event["id"] for event in json.loads(body)["events"]] for body in self.bodies]


def flat(lists: list[list[str]]) -> list[str]:
    return [each for part in lists for each in part]


@asynccontextmanager
async def listening(receiver: Receiver):
    app = web.Application()
    app.router.add_post("/hook", receiver.answer)
    app.router.add_route("*", "/elsewhere", receiver.other)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    receiver.url = f"http://{host}:{port}/hook"
    try:
        yield receiver
    finally:
        await runner.cleanup()


def hooked(receiver: Receiver, *numbers: int, clock: ManualClock | None = None, secret: str = "key") -> OutletStatus:
    """Deliver to a receiver on loopback until all has arrived."""

    async def main() -> OutletStatus:
        time = clock or Waits()
        async with listening(receiver):
            return await _delivered(Events(), WebhookOutlet(receiver.url, secret, time), time, *numbers)

    return soon(main())


def test_a_webhook_that_fails_and_then_works_gets_everything_in_order():
    receiver = Receiver(500, 503, 404, 401)
    standing = hooked(receiver, *range(150))
    assert receiver.ids[:4] == [receiver.ids[4]] * 4
    assert flat(receiver.ids[4:]) == [f"item:1:{number:016x}" for number in range(150)]
    assert [len(ids) for ids in receiver.ids] == [100] * 5 + [50]
    assert (standing.delivered, standing.skipped) == (150, 0)


def test_a_webhook_is_signed_and_its_deliveries_are_named():
    receiver = Receiver(500)
    hooked(receiver, 1, 2, secret="pässword")
    expected = hmac.new("pässword".encode(), receiver.bodies[0], "sha256").hexdigest()
    for headers in receiver.headers:
        assert headers["X-Recrawl-Signature"] == f"sha256={expected}"
        assert headers["X-Recrawl-Delivery"] == "1-2"
        assert headers["Content-Type"] == "application/json"


def test_without_a_secret_nothing_is_signed():
    receiver = Receiver()
    hooked(receiver, 1, secret="")
    assert "X-Recrawl-Signature" not in receiver.headers[0]


def test_a_webhook_says_when_to_come_back():
    clock = Waits()
    date = "Tue, 14 Nov 2023 22:15:20 GMT"  # two minutes after NOW
    busy = [(429, {"Retry-After": "42"}), (503, {"Retry-After": date}), (503, {"Retry-After": "nonsense"})]
    hooked(Receiver(*busy), 1, clock=clock)
    assert clock.waited[0] == 42.0
    assert clock.waited[1] == 120.0 - 42.0
    assert clock.waited[2] <= 4.0


def test_redirects_are_not_followed_and_nothing_is_lost_by_them():
    receiver = Receiver((307, {"Location": "/elsewhere"}), (302, {"Location": "/elsewhere"}))
    standing = hooked(receiver, 1)
    assert receiver.elsewhere == 0
    assert standing.delivered == 1


def test_an_event_the_webhook_refuses_is_passed_over_and_the_others_arrive():
    class Picky(Receiver):
        async def answer(self, request: web.Request) -> web.Response:
            refused = b"item:1:0000000000000003" in await request.read()
            return await super().answer(request) if not refused else web.Response(status=422)

    receiver = Picky()
    standing = hooked(receiver, *range(6))
    assert [int(id[-1]) for id in flat(receiver.ids)] == [0, 1, 2, 4, 5]
    assert (standing.delivered, standing.skipped) == (5, 1)


def test_a_webhook_that_refuses_everything_while_it_ends_gets_it_all_in_the_next_run():
    store, receiver = Events(), Receiver(*[400] * 1000)

    async def main() -> None:
        async with listening(receiver):
            clock = SystemClock()
            outlets = Outlets(store, [WebhookOutlet(receiver.url, "", clock)], clock)
            await outlets.open()
            store.commit(*range(27))
            (standing,) = await outlets.drain(SOON_S)
            assert (standing.skipped, standing.delivered) == (0, 0)
            assert len(receiver.bodies) <= 6
            receiver.statuses.clear()
            receiver.bodies.clear()
            (standing,) = await Outlets(store, [WebhookOutlet(receiver.url, "", clock)], clock).drain(SOON_S)
            assert standing.delivered == 27

    soon(main())
    assert flat(receiver.ids) == [f"item:1:{number:016x}" for number in range(27)]


def test_a_webhook_that_nobody_answers_is_not_delivered_to():
    async def main() -> None:
        async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read()
            writer.close()

        server = await asyncio.start_server(silent, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        outlet = WebhookOutlet(f"http://127.0.0.1:{port}/", "", SystemClock(), timeout_s=0.05)
        with pytest.raises(NotDeliveredError, match="no answer in time"):
            await outlet.deliver([an_event(1)])
        await outlet.close()
        server.close()
        await server.wait_closed()
        outlet = WebhookOutlet(f"http://me:secret@127.0.0.1:{port}/", "", SystemClock())
        with pytest.raises(NotDeliveredError, match="no answer: ") as refused:
            await outlet.deliver([an_event(1)])
        assert "secret" not in str(refused.value)
        await outlet.close()

    soon(main())


def test_a_webhooks_name_is_its_address_without_credentials():
    outlet = WebhookOutlet("https://me:secret@a.example/hook?room=1", "", ManualClock())
    assert outlet.name == "webhook:https://a.example/hook?room=1"


@pytest.mark.parametrize(
    "url", ["", "a.example/hook", "ftp://a.example/", "http://", "http://a.example:x/", "http://["]
)
def test_a_webhook_needs_an_address(url: str):
    with pytest.raises(ParameterError, match="an http or https URL"):
        WebhookOutlet(url, "", ManualClock())


# -- commands


def python(program: str, *arguments: str) -> str:
    return shlex.join([sys.executable, "-S", "-E", "-c", program, *arguments])


def test_a_command_gets_each_event_on_its_input_and_in_its_environment(tmp_path: Path):
    out = tmp_path / "out"
    program = (
        "import os, sys; open(sys.argv[1], 'a').write(sys.stdin.read() + "
        "'|'.join(os.environ['RECRAWL_EVENT_' + n] for n in ('ID', 'TYPE', 'LINK', 'TITLE')) + chr(10))"
    )
    standing = delivered(Events(), CommandOutlet(python(program, str(out))), ManualClock(), 1, 2)
    assert standing.delivered == 2
    said = out.read_text().splitlines()
    assert said[0].encode() == an_event(1).body
    assert said[1] == "item:1:0000000000000001|item|https://a.example/1|Item 1"
    assert said[2].encode() == an_event(2).body


def test_text_from_the_web_is_run_by_nobody(tmp_path: Path):
    evil = f"$(touch {tmp_path}/a) `touch {tmp_path}/b`; touch {tmp_path}/c \x00 | x" + "y" * 500_000
    out = tmp_path / "out"
    command = python("import os, sys; open(sys.argv[1], 'w').write(os.environ['RECRAWL_EVENT_TITLE'])", str(out))
    soon(CommandOutlet(command).deliver([an_event(1, evil)]))
    assert os.listdir(tmp_path) == ["out"]
    assert out.read_text() == evil.replace("\x00", "")[:4096]


def test_the_command_is_split_but_no_shell_reads_it(tmp_path: Path):
    out = tmp_path / "out"
    program = "import sys; open(sys.argv[1], 'w').write(' '.join(sys.argv[2:]))"
    soon(CommandOutlet(python(program, str(out)) + " $HOME '*' | cat").deliver([an_event(1)]))
    assert out.read_text() == "$HOME * | cat"


def test_a_command_that_fails_three_times_is_passed_over(tmp_path: Path):
    out = tmp_path / "out"
    program = (
        "import os, sys; id = os.environ['RECRAWL_EVENT_ID'][-1]; open(sys.argv[1], 'a').write(id); sys.exit(id == '1')"
    )
    standing = delivered(Events(), CommandOutlet(python(program, str(out))), Waits(), 1, 2)
    assert out.read_text() == "1112"
    assert (standing.delivered, standing.skipped) == (1, 1)


def test_a_command_that_fails_while_it_ends_gets_its_event_in_the_next_run(tmp_path: Path):
    store, mended = Events(), tmp_path / "mended"
    outlet = CommandOutlet(python(f"import pathlib, sys; sys.exit(not pathlib.Path({str(mended)!r}).exists())"))
    store.cursors[outlet.name] = 0
    store.commit(1, 2)
    (standing,) = drained(store, outlet)
    assert (standing.skipped, standing.closed) == (0, True)
    mended.touch()
    (standing,) = drained(store, outlet)
    assert (standing.delivered, standing.caught_up) == (2, True)


def test_a_command_that_does_not_read_its_input_is_fine():
    soon(CommandOutlet(python("")).deliver([an_event(1, "x" * 1_000_000)]))


def test_a_command_that_is_gone_before_it_is_told_anything_counts_by_how_it_ended(monkeypatch: pytest.MonkeyPatch):
    async def too_late(process: asyncio.subprocess.Process, _: bytes) -> None:
        await process.wait()
        raise RuntimeError("unable to perform operation on <WriteUnixTransport closed=True>; the handler is closed")

    monkeypatch.setattr(asyncio.subprocess.Process, "communicate", too_late)
    soon(CommandOutlet(python("")).deliver([an_event(1)]))
    with pytest.raises(RefusedError, match="ended with status 1"):
        soon(CommandOutlet(python("raise SystemExit(1)")).deliver([an_event(1)]))


def test_a_command_that_takes_too_long_has_failed():
    outlet = CommandOutlet(python("import time; time.sleep(600)"), timeout_s=0.1)
    with pytest.raises(RefusedError, match=r"took longer than 0\.1 s"):
        soon(outlet.deliver([an_event(1)]))


def test_a_command_is_killed_with_all_it_started(tmp_path: Path):
    pipe = tmp_path / "held"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    held = f"f = open({str(pipe)!r}, 'wb', 0); f.write(b'x'); import time; time.sleep(600)"
    outlet = CommandOutlet(python("import subprocess, sys; subprocess.run(sys.argv[1:])", sys.executable, "-c", held))

    async def main() -> None:
        started, gone = asyncio.Event(), asyncio.Event()
        running = asyncio.create_task(outlet.deliver([an_event(1)]))
        loop = asyncio.get_running_loop()
        loop.add_reader(
            reader, lambda: started.set() if os.read(reader, 1) else (gone.set(), loop.remove_reader(reader))
        )
        await started.wait()
        running.cancel()
        await gone.wait()  # end of file: no writer is alive
        await asyncio.wait([running])

    soon(main())
    os.close(reader)


def test_the_end_kills_a_command_that_is_still_running():
    store = Events()
    outlet = CommandOutlet(python("import time; time.sleep(600)"))
    store.cursors[outlet.name] = 0
    store.commit(1)
    assert not drained(store, outlet, timeout_s=0.3)[0].caught_up


@pytest.mark.parametrize("command", ["", "  ", "'unbalanced", "no-such-command-at-all --x"])
def test_a_command_must_be_one(command: str):
    with pytest.raises(ParameterError, match="exec must be"):
        CommandOutlet(command)


def test_names_of_commands_are_stable_and_tell_commands_apart():
    assert CommandOutlet("cat -u").name == CommandOutlet("cat  '-u'").name != CommandOutlet("cat").name


# -- with the real store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = SqliteStore(tmp_path / "recrawl.db")
    store.add([Source(url="https://a.example/feed")])
    yield store
    store.close()


def commit(store: Store, *numbers: int) -> None:
    events = [an_event(number) for number in numbers]
    crawl = Crawl(source=1, at=NOW, outcome="new")
    store.commit(Batch(updates=[VisitUpdate(crawl=crawl, progress=Progress(source=1), events=events)]))


def test_events_of_a_store_reach_file_webhook_and_command(store: Store, tmp_path: Path):
    receiver, file, ran = Receiver(503), tmp_path / "events.jsonl", tmp_path / "ran"
    command = python("import sys; open(sys.argv[1], 'a').write(sys.stdin.read())", str(ran))
    clock = Waits()

    async def main() -> list[OutletStatus]:
        async with listening(receiver):
            places: list[Outlet] = [
                FileOutlet(str(file)),
                WebhookOutlet(receiver.url, "key", clock),
                CommandOutlet(command),
            ]
            outlets = Outlets(store, places, clock)
            await outlets.open()
            commit(store, 1, 2)
            running = asyncio.create_task(outlets.run())
            commit(store, 3)
            outlets.notify()
            while not all(each.position == 3 for each in outlets.standing()):
                await asyncio.sleep(0)
            standings = await outlets.drain(SOON_S)
            await running
            return standings

    assert all(each.caught_up and each.delivered == 3 for each in soon(main()))
    assert lines_of(file) == lines_of(ran) == [1, 2, 3]
    assert [int(id[-1]) for id in flat(receiver.ids[1:])] == [1, 2, 3]


def test_a_store_opened_again_repeats_what_was_not_noted_and_nothing_else(store: Store, tmp_path: Path):
    file = tmp_path / "events.jsonl"

    async def killed(after: int) -> None:
        outlets = Outlets(Forgetful(store, after), [FileOutlet(str(file))], ManualClock())
        await outlets.drain(SOON_S)

    soon(killed(0))
    commit(store, 1, 2)
    soon(killed(0))
    commit(store, 3)
    soon(killed(3))
    assert lines_of(file) == [1, 2, 1, 2, 3]
    soon(killed(3))
    assert lines_of(file) == [1, 2, 1, 2, 3]


class Forgetful:
    """A store whose process dies before it notes a delivery, up to the n-th event."""

    def __init__(self, store: Store, until: int) -> None:
        self.store, self.until = store, until
        self.events, self.cursor = store.events, store.cursor
        self.note, self.write_note = store.note, store.write_note

    def advance(self, outlet: str, seq: int) -> None:
        if seq <= self.until:
            self.store.advance(outlet, seq)


class Mending(ManualClock):
    """A clock by which waiting mends the store."""

    def __init__(self, store: Events) -> None:
        super().__init__(NOW)
        self.store = store

    async def sleep(self, seconds: float) -> None:
        self.store.broken = False
        await super().sleep(seconds)


async def _set(event: asyncio.Event) -> None:
    event.set()


def soon(work: Awaitable[Result]) -> Result:
    async def main() -> Result:
        return await asyncio.wait_for(work, SOON_S)

    return asyncio.run(main())


def drained(
    store: Events, *outlets: Outlet, clock: ManualClock | None = None, timeout_s: float = SOON_S
) -> list[OutletStatus]:
    """Deliver what is there, and end."""

    async def main() -> list[OutletStatus]:
        return await Outlets(store, outlets, clock or ManualClock(NOW), random=Random(0)).drain(timeout_s)

    return soon(main())


async def _delivered(store: Events, outlet: Outlet, clock: ManualClock, *numbers: int) -> OutletStatus:
    outlets = Outlets(store, [outlet], clock, random=Random(0))
    await outlets.open()
    store.commit(*numbers)
    running = asyncio.create_task(outlets.run())
    while outlets.standing()[0].position < len(store.all):
        await asyncio.sleep(0)
    standing = (await outlets.drain(SOON_S))[0]
    await running
    return standing


def delivered(store: Events, outlet: Outlet, clock: ManualClock, *numbers: int) -> OutletStatus:
    """Commit events and run until the outlet has passed them all."""
    return soon(_delivered(store, outlet, clock, *numbers))
