"""The parts of a release are held against advisories as OSV writes them, and their licences are ones we may pass on."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from releasing import script

PERMISSIVE = (
    "MIT",
    "BSD",
    "Apache",
    "Python Software Foundation",
    "PSF",
    "Mozilla",
    "MPL",
    "ISC",
    "Zlib",
    "0BSD",
    "CC0",
    "HPND",
)


@pytest.fixture(scope="module")
def audit() -> ModuleType:
    return script("audit")


def advisory(name: str, *events: dict[str, str], **more: Any) -> dict[str, Any]:
    span = {"type": "ECOSYSTEM", "events": list(events)}
    affected = {"package": {"ecosystem": "PyPI", "name": name}, "ranges": [span]}
    return {"id": f"PYSEC-{name}", "summary": f"of {name}", "affected": [affected], **more}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "advisories").mkdir()
    parts = {"lxml": "4.6.2", "aiohttp": "3.14.5", "Jinja2": "3.1.6"}
    bill = {"components": [{"name": name, "version": version} for name, version in parts.items()]}
    (tmp_path / "sbom.json").write_text(json.dumps(bill))
    return tmp_path


def audited(audit: ModuleType, place: Path, monkeypatch: pytest.MonkeyPatch, *advisories: dict[str, Any]) -> int:
    for number, each in enumerate(advisories):
        (place / "advisories" / f"{number}.json").write_text(json.dumps(each))
    monkeypatch.setattr(sys, "argv", ["audit", str(place / "sbom.json"), "--advisories", str(place / "advisories")])
    return int(audit.main())


def test_a_part_within_an_affected_range_is_named_with_its_way_out(
    audit: ModuleType, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert audited(audit, place, monkeypatch, advisory("lxml", {"introduced": "0"}, {"fixed": "4.6.3"})) == 1
    assert capsys.readouterr().out == "lxml 4.6.2: PYSEC-lxml (fixed in 4.6.3) of lxml\n"


@pytest.mark.parametrize(
    "of_another",
    [
        advisory("aiohttp", {"introduced": "0"}, {"fixed": "3.14.5"}),
        advisory("aiohttp", {"introduced": "0"}, {"last_affected": "3.14.4"}),
        advisory("aiohttp", {"introduced": "4.0.0"}),
        advisory("flask", {"introduced": "0"}),
        advisory("lxml", {"introduced": "0"}, withdrawn="2026-01-01T00:00:00Z"),
    ],
    ids=["fixed since", "no longer", "not yet", "no part of ours", "withdrawn"],
)
def test_others_are_not(
    audit: ModuleType, place: Path, monkeypatch: pytest.MonkeyPatch, of_another: dict[str, Any]
) -> None:
    assert audited(audit, place, monkeypatch, of_another) == 0


def test_names_are_the_same_in_any_spelling_and_ranges_may_come_back(
    audit: ModuleType, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    again = advisory("jinja2", {"introduced": "0"}, {"fixed": "2.0"}, {"introduced": "3.1.0"}, {"fixed": "3.1.7"})
    assert audited(audit, place, monkeypatch, again) == 1


def test_without_advisories_nothing_is_called_sound(
    audit: ModuleType, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        audited(audit, place, monkeypatch)
    assert ended.value.code == 2
    assert "has no advisories" in capsys.readouterr().err


def test_every_part_of_a_plain_installation_may_be_passed_on() -> None:
    parts = script("docs_reference").parts_of("recrawl")
    assert len(parts) > 20
    assert [part for part in parts if not any(word in part[2] for word in PERMISSIVE)] == []
