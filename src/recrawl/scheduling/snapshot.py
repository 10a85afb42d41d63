"""A calendar's arrays in one file, for restarts.

The file is a plain NumPy archive without pickled objects. It is written beside its target and renamed, so a crash
leaves the old file or the new one.
"""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from recrawl.errors import ParameterError

FORMAT = 1


def save(path: str | Path, state: dict[str, npt.NDArray[Any]], scalars: dict[str, float]) -> None:
    """Write arrays and numbers to `path`."""
    target = Path(path)
    partial = target.with_name(target.name + ".partial")
    with partial.open("wb") as file:
        numbers = {f"number.{name}": np.asarray(value, np.float64) for name, value in scalars.items()}
        np.savez(file, format=np.asarray(FORMAT), **state, **numbers)  # type: ignore[arg-type]
        file.flush()
        os.fsync(file.fileno())
    partial.replace(target)


def load(path: str | Path) -> tuple[dict[str, npt.NDArray[Any]], dict[str, float]]:
    """Arrays and numbers as they were saved."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            if "format" not in archive or int(archive["format"]) != FORMAT:
                raise ParameterError("path", f"a calendar saved in format {FORMAT}", str(path))
            arrays = {name: archive[name] for name in archive.files if name != "format"}
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        if isinstance(error, ParameterError):
            raise
        raise ParameterError("path", "a file written by Calendar.save", str(path)) from error
    scalars = {name.removeprefix("number."): float(a) for name, a in arrays.items() if name.startswith("number.")}
    return {name: a for name, a in arrays.items() if not name.startswith("number.")}, scalars
