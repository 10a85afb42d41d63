"""The part of the demo that finds out a lying sitemap: what it plays, and how it is shown."""

from __future__ import annotations

import io
import subprocess
import sys

import msgspec
import numpy as np
import pytest
from rich.console import Console

from recrawl.cli import demo_lists
from recrawl.cli.console import show_table
from recrawl.cli.demo_lists import Computing
from recrawl.sim.list_contest import ListContest
from recrawl.synthweb.world import World

WIDTH = 80


@pytest.fixture(scope="module")
def found() -> ListContest:
    return demo_lists.figures(seed=0)


def test_honest_sitemaps_are_trusted_and_the_rebuilt_one_is_not(found: ListContest) -> None:
    honest, forgetful, rebuilt = found.lists
    assert honest.trust[-1] > 0.9
    assert forgetful.trust[-1] > 0.9
    assert rebuilt.trust[-1] < 0.1
    assert rebuilt.found_out_after is not None
    assert honest.right > 0.9
    assert rebuilt.right < honest.right
    assert honest.truly_right == forgetful.truly_right == 1.0
    assert rebuilt.truly_right < 0.3
    assert honest.tells > forgetful.tells


def test_lists_that_are_weighed_are_worth_something_and_lists_that_are_believed_cost(found: ListContest) -> None:
    assert found.learned > found.without + 0.03
    assert found.believed < found.without


def test_what_is_played_is_what_the_world_did() -> None:
    world = World.make(6, 3, 1, "pages", median_rate=0.1, lists="honest,rebuilt,silent")
    trace = demo_lists.trace_of(world, days=10)
    assert len(trace) == 6
    changes = world.events(4, 0.0, 240.0)
    assert trace.times[trace.offsets[4] : trace.offsets[5]].tolist() == [
        demo_lists.START + int(np.ceil(hour * 3600.0)) for hour in changes
    ]
    honest, rebuilt, silent = trace.lists
    assert honest.pages.tolist() == [0, 3]
    assert set(honest.lastmod[honest.lastmod > demo_lists.START]) == set(
        np.concatenate([trace.times[trace.offsets[page] : trace.offsets[page + 1]] for page in (0, 3)]).astype(float)
    )
    assert set((rebuilt.lastmod - demo_lists.START) % 86400.0) == {0.0}
    assert len(silent.pages) == 0


def test_all_of_it_fits_a_terminal(found: ListContest) -> None:
    shown = io.StringIO()
    for table in (demo_lists.table(found), demo_lists.worth(found)):
        show_table(table, Console(file=shown, width=WIDTH))
    lines = [*shown.getvalue().splitlines(), *demo_lists.sentences(found)]
    assert max(len(line) for line in lines) <= WIDTH
    assert "…" not in shown.getvalue()
    assert any(line.startswith(("  rebuilt: never believed", "  rebuilt: found out after ")) for line in lines)


def child(program: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)


def test_the_figures_come_from_another_process_as_they_are(found: ListContest) -> None:
    said = msgspec.json.encode(found)
    assert Computing(child(f"print({said.decode()!r})")).figures() == found


def test_what_is_not_done_in_time_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_lists, "LONGEST_WAIT_S", 0.01)
    with demo_lists.computing(0) as lists:
        assert "not ready" in lists.figures()
    assert lists.ended


def test_a_process_that_failed_is_said_so() -> None:
    assert "exit status 3" in Computing(child("raise SystemExit(3)")).figures()
