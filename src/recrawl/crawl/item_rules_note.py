"""The owner's rules about items, kept in the store for the crawler and for those who change them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec
import structlog

from recrawl.clock import Clock
from recrawl.config.item_rules import MOST_RULES, ItemRule, checked_rule
from recrawl.errors import ParameterError, StoreError
from recrawl.store.roles import Notes

NOTE = "reading/rules"
Rules = tuple[ItemRule, ...]


def read_rules(store: Notes) -> tuple[ItemRule, ...]:
    """All of them, in the order they were made; none where another version wrote what nobody understands."""
    said = store.note(NOTE)
    try:
        return msgspec.json.decode(said, type=tuple[ItemRule, ...]) if said else ()
    except msgspec.MsgspecError:
        return ()


def add_rule(store: Notes, rule: ItemRule) -> ItemRule:
    """Keep another one; with the number it has now."""
    rules = read_rules(store)
    if len(rules) >= MOST_RULES:
        raise ParameterError("rules", f"at most {MOST_RULES}", "another one")
    kept = msgspec.structs.replace(checked_rule(rule), id=max((each.id for each in rules), default=0) + 1)
    _write(store, (*rules, kept))
    return kept


def remove_rule(store: Notes, id: int) -> ItemRule:
    """Forget one; what was blocked stays away for as long as its source lists it."""
    rules = read_rules(store)
    gone = next((each for each in rules if each.id == id), None)
    if gone is None:
        raise ParameterError("rule", "the number of a rule", id)
    _write(store, tuple(each for each in rules if each.id != id))
    return gone


def _write(store: Notes, rules: tuple[ItemRule, ...]) -> None:
    store.write_note(NOTE, msgspec.json.encode(rules) if rules else None)


async def follow_rules(
    ask: Callable[[Callable[[Notes], Rules]], Awaitable[Rules]],
    clock: Clock,
    every_s: float,
    take: Callable[[Rules], None],
) -> None:
    """Hand on the rules as somebody changes them, again and again."""
    log = structlog.get_logger("recrawl")
    while True:
        try:
            take(await ask(read_rules))
        except StoreError as error:
            log.warning("the rules about items could not be read", reason=str(error))
        await clock.sleep(every_s)
