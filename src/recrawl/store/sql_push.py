"""Signals and subscriptions in SQL, as far as both databases answer to the same statement."""

from __future__ import annotations

from collections.abc import Sequence

from recrawl.store.records import Signal, Subscription
from recrawl.store.rows import columns, fitting, names, record_of
from recrawl.store.sql import SqlRole

_SELECT = f"SELECT {columns(Subscription)} FROM subscriptions"
_THEIRS = frozenset(("token", "confirmed", "until", "delivered"))
"""What the crawler does not write of a subscription that is there."""
WRITE = (
    f"INSERT INTO subscriptions ({columns(Subscription)}) VALUES "
    f"({', '.join(f'${place}' for place in range(1, len(names(Subscription)) + 1))}) ON CONFLICT (token) DO UPDATE SET "
    + ", ".join(f'"{name}" = excluded."{name}"' for name in names(Subscription) if name not in _THEIRS)
)


class SqlSignals(SqlRole):
    """What others say has changed."""

    def signals(self, limit: int = 1000, proof: str = "") -> list[Signal]:
        """Those that wait, oldest first; of those that need a proof, the ones with this."""
        statement = f"SELECT {columns(Signal)} FROM signals WHERE proof = $1 ORDER BY id LIMIT $2"
        return [record_of(Signal, row) for row in self._fetch(statement, proof, limit)]

    def proofs(self, limit: int = 100) -> list[str]:
        """What signals wait for that need a proof."""
        statement = "SELECT proof FROM signals WHERE proof <> '' GROUP BY proof ORDER BY min(id) LIMIT $1"
        return [row[0] for row in self._fetch(statement, limit)]


class SqlSubscriptions(SqlRole):
    """Subscriptions at hubs."""

    def subscription(self, token: str) -> Subscription | None:
        """By its token."""
        rows = self._fetch(f"{_SELECT} WHERE token = $1", token)
        return record_of(Subscription, rows[0]) if rows else None

    def subscriptions(
        self, *, sources: Sequence[int] | None = None, due: float | None = None, limit: int | None = None
    ) -> list[Subscription]:
        """Those of some sources, or those due by a time, the longest due first; all if neither is given."""
        most = "" if limit is None else f" LIMIT {int(limit)}"
        if sources is not None:
            rows = self._fetch(f"{_SELECT} WHERE {self._among('source')} ORDER BY token{most}", fitting(sources))
        elif due is not None:
            rows = self._fetch(f"{_SELECT} WHERE due <= $1 ORDER BY due, token{most}", due)
        else:
            rows = self._fetch(f"{_SELECT} ORDER BY token{most}")
        return [record_of(Subscription, row) for row in rows]

    def confirm_subscription(self, token: str, confirmed: float, until: float, due: float) -> None:
        """The hub has verified that it is meant."""
        self._write(
            "UPDATE subscriptions SET confirmed = $2, until = $3, due = $4, tries = 0, note = '' WHERE token = $1",
            token,
            confirmed,
            until,
            due,
        )

    def refuse_subscription(self, token: str, due: float, note: str) -> None:
        """The hub does not want to, and why."""
        self._write("UPDATE subscriptions SET until = 0, due = $2, note = $3 WHERE token = $1", token, due, note)

    def note_delivery(self, token: str, at: float) -> None:
        """Something signed came."""
        self._write("UPDATE subscriptions SET delivered = $2 WHERE token = $1", token, at)
