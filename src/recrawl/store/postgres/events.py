"""Events, how far each outlet has got with them, and the notes of programs."""

from __future__ import annotations

from recrawl.store.postgres.role import PostgresRole
from recrawl.store.postgres.rows import digest
from recrawl.store.sql import SqlEvents

# The largest number ever given, also when its event is gone; all up to it can be seen.
_LAST = "SELECT value FROM counters WHERE name = 'events'"


class PostgresEvents(PostgresRole, SqlEvents):
    """The events and notes of a store in PostgreSQL."""

    def advance(self, outlet: str, seq: int) -> None:
        """An outlet has delivered everything up to here."""
        statement = (
            "INSERT INTO outlets AS known VALUES ($1, $2, $3) "
            "ON CONFLICT (digest) DO UPDATE SET seq = greatest(known.seq, excluded.seq)"
        )
        self._write(statement, outlet, seq, digest(outlet))

    def _introduce(self, outlet: str) -> None:
        if not self._connections.read_only:
            statement = f"INSERT INTO outlets VALUES ($1, ({_LAST}), $2) ON CONFLICT (digest) DO NOTHING"
            self._write(statement, outlet, digest(outlet))

    def _last_seq(self) -> int:
        return int(self._fetch(_LAST)[0][0])
