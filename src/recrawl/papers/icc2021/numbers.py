"""Results by name, for those who judge claims by them."""

from __future__ import annotations

from collections.abc import Mapping

from recrawl.papers.icc2021.setting import EXAMPLES
from recrawl.papers.results import Result


class Numbers:
    """The results of the report by what follows the paper's key."""

    def __init__(self, found: Mapping[str, Result]) -> None:
        self.found = found

    def __getitem__(self, name: str) -> float:
        return self.found[f"icc2021/{name}"].measured

    def __contains__(self, name: str) -> bool:
        return f"icc2021/{name}" in self.found

    def shown(self, name: str, digits: int = 3) -> str:
        """A number with its interval, as text."""
        result = self.found[f"icc2021/{name}"]
        low_high = "" if result.ci95 is None else f" ({result.ci95[0]:.{digits}f} … {result.ci95[1]:.{digits}f})"
        return f"{result.measured:.{digits}f}{low_high}".replace("-", "−")

    def both(self, *names: str, digits: int = 2) -> str:
        """The same numbers of both examples, as text."""
        parts = (", ".join(f"{n} {self.shown(f'{e}/{n}', digits)}" for n in names) for e in EXAMPLES)
        return "one page: {}; groups: {}".format(*parts)

    def surely_above(self, name: str, other: float) -> bool:
        """Whether a number's interval lies above another number."""
        result = self.found[f"icc2021/{name}"]
        return (result.measured if result.ci95 is None else result.ci95[0]) > other
