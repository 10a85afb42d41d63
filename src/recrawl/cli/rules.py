"""`recrawl rules`: what is to be done with items by what they say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from recrawl.cli.options import json_option, opened_store, settings, store_options
from recrawl.cli.suggestions import Suggesting

if TYPE_CHECKING:
    from recrawl.config.item_rules import ItemRule
    from recrawl.store.roles import Store

ACTS, FIELDS = ("block", "keep", "star", "tag"), ("any", "title", "content", "author", "link")


@click.group(name="rules", cls=Suggesting, short_help="Keep, block, tag or star items by what they say.")
def command() -> None:
    """Keep, block, tag or star items by what they say.

    A blocked item is not stored, unless another rule keeps it. Tags and stars are given for everybody who reads the
    source. Rules act on what is found from now on; a running crawler takes them over within seconds.
    """


@command.command(name="add", short_help="Add a rule; --try says only what it would have done.")
@click.argument("act", type=click.Choice(ACTS))
@click.argument("words")
@click.option("--in", "field", type=click.Choice(FIELDS), default="any", show_default=True, help="Where to look.")
@click.option("--source", "target", metavar="TARGET", help="Only items of this source: id, URL or part of it.")
@click.option("--tag", metavar="T", help="Only items of sources with this tag.")
@click.option("--label", default="", metavar="NAME", help="What to tag with.")
@click.option("--try", "only_try", is_flag=True, help="Save nothing.")
@json_option
@store_options
def add(
    act: str, words: str, field: str, target: str | None, tag: str | None, label: str, only_try: bool, as_json: bool
) -> None:
    """Add a rule, and say what it would have done to the 5,000 items found last.

    WORDS are looked for in any case; /WORDS/ is a regular expression.
    """
    from recrawl.cli.tables import write_json
    from recrawl.cli.targets import find_source, find_tag
    from recrawl.config.item_rules import ItemRule
    from recrawl.crawl.catalogue.rule_history import tried
    from recrawl.crawl.item_rules_note import add_rule
    from recrawl.crawl.reading.plain_text import clean

    with opened_store(settings()) as store:
        source = 0 if target is None else find_source(store, target).id
        tag = find_tag(store, tag) or ""
        rule = ItemRule(act=act, field=field, words=words, source=source, tag=tag, label=label)  # type: ignore[arg-type]
        trial = tried(store, rule)
        kept = None if only_try else add_rule(store, rule)
    if as_json:
        write_json({"rule": None if kept is None else kept.id, "matched": trial.hit, "of": trial.of,
                    "latest": [item.title for item in trial.items]})  # fmt: skip
        return
    click.echo(trial.words if kept is None else f"rule {kept.id}: {trial.words}")
    for item in trial.items:
        click.echo(f"  {clean(item.title, 100) or clean(item.link, 100)}")


@command.command(name="list", short_help="List the rules.")
@json_option
@store_options
def list_rules(as_json: bool) -> None:
    """List the rules."""
    from recrawl.cli.console import console
    from recrawl.cli.tables import table, write_json
    from recrawl.crawl.item_rules_note import read_rules

    with opened_store(settings()) as store:
        rules = read_rules(store)
        rows = [(str(rule.id), rule.act, rule.label, rule.words, rule.field, _about(store, rule)) for rule in rules]
    if as_json:
        write_json([{name: getattr(rule, name) for name in rule.__struct_fields__} for rule in rules])
    elif rows:
        table(console(), ("id", "does", "label", "words", "in", "of"), rows, elastic=3, right=(0,))
    else:
        click.echo("no rules; recrawl rules add block WORDS makes one")


@command.command(name="remove", short_help="Remove a rule.")
@click.argument("id", type=click.IntRange(min=1))
@store_options
def remove(id: int) -> None:
    """Remove a rule. What it blocked stays away for as long as its source lists it."""
    from recrawl.crawl.item_rules_note import remove_rule

    with opened_store(settings()) as store:
        gone = remove_rule(store, id)
    click.echo(f"rule {gone.id} removed: {gone.act} {gone.words}")


def _about(store: Store, rule: ItemRule) -> str:
    from recrawl.cli.options import name_of

    source = store.source(rule.source) if rule.source else None
    if rule.source:
        return name_of(source, 60) if source is not None else f"source {rule.source}, which is gone"
    return f"tag {rule.tag}" if rule.tag else "all"
