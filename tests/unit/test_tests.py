"""The tests keep two rules of their own: each says what must hold, and none sleeps to let something happen."""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parents[1]
CHECKS = re.compile(r"assert|raises|warns|fail|check|expect|compare|verdict|judge|until|soon")
"""In the name of what a test calls: it checks something, here or where it is defined."""
WAITS = TESTS / "until.py"


def functions() -> Iterator[tuple[Path, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                yield path, node


def says_what_it_shows(test: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """By an assertion, by the name of a check it calls, or, where it must merely not fail, in its docstring."""
    if ast.get_docstring(test):
        return True
    for node in ast.walk(test):
        if isinstance(node, ast.Assert):
            return True
        if isinstance(node, ast.Call):
            called = node.func
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            if CHECKS.search(name):
                return True
    return False


def test_every_test_says_what_it_shows() -> None:
    silent = [f"{path.relative_to(TESTS)}::{test.name}" for path, test in functions() if not says_what_it_shows(test)]
    assert silent == []


def test_a_sleep_is_what_its_test_is_about() -> None:
    """Waiting for something to happen is `until` and `soon`; any other sleep says on its line what it is for."""
    found = []
    for path in sorted(set(TESTS.rglob("*.py")) - {WAITS}):
        with tokenize.open(path) as text:
            tokens = list(tokenize.generate_tokens(text.readline))
        said = {token.start[0] for token in tokens if token.type == tokenize.COMMENT}
        for first, dot, name, _, seconds in zip(tokens, tokens[1:], tokens[2:], tokens[3:], tokens[4:], strict=False):
            sleeps = first.string in ("time", "asyncio") and dot.string == "." and name.string == "sleep"
            if sleeps and seconds.string not in ("0", "0.0") and first.start[0] not in said:
                found.append(f"{path.relative_to(TESTS)}:{first.start[0]}")
    assert found == []
