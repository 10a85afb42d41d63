from __future__ import annotations

import asyncio
import json
import re

import pytest

from a_fleet import fleet_status, put_up, well
from made_up import NOW
from recrawl.clock import ManualClock
from recrawl.cluster.status import STATUS, ShardLine
from recrawl.config import Config
from recrawl.errors import StoreError
from recrawl.store.sqlite import SqliteStore
from recrawl.web import live
from recrawl.web.app import make_app
from recrawl.web.charts import spend_bar
from recrawl.web.context import Context
from recrawl.web.live import Hub
from recrawl.web.views.fleet import MOST_LINES, fleet
from visitor import Visitor


def row(text: str, shard: str) -> str:
    """The line of the table that is a shard's."""
    return next(each for each in re.findall(r"<tr.*?</tr>", text, re.S) if f'<th scope="row">{shard}<' in each)


class TestThePage:
    def test_where_there_never_was_a_fleet_it_says_what_one_is_for(self, visitor: Visitor) -> None:
        text = visitor.get("/fleet").text
        assert "Nobody ever started a fleet" in text
        assert "recrawl cluster up --local --shards 4 --store postgresql://…" in text

    def test_it_is_in_the_navigation_once_one_was_seen(self, filled: SqliteStore, visitor: Visitor) -> None:
        assert 'href="/fleet"' not in visitor.get("/sources").text
        put_up(filled, well(NOW - 1e6))
        later = Visitor(make_app(filled, Config(), ManualClock(NOW)))
        assert '<a href="/fleet">Fleet</a>' in later.get("/sources").text
        assert '<a href="/fleet" aria-current="page">Fleet</a>' in later.get("/fleet").text

    def test_it_shows_price_spend_leader_and_every_shard(self, store: SqliteStore, visitor: Visitor) -> None:
        put_up(store, fleet_status(NOW - 1))
        text = visitor.get("/fleet").text
        for words in ("0.211", "5.89/s", "58.9 % of the budget", "10/s", "coordinator on 10.0.0.11", "epoch 3"):
            assert words in text, words
        first = row(text, "shard-1")
        for words in ("10.0.0.11", "pid 4211", "working", ">3.1<", ">3.05<", "0.213", "2.5s", "25,012", "1,840",
                      ">256<", ">12<", "heard of just now"):  # fmt: skip
            assert words in first, words

    def test_shards_are_in_the_order_of_their_numbers(self, store: SqliteStore, visitor: Visitor) -> None:
        put_up(store, fleet_status(NOW))
        names = re.findall(r'<th scope="row">(shard-\d+)<', visitor.get("/fleet").text)
        assert names == ["shard-1", "shard-2", "shard-3", "shard-4", "shard-10"]

    def test_silent_and_waiting_shards_stand_out_in_words_signs_and_place(
        self, store: SqliteStore, visitor: Visitor
    ) -> None:
        put_up(store, fleet_status(NOW))
        text = visitor.get("/fleet").text
        assert "2 of 5 shards need a look" in text
        assert "shard-3 is silent: heard of 21s ago" in text
        assert "shard-4 is waiting: the store cannot be written" in text
        assert 'class="troubled"' in row(text, "shard-3")
        assert "✕</span> silent" in row(text, "shard-3")
        assert "▲</span> waiting" in row(text, "shard-4")
        assert 'class="troubled"' not in row(text, "shard-1")
        assert 'class="troubled"' not in row(text, "shard-10")

    def test_what_nobody_has_is_said(self, store: SqliteStore, visitor: Visitor) -> None:
        put_up(store, fleet_status(NOW))
        text = visitor.get("/fleet").text
        assert "268 of 1,024 buckets are with no shard" in text

    def test_where_all_is_well_nothing_alarms(self, store: SqliteStore, visitor: Visitor) -> None:
        put_up(store, well(NOW))
        text = visitor.get("/fleet").text
        assert 'class="notice' not in text
        assert 'role="alert"' not in text

    def test_a_fleet_that_is_down_says_so_and_how_to_start_it(self, store: SqliteStore, visitor: Visitor) -> None:
        put_up(store, fleet_status(NOW - 300), address="10.0.0.11:6379")
        text = visitor.get("/fleet").text
        assert "The fleet is down." in text
        assert "5m ago" in text
        assert "recrawl cluster up --address 10.0.0.11:6379 --shards 5 --store postgresql://… --budget 10/s" in text
        assert "was working" in text
        assert "state well" not in text
        assert "5m21s ago" in row(text, "shard-3")

    def test_one_that_was_ended_is_not_called_down(self, store: SqliteStore, visitor: Visitor) -> None:
        ended = well(NOW - 1)
        ended.ended = True
        put_up(store, ended, wanted=0)
        text = visitor.get("/fleet").text
        assert "The fleet was ended." in text
        assert "is down" not in text
        assert "--shards 2" in text

    @pytest.mark.parametrize(
        ("address", "words"),
        [("127.0.0.1:6379", "--local"), ("", "--address auto"), ("ray://head:10001", "--address ray://head:10001"),
         ("a b; rm", "--address &#39;a b; rm&#39;")],
    )  # fmt: skip
    def test_it_is_started_again_where_it_was(
        self, store: SqliteStore, visitor: Visitor, address: str, words: str
    ) -> None:
        put_up(store, well(NOW - 300), address=address)
        assert f"recrawl cluster up {words} --shards 2" in visitor.get("/fleet").text

    def test_one_that_ends_says_so(self, store: SqliteStore, visitor: Visitor) -> None:
        put_up(store, well(NOW), wanted=0)
        assert "The fleet is ending" in visitor.get("/fleet").text

    def test_what_is_written_there_is_shown_as_text(self, store: SqliteStore, visitor: Visitor) -> None:
        evil = "<script>alert(1)</script>\x1b[31m"
        put_up(
            store, fleet_status(NOW, leader=evil, trouble=evil, shards=[ShardLine(name=evil, state=evil, trouble=evil)])
        )
        text = visitor.get("/fleet").text
        assert "<script>alert" not in text
        assert "\x1b" not in text

    def test_a_board_nobody_can_read_is_as_none(self, store: SqliteStore, visitor: Visitor) -> None:
        store.write_note(STATUS, b'{"from": "another version"}')
        assert "Nobody ever started" in visitor.get("/fleet").text
        assert visitor.get("/").status == 200

    def test_of_very_many_shards_those_in_trouble_are_listed(self, store: SqliteStore, clock: ManualClock) -> None:
        shards = [ShardLine(name=f"shard-{k}", state="silent" if k == 999 else "working") for k in range(1000)]
        put_up(store, fleet_status(NOW, shards=shards))
        view = fleet(Context(store, Config(), clock))
        assert view is not None
        assert len(view.lines) == MOST_LINES
        assert view.lines[0].name == "shard-999"

    def test_a_store_that_cannot_be_read_still_gets_its_page_of_error(
        self, store: SqliteStore, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def gone(*_: object) -> None:
            raise StoreError("the database is away")

        monkeypatch.setattr(store, "note", gone, raising=False)
        answer = Visitor(make_app(store, Config(), clock)).get("/fleet")
        assert answer.status == 503
        assert "the database is away" in answer.text


class TestOtherPages:
    def test_the_overview_knows_that_a_fleet_crawls(self, filled: SqliteStore, visitor: Visitor) -> None:
        put_up(filled, fleet_status(NOW))
        text = visitor.get("/").text
        assert "No crawler is at work" not in text
        assert "3 of 5 shards" in text
        assert "58.9 % spent lately" in text
        assert "<dd>10/s</dd>" in text

    def test_the_overview_says_when_it_fell_silent(
        self, filled: SqliteStore, visitor: Visitor, clock: ManualClock
    ) -> None:
        put_up(filled, fleet_status(NOW))
        visitor.get("/")
        clock.advance(11.0)
        text = visitor.get("/").text
        assert "The fleet is down." in text
        assert "recrawl cluster up --address auto" in text
        assert "not being spent" in text

    def test_one_crawler_after_an_ended_fleet_is_what_counts(self, filled: SqliteStore, visitor: Visitor) -> None:
        put_up(filled, well(NOW - 300), wanted=0)
        filled.claim("process 7 on a machine", NOW)
        text = visitor.get("/").text
        assert "fleet is" not in text
        assert "No crawler is at work" not in text

    def test_the_first_visit_says_that_it_crawls_already(self, store: SqliteStore, visitor: Visitor) -> None:
        put_up(store, well(NOW))
        text = visitor.get("/").text
        assert "It does already: a fleet of 2 shards" in text
        assert "recrawl run" not in text

    def test_the_status_names_it(self, store: SqliteStore, program: Visitor) -> None:
        put_up(store, fleet_status(NOW))
        told = program.get("/api/v1/status").json
        assert told["crawler"] == "a fleet of 5 shards, led by coordinator on 10.0.0.11"
        assert (told["budget"], told["spend"], told["price"]) == (10.0, 5.89, 0.211)


class TestForPrograms:
    def test_there_is_none(self, program: Visitor) -> None:
        answer = program.get("/api/v1/fleet")
        assert answer.status == 404
        assert answer.json["error"]["detail"] == "there never was a fleet on this store"

    @pytest.mark.parametrize(("age", "up"), [(1.0, True), (60.0, False)])
    def test_the_whole_board_is_told_and_whether_it_is_up(
        self, store: SqliteStore, program: Visitor, age: float, up: bool
    ) -> None:
        put_up(store, fleet_status(NOW - age))
        told = program.get("/api/v1/fleet").json
        kept = json.loads(store.note(STATUS) or b"")
        assert told.pop("up") is up
        assert told == kept

    def test_metrics_are_told_per_shard(self, store: SqliteStore, program: Visitor) -> None:
        assert "recrawl_fleet" not in program.get("/metrics").text
        put_up(store, fleet_status(NOW))
        later = Visitor(make_app(store, Config(), ManualClock(NOW)), browser=False)
        text = later.get("/metrics").text
        for line in (
            "recrawl_fleet_up 1.0",
            "recrawl_crawler_running 1.0",
            "recrawl_fleet_price 0.211",
            "recrawl_fleet_budget_requests_per_second 10.0",
            "recrawl_fleet_spend_requests_per_second 5.89",
            'recrawl_fleet_shards{state="silent"} 1.0',
            'recrawl_fleet_shard_rate_requests_per_second{shard="shard-1"} 3.1',
            'recrawl_fleet_shard_spend_requests_per_second{shard="shard-1"} 3.05',
            'recrawl_fleet_shard_lag_seconds{shard="shard-1"} 2.5',
            'recrawl_fleet_shard_sources{shard="shard-3"} 24900.0',
        ):
            assert line in text.splitlines(), line
        assert 'lag_seconds{shard="shard-3"}' not in text

    def test_a_fleet_that_is_down_has_no_figures_that_look_alive(self, store: SqliteStore, program: Visitor) -> None:
        put_up(store, fleet_status(NOW - 60))
        text = program.get("/metrics").text
        assert "recrawl_fleet_up 0.0" in text.splitlines()
        assert "recrawl_fleet_spend" not in text


class TestLive:
    def test_a_new_board_is_told_and_so_is_its_absence(
        self, filled: SqliteStore, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Each is awaited: an event that is not told ends the test at its time."""
        monkeypatch.setattr(live, "LOOK_S", 0.01)
        put_up(filled, fleet_status(NOW))

        async def listening() -> None:
            hub = Hub(Context(filled, Config(), clock))
            events = hub.listen()

            async def told() -> None:
                async for event in events:
                    if event.startswith("event: fleet"):
                        return

            waiting = asyncio.create_task(told())
            while not waiting.done():
                clock.advance(1.0)
                put_up(filled, fleet_status(clock.now()))
                await asyncio.wait([waiting], timeout=0.05)
            silent = asyncio.create_task(told())
            while not silent.done():
                clock.advance(6.0)
                await asyncio.wait([silent], timeout=0.05)
            await hub.close()

        asyncio.run(asyncio.wait_for(listening(), 120))


class TestTheBar:
    @pytest.mark.parametrize(("spent", "width"), [(5.0, "100.0"), (0.0, None), (99.0, "200.0"), (float("nan"), None)])
    def test_it_is_as_long_as_the_share_that_is_spent(self, spent: float, width: str | None) -> None:
        drawn = re.search(r'class="spent" x="0" y="0" width="([\d.]+)"', spend_bar(spent, 10.0))
        assert (drawn and drawn[1]) == width

    def test_a_budget_of_nothing_draws_nothing(self) -> None:
        assert "spent" not in spend_bar(1.0, 0.0)
