"""What a reproduction wrote, read back."""

from __future__ import annotations

from pathlib import Path

import msgspec

from recrawl.papers.results import Result, Results


def read_results(path: Path) -> list[Result]:
    """The lines of `results.json`, which must be of the form that is documented."""
    return msgspec.json.decode(path.read_bytes(), type=Results, strict=True).results
