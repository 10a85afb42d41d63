"""Events, how far each outlet has got with them, and the notes of programs."""

from __future__ import annotations

from recrawl.store.sql import SqlEvents
from recrawl.store.sqlite.role import SqliteRole

# The largest number ever given, also when its event is gone.
_LAST = "coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'events'), 0)"


class SqliteEvents(SqliteRole, SqlEvents):
    """The events and notes of a store in one file."""

    def advance(self, outlet: str, seq: int) -> None:
        """An outlet has delivered everything up to here."""
        statement = "INSERT INTO outlets VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET seq = max(seq, excluded.seq)"
        self._write(statement, outlet, seq)

    def _introduce(self, outlet: str) -> None:
        if not self._database.read_only:
            self._write(f"INSERT OR IGNORE INTO outlets VALUES ($1, {_LAST})", outlet)

    def _last_seq(self) -> int:
        return int(self._fetch(f"SELECT {_LAST}")[0][0])
