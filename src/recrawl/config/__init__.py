"""Settings: one `recrawl.toml`, read whole or refused with the line that is wrong.

An empty file, or none, is a valid one. `settings` holds the structs, `loading` reads a file into them, `checks` has the
rules, `setting_descriptions` says in one sentence what each setting is for.
"""

from recrawl.config.loading import load
from recrawl.config.quiet_hours import QuietHours, active_from, quiet_until
from recrawl.config.settings import (
    Browsing,
    Config,
    Discovery,
    Fetching,
    HintSwitches,
    ObjectiveName,
    Outlets,
    Pages,
    Politeness,
    Push,
    Retention,
    Scope,
    Web,
)
from recrawl.config.source_options import SourceOptions, TagSettings

__all__ = [
    "Browsing",
    "Config",
    "Discovery",
    "Fetching",
    "HintSwitches",
    "ObjectiveName",
    "Outlets",
    "Pages",
    "Politeness",
    "Push",
    "QuietHours",
    "Retention",
    "Scope",
    "SourceOptions",
    "TagSettings",
    "Web",
    "active_from",
    "load",
    "quiet_until",
]
