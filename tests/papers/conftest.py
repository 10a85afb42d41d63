from __future__ import annotations

import pickle
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import nullcontext
from typing import Any

import pytest

from recrawl.papers import parallel


class _Here:
    """Does what would be sent to a process of its own in this one; it has to survive being sent all the same."""

    def submit(self, work: Callable[[Any], Any], job: Any) -> Future[Any]:
        done: Future[Any] = Future()
        there, given = pickle.loads(pickle.dumps((work, job)))
        done.set_result(pickle.loads(pickle.dumps(there(given))))
        return done


@pytest.fixture
def one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is reproduced shortly is done in this process: each of its own imports more than it computes."""
    monkeypatch.setattr(parallel, "ProcessPoolExecutor", lambda *_, **__: nullcontext(_Here()))
