"""How a Ray of our own is started."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import pytest

from recrawl.cluster import ray_actors


def test_a_ray_of_our_own_has_no_dashboard_and_tells_nobody_of_its_use(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}

    def init(**given: Any) -> SimpleNamespace:
        asked.update(given)
        return SimpleNamespace(address_info={"address": "127.0.0.1:1"})

    for name in ray_actors.LOOPBACK_ONLY:
        monkeypatch.setenv(name, "")  # so that it is put back afterwards
    monkeypatch.setattr(ray_actors, "require", lambda *_: SimpleNamespace(init=init))
    assert ray_actors.start_here(2) == "127.0.0.1:1"
    assert asked["include_dashboard"] is False
    assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"
