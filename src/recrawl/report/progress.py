"""How long work tells its caller how far it is."""

from __future__ import annotations

from collections.abc import Callable

ProgressCallback = Callable[[str, float], None]
"""Called with what is being done and the share of it that is done, 0 when it starts and 1 when it ends."""


def silent(what: str, share: float) -> None:
    """Say nothing."""
