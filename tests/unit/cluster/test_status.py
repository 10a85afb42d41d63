"""What is read off the status."""

from __future__ import annotations

from pathlib import Path

from a_fleet import fleet_status, put_up
from recrawl.cluster.status import STATUS, common_record
from recrawl.store.records import FLEET_RECORDS, Batch
from recrawl.store.sqlite import SqliteStore

NOW = 1.7e9


def test_what_is_common_to_the_catalogue_is_known_to_the_shards_of_a_fleet_at_work(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "recrawl.db") as store:
        assert common_record(store, NOW) is None
        put_up(store, fleet_status(NOW))
        assert common_record(store, NOW) is None
        store.write_note(FLEET_RECORDS + "shard-2", b"of a shard")
        assert common_record(store, NOW + 1000.0) == b"of a shard"
        store.commit(Batch(shared=b"of a crawler"))
        assert common_record(store, NOW) == b"of a shard"
        assert common_record(store, NOW + 1000.0) == b"of a crawler"
        store.write_note(STATUS, b"of another version")
        assert common_record(store, NOW) == b"of a crawler"
