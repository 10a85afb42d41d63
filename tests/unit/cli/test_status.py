import json

import pytest

from recrawl.cli import run
from recrawl.cli.status import figures
from recrawl.config import Config, Discovery
from recrawl.config.loading import replaced
from recrawl.store.records import Batch, Crawl, Progress, Source, VisitUpdate
from recrawl.store.sqlite import SqliteStore

NIGHT = replaced(Config(), {"politeness.quiet_hours": ["22:00-07:00 UTC"]})
DAY_S, HOUR_S = 86400.0, 3600.0
MIDNIGHT = 20_000 * DAY_S


@pytest.fixture
def store(tmp_path):
    with SqliteStore(tmp_path / "recrawl.db") as opened:
        opened.add([Source(url="https://example.org/feed")])
        yield opened


def fetched(store, at):
    crawl = Crawl(source=1, at=at, outcome="unchanged")
    store.commit(Batch(updates=[VisitUpdate(progress=Progress(source=1, last=at), crawl=crawl)]))


def test_whether_it_is_within_quiet_hours_is_there_for_programs(store):
    assert figures(store, NIGHT, MIDNIGHT)["quiet_until"] == MIDNIGHT + 7 * HOUR_S
    assert figures(store, NIGHT, MIDNIGHT + 12 * HOUR_S)["quiet_until"] is None
    assert figures(store, Config(), MIDNIGHT)["quiet_until"] is None


def test_the_last_fetch_is_there_for_programs_however_long_ago(store):
    assert figures(store, NIGHT, MIDNIGHT)["last_crawl"] is None
    for at in (MIDNIGHT - 5 * DAY_S, MIDNIGHT - 3 * DAY_S):
        fetched(store, at)
    assert figures(store, NIGHT, MIDNIGHT)["last_crawl"] == MIDNIGHT - 3 * DAY_S


def test_both_are_said_to_people(store, capsys):
    name = ["--store", str(store.path)]
    assert run(["status", *name]) == 0
    assert "last fetch" in (before := capsys.readouterr().out)
    assert "none yet" in before
    assert run(["status", "--json", *name]) == 0
    assert json.loads(capsys.readouterr().out)["quiet_until"] is None


def test_sources_left_out_are_told_with_their_site_and_the_setting_to_raise(store, capsys):
    children = [Source(url=f"https://example.org/{k}.xml", found_on="example.org", added=5.0) for k in range(9)]
    update = VisitUpdate(
        progress=Progress(source=1, last=5.0), crawl=Crawl(source=1, at=5.0, outcome="new"), children=children
    )
    store.commit(Batch(updates=[update], discovery=Discovery(per_site=2)))
    name = ["--store", str(store.path)]
    assert run(["status", "--json", *name]) == 0
    told = json.loads(capsys.readouterr().out)["discovery"]
    assert told == {
        "per_site": 10_000,
        "in_all": 100_000,
        "left_out": [{"site": "example.org", "found": 2, "left_out": 7, "bound": "per_site", "at": 5.0}],
    }
    assert run(["status", *name]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "sites with more than may be found: 1" in said
    assert "7 example.org 2 found there: for more, raise discovery.per_site" in said
