"""The programs of `scripts` as modules, and what a release is built into."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]


class Built(NamedTuple):
    """The two archives of a release."""

    sources: Path
    wheel: Path


def script(name: str) -> ModuleType:
    """A program of `scripts`, to be asked in parts."""
    spec = importlib.util.spec_from_file_location(f"scripts_{name}", ROOT / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
