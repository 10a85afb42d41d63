"""The compose files name the store where every command in a container finds it, also one of `docker compose exec`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from shown_commands import unknown

ROOT = Path(__file__).parents[2]
FILES = [ROOT / "compose.yaml", ROOT / "deploy" / "compose" / "fleet.yaml"]


def ours(file: Path) -> dict[str, dict[str, Any]]:
    services = yaml.safe_load(file.read_text())["services"]
    return {name: each for name, each in services.items() if "recrawl" in each["image"]}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_the_store_is_named_in_the_environment_alone(file: Path) -> None:
    for name, service in ours(file).items():
        assert service["environment"]["RECRAWL_STORE"] == "postgresql://recrawl@database/recrawl", name
        assert "--store" not in service["command"], name


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_what_is_started_is_a_command_with_its_options(file: Path) -> None:
    assert ours(file)
    for service in ours(file).values():
        assert unknown([str(word) for word in service["command"]]) == []
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
