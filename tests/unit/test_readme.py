"""What the README and docs/python.md show runs as shown."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README, PYTHON = ROOT / "README.md", ROOT / "docs" / "python.md"


@pytest.mark.parametrize(("page", "fewest"), [(README, 3), (PYTHON, 6)], ids=["README", "python"])
def test_the_python_examples_run(page: Path, fewest: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # some of them make a store
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(blocks) >= fewest
    names: dict[str, object] = {"__name__": "shown"}
    for block in blocks:
        exec(compile(block, str(page), "exec"), names)


@pytest.mark.parametrize("page", [README, PYTHON], ids=["README", "python"])
def test_the_files_it_points_to_exist(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8"))
    missing = [target for target in targets if not (page.parent / target).exists()]
    assert missing == []
