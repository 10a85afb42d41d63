"""A store moved to another kind of database is the same store."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest

import postgres
from recrawl.cli import run
from recrawl.config import SourceOptions
from recrawl.errors import StoreError
from recrawl.store.opening import open_store
from recrawl.store.postgres import PostgresStore
from recrawl.store.reader_records import Reader, Wanted
from recrawl.store.records import (
    Batch,
    Click,
    Crawl,
    Event,
    Hold,
    Item,
    Keep,
    Price,
    Progress,
    Robots,
    Signal,
    Source,
    Subscription,
    Version,
    VisitUpdate,
    packed,
)
from recrawl.store.roles import Store
from recrawl.store.transfer import copy


@pytest.fixture
def place(tmp_path: Path) -> Callable[[str], str]:
    """A new address of a kind."""
    made = iter(range(100))
    return lambda kind: postgres.server().url() if kind == "postgres" else str(tmp_path / f"{next(made)}.db")


def silent(what: str, share: float) -> None:
    assert 0.0 <= share <= 1.0


def filled(store: Store, sources: int = 5) -> None:
    """Something of everything, with gaps in every number."""
    store.cursor("slow")
    tags = [("a\0b", "x"), ("x",), (), ("x" * 5000,), ("é",)]
    store.add(
        [
            Source(
                url=f"https://{k}.example/\ufffe",
                tags=tags[k % 5],
                headers={"A": "b"},
                importance=k / 3,
                options=SourceOptions(interval=k + 1.0, ignore=("nav",)),
            )
            for k in range(sources)
        ]
    )
    for number in range(1, sources + 1):
        items = [
            Item(source=number, key=k, title=f"Item {k} of {number}", summary="nul \0", first_seen=float(k))
            for k in range(7)
        ]
        progress = Progress(source=number, last=9.0, listing=packed([0, 1]), value=2.0, due=math.inf, belief=b"\0\1")
        crawl = Crawl(source=number, at=9.0, outcome="new", censored=True)
        version = Version(source=number, at=9.0, digest="d", text="t", diff="")
        kept = {"restless": b"\0r", "numbers": b"\0n"}
        events = [Event(at=9.0, body=b"%d" % number)] * 2
        store.commit(
            Batch(
                updates=[
                    VisitUpdate(crawl=crawl, progress=progress, items=items, version=version, events=events, **kept)
                ]
            )
        )
    store.commit(
        Batch(
            holds=[Hold(host="h", until=99.0, reason="503", failures=2)],
            robots=[Robots(origin="o", fetched=1e9, status=200, body="b", good=None)],
            price=Price(at=9.0, price=math.nan, budget=1.0, requests=3, captured=0.5),
            shared=b"\0shared",
        )
    )
    store.record_clicks([Click(item=9, at=3.0, client="me"), Click(item=20, at=4.0, count=7)])
    store.record_signals(
        [Signal(source=1, at=3.0, came=4.0, by="websub"), Signal(source=2, at=3.0, came=4.0, proof="x")]
    )
    store.write_subscriptions([Subscription(token="t", source=1, hub="h", topic="\0", secret="s", due=5.0)])
    me, gone = (store.add_reader(Reader(name=name, password="hash", key="k", added=1.0)) for name in ("me", "gone"))
    mine = Wanted(source=Source(url="https://mine.example/"), labels=("x",))
    store.subscribe(me, [mine, *(Wanted(source=line, title="t") for line in store.sources(ids=[1, 2]))], 3.0)
    store.mark_read(me, [9, 10], read=True)
    store.star(me, [11], 5.0)
    store.label_items(me, [12], "é", given=True)
    store.remove_reader(gone)
    store.write_note("wish", b"\0wish")
    store.remove([sources])
    store.vacuum(Keep(items=6.0, crawls=math.inf, prices=math.inf, versions=9), 8.0)


def contents(store: Store) -> dict[str, object]:
    """All that a store shows."""
    ids = [source.id for source in store.sources()]
    return {
        "sources": store.sources(),
        "revision": store.revision(),
        "removed": store.removed(0),
        "progress": [repr(each) for each in store.progress()],
        "crawls": [repr(each) for each in store.crawls(limit=10**5)],
        "items": store.items(limit=10**5),
        "found": [each.id for each in store.items(text="item 5", limit=10**5)],
        "tags": store.tags(),
        "by tag": [each.id for each in store.sources(tag="a\0b")],
        "unseen": store.unseen([(id, range(9)) for id in ids]),
        "restless": [(store.restless(id), store.watched_number(id)) for id in ids],
        "versions": [store.versions(id) for id in ids],
        "clicks": store.clicks(),
        "signals": (store.signals(), store.signals(proof="x")),
        "subscriptions": store.subscriptions(),
        "holds": store.holds(0.0),
        "robots": store.robots("o"),
        "prices": [repr(each) for each in store.prices(0.0)],
        "events": store.events(0),
        "cursors": (store.cursor("slow"), store.cursor("new")),
        "shared": store.shared(),
        "readers": [
            (each, store.subscribed(each.id), store.unread(each.id), store.reading(each.id, range(40)))
            for each in store.readers()
        ],
        "notes": (store.note("wish"), store.note("board")),
    }


def goes_on(store: Store) -> list[int]:
    """The next number of everything that is numbered."""
    (added,) = store.add([Source(url="another")])
    item = Item(source=added.id, key=1, title="last", first_seen=99.0)
    crawl = Crawl(source=added.id, at=99.0, outcome="new")
    update = VisitUpdate(
        crawl=crawl, progress=Progress(source=added.id), items=[item], events=[Event(at=99.0, body=b"")]
    )
    update.version = Version(source=added.id, at=99.0, digest="d")
    store.commit(Batch(updates=[update]))
    found = store.items(text="last")[0].id
    store.record_clicks([Click(item=found, at=99.0)])
    store.record_signals([Signal(source=added.id, at=99.0, came=99.0)])
    return [
        added.id,
        found,
        store.clicks()[-1].id,
        store.signals()[-1].id,
        store.events(0, 10**5)[-1].seq,
        store.versions(added.id)[0].id,
        store.add_reader(Reader(name="new", password="", key="")),
        store.revision(),
    ]


@pytest.mark.parametrize("new", ["sqlite", "postgres"])
@pytest.mark.parametrize("old", ["sqlite", "postgres"])
def test_a_copy_shows_the_same_and_goes_on_counting(old: str, new: str, place: Callable[[str], str]) -> None:
    with open_store(place(old)) as source, open_store(place(new)) as target:
        filled(source)
        copied = copy(source, target, silent)
        assert contents(target) == contents(source)
        assert copied["sources"] == 5
        assert copied["dropped"] > 0
        assert copied["events"] > 0
        assert goes_on(target) == goes_on(source)
        assert target.claimed() is None


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_an_empty_store_can_be_copied(kind: str, place: Callable[[str], str]) -> None:
    with open_store(place("sqlite")) as source, open_store(place(kind)) as target:
        assert set(copy(source, target, silent).values()) == {0}
        assert goes_on(target) == [1] * 7 + [2]


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_store_that_holds_anything_is_not_copied_into(kind: str, place: Callable[[str], str]) -> None:
    with open_store(place("sqlite")) as source, open_store(place(kind)) as target:
        filled(source)
        target.add([Source(url="there already")])
        before = contents(target)
        with pytest.raises(StoreError, match="not empty"):
            copy(source, target, silent)
        assert contents(target) == before


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_copy_that_fails_leaves_the_target_empty(kind: str, place: Callable[[str], str]) -> None:
    def fail(what: str, share: float) -> None:
        if what == "events":
            raise KeyboardInterrupt

    with open_store(place("sqlite")) as source, open_store(place(kind)) as target:
        filled(source)
        with pytest.raises(KeyboardInterrupt):
            copy(source, target, fail)
        assert target.count() == target.revision() == 0
        copy(source, target, silent)
        assert contents(target) == contents(source)


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_store_that_is_being_crawled_is_not_copied(kind: str, place: Callable[[str], str]) -> None:
    old = place(kind)
    with open_store(old) as crawling, open_store(old) as source, open_store(place("sqlite")) as target:
        crawling.claim("recrawl run", 0.0)
        with pytest.raises(StoreError, match="recrawl run"):
            copy(source, target, silent)


def test_a_store_that_a_fleet_crawls_is_not_copied(place: Callable[[str], str]) -> None:
    with PostgresStore(place("postgres")) as source, open_store(place("sqlite")) as target:
        epochs = source.lease(["bucket/0001"], "a shard", 60.0)
        with pytest.raises(StoreError, match="fleet"):
            copy(source, target, silent)
        source.let_go(epochs)
        copy(source, target, silent)


def test_the_command_copies_and_says_what(place: Callable[[str], str], capsys: pytest.CaptureFixture[str]) -> None:
    old, new = place("sqlite"), place("postgres")
    with open_store(old) as source:
        filled(source)
    assert run(["store", "copy", old, new, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"]["sources"] == 5
    assert run(["store", "copy", new, old]) == 2
    assert "not empty" in capsys.readouterr().err


def test_the_command_refuses_a_password_and_a_store_that_is_not_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    there = tmp_path / "there.db"
    open_store(there).close()
    assert run(["store", "copy", str(there), "postgresql://me:geheim@127.0.0.1/db"]) == 2
    said = capsys.readouterr()
    assert "PGPASSWORD" in said.err
    assert "geheim" not in said.err + said.out
    assert run(["store", "copy", str(tmp_path / "nowhere.db"), str(tmp_path / "new.db")]) == 2
    assert "no store" in capsys.readouterr().err
