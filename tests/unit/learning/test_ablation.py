"""What the ablation turns off is there to be turned off, and its replacements act."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from recrawl.learning.drift import MEMORIES_DAYS, DriftingArrivals
from recrawl.learning.model import Setting
from recrawl.learning.page_model import PageModel

ablation = pytest.importorskip("benchmarks.ablation", reason="benchmarks are not beside the tests")


def changes() -> Iterator[tuple[object, str]]:
    """Every attribute that some variant replaces."""
    for variants in ablation.VARIANTS.values():
        for replaced in variants.values():
            yield from ((target, name) for target, name, _ in replaced)


@pytest.mark.parametrize(("target", "name"), list(changes()))
def test_what_a_variant_replaces_exists(target: object, name: str) -> None:
    assert hasattr(target, name)


def test_one_memory_alone_tells_the_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a jump, the longest memory lags behind the average over four."""

    def mean_after_a_jump() -> float:
        arrivals, row, one = DriftingArrivals(1), np.arange(1), np.ones(1)
        for day in range(200):
            arrivals.learn(row, np.full(1, 1.0 if day < 180 else 20.0), one, one)
        return float(arrivals.mean(row)[0])

    averaged = mean_after_a_jump()
    monkeypatch.setattr(DriftingArrivals, "update_posterior", ablation._one_memory(len(MEMORIES_DAYS) - 1))
    assert mean_after_a_jump() < 0.5 * averaged


def test_a_belief_at_its_mean_is_one_point() -> None:
    model, rows = PageModel(Setting(0.0, "freshness", None, None, None, "mean", np.random.default_rng(0))), np.arange(1)
    model.grow(1)
    ablation._at_the_mean(model, rows)
    assert np.count_nonzero(model.atoms.mass[rows]) == 1
    assert model.atoms.rate[0, 0] == pytest.approx(model.changes.mean(rows)[0])
