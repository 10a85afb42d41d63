"""What goes wrong around a server, and what the store in PostgreSQL says and does about it."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

import postgres
from recrawl.crawl.hold_causes import PUBLISHER, SERVER
from recrawl.errors import StoreError, StoreFullError, StoreTakenError
from recrawl.store.records import Batch, Crawl, Event, Hold, Item, Progress, Robots, Source, VisitUpdate

pytest.importorskip("psycopg")

import psycopg
from psycopg.adapt import PyFormat

from recrawl.store import upgrading
from recrawl.store.postgres import PostgresStore, migrations, rows, search
from recrawl.store.postgres.address import parsed
from recrawl.store.postgres.connection import PostgresConnection, PostgresPool
from recrawl.store.postgres.error_messages import meaning
from recrawl.store.postgres.migrations import steps


@pytest.fixture
def server() -> postgres.Server:
    return postgres.server()


@pytest.fixture
def url(server: postgres.Server) -> str:
    return server.url()


@pytest.fixture
def fragile() -> Iterator[postgres.Server]:
    """A server that a test may stop."""
    made = postgres.new_server()
    yield made
    made.remove()


def schema(url: str) -> str:
    return parsed(url).schema


def batch(source: int = 1, number: int = 1, items: int = 2) -> Batch:
    made = [Item(source=source, key=1000 * number + k, title=f"n{number}", first_seen=1.0) for k in range(items)]
    crawl = Crawl(source=source, at=float(number), outcome="new")
    events = [Event(at=1.0, body=b"%d" % number)] * items
    return Batch(updates=[VisitUpdate(crawl=crawl, progress=Progress(source=source), items=made, events=events)])


def settled(call: Callable[[], object]) -> None:
    """A call just after a connection was cut, which may or may not have been noticed yet."""
    with suppress(StoreError):
        call()


class TestAddresses:
    @pytest.mark.parametrize(
        "url",
        [
            "postgresql://me:geheim@127.0.0.1/db",
            "postgresql://127.0.0.1/db?user=me&password=geheim",
            "postgres://127.0.0.1/db?PASSWORD=geheim",
            "postgresql://:geheim@/db",
        ],
    )
    def test_a_password_is_refused_and_not_repeated(self, url: str) -> None:
        with pytest.raises(StoreError, match="PGPASSWORD") as caught:
            PostgresStore(url)
        assert "geheim" not in str(caught.value)

    @pytest.mark.parametrize("url", ["postgresql://h:port/db", "postgresql://h/db?schema", "postgresql://[::1/db"])
    def test_what_is_no_address_is_refused(self, url: str) -> None:
        with pytest.raises(StoreError, match="postgresql://"):
            PostgresStore(url)

    @pytest.mark.parametrize("name", ["", "A", "a-b", 'a"; DROP SCHEMA public; --', "pg_mine", "x" * 64])
    def test_strange_schemas_are_refused(self, name: str) -> None:
        with pytest.raises(StoreError, match="schema"):
            parsed(f"postgresql://h/db?schema={name}")

    def test_unknown_settings_are_the_servers_to_refuse(self, server: postgres.Server) -> None:
        with pytest.raises(StoreError, match="nonsense"):
            PostgresStore(server.url() + "&nonsense=1")


class TestServersThatRefuse:
    def test_nobody_there(self) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        with pytest.raises(StoreError, match="does not answer"):
            PostgresStore(f"postgresql://recrawl@127.0.0.1:{port}/db")

    def test_a_host_that_is_not_there(self) -> None:
        with pytest.raises(StoreError, match="does not answer"):
            PostgresStore("postgresql://recrawl@no.such.host.invalid/db")

    def test_no_such_database(self, server: postgres.Server) -> None:
        with pytest.raises(StoreError, match="createdb"):
            PostgresStore(server.url(database="nowhere"))

    def test_passwords_come_from_the_environment_or_a_file(
        self, server: postgres.Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        server.sql("DROP ROLE IF EXISTS guarded")
        server.sql("CREATE ROLE guarded SUPERUSER LOGIN PASSWORD 'right'")
        url = server.url(user="guarded")
        monkeypatch.delenv("PGPASSWORD", raising=False)
        monkeypatch.setenv("PGPASSFILE", str(tmp_path / "pass"))
        with pytest.raises(StoreError, match="PGPASSWORD"):
            PostgresStore(url)
        monkeypatch.setenv("PGPASSWORD", "wrong")
        with pytest.raises(StoreError, match="refused the user or the password") as caught:
            PostgresStore(url)
        assert "wrong" not in str(caught.value)
        monkeypatch.setenv("PGPASSWORD", "right")
        PostgresStore(url).close()
        monkeypatch.delenv("PGPASSWORD")
        (tmp_path / "pass").write_text(f"127.0.0.1:{server.port}:*:guarded:right\n")
        (tmp_path / "pass").chmod(0o600)
        with PostgresStore(url) as store:
            assert "right" not in repr(store)

    @pytest.mark.parametrize(
        ("said", "meant"),
        [
            ("sorry, too many clients already", "no connections left"),
            ("remaining connection slots are reserved for roles with the SUPERUSER attribute", "no connections left"),
            ("the database system is starting up", "starting or stopping"),
            ('role "nobody" does not exist', "refused the user"),
            ('no pg_hba.conf entry for host "127.0.0.1", user "me", database "news"', "refused the user"),
            ('database "password" does not exist', "createdb"),
            ("server closed the connection unexpectedly", "does not answer, or went away"),
        ],
    )
    def test_a_refused_connection_is_explained_by_the_words_of_the_server(self, said: str, meant: str) -> None:
        error = psycopg.OperationalError(f'connection to server at "db", port 5432 failed: FATAL:  {said}')
        assert meant in meaning(error)

    def test_a_user_who_may_not(self, server: postgres.Server, url: str) -> None:
        server.sql("DROP ROLE IF EXISTS humble")
        server.sql("CREATE ROLE humble LOGIN")
        with pytest.raises(StoreError, match="may not"):
            PostgresStore(server.url(user="humble"))
        with PostgresStore(url) as store:
            store.add([Source(url="u")])
        server.sql(f"GRANT USAGE ON SCHEMA {schema(url)} TO humble")
        server.sql(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema(url)} TO humble")
        with PostgresStore(url.replace("recrawl@", "humble@")) as store:
            assert store.count() == 1
            with pytest.raises(StoreError, match="may not"):
                store.add([Source(url="v")])

    def test_a_database_in_another_encoding(self, server: postgres.Server) -> None:
        server.sql("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 LOCALE 'C'")
        with pytest.raises(StoreError, match="UTF8"):
            PostgresStore(server.url(database="latin"))


class TestSchemas:
    def test_one_of_another_program_is_refused_untouched(self, server: postgres.Server, url: str) -> None:
        server.sql(f"CREATE SCHEMA {schema(url)}; CREATE TABLE {schema(url)}.theirs (x int)")
        for read_only in (False, True):
            with pytest.raises(StoreError, match="another program"):
                PostgresStore(url, read_only=read_only)
        tables = f"SELECT string_agg(tablename, ',') FROM pg_tables WHERE schemaname = '{schema(url)}'"
        assert server.sql(tables) == "theirs"

    def test_a_newer_one_is_refused(self, server: postgres.Server, url: str) -> None:
        PostgresStore(url).close()
        server.sql(f"INSERT INTO {schema(url)}.migrations VALUES ({len(steps()) + 1})")
        for read_only in (False, True):
            with pytest.raises(StoreError, match="newer recrawl"):
                PostgresStore(url, read_only=read_only)

    def test_an_older_one_is_not_for_reading_only(self, server: postgres.Server, url: str) -> None:
        with pytest.raises(StoreError, match="no store"):
            PostgresStore(url, read_only=True)
        PostgresStore(url).close()
        server.sql(f"DELETE FROM {schema(url)}.migrations WHERE number = {len(steps())}")
        with pytest.raises(StoreError, match=r"older|no store"):
            PostgresStore(url, read_only=True)

    def test_that_a_large_one_is_upgraded_is_said_when_it_begins_and_never_again(
        self, url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        monkeypatch.setattr(upgrading, "LARGE_BYTES", 1)
        with monkeypatch.context() as older:
            older.setattr(migrations, "steps", lambda: steps()[:4])
            PostgresStore(url).close()
        assert caplog.messages == []
        for _ in range(2):
            PostgresStore(url).close()
        (said,) = caplog.messages
        assert f"upgrading from schema 4 to {len(steps())}, " in said

    def test_one_that_has_no_room_to_be_upgraded_stays_as_it_was_and_says_so(
        self, url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        PostgresStore(url).close()
        full = "DO $$ BEGIN RAISE EXCEPTION 'full' USING ERRCODE = '53100'; END $$"
        with monkeypatch.context() as newer:
            newer.setattr(migrations, "steps", lambda: (*steps(), "CREATE TABLE copied (x int)", full))
            with pytest.raises(StoreFullError, match=rf"to upgrade it from schema {len(steps())} to .*it is as it was"):
                PostgresStore(url)
        PostgresStore(url).close()

    def test_changes_of_an_older_one_are_found_by_what_is_new_in_them(
        self, server: postgres.Server, url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with monkeypatch.context() as older:
            older.setattr(migrations, "steps", lambda: steps()[:4])
            PostgresStore(url).close()
        name = schema(url)
        server.sql(
            f'INSERT INTO {name}.sources (url, kind, title, tags, headers, "select", state, note, memo, revision, '
            "digest) VALUES ('https://p/', 'page', 'Prices', '', '', '', 'active', '', '', 1, 'x')"
        )
        versions = f"INSERT INTO {name}.versions (source, at, digest, text, diff) VALUES (1, {{}}, 'd', '', E'{{}}')"
        for at, diff in ((1, ""), (2, r"@@ -1,1 +1,2 @@\n same\n-plums\n+apples 3\n+pears"), (3, "-gone")):
            server.sql(versions.format(at, diff))
        with PostgresStore(url) as store:
            gone, changed = store.items(kind="change")
            assert (changed.title, changed.link, changed.first_seen) == ("Prices", "https://p/", 2.0)
            assert (changed.summary, gone.summary) == ("apples 3\npears", "")
            assert store.diffs([gone])[gone.id] == "-gone"
            assert [each.id for each in store.items(text="pears prices")] == [changed.id]
            assert store.items(text="plums") == []

    def test_what_publishers_asked_for_is_known_in_an_older_one(
        self, server: postgres.Server, url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with monkeypatch.context() as older:
            older.setattr(migrations, "steps", lambda: steps()[:6])
            PostgresStore(url).close()
        name = schema(url)
        for number, words in enumerate(("the publisher asks to stay away", "the server asks to stay away", "other"), 1):
            server.sql(
                f'INSERT INTO {name}.sources (url, kind, title, tags, headers, "select", state, note, memo, revision, '
                f"digest) VALUES ('https://p/{number}', 'feed', '', '', '', '', 'active', '', '', 1, 'x{number}')"
            )
            server.sql(f"INSERT INTO {name}.progress (source, held_until, held_by) VALUES ({number}, 9, '{words}')")
        with PostgresStore(url) as store:
            assert [each.held_cause for each in store.progress()] == [PUBLISHER, SERVER, ""]

    def test_many_may_open_a_new_one_at_once(self, url: str) -> None:
        with ThreadPoolExecutor(6) as pool:
            stores = list(pool.map(lambda _: PostgresStore(url), range(6)))
        assert [store.add([Source(url="u")])[0].id for store in stores] == [1] * 6
        for store in stores:
            store.close()

    def test_for_reading_only_nothing_is_written(self, url: str) -> None:
        with PostgresStore(url) as store:
            store.add([Source(url="u")])
            store.commit(batch())
            with PostgresStore(url, read_only=True) as reader:
                assert reader.count() == 1
                assert reader.cursor("new") == 2
                for write in (
                    lambda: reader.add([Source(url="v")]),
                    lambda: reader.commit(Batch()),
                    lambda: reader.claim("me", 0.0),
                ):
                    with pytest.raises(StoreError, match="reading only"):
                        write()

    def test_a_dropped_table_is_named_as_such(self, server: postgres.Server, url: str) -> None:
        with PostgresStore(url) as store:
            server.sql(f"DROP TABLE {schema(url)}.prices")
            with pytest.raises(StoreError, match="missing"):
                store.prices(0.0)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("bigint", [1, None, -(2**63), 2**63 - 1]),
        ("integer", [1, 2]),
        ("double precision", [1, None, 2.5]),
        ("double precision", [2.5, 1, float("inf")]),
        ("double precision", [1, 2]),
        ("boolean", [None, True, False]),
        ("bytea", [b"", None, b"\0\xff"]),
        ("varchar", ["", None, "NULL", 'a"{,}', "a\0b\ufffe"]),
        ("bigint", [None, None]),
        ("bytea", []),
    ],
)
def test_columns_of_any_kind_come_back_as_they_were_sent(url: str, kind: str, values: list[object]) -> None:
    with PostgresStore(url) as store:
        assert store._connections.reading(lambda c: c.fetchval(f"SELECT $1::{kind}[]", values)) == values


def test_the_driver_asks_our_dumper_for_what_a_list_is_made_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """It overrides a method of the driver that is not public: were that renamed, only the speed would tell."""
    asked = []
    find = rows._ListDumper._find_list_element

    def noted(self: rows._ListDumper, values: list[object], format: PyFormat) -> object:
        asked.append(values)
        return find(self, values, format)

    monkeypatch.setattr(rows._ListDumper, "_find_list_element", noted)
    psycopg.adapt.Transformer(rows.ADAPTERS).dump_sequence([[1, 2.5]], [PyFormat.BINARY])
    assert [1, 2.5] in asked


class TestFailures:
    def test_a_full_disk_keeps_nothing_of_the_write_and_passes(self, server: postgres.Server, url: str) -> None:
        name = schema(url)
        with PostgresStore(url) as store:
            store.add([Source(url="u")])
            server.sql(
                f"CREATE FUNCTION {name}.no_room() RETURNS trigger LANGUAGE plpgsql AS "
                "$$BEGIN RAISE EXCEPTION 'no space left on device' USING ERRCODE = 'disk_full'; END$$;"
                f"CREATE TRIGGER no_room BEFORE INSERT ON {name}.events EXECUTE FUNCTION {name}.no_room()"
            )
            with pytest.raises(StoreFullError, match="no space left"):
                store.commit(batch())
            assert store.items() == store.crawls() == []
            server.sql(f"DROP TRIGGER no_room ON {name}.events")
            store.commit(batch())
            assert len(store.items()) == 2

    def test_silence_ends_a_call_and_not_the_store(self, url: str) -> None:
        PostgresStore(url).close()
        connections = PostgresPool(parsed(url), read_only=False, timeout_s=0.3)
        try:
            for call in (connections.reading, connections.writing):
                with pytest.raises(StoreError, match=r"did not answer in 0\.3 s"):
                    call(lambda connection: connection.run("SELECT pg_sleep(30)"))
                assert call(lambda connection: connection.fetchval("SELECT 1")) == 1
        finally:
            connections.close()

    def test_a_cut_connection_is_replaced(self, server: postgres.Server, url: str) -> None:
        with PostgresStore(url) as store:
            store.add([Source(url="u")])
            server.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'recrawl'")
            settled(store.count)
            assert store.count() == 1
            store.commit(batch())

    def test_a_server_that_stops_and_starts(self, fragile: postgres.Server) -> None:
        with PostgresStore(fragile.url()) as store:
            store.add([Source(url="u")])
            store.claim("me", 0.0)
            store.commit(batch(number=1))
            fragile.stop(signal.SIGINT)
            for _ in range(2):
                with pytest.raises(StoreError, match="does not answer, or went away"):
                    store.commit(batch(number=2))
            with pytest.raises(StoreError, match="does not answer, or went away"):
                store.items()
            fragile.start()
            store.commit(batch(number=3))
            assert [item.title for item in store.items()] == ["n3", "n3", "n1", "n1"]
            assert "me" in str(store.claimed())

    def test_a_batch_whose_commit_was_not_heard_of_is_written_once(self, server: postgres.Server, url: str) -> None:
        with PostgresStore(url) as store:
            store.add([Source(url="u")])
            given = batch()
            writing = store._connections.writing

            def unheard(work: object) -> None:
                writing(work)  # type: ignore[arg-type]
                raise StoreError("the server went away")

            store._connections.writing = unheard  # type: ignore[method-assign,assignment]
            with pytest.raises(StoreError, match="went away"):
                store.commit(given)
            store._connections.writing = writing  # type: ignore[method-assign]
            store.commit(given)
            assert len(store.crawls()) == 1
            assert len(store.events(0)) == 2
            store.commit(given)
            assert len(store.crawls()) == 2

    def test_a_batch_that_failed_is_written_when_given_again(self, url: str) -> None:
        with PostgresStore(url) as store:
            store.add([Source(url="u")])
            given = batch()
            given.updates[0].items[0].key = 2**80
            for _ in range(2):
                with pytest.raises(StoreError, match="does not fit"):
                    store.commit(given)
            given.updates[0].items[0].key = 1
            store.commit(given)
            assert len(store.crawls()) == 1

    def test_closing_while_the_server_is_away(self, fragile: postgres.Server) -> None:
        """It neither raises nor waits for the server."""
        store = PostgresStore(fragile.url())
        store.claim("me", 0.0)
        fragile.stop()
        store.close()

    def test_closing_ends_calls_under_way(self, url: str) -> None:
        store = PostgresStore(url)
        began = threading.Event()

        def sleep(connection: object) -> None:
            began.set()
            connection.run("SELECT pg_sleep(30)")  # type: ignore[attr-defined]

        with ThreadPoolExecutor(1) as pool:
            call = pool.submit(store._connections.reading, sleep)
            began.wait(10)
            store.close()
            with pytest.raises(StoreError, match="closed"):
                call.result(10)

    @pytest.mark.parametrize("call", ["reading", "writing"])
    def test_a_call_that_waited_while_the_store_was_closed_does_nothing(self, url: str, call: str) -> None:
        """Neither by a connection that was kept nor by a new one."""
        store, done = PostgresStore(url), []

        class Turn:
            """It comes after the store was closed."""

            def __enter__(self) -> None:
                store.close()

            def __exit__(self, *exception: object) -> None:
                pass

        store._connections._free = Turn()  # type: ignore[assignment]
        with pytest.raises(StoreError, match="is closed"):
            getattr(store._connections, call)(done.append)
        assert done == []

    def test_a_connection_made_while_the_store_was_closed_is_not_used(
        self, url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store, made, done = PostgresStore(url), [], []
        connect = PostgresConnection.connect

        def meanwhile(*given: object, **more: object) -> PostgresConnection:
            made.append(connect(*given, **more))  # type: ignore[arg-type]
            store.close()
            return made[-1]

        monkeypatch.setattr(PostgresConnection, "connect", meanwhile)
        for connection in store._connections._idle:
            connection.close()
        with pytest.raises(StoreError, match="is closed"):
            store._connections.writing(done.append)
        assert done == []
        assert [connection.closed for connection in made] == [True]


class TestOwners:
    def test_a_claim_dies_with_its_process(self, url: str) -> None:
        program = (
            "import sys, signal; from recrawl.store.postgres import PostgresStore; "
            f"store = PostgresStore({url!r}); store.claim('victim', 0.0); print('claimed', flush=True); signal.pause()"
        )
        victim = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
        try:
            assert victim.stdout is not None
            assert victim.stdout.readline() == "claimed\n"
            with PostgresStore(url) as store:
                with pytest.raises(StoreError, match=rf"victim \(process {victim.pid}"):
                    store.claim("heir", 1.0)
                os.kill(victim.pid, signal.SIGKILL)
                victim.wait(10)
                store.claim("heir", 2.0)
        finally:
            victim.kill()
            victim.wait(10)
            if victim.stdout:
                victim.stdout.close()

    def test_a_claim_does_not_live_on_in_a_forked_child(self, url: str) -> None:
        program = (
            "import os, signal\n"
            "from recrawl.errors import StoreError\n"
            "from recrawl.store.postgres import PostgresStore\n"
            f"store = PostgresStore({url!r}); store.claim('parent', 0.0)\n"
            "child = os.fork()\n"
            "if child:\n"
            "    store.count(); os.write(1, b'%d\\n' % child); signal.pause()\n"
            "try:\n"
            "    store.count()\n"
            "except StoreError as error:\n"
            "    os.write(1, f'{error}\\n'.encode())\n"
            "store.close(); signal.pause()\n"
        )
        parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
        assert parent.stdout is not None
        said = sorted([parent.stdout.readline(), parent.stdout.readline()])
        child = next((int(line) for line in said if line.strip().isdigit()), 0)
        assert child, said
        try:
            assert any("forked" in line for line in said)
            with PostgresStore(url) as store:
                with pytest.raises(StoreError, match="parent"):
                    store.claim("heir", 1.0)
                parent.kill()
                parent.wait(10)
                store.claim("heir", 2.0)
        finally:
            os.kill(child, signal.SIGKILL)
            parent.kill()
            parent.wait(10)
            parent.stdout.close()

    def test_one_that_lost_its_claim_can_write_no_more(self, server: postgres.Server, url: str) -> None:
        with PostgresStore(url) as slow, PostgresStore(url) as quick:
            slow.add([Source(url="u")])
            slow.claim("slow", 0.0)
            slow.commit(batch(number=1))
            holder = f"SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND {_lock(url)}"
            server.sql(holder)
            quick.claim("quick", 1.0)
            with pytest.raises(StoreError, match="quick"):
                slow.commit(batch(number=2))
            quick.release()
            with pytest.raises(StoreTakenError, match="passed to quick"):
                slow.commit(batch(number=3))
            assert {item.title for item in quick.items()} == {"n1"}
            slow.release()
            slow.claim("slow", 2.0)
            slow.commit(batch(number=4))

    def test_a_claim_cut_off_is_taken_up_again_where_nobody_was_quicker(
        self, server: postgres.Server, url: str
    ) -> None:
        with PostgresStore(url) as store, PostgresStore(url) as other:
            store.add([Source(url="u")])
            store.claim("me", 0.0)
            server.sql(f"SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND {_lock(url)}")
            settled(lambda: store.commit(batch()))
            store.commit(batch())
            with pytest.raises(StoreError, match="me"):
                other.claim("other", 1.0)

    def test_leases_run_out_and_epochs_fence(self, url: str) -> None:
        with PostgresStore(url) as store, PostgresStore(url) as other:
            store.add([Source(url="u")])
            mine = store.lease(["a", "b"], "mine", 600.0)
            assert mine == {"a": 1, "b": 1}
            assert other.lease(["b", "c"], "theirs", 600.0) == {"c": 1}
            store.commit(batch(number=1), epochs=mine)
            assert store.renew(mine, 0.0) == {"a", "b"}
            theirs = other.lease(["b"], "theirs", 600.0)
            assert theirs == {"b": 2}
            with pytest.raises(StoreError, match="'b' passed to theirs"):
                store.commit(batch(number=2), epochs=mine)
            assert store.renew(mine, 600.0) == {"a"}
            store.commit(batch(number=3), epochs={"a": 1})
            other.commit(batch(number=4), epochs=theirs)
            other.let_go(theirs)
            assert store.lease(["b"], "mine", 600.0) == {"b": 3}
            assert sorted({item.title for item in store.items()}) == ["n1", "n3", "n4"]

    def test_an_owner_is_not_replaced_in_the_middle_of_a_batch(self, url: str) -> None:
        with PostgresStore(url) as store, PostgresStore(url) as other:
            epochs = store.lease(["a"], "mine", 0.0)
            order: list[str] = []
            writing, may_end = threading.Event(), threading.Event()

            def write(connection: object) -> None:
                from recrawl.store.postgres import leases

                leases.check(connection, epochs)
                writing.set()
                while not may_end.is_set():
                    connection.run("SELECT pg_sleep(0.01)")  # type: ignore[attr-defined]
                order.append("written")

            with ThreadPoolExecutor(2) as pool:
                batch_written = pool.submit(store._connections.writing, write)
                writing.wait(10)
                taken = pool.submit(lambda: (other.lease(["a"], "theirs", 60.0), order.append("taken")))
                with pytest.raises(TimeoutError):
                    taken.result(0.2)
                may_end.set()
                batch_written.result(10)
                assert taken.result(10)[0] == {"a": 2}
            assert order == ["written", "taken"]


def _lock(url: str) -> str:
    number = parsed(url).lock("claim")
    return f"classid::bigint = {(number >> 32) & 0xFFFFFFFF} AND objid::bigint = {number & 0xFFFFFFFF}"


class TestSeveralWriters:
    def test_nobody_who_reads_on_misses_an_event(self, url: str) -> None:
        stores = [PostgresStore(url) for _ in range(3)]
        stores[0].add([Source(url=f"u{k}") for k in range(4)])
        done = threading.Event()

        def write(store: PostgresStore, source: int) -> None:
            for number in range(25):
                store.commit(batch(source, number, items=1 + number % 3))

        def read() -> list[int]:
            seen: list[int] = []
            while True:
                ended = done.is_set()
                seen += [event.seq for event in stores[2].events(seen[-1] if seen else 0)]
                if ended:
                    return seen

        with ThreadPoolExecutor(5) as pool:
            reader = pool.submit(read)
            writers = [pool.submit(write, stores[k % 2], k + 1) for k in range(4)]
            for writer in writers:
                writer.result()
            done.set()
            seen = reader.result()
        expected = 4 * sum(1 + number % 3 for number in range(25))
        assert seen == list(range(1, expected + 1))
        for store in stores:
            store.close()

    def test_removals_do_not_wait_for_each_other_for_ever(self, url: str) -> None:
        with PostgresStore(url) as store:
            ids = [each.id for each in store.add([Source(url=f"u{k}") for k in range(40)])]

            def commit(seed: int) -> None:
                order = random.Random(seed)
                for number in range(10):
                    some = order.sample(ids, 10)
                    made = [batch(source, 100 * seed + number).updates[0] for source in some]
                    made[0].children = [Source(url=f"c{seed}.{number}")]
                    store.commit(Batch(updates=made))

            def remove() -> None:
                for id in ids[:20]:
                    store.remove([id])

            with ThreadPoolExecutor(4) as pool:
                for work in [pool.submit(commit, seed) for seed in range(3)] + [pool.submit(remove)]:
                    work.result()
            left = set(ids[20:])
            assert {item.source for item in store.items(limit=10**5)} <= left
            assert {crawl.source for crawl in store.crawls(limit=10**5)} <= left


class TestTexts:
    def test_long_names_that_do_not_compress_are_kept(self, url: str) -> None:
        long = "".join(chr(code) for code in random.Random(1).choices(range(0x4E00, 0x9FFF), k=20_000))
        with PostgresStore(url) as store:
            assert store.add([Source(url=long, title=long, tags=(long,)), Source(url=long + "x")])[1].id == 2
            assert store.source(long + "x") is not None
            assert [source.id for source in store.sources(tag=long, order="url")] == [1]
            store.commit(Batch(holds=[Hold(host=long, until=1.0)], robots=[Robots(origin=long, fetched=1, status=200)]))
            assert store.robots(long) is not None
            store.advance(long, 3)
            assert store.cursor(long) == 3

    def test_any_text_can_be_indexed(self, url: str) -> None:
        everything = "".join(chr(code) for code in range(0x11000))
        many = " ".join(f"w{number}" for number in range(300_000))
        with PostgresStore(url) as store:
            store.add([Source(url="u")])
            titles = [everything, many, "é" * 3000, "'\\:*&|!()<->"]
            items = [Item(source=1, key=k, title=title, first_seen=1.0) for k, title in enumerate(titles)]
            store.commit(
                Batch(updates=[VisitUpdate(crawl=batch().updates[0].crawl, progress=Progress(source=1), items=items)])
            )
            assert [item.key for item in store.items(text="w7")] == [1]
            assert [item.key for item in store.items(text="e" * 200 + "*")] == [2]
            for title in titles:
                store.items(text=title)

    def test_parts_of_a_word_stand_side_by_side(self, url: str) -> None:
        with PostgresStore(url) as store:
            store.add([Source(url="u")])
            items = [
                Item(source=1, key=k, title=title, summary=summary, first_seen=1.0)
                for k, (title, summary) in enumerate([("fox-hole", ""), ("hole, fox", ""), ("a fox", "hole")])
            ]
            store.commit(
                Batch(updates=[VisitUpdate(crawl=batch().updates[0].crawl, progress=Progress(source=1), items=items)])
            )
            assert [item.key for item in store.items(text="fox hole")] == [2, 1, 0]
            assert [item.key for item in store.items(text="fox-hole")] == [0]
            assert [item.key for item in store.items(text="FOX.hol*")] == [0]


def test_every_way_of_searching_finds_the_same(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    order = random.Random(3)
    vocabulary = [f"w{number}" for number in range(30)]
    titles = [" ".join(order.choices(vocabulary, weights=range(30, 0, -1), k=4)) for _ in range(400)]
    with PostgresStore(url) as store:
        store.add([Source(url=f"{k}", tags=("even",) if k % 2 else ("odd",)) for k in range(4)])
        updates = [
            VisitUpdate(
                crawl=Crawl(source=1 + k % 4, at=1.0, outcome="new"),
                progress=Progress(source=1 + k % 4),
                items=[Item(source=1 + k % 4, key=k, title=title, first_seen=float(k // 3))],
            )
            for k, title in enumerate(titles)
        ]
        store.commit(Batch(updates=updates))

        def expected(word: str, tag: str | None, until: float, limit: int, offset: int) -> list[int]:
            keys = [
                k
                for k, title in enumerate(titles)
                if word in title.split() and k // 3 < until and (tag is None or tag == ("even" if k % 4 % 2 else "odd"))
            ]
            return keys[::-1][offset : offset + limit]

        for windows, few_items, few in [
            (search._WINDOWS, 2000, 200),
            (((2, 20), (6, 60)), 0, 0),
            (((1, 1), (2, 2)), 0, 200),
        ]:
            monkeypatch.setattr(search, "_WINDOWS", windows)
            monkeypatch.setattr(search, "FEW_ITEMS", few_items)
            monkeypatch.setattr(search, "FEW_SOURCES", few)
            for word in ("w0", "w5", "w29", "nowhere"):
                for tag in (None, "even"):
                    for until, limit, offset in ((1e9, 10, 0), (60.0, 10, 5), (1e9, 1000, 0)):
                        found = store.items(text=word, tag=tag, until=until, limit=limit, offset=offset)
                        assert [item.key for item in found] == expected(word, tag, until, limit, offset)
            best = store.items(text="w0", order="relevance", limit=5)
            assert min(item.title.split().count("w0") for item in best) >= 2
