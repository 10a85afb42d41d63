"""Signals and subscriptions in SQL, as far as both databases answer to the same statement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from recrawl.store.records import PROOFS, PROOFS_PER_SITE, UNPROVEN, UNPROVEN_PER_SITE, Signal, Subscription
from recrawl.store.retention import Statements
from recrawl.store.rows import columns, fitting, names, record_of
from recrawl.store.sql import SqlRole

# From one proof to the next along the index: however many signals wait, there are few.
PROOFS_FOUND = """
WITH RECURSIVE found (proof) AS (
    SELECT min(proof) FROM signals WHERE proof > ''
    UNION ALL SELECT (SELECT min(proof) FROM signals WHERE proof > found.proof) FROM found WHERE found.proof IS NOT NULL
), waiting AS (
    SELECT proof, (SELECT min(id) FROM signals WHERE signals.proof = found.proof) AS first
    FROM found WHERE proof IS NOT NULL
)
"""
_OF_SITE = "SELECT count(*) FROM signals WHERE proof >= $1 AND proof < $2"
_UNPROVEN = "SELECT count(*) FROM signals WHERE proof > ''"

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
        statement = f"{PROOFS_FOUND} SELECT proof FROM waiting ORDER BY first LIMIT $1"
        return [row[0] for row in self._fetch(statement, limit)]

    def drop_unproven(self, before: float) -> None:
        """Let go of signals that came before a time and still need a proof."""
        self._write("DELETE FROM signals WHERE proof > '' AND came < $1", before)


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


def admitted(statements: Statements, signals: Sequence[Signal]) -> list[Signal]:
    """The latest signal per source, sender and proof, without those that wait for proofs there is no room for."""
    latest = {(each.source, each.by, each.proof): each for each in signals}
    sizes = Counter(each.proof for each in latest.values() if each.proof)
    full = {proof for proof, size in sizes.items() if not _has_room(statements, proof, size)}
    return [each for each in latest.values() if each.proof not in full]


def _has_room(statements: Statements, proof: str, size: int) -> bool:
    site = "/".join(proof.split("/", 3)[:3]) + "/"
    proofs = {row[0] for row in statements.fetch(f"{PROOFS_FOUND} SELECT proof FROM waiting")} - {proof}
    of_site = sum(each.startswith(site) for each in proofs)
    if len(proofs) >= PROOFS or of_site >= PROOFS_PER_SITE:
        return False
    there = statements.fetch(_OF_SITE, site, site[:-1] + "0")[0][0]  # in ASCII, 0 comes after the slash
    return there + size <= UNPROVEN_PER_SITE and statements.fetch(_UNPROVEN)[0][0] + size <= UNPROVEN
