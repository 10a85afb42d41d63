"""The OpenAPI description, used against the server it describes: no request that fits it, or nearly, breaks it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from fastapi import FastAPI
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable

from made_up import fill
from reading import reader_of_two
from recrawl.clock import SystemClock
from recrawl.config import Config
from recrawl.store.sqlite import SqliteStore
from recrawl.web.app import make_app
from recrawl.web.reader_api.credentials import token_of
from recrawl.web.reader_api.stream_ids import LABEL, STATE, long_form

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")

ENDLESS = "/api/v1/stream"
PATIENCE_S = 300.0


def ask_everything(address: str, examples: int) -> int:
    """Every operation with so many made-up requests each; how many were sent."""

    def sound(answer: Any) -> bool:
        return answer.status_code < 400 or answer.json()["error"]["detail"]

    return ask(schemathesis.openapi.from_url(f"{address}/api/v1/openapi.json", timeout=PATIENCE_S), examples, sound)


def ask(schema: Any, examples: int, sound: Callable[[Any], Any], **more: Any) -> int:
    """Made-up requests that fit and that do not: no answer says that something broke, and all are sound."""
    sent = 0
    for each in schema.get_all_operations():
        operation = each.ok()
        if operation.path == ENDLESS:
            continue
        modes = schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE
        for mode in modes:
            cases = operation.as_strategy(generation_mode=mode)

            @settings(
                max_examples=examples,
                database=None,
                deadline=None,
                derandomize=True,
                phases=(Phase.explicit, Phase.generate),
                suppress_health_check=list(HealthCheck),
            )
            @given(case=cases)
            def nothing_breaks(case: object) -> None:
                nonlocal sent
                answer = case.call(timeout=PATIENCE_S, **more)  # type: ignore[attr-defined]
                sent += 1
                assert answer.status_code < 500, (case, answer.text[:500])
                assert sound(answer), case

            with suppress(Unsatisfiable):  # where there is nothing that could be wrong
                nothing_breaks()
    return sent


@pytest.mark.filterwarnings("default")
def test_no_request_breaks_it(store: SqliteStore, show: Callable[[FastAPI], str]) -> None:
    fill(store)
    assert ask_everything(show(make_app(store, Config(), SystemClock())), examples=4) > 80


NUMBER, TIME = {"type": "integer"}, {"type": "integer", "minimum": 0}
STREAM = {"anyOf": [{"enum": ["feed/1", f"{STATE}reading-list", f"{STATE}starred", f"{LABEL}x"]}, {"type": "string"}]}
STREAMS = {
    "s": STREAM,
    "n": NUMBER,
    "c": NUMBER,
    "xt": STREAM,
    "it": STREAM,
    "ot": TIME,
    "nt": TIME,
    "r": {"enum": ["o"]},
}
ITEM = {"anyOf": [NUMBER, {"enum": [long_form(1), long_form(2)[-16:]]}, {"type": "string"}]}
TAGS = {"i": ITEM, "a": STREAM, "r": STREAM}
READERS: dict[str, dict[str, Any]] = {
    "GET token": {}, "GET user-info": {}, "GET tag/list": {}, "GET subscription/list": {}, "GET unread-count": {},
    "GET subscription/export": {}, "GET stream/items/ids": STREAMS, "POST stream/items/ids": STREAMS,
    "GET stream/contents": STREAMS, "POST stream/items/contents": {"i": ITEM}, "POST edit-tag": TAGS,
    "POST mark-all-as-read": {"s": STREAM, "ts": TIME}, "POST rename-tag": {"s": STREAM, "dest": STREAM},
    "POST disable-tag": {"s": STREAM}, "POST subscription/quickadd": {"quickadd": {"type": "string"}},
    "POST subscription/edit": {"ac": {"enum": ["edit", "subscribe", "unsubscribe"]}, "s": STREAM,
                               "t": {"type": "string"}, "a": STREAM, "r": STREAM},
}  # fmt: skip


def of_readers() -> dict[str, Any]:
    """The Google Reader API in the same words; no program asks for it, so the server does not give it out."""
    paths: dict[str, Any] = {}
    for route, names in READERS.items():
        method, path = route.split()
        form = {"type": "object", "properties": names}
        said: dict[str, Any]
        said = {"parameters": [{"name": name, "in": "query", "schema": kind} for name, kind in names.items()]}
        if method == "POST":
            said = {"requestBody": {"content": {"application/x-www-form-urlencoded": {"schema": form}}}}
        paths.setdefault(f"/reader/api/0/{path}", {})[method.lower()] = {
            **said,
            "responses": {"200": {"description": ""}},
        }
    return {"openapi": "3.1.0", "info": {"title": "Google Reader", "version": "0"}, "paths": paths}


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("examples", [6, pytest.param(80, marks=pytest.mark.long)])
def test_no_request_of_a_readers_program_breaks_it(
    store: SqliteStore, show: Callable[[FastAPI], str], examples: int
) -> None:
    """Errors are a line in words."""
    clock = SystemClock()
    reader = reader_of_two(store, clock.now())
    schema, address = schemathesis.openapi.from_dict(of_readers()), show(make_app(store, Config(), clock))
    headers = {"authorization": f"GoogleLogin auth={token_of(reader, clock.now())}"}
    statuses = set()

    def sound(answer: Any) -> bool:
        statuses.add(answer.status_code)
        return answer.status_code == 200 or (answer.text.endswith("\n") and answer.text.count("\n") == 1)

    assert ask(schema, examples, sound, base_url=address, headers=headers) > 15 * examples
    assert {200, 400} <= statuses
    assert 401 not in statuses, "all of them were let in"


@pytest.mark.long
@pytest.mark.filterwarnings("default")
def test_no_request_breaks_it_however_many(store: SqliteStore, show: Callable[[FastAPI], str]) -> None:
    fill(store)
    assert ask_everything(show(make_app(store, Config(), SystemClock())), examples=80) > 1500
