"""Where a report is written: made, and found usable, before any long work."""

from __future__ import annotations

import tempfile
from collections.abc import Collection
from pathlib import Path

import msgspec

from recrawl.errors import OutputError


class _Result(msgspec.Struct):
    """As much of a result as tells whose it is."""

    id: str


class _Results(msgspec.Struct):
    results: list[_Result]


def prepare(out: Path, others: Collection[str] | None = ()) -> Path:
    """Make the output directory, or say before any long work why it cannot be used; returns it.

    Results of the papers `others` (None: of any paper) must not be there: one report would replace the other, among
    the figures of both.
    """
    if out.exists() and not out.is_dir():
        raise OutputError(f"--out {out}: there is a file of that name; a directory is needed")
    for name in ("report.html", "results.json"):
        if (out / name).is_dir():
            raise OutputError(f"--out {out}: {name} in it is a directory; choose another place")
    there = _papers_in(out) if others is None or others else []
    held = [paper for paper in there if others is None or paper in others]
    if held:
        raise OutputError(f"--out {out}: the results of {', '.join(held)} are there; choose another place")
    try:
        (out / "figures").mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=out / "figures").close()
    except OSError as error:
        raise OutputError(f"--out {out}: cannot write there ({error.strerror})") from error
    return out


def _papers_in(out: Path) -> list[str]:
    """The first words of the ids in a directory's `results.json`, if it has one."""
    try:
        found = msgspec.json.decode((out / "results.json").read_bytes(), type=_Results)
        return list(dict.fromkeys(result.id.partition("/")[0] for result in found.results))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except (OSError, msgspec.MsgspecError) as error:
        raise OutputError(f"--out {out}: results.json in it cannot be read; choose another place") from error
