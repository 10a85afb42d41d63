"""Programs for reading feeds that cannot run here: what they ask is played, and gets what they need."""

from __future__ import annotations

import json
from typing import Any

import pytest

from made_up import NOW
from reader_traces import POST, TRACES, Asked
from reading import FORM, reader_of_two
from recrawl.store.sqlite import SqliteStore
from visitor import Answer, Visitor


class Played:
    """One program, as far as it is recorded: logs in as it does, and shows what it was given."""

    def __init__(self, visitor: Visitor, base: str) -> None:
        self._visitor, self._base, self._auth = Visitor(visitor.app, browser=False), base, ""
        self._known = {"month_ago": f"{NOW - 30 * 86400:.0f}", "after_first": f"{NOW - 160:.0f}",
                       "now_ns": f"{NOW:.0f}000000000", "token": ""}  # fmt: skip

    def ask(self, asked: Asked) -> Answer:
        query, form = (text.format_map(self._known) for text in (asked.query, asked.form))
        shown = {"authorization": f"GoogleLogin auth={self._auth}"} if self._auth else {}
        sent = {**shown, **(FORM if asked.method == POST else {})}
        answer = self._visitor.ask(asked.method, f"{self._base}/{asked.place}?{query}", form.encode(), sent)
        assert answer.status == 200, (asked, answer.text)
        if asked.place.endswith("ClientLogin"):
            self._auth = _auth(answer.text)
        elif asked.place.endswith("/token"):
            self._known["token"] = answer.text  # with the end of its line, as most send it
        return answer


def _auth(text: str) -> str:
    if text.startswith("{"):
        return str(json.loads(text)["Auth"])
    return dict(line.split("=") for line in text.splitlines())["Auth"]


def numbers(answer: Any) -> list[int]:
    if "itemRefs" in answer:
        return [int(each["id"]) for each in answer["itemRefs"]]
    return [int(each["id"].rpartition("/")[2], 16) for each in answer["items"]]


def check_answer(asked: Asked, answer: Answer) -> None:
    if isinstance(asked.comes, str):
        assert answer.text == asked.comes, asked
    elif isinstance(asked.comes, list):
        assert numbers(answer.json) == asked.comes, asked
        assert all(needed(each) for each in answer.json.get("items", [])), asked
    elif asked.comes is not None:
        assert asked.comes <= answer.json.keys(), asked


def needed(item: Any) -> bool:
    """What one or another of them takes for granted, and fails without."""
    return bool(
        item["canonical"][0]["href"] and item["alternate"][0]["href"] and item["origin"]["streamId"]
        and item["origin"]["title"] and item["origin"]["htmlUrl"] and isinstance(item["published"], int)
        and item["crawlTimeMsec"].isdecimal() and item["timestampUsec"].isdecimal()
        and isinstance(item["summary"]["content"], str) and isinstance(item["author"], str)
    )  # fmt: skip


@pytest.mark.parametrize("program", TRACES)
def test_what_it_asks_is_answered(visitor: Visitor, store: SqliteStore, program: str) -> None:
    reader_of_two(store, NOW)
    base = "/api/greader.php" if list(TRACES).index(program) % 2 else ""  # both do; logging in takes long
    played = Played(visitor, base)
    for asked in TRACES[program]:
        check_answer(asked, played.ask(asked))
