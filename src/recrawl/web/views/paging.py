"""Lists that are shown a page at a time."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Paged:
    """Which page, from 1, and how many lines are on one."""

    page: int = 1
    limit: int

    @property
    def offset(self) -> int:
        """How many come before this page."""
        return (self.page - 1) * self.limit
