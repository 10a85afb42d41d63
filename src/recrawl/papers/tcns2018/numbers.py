"""Results by name, for those who judge claims by them."""

from __future__ import annotations

from collections.abc import Iterable

from recrawl.papers.results import Result

CEILED = "the simplified formula with its ceiling, off its orbit; not under Theorem 1"


class Numbers:
    """The results of the report by what follows the paper's key."""

    def __init__(self, results: Iterable[Result]) -> None:
        self.by_id = {result.id: result for result in results}

    def __getitem__(self, name: str) -> float:
        return self.by_id[f"tcns2018/{name}"].measured

    def sure(self, name: str) -> int:
        """The sign of a difference whose interval leaves 0 out; 0 where it does not."""
        interval = self.by_id[f"tcns2018/{name}"].ci95
        assert interval is not None
        return 1 if interval[0] > 0 else -1 if interval[1] < 0 else 0

    def gap(self, name: str) -> str:
        """A difference with its interval, as text."""
        result = self.by_id[f"tcns2018/{name}"]
        assert result.ci95 is not None
        return f"{result.measured:+.2f} ({result.ci95[0]:+.2f} … {result.ci95[1]:+.2f})".replace("-", "−")
