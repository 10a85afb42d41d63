"""What others say has changed, and who tells us."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

import msgspec

from recrawl.store.records import Signal, Subscription
from recrawl.store.rows import LARGEST, mended
from recrawl.store.sql_push import WRITE, SqlSignals, SqlSubscriptions, admitted
from recrawl.store.sqlite.role import SqliteRole, SqliteStatements

# Numbers are never used again: a crawler that heard the one before does not take this one away.
_REPLACE = """
INSERT OR REPLACE INTO signals (source, at, came, by, proof)
SELECT id, :at, :came, :by, :proof FROM sources WHERE id = :source
"""


class SqliteSignals(SqliteRole, SqlSignals):
    """The signals of a store in one file."""

    def record_signals(self, signals: Sequence[Signal]) -> int:
        """Take in signals; how many counted."""
        if not signals:
            return 0
        with self._database.writing() as connection:
            given = [signal for signal in mended(list(signals)) if 0 < signal.source <= LARGEST]
            kept = admitted(SqliteStatements(connection), given)
            return sum(connection.execute(_REPLACE, msgspec.structs.asdict(signal)).rowcount for signal in kept)


class SqliteSubscriptions(SqliteRole, SqlSubscriptions):
    """The subscriptions of a store in one file."""

    def write_subscriptions(self, subscriptions: Sequence[Subscription]) -> None:
        """New ones, or what the crawler knows better of old ones."""
        if not subscriptions:
            return
        with self._database.writing() as connection:
            statements = SqliteStatements(connection)
            for each in mended(list(subscriptions)):
                statements.run(WRITE, *msgspec.structs.astuple(each))

    def forget_subscriptions(self, tokens: Sequence[str]) -> None:
        """They are over."""
        if tokens:
            with self._database.writing() as connection:
                connection.executemany("DELETE FROM subscriptions WHERE token = ?", [(token,) for token in tokens])


def take_away(connection: sqlite3.Connection, heard: Iterable[Signal]) -> None:
    """Signals that were learned from."""
    connection.executemany("DELETE FROM signals WHERE id = ?", [(signal.id,) for signal in heard])
