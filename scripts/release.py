"""Makes a release and checks it: everything but the upload.

    python scripts/release.py [FOLDER]

leaves in FOLDER (`dist` unless given) the source distribution, the wheel built from it, a list of everything that a
plain installation brings along (`sbom.json`, CycloneDX), and `SHA256SUMS`. It ends with an error where the version, the
changelog, the contents or the metadata are not what they have to be.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "src/recrawl/"
IN_SOURCES = ("src/", "docs/", "deploy/")
BESIDE = {"PKG-INFO", "pyproject.toml", ".gitignore", "LICENSE", "README.md", "CHANGELOG.md", "SECURITY.md",
          "constraints.txt"}  # fmt: skip
TOLD = {"entry_points.txt", "METADATA", "RECORD", "WHEEL", "licenses/LICENSE"}


class NotReleasableError(Exception):
    """What keeps this from being released."""


def version() -> str:
    """The one place that says it."""
    found = re.search(r'^__version__ = "([^"]+)"$', (ROOT / PACKAGE / "__init__.py").read_text(), re.M)
    if found is None:
        raise NotReleasableError(f"{PACKAGE}__init__.py says no __version__")
    return found[1]


def build(folder: Path) -> tuple[Path, Path]:
    """The source distribution, and the wheel that is built from it and from nothing else."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise NotReleasableError(f"the build failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    (sources,), (wheel,) = folder.glob(f"recrawl-{version()}.tar.gz"), folder.glob(f"recrawl-{version()}-*.whl")
    return sources, wheel


def tracked(*folders: str) -> set[str]:
    """What git knows of some folders, or would, if it is added."""
    command = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard", "--", *folders]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return {name for name in listed if (ROOT / name).is_file()}


def differences_of_wheel(wheel: Path) -> set[str]:
    """What is in the wheel and should not be, or the other way round."""
    with zipfile.ZipFile(wheel) as opened:
        found = set(opened.namelist())
    wanted = {name.removeprefix("src/") for name in tracked(PACKAGE)}
    wanted |= {f"recrawl-{version()}.dist-info/{name}" for name in TOLD}
    return found ^ wanted


def differences_of_sources(sources: Path) -> set[str]:
    """The same of the source distribution."""
    with tarfile.open(sources) as opened:
        found = {member.name.partition("/")[2] for member in opened if member.isfile()}
    return found ^ (tracked(*IN_SOURCES) | BESIDE)


def check(sources: Path, wheel: Path) -> None:
    """See that both hold what they should, and that an index would take them."""
    for archive, differences in ((wheel, differences_of_wheel(wheel)), (sources, differences_of_sources(sources))):
        if differences:
            raise NotReleasableError(f"{archive.name}: missing or too much: {', '.join(sorted(differences)[:10])}")
    command = [sys.executable, "-m", "twine", "--no-color", "check", "--strict", str(sources), str(wheel)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise NotReleasableError(f"an index would not take it:\n{done.stdout}{done.stderr}")


def announced() -> bool:
    """Whether the changelog gives this version a day; it has to begin with it in any case."""
    heading = re.search(r"^## (\S+) \((.+)\)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    if heading is None or heading[1] != version():
        raise NotReleasableError(f"CHANGELOG.md has to begin with '## {version()} (unreleased)', or the day instead")
    return bool(re.fullmatch(r"\d{4}-\d\d-\d\d", heading[2]))


def installed(wheel: Path, folder: Path) -> Path:
    """An empty environment with the wheel and what it needs; its interpreter."""
    venv.create(folder, with_pip=True, clear=True)
    python = folder / "bin" / "python"
    command = [
        str(python),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--constraint",
        str(ROOT / "constraints.txt"),
        str(wheel),
    ]
    if subprocess.run(command).returncode:
        raise NotReleasableError(f"{wheel.name} could not be installed into an empty environment")
    return python


def runs(python: Path, folder: Path) -> None:
    """See that it runs from there, with no checkout around."""
    program, folder = python.parent.absolute() / "recrawl", folder / "away"
    folder.mkdir(exist_ok=True)
    for arguments in (["--version"], ["demo", "--seconds", "5", "--sources", "60"]):
        done = subprocess.run([str(program), *arguments], cwd=folder, capture_output=True, text=True)
        if done.returncode:
            raise NotReleasableError(f"installed, recrawl {' '.join(arguments)} failed:\n{done.stderr[-2000:]}")


def bill_of_materials(python: Path, to: Path) -> None:
    """Write what an environment consists of, with licences, the same each time."""
    command = [sys.executable, "-m", "cyclonedx_py", "environment", "--output-reproducible", "--pyproject",
               str(ROOT / "pyproject.toml"), "--output-file", str(to), str(python)]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise NotReleasableError(f"the list of parts could not be made:\n{done.stderr[-2000:]}")


def sums(*files: Path) -> str:
    """As `sha256sum --check` reads them."""
    return "".join(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files)


def main(folder: Path) -> None:
    """Make all of it."""
    ready = announced()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    sources, wheel = build(folder)
    check(sources, wheel)
    empty = folder / "environment"
    python = installed(wheel, empty)
    runs(python, empty)
    bill = folder / "sbom.json"
    bill_of_materials(python, bill)
    shutil.rmtree(empty)
    (folder / "SHA256SUMS").write_text(sums(sources, wheel, bill))
    for file in sorted(folder.iterdir()):
        print(f"{file}  {file.stat().st_size:,} bytes")
    if ready:
        print(f"To publish: git tag v{version()}, push the tag, and: python -m twine upload {sources} {wheel}")
    else:
        print(f"A rehearsal: CHANGELOG.md does not say yet on which day {version()} is released.")


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "dist")
    except NotReleasableError as reason:
        sys.exit(f"not releasable: {reason}")
