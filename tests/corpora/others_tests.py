"""Others' own tests, run by pytest in a process of their own with a plugin of ours."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from corpora.packages import CACHE

TOOLS = CACHE / "tools"
"""What Scrapy's tests need; not in the environment, where some of it would change how our own tests run."""
PATIENCE_S = 1200


def run(folder: Path, plugin: str, files: list[str], environment: dict[str, str], *options: str) -> str:
    """What pytest said; whether tests failed is for the plugin to write down."""
    here = Path(__file__).parent
    path = os.pathsep.join(map(str, (here.parents[1] / "src", here, TOOLS)))
    plugins = ["-p", plugin, "-p", "no:xdist", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *plugins, *options, *files],
        cwd=folder, env={**os.environ, "PYTHONPATH": path, **environment}, capture_output=True, text=True,
        timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    return done.stdout + done.stderr
