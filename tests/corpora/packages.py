"""Other projects' published packages, fetched by name and version, checked by hash, and unpacked where git never looks.

A source distribution is only unpacked: nothing in it is built or installed. The index is pip's usual one, or
`PIP_INDEX_URL`'s.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
CACHE = HERE.parents[1] / ".cache" / "corpora"
PATIENCE_S = 300


@cache
def unpacked(name: str) -> Path:
    """The folder of a package of `packages.toml`, fetched if it is not there yet."""
    pinned = _pinned()[name]
    folder = CACHE / f"{name.replace('/', '+')}-{pinned['version']}-{pinned['sha256'][:12]}"
    if not folder.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
            archive = _fetched(name, pinned, Path(scratch))
            found = hashlib.sha256(archive.read_bytes()).hexdigest()
            if found != pinned["sha256"]:
                raise ValueError(f"{archive.name} has the hash {found}, not the one that is written down")
            _unpack(archive, Path(scratch) / "unpacked")
            (Path(scratch) / "unpacked").rename(folder)
    return next(path for path in sorted(folder.iterdir()) if path.is_dir())


def has_npm() -> bool:
    """Whether npm's packages can be fetched and run."""
    return shutil.which("npm") is not None and shutil.which("node") is not None


@cache
def _pinned() -> dict[str, dict[str, str]]:
    return tomllib.loads((HERE / "packages.toml").read_text())


def _fetched(name: str, pinned: dict[str, str], into: Path) -> Path:
    name = pinned.get("name", name)
    if pinned["registry"] == "npm":
        command = ["npm", "pack", "--silent", "--pack-destination", str(into), f"{name}@{pinned['version']}"]
    else:
        command = [sys.executable, "-m", "unearth", "--no-binary", "--download", str(into)]
        if index := os.environ.get("PIP_INDEX_URL"):
            command += ["--index-url", index]
        command.append(f"{name}=={pinned['version']}")
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, cwd=into, check=False)
    archives = [path for path in into.iterdir() if path.suffix in (".gz", ".tgz", ".zip", ".bz2")]
    if done.returncode or len(archives) != 1:
        raise RuntimeError(f"{name} {pinned['version']} could not be fetched: {done.stderr.strip()[-500:]}")
    return archives[0]


def _unpack(archive: Path, into: Path) -> None:
    into.mkdir()
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive) as zipped:
            zipped.extractall(into)
    else:
        with tarfile.open(archive) as packed:
            packed.extractall(into, filter="data")
