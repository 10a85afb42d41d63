"""`kill -9` between the commit of what was found and its delivery to people: nothing is lost."""

from __future__ import annotations

import json
import re
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from notified import Sink, http_sink, mail_server
from processes import Place, Stage, stage
from until import until

KILLS = 4
RANGE = re.compile(r"recrawl (\d+)(?:-(\d+))?$")


@pytest.fixture(scope="module")
def on_stage(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    with stage(tmp_path_factory.mktemp("stage")) as made:
        yield made


def notifying(stage: Stage, folder: Path, to: str) -> Place:
    place = Place(stage, folder)
    with (folder / "recrawl.toml").open("a") as settings:
        settings.write(f'[notify.me]\nto = "{to}"\nbody = "recrawl {{delivery}}"\n')
    return place


def owed(place: Place) -> set[int]:
    """Numbers of the events in the store that are news to people."""
    with closing(sqlite3.connect(f"file:{place.store}?mode=ro", uri=True, timeout=30.0)) as connection:
        rows = [(seq, json.loads(body)) for seq, body in connection.execute("SELECT seq, body FROM events")]
    return {seq for seq, body in rows if body["type"] == "source" or body["worth"] > 0.0}


def told_in(bodies: list[str], news: set[int]) -> list[int]:
    """Numbers of the events that messages speak of."""
    ends = [found for body in bodies if (found := RANGE.search(body.strip()))]
    return [seq for first, last in (each.groups() for each in ends) for seq in news
            if int(first) <= seq <= int(last or first)]  # fmt: skip


def bodies(sink: Sink) -> list[str]:
    return [each["message"] for each in sink.posted]


def test_what_was_committed_and_not_delivered_when_the_crawler_was_killed_is_told_by_the_next(
    on_stage: Stage, tmp_path: Path
) -> None:
    with http_sink(*[503] * 10_000) as sink:
        place = notifying(on_stage, tmp_path, sink.address)
        known = set[int]()
        for _ in range(KILLS):
            pid, tries = place.started(), sink.tries
            until(lambda before=known, tried=tries: len(owed(place)) > len(before) and sink.tries > tried)
            known = owed(place)
            assert place.ended(pid, signal.SIGKILL) == -signal.SIGKILL
            assert known <= owed(place)
        assert sink.posted == []
        lost_without_redelivery = owed(place)
        sink.answers.clear()
        pid = place.started()
        until(lambda: lost_without_redelivery <= set(told_in(bodies(sink), owed(place))))
        assert place.ended(pid, signal.SIGTERM) == 0
        news = owed(place)
        told = told_in(bodies(sink), news)
        assert news <= set(told)
        for message in sink.posted:  # each says how many it speaks of
            counted = sum(
                int(number.replace(",", ""))
                for number in re.findall(r"([\d,]+) (?:new|changed|source)", message["title"])
            )
            assert counted in (0, len(told_in([message["message"]], news))), message
    print(f"{KILLS} kills, {len(lost_without_redelivery)} events committed and undelivered, "
          f"{len(news)} in all, told {len(told)} times in {len(sink.posted)} messages")  # fmt: skip


def test_a_crawler_killed_while_a_mail_is_under_way_tells_it_once_more_and_forgets_nothing(
    on_stage: Stage, tmp_path: Path
) -> None:
    with mail_server() as box:
        place = notifying(on_stage, tmp_path, box.address)
        for _ in range(KILLS):
            pid, before = place.started(), len(box.mails)
            until(lambda had=before: len(box.mails) > had)
            assert place.ended(pid, signal.SIGKILL) == -signal.SIGKILL
        known = owed(place)
        pid = place.started()
        until(lambda: known <= set(told_in([box.text(n) for n in range(len(box.mails))], owed(place))))
        assert place.ended(pid, signal.SIGTERM) == 0
        told = told_in([box.text(n) for n in range(len(box.mails))], owed(place))
        assert owed(place) <= set(told)
        repeats = len(told) - len(set(told))
    print(f"{KILLS} kills, {len(owed(place))} events in {len(box.mails)} mails, {repeats} told twice")
