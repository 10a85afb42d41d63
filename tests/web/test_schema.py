"""The OpenAPI description, used against the server it describes: no request that fits it, or nearly, breaks it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest
from fastapi import FastAPI
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable

from made_up import fill
from recrawl.clock import SystemClock
from recrawl.config import Config
from recrawl.store.sqlite import SqliteStore
from recrawl.web.app import make_app

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")

ENDLESS = "/api/v1/stream"
PATIENCE_S = 300.0


def ask_everything(address: str, examples: int) -> int:
    """Every operation with so many made-up requests each; how many were sent."""
    schema = schemathesis.openapi.from_url(f"{address}/api/v1/openapi.json", timeout=PATIENCE_S)
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
                answer = case.call(timeout=PATIENCE_S)  # type: ignore[attr-defined]
                sent += 1
                assert answer.status_code < 500, (case, answer.text[:500])
                if answer.status_code >= 400:
                    assert answer.json()["error"]["detail"], case

            with suppress(Unsatisfiable):  # where there is nothing that could be wrong
                nothing_breaks()
    return sent


@pytest.mark.filterwarnings("default")
def test_no_request_breaks_it(store: SqliteStore, show: Callable[[FastAPI], str]) -> None:
    fill(store)
    assert ask_everything(show(make_app(store, Config(), SystemClock())), examples=4) > 80


@pytest.mark.long
@pytest.mark.filterwarnings("default")
def test_no_request_breaks_it_however_many(store: SqliteStore, show: Callable[[FastAPI], str]) -> None:
    fill(store)
    assert ask_everything(show(make_app(store, Config(), SystemClock())), examples=80) > 1500
