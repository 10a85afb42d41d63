"""What others say has changed, and who tells us."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from recrawl.store.postgres.connection import PostgresConnection
from recrawl.store.postgres.role import PostgresRole
from recrawl.store.postgres.rows import columns_of
from recrawl.store.records import Signal, Subscription
from recrawl.store.rows import fitting, mended
from recrawl.store.sql_push import WRITE, SqlSignals, SqlSubscriptions, admitted

# In the order of commits, as clicks are: two programs that record at once do not exceed the bounds together.
# Numbers are never used again: a crawler that heard the one before does not take this one away.
_TAKE_TURN = "SELECT value FROM counters WHERE name = 'signals' FOR UPDATE"
_INSERT = """
INSERT INTO signals (id, source, at, came, by, proof)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::double precision[], $4::double precision[], $5::varchar[],
    $6::varchar[])
ON CONFLICT (source, by, proof) DO UPDATE SET id = excluded.id, at = excluded.at, came = excluded.came
"""
# It stays when the source goes, so that somebody tells the hub.
_KEEP_BUCKET = """
UPDATE subscriptions SET bucket = sources.bucket FROM sources
WHERE sources.id = subscriptions.source AND sources.bucket IS NOT NULL AND subscriptions.token = ANY($1::varchar[])
"""


class PostgresSignals(PostgresRole, SqlSignals):
    """The signals of a store in PostgreSQL."""

    def record_signals(self, signals: Sequence[Signal]) -> int:
        """Take in signals; how many counted."""
        if not signals:
            return 0
        given = mended(list(signals))
        return self._connections.writing(lambda connection: _record(connection, given))


class PostgresSubscriptions(PostgresRole, SqlSubscriptions):
    """The subscriptions of a store in PostgreSQL."""

    def write_subscriptions(self, subscriptions: Sequence[Subscription]) -> None:
        """New ones, or what the crawler knows better of old ones."""
        given = mended(sorted(subscriptions, key=lambda each: each.token))

        def write(connection: PostgresConnection) -> None:
            for each in given:
                connection.run(WRITE, *msgspec.structs.astuple(each))
            connection.run(_KEEP_BUCKET, [each.token for each in given])

        if given:
            self._connections.writing(write)

    def forget_subscriptions(self, tokens: Sequence[str]) -> None:
        """They are over."""
        if tokens:
            self._write("DELETE FROM subscriptions WHERE token = ANY($1::varchar[])", list(tokens))


def take_away(connection: PostgresConnection, heard: Sequence[Signal]) -> None:
    """Signals that were learned from."""
    if heard:
        connection.run("DELETE FROM signals WHERE id = ANY($1)", sorted(signal.id for signal in heard))


def _record(connection: PostgresConnection, signals: Sequence[Signal]) -> int:
    last = int(connection.fetchval(_TAKE_TURN))
    wanted = sorted(fitting({signal.source for signal in signals}))
    rows = connection.fetch("SELECT id FROM sources WHERE id = ANY($1) ORDER BY id FOR KEY SHARE", wanted)
    there = {row[0] for row in rows}
    kept = admitted(connection, [signal for signal in signals if signal.source in there])
    taken = [(last + place, s.source, s.at, s.came, s.by, s.proof) for place, s in enumerate(kept, 1)]
    if taken:
        connection.run(_INSERT, *columns_of(taken, 6))
        connection.run("UPDATE counters SET value = $1 WHERE name = 'signals'", last + len(taken))
    return len(taken)
