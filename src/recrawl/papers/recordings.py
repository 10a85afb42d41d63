"""Recorded pages for the papers: a folder with traces and with the scenarios to play on them.

Only scenarios whose score is the share of time pages are fresh are taken: that is what the papers' crawlers of changing
pages are about.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from recrawl.errors import ParameterError
from recrawl.sim.scenarios import Scenario, read_scenarios
from recrawl.sim.traces import Folder, Trace

SCENARIOS = "scenarios.toml"


@dataclass(frozen=True, eq=False)
class Recordings:
    """Scenarios of kind freshness, in the order of their file, and the trace of each by name."""

    scenarios: tuple[Scenario, ...]
    traces: dict[str, Trace]

    @classmethod
    def read(cls, folder: Path) -> Recordings:
        """Read a folder, or say what it lacks."""
        traces, file = Folder(folder), folder / SCENARIOS
        if not file.is_file():
            raise ParameterError("--data", f"a folder with {SCENARIOS}", folder)
        chosen = tuple(each for each in read_scenarios(file) if each.kind == "freshness")
        if not chosen:
            raise ParameterError("--data", f"a folder whose {SCENARIOS} has a scenario of kind freshness", folder)
        return cls(chosen, {each.name: traces.trace(each) for each in chosen})
