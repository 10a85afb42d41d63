"""Which of an owner's conditions a change of a page meets; a change that meets none does not count."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from recrawl.config.conditions import Condition, needs_a_number, parsed, version_of
from recrawl.crawl.reading.findings import Findings, Number
from recrawl.crawl.reading.number_history import History

NO_NUMBER = "a condition is about the number of this page, but no --number says which: every change of it counts"


def lacks_number(number: str, when: Sequence[str]) -> bool:
    """Whether nobody said which number conditions are about: they could never be met."""
    return not number and any(map(needs_a_number, when))


def met(when: Sequence[str], old: str, found: Findings, history: History) -> str:
    """The first condition that is met, as it was written; empty if none is.

    Parameters
        old: the text of the state before
        history: of the number, as it was before
    """
    return next((each for each in when if (said := parsed(each)) and _is_met(said, old, found, history)), "")


def standing(when: Sequence[str], found: Findings) -> tuple[tuple[str, str], ...]:
    """Of each condition, how things stand on a page that was read once: it is met by what comes after."""
    if found.kind != "page":
        return ()
    return tuple((each, _stands(said, found)) for each in when if (said := parsed(each)))


def _stands(said: Condition, found: Findings) -> str:
    if said.kind in ("appears", "disappears"):
        return "it is there now" if said.text.lower() in found.text.lower() else "it is not there now"
    if said.kind == "matches":
        return f"{len(found.matched)} of the lines match now" if found.matched else "no line matches now"
    if found.number is None:
        return "no number is found on this page: --number says which"
    return f"it is {found.number.said} now"


def _is_met(said: Condition, old: str, found: Findings, history: History) -> bool:
    if said.kind in ("appears", "disappears"):
        before, now = (said.text.lower() in text.lower() for text in (old, found.text))
        return (now and not before) if said.kind == "appears" else (before and not now)
    if said.kind == "matches":
        return _has_come(found.matched, old)
    if found.number is None:
        return False
    known = history.in_unit_of(found.number)
    if known.latest is None:
        return False
    return _moved(said, found.number, known.latest, known.latest if known.told is None else known.told)


def _has_come(lines: Sequence[str], old: str) -> bool:
    there: Collection[str] = set(old.split("\n")) if lines else ()
    return any(line not in there for line in lines)


def _moved(said: Condition, number: Number, before: float, told: float) -> bool:
    """Whether a number went where it was to go; `told` is what it was when somebody was told last."""
    now = number.value
    bound = version_of(said.text) if number.name == "version" else said.amount
    match said.kind:
        case "<":
            return now < bound <= before
        case ">":
            return now > bound >= before
        case "falls":
            return now < before
        case "rises":
            return now > before
        case "moves":
            return abs(now - told) >= bound
    return abs(now - told) >= abs(told) * said.amount / 100.0 and now != told
