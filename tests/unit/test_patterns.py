"""No regular expression of the package takes more than linear time, whatever is fed to it.

Patterns are found by reading the sources (every `re.…` call) and by looking through the modules. Each is fed, by the
method it is used with, long strings made of its own parts: a beginning that matches, one character or the beginning
itself over and over, an end that does not match. All of it happens in another process, since a pattern that never ends
cannot be interrupted; it says what it is about to try, so that a hang has a name. A quadratic pattern takes tens of
seconds for such a string and a linear one about a millisecond, so the bound between them suits a busy machine too.
"""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

import recrawl

ROOT = Path(recrawl.__file__).parent
METHODS = ("compile", "match", "search", "fullmatch", "sub", "subn", "split", "findall", "finditer")
LONG = 30_000
SUSPECT_S = 0.003
"""For a tenth of that: what takes less is not tried longer."""
LIMIT_S = 1.0
"""Of CPU time, for one string: a thousand times what a linear pattern needs."""
OURS = {"recrawl.report.figures", "recrawl.synthweb.faults.contents"}
"""These read what this package, or a drawing library for it, has just written."""
MADE_AT_RUN_TIME = {
    "recrawl.crawl.reading.noise": 1,
    "recrawl.crawl.reading.page_selection": 1,
    "recrawl.config.conditions": 1,
    "recrawl.config.item_rules": 1,
    "recrawl.config.option_rules": 1,
    "recrawl.web.views.latest": 1,
}
"""Calls whose pattern is no constant: a table that is found in its module, patterns of owners, which are tried on
strangers' text in the reading process alone (and here only compiled), and an alternative of escaped words."""


class Use(NamedTuple):
    where: str
    pattern: re.Pattern[Any]
    method: str


def modules() -> Iterator[tuple[str, str]]:
    """Names and sources of those that use patterns."""
    for path in sorted(ROOT.rglob("*.py")):
        text = path.read_text()
        if re.search(r"^\s*(import re\b|from re\b)", text, re.MULTILINE):
            parts = path.relative_to(ROOT).with_suffix("").parts
            yield ".".join(("recrawl", *parts)).removesuffix(".__init__"), text


def calls_of_re(text: str) -> list[ast.Call]:
    return [
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in METHODS
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "re"
    ]


def within(value: Any, depth: int = 3) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif depth and isinstance(value, (list, tuple, set, frozenset, dict)):
        for each in [*value, *value.values()] if isinstance(value, dict) else value:
            yield from within(each, depth - 1)


def uses_in(name: str, text: str) -> tuple[list[Use], int]:
    """Patterns of a module with the methods they are used by, and how many calls could not be understood."""
    module = vars(importlib.import_module(name))
    found = []
    for variable, value in module.items():
        methods = set(re.findall(rf"\b{variable}\.({'|'.join(METHODS)})\b", text)) or {"search"}
        found += [Use(f"{name}.{variable}", pattern, method) for pattern in within(value) for method in methods]
    unknown = 0
    for call in calls_of_re(text):
        assert isinstance(call.func, ast.Attribute)
        if call.func.attr == "compile" and any(call.lineno == line for line in assigned(text)):
            continue
        try:
            pattern = eval(ast.unparse(call.args[0]), dict(module))
            flags = eval(next((ast.unparse(k.value) for k in call.keywords if k.arg == "flags"), "0"), dict(module))
        except NameError:
            unknown += 1
            continue
        found.append(Use(f"{name}:{call.lineno}", re.compile(pattern, flags), call.func.attr))
    return found, unknown


def assigned(text: str) -> set[int]:
    """Lines of `_NAME = re.compile(…)`: these are found by name."""
    return {
        node.value.lineno
        for node in ast.parse(text).body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
    }


# -- long strings


def sample(tree: Any) -> str:
    """A short string that the pattern matches, more or less."""
    return "".join(one(code, value) for code, value in tree)


def one(code: Any, value: Any) -> str:
    match code:
        case codes.LITERAL:
            return chr(value)
        case codes.NOT_LITERAL | codes.ANY:
            return "x"
        case codes.IN:
            return character(value)
        case codes.BRANCH:
            return sample(value[1][0])
        case codes.SUBPATTERN:
            return sample(value[3])
        case codes.ATOMIC_GROUP:
            return sample(value)
        case codes.MAX_REPEAT | codes.MIN_REPEAT | codes.POSSESSIVE_REPEAT:
            return sample(value[2]) * max(value[0], 1)
    return ""


def character(members: Any) -> str:
    """One of a set."""
    if members[0] == (codes.NEGATE, None):
        return "x"
    match members[0]:
        case (codes.LITERAL, value):
            return chr(value)
        case (codes.RANGE, (low, _)):
            return chr(low)
        case (codes.CATEGORY, codes.CATEGORY_SPACE):
            return " "
        case (codes.CATEGORY, codes.CATEGORY_DIGIT):
            return "0"
    return "x"


def starts(tree: Any, before: str = "") -> Iterator[str]:
    """What leads up to each repetition in a pattern."""
    for code, value in tree:
        match code:
            case codes.MAX_REPEAT | codes.MIN_REPEAT | codes.POSSESSIVE_REPEAT:
                yield before
                yield from starts(value[2], before)
            case codes.BRANCH:
                for branch in value[1]:
                    yield from starts(branch, before)
            case codes.SUBPATTERN:
                yield from starts(value[3], before)
            case codes.ATOMIC_GROUP:
                yield from starts(value, before)
        before += one(code, value)


def strings(pattern: re.Pattern[Any]) -> Iterator[tuple[str, str, str]]:
    """Beginning, what is repeated, and end."""
    text = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    tree = parser.parse(text, pattern.flags & ~re.UNICODE)
    whole = sample(tree)
    letters = dict.fromkeys([*whole[:20], *"a0 -.<#"])
    for beginning in dict.fromkeys(["", *starts(tree)]):
        for unit in filter(None, [*letters, whole, beginning]):
            for end in ("\x00", "\n\x00 \x00"):
                yield beginning, unit, end


def taken_s(use: Use, beginning: str, unit: str, end: str, length: int) -> float:
    text = beginning + unit * (length // len(unit)) + end
    fed: Any = text if isinstance(use.pattern.pattern, str) else text.encode("latin-1", "replace")
    began = time.process_time()
    match use.method:
        case "sub" | "subn":
            use.pattern.sub(fed[:0], fed)
        case "compile":
            use.pattern.search(fed)
        case "finditer":
            list(use.pattern.finditer(fed))
        case method:
            getattr(use.pattern, method)(fed)
    return time.process_time() - began


def try_one(use: Use) -> None:
    for parts in strings(use.pattern):
        if taken_s(use, *parts, LONG // 10) > SUSPECT_S and (taken := taken_s(use, *parts, LONG)) > LIMIT_S:
            print(f"slow: {use.where} {use.method} takes {taken:.1f} s for {parts}", flush=True)
            return


def try_all() -> None:
    for name, text in modules():
        if name not in OURS:
            for use in uses_in(name, text)[0]:
                print(f"trying: {use.where} {use.method}", flush=True)
                try_one(use)
    print("done", flush=True)


def test_every_pattern_takes_linear_time() -> None:
    try:
        ran = subprocess.run([sys.executable, __file__], capture_output=True, text=True, timeout=300, check=False)
        said = ran.stdout.splitlines()
        assert said, ran.stderr
    except subprocess.TimeoutExpired as hang:
        said = (hang.stdout or b"").decode().splitlines()
    assert [line for line in said if line.startswith("slow")] == []
    assert said[-1] == "done"
    assert len(said) > 60


def test_every_use_of_a_pattern_is_known() -> None:
    unknown = {name: count for name, text in modules() if (count := uses_in(name, text)[1])}
    assert unknown == MADE_AT_RUN_TIME


if __name__ == "__main__":
    try_all()
