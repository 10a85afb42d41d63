"""What an indexing engine changes, and what knowing of it brings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from paper_results import read_results
from recrawl.kernels.indexing_engine import exponential_delay_share
from recrawl.papers import indexing_engine
from recrawl.papers.indexing_engine import lab
from recrawl.papers.indexing_engine.lab import Catalogue
from recrawl.papers.reproduction import write
from recrawl.report.output_folder import prepare


def test_a_delay_matters_only_where_half_lives_differ() -> None:
    alike, differing = Catalogue.drawn(1, 0.0), Catalogue.drawn(1, 1.0)
    assert lab.captured_late(alike, 3.0, True) == pytest.approx(lab.captured_late(alike, 3.0, False))
    assert lab.captured_late(differing, 2.0, True) > 1.05 * lab.captured_late(differing, 2.0, False)
    assert lab.captured_late(differing, 0.0, True) == pytest.approx(lab.captured_late(differing, 0.0, False))


def test_an_exponential_delay_of_the_same_mean_spares_more_than_a_fixed_one() -> None:
    """By Jensen: E[e^{−μD}] ≥ e^{−μE[D]}."""
    catalogue = Catalogue.drawn(1, 1.0)
    for knows in (True, False):
        fixed = lab.captured_late(catalogue, 2.0, knows)
        assert lab.captured_late(catalogue, 2.0, knows, exponential_delay_share) > fixed


def test_in_batches_each_policy_that_knows_more_captures_more() -> None:
    catalogue = Catalogue.drawn(2, 1.0, size=60)
    even = [lab.captured_in_batches(catalogue, 1.0, make, 100) for make in lab.EVEN.values()]
    shares = [*even, lab.captured_by_saving(catalogue, 1.0)]
    assert (np.diff(shares) > 0.0).all(), shares


def test_batches_that_hardly_take_time_cost_nothing() -> None:
    catalogue = Catalogue.drawn(3, 1.0)
    assert lab.captured_by_saving(catalogue, 0.02) == pytest.approx(lab.captured_late(catalogue, 0.0, True), rel=0.01)


def test_no_policy_within_the_room_passes_the_two_prices() -> None:
    for seed in range(4):
        catalogue = Catalogue.drawn(seed, 1.0)
        for room in (0.05, 0.2, 0.5, 1.0):
            found = lab.captured_within(catalogue, room)
            assert found["chance"] <= found["choosy"] * (1 + 1e-6)
            assert found["choosy"] <= found["two prices"] * (1 + 1e-6)
        assert found["chance"] == pytest.approx(found["two prices"], rel=1e-4), "with room for all there is one price"


def test_a_short_run_writes_every_number_and_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib", reason="the extra `lab` is not installed")
    monkeypatch.setattr(indexing_engine, "QUICK", indexing_engine.Length(catalogues=2, batches=6, places=2))
    write([indexing_engine.reproduce(quick=True)], prepare(tmp_path))
    ids = {result.id for result in read_results(tmp_path / "results.json")}
    assert {f"engine/batch/{name}" for name in ("waiting", "priced", "saving")} <= ids
    assert {"engine/delay/spread-1", "engine/delay/spread-1-exponential"} <= ids
    assert {f"engine/room/{name}" for name in ("choosy", "two-prices")} <= ids
    assert len(list((tmp_path / "figures").glob("indexing-engine-*.svg"))) == 3
