"""Settings: one `recrawl.toml`, read whole or refused with the line that is wrong.

An empty file, or none, is a valid one. `settings` holds the structs, `loading` reads a file into them, `checks` has the
rules, `words` says in one sentence what each setting is for.
"""

from recrawl.config.loading import load
from recrawl.config.quiet import QuietHours, quiet_until
from recrawl.config.settings import (
    Config,
    Discovery,
    Fetching,
    HintSwitches,
    ObjectiveName,
    Outlets,
    Pages,
    Politeness,
    Retention,
    Scope,
    Web,
)

__all__ = [
    "Config",
    "Discovery",
    "Fetching",
    "HintSwitches",
    "ObjectiveName",
    "Outlets",
    "Pages",
    "Politeness",
    "QuietHours",
    "Retention",
    "Scope",
    "Web",
    "load",
    "quiet_until",
]
