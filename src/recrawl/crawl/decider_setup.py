"""A decider and the policy of the settings, ready to go on where a store left off; and the same for whoever looks on.

Apart from `wiring`, because whoever looks on needs no network.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from copy import copy

import msgspec

from recrawl import policies
from recrawl.config import Config
from recrawl.config.live_policies import live_policy
from recrawl.crawl.decider import Decider
from recrawl.crawl.explaining.ranking import Ranking
from recrawl.crawl.fetching.politeness import HostSlots
from recrawl.crawl.hold_causes import Causes
from recrawl.crawl.roster import Records
from recrawl.crawl.visits import CrawlRules
from recrawl.policies.ab_policy import Split
from recrawl.policies.compile_ahead import go_on
from recrawl.policies.contract import LivePolicy
from recrawl.policies.learned_whittle import LearnedWhittle
from recrawl.policies.stored_state import Memory
from recrawl.store.records import Progress, Source
from recrawl.store.source_terms import Defaults

FLOOR_ROUNDS = 200.0
"""Sources that were given no maximum age have the usual one, stretched to so many rounds of the catalogue."""


def make_rules(config: Config) -> CrawlRules:
    """The settings that decisions rest on."""
    politeness = config.politeness
    return CrawlRules(
        min_interval_s=politeness.min_interval_s,
        backoff_s=politeness.backoff_s,
        max_backoff_s=politeness.max_backoff_s,
        parallel_per_host=politeness.parallel_per_host,
        hints=config.hints,
        ephemeral=config.objective == "ephemeral",
        discovery=config.discovery,
        defaults=Defaults.of(config),
        causes=Causes.of(config),
        log_s=config.retention.crawls_s,
    )


def make_policy(config: Config, name: str | None = None) -> LivePolicy:
    """The policy of the live program, or another by name, with the settings as far as it takes them."""
    return policies.live(
        name or config.policy,
        objective=config.objective,
        half_life=config.half_life_s,
        cold_start=config.newcomers_share,
        max_age=config.max_age_s,
        rounds=FLOOR_ROUNDS,
    )


def new_decider(
    config: Config, slots: HostSlots, split: Split | None = None, records: Records | None = None
) -> Decider:
    """One that knows nothing yet; with two policies at once if they are given.

    Lines of the catalogue and progress are read in `records`, if these have all of them.
    """
    if split is not None:
        return Decider(split, slots, make_rules(config), split.memory, records)
    policy = make_policy(config)
    memory = Memory({live_policy("policy", config.policy): policy})
    return Decider(policy, slots, make_rules(config), memory, records)


def recall(
    config: Config, sources: Sequence[Source], progress: Iterable[Progress], shared: bytes | None, now: float
) -> Ranking:
    """The policy as it stands in a store, for some sources: what a crawler that began now would think of them.

    `config` are the settings in force (:func:`recrawl.crawl.stored_settings.in_force`), `shared` the record of the
    catalogue as a whole (:func:`recrawl.cluster.status.common_record`). Nothing is claimed or written, and nobody
    waits for the crawler or the compiler. That somebody asked for a crawl at once is not considered.
    """
    decider = new_decider(config, HostSlots(config.politeness, now, random.Random(0)))
    unasked = [msgspec.structs.replace(source, wanted=0.0) if source.wanted else source for source in sources]
    if isinstance(decider.policy, LearnedWhittle):
        go_on(decider.policy, now, len(unasked))
    decider.load(unasked, map(copy, progress), shared, now)
    return Ranking(decider.policy, decider.roster.numbers)
