"""Holds the parts of a release against known vulnerabilities, without a network.

    python scripts/audit.py sbom.json --advisories FOLDER

FOLDER has advisories in the format of OSV, a file each: the unpacked `all.zip` of its PyPI part, or the folder
`advisories` of the GitHub Advisory Database. Says what is affected and since which version it no longer is; exit
status 1 if anything is. Ranges of commits are not looked at: a part of a release has a version.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

EVER = "0"


class Finding(NamedTuple):
    """A part with a known vulnerability."""

    name: str
    version: str
    advisory: str
    fixed: str
    summary: str


def parts(bill: Path) -> dict[str, str]:
    """Names and versions of a CycloneDX list."""
    listed = json.loads(bill.read_text(encoding="utf-8")).get("components", [])
    return {canonicalize_name(each["name"]): each["version"] for each in listed if each.get("version")}


def findings(installed: dict[str, str], folder: Path) -> Iterator[Finding]:
    """What the advisories of a folder say of these parts."""
    for file in sorted(folder.rglob("*.json")):
        advisory = json.loads(file.read_text(encoding="utf-8"))
        if advisory.get("withdrawn"):
            continue
        for affected in advisory.get("affected", []):
            package = affected.get("package", {})
            name = canonicalize_name(package.get("name", ""))
            if package.get("ecosystem") == "PyPI" and name in installed and hits(affected, installed[name]):
                words = (advisory.get("summary") or advisory.get("details", "")).partition("\n")[0]
                yield Finding(name, installed[name], advisory["id"], fixed(affected), words)


def hits(affected: dict[str, Any], version: str) -> bool:
    """Whether a version is one of those that are affected."""
    if version in affected.get("versions", []):
        return True
    here = Version(version)
    return any(within(span["events"], here) for span in affected.get("ranges", []) if span["type"] == "ECOSYSTEM")


def within(events: list[dict[str, str]], here: Version) -> bool:
    """Whether a version lies where something had been introduced, and not been fixed yet."""
    state = False
    for event in sorted(events, key=_at):
        at = _at(event)
        if "introduced" in event and here >= at:
            state = True
        elif ("fixed" in event and here >= at) or ("last_affected" in event and here > at):
            state = False
    return state


def fixed(affected: dict[str, Any]) -> str:
    """Since which versions it no longer is."""
    events = [event for span in affected.get("ranges", []) for event in span["events"]]
    return ", ".join(event["fixed"] for event in events if "fixed" in event) or "none yet"


def _at(event: dict[str, str]) -> Version:
    (said,) = event.values()
    try:
        return Version(said)
    except InvalidVersion:  # of a commit, or of another way of numbering: better a finding too many
        return Version(EVER)


def main() -> int:
    """Look, and say what there is."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("bill", type=Path, help="sbom.json of a release")
    parser.add_argument("--advisories", type=Path, required=True, help="a folder of advisories in the format of OSV")
    given = parser.parse_args()
    if not given.advisories.is_dir() or not any(given.advisories.rglob("*.json")):
        parser.error(f"{given.advisories} has no advisories: unpack the PyPI part of the OSV database there")
    installed = parts(given.bill)
    found = list(findings(installed, given.advisories))
    for each in found:
        print(f"{each.name} {each.version}: {each.advisory} (fixed in {each.fixed}) {each.summary}")
    print(f"{len(installed)} parts, {len(found)} known vulnerabilities", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
