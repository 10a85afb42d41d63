"""A PostgreSQL server of the tests' own: started from the system's binaries, on loopback, gone when they end.

`server()` is one per process, made on first use. A test gets a store of its own by a schema of its own.
"""

from __future__ import annotations

import atexit
import ctypes
import itertools
import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO

import pytest

_SETTINGS = {
    "fsync": "off",
    "full_page_writes": "off",
    "shared_buffers": "32MB",
    "max_connections": "60",
    "max_wal_size": "256MB",
    "autovacuum": "off",
    "lc_messages": "C",
}
# One user has a password, the others are let in; nobody else can reach the port.
_ACCESS = """
host all guarded {clients} scram-sha-256
host all all {clients} trust
local all all trust
"""
_numbers = itertools.count(1)


def binaries() -> Path | None:
    """The folder of initdb and postgres, of the newest version there is."""
    folders = Path("/usr/lib/postgresql").glob("*/bin")
    found = sorted((f for f in folders if (f / "initdb").exists()), key=lambda f: float(f.parent.name))
    if found:
        return found[-1]
    in_path = shutil.which("initdb")
    return Path(in_path).resolve().parent if in_path and shutil.which("postgres") else None


def _nobody_special() -> dict[str, object]:
    """The server refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    names = {user.pw_name for user in pwd.getpwall()}
    user = pwd.getpwnam("postgres" if "postgres" in names else "nobody")
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def _ends_with_its_parent() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGINT)


def _read_on(log: IO[str]) -> None:
    """Whoever writes to a pipe that nobody reads hangs one day."""
    with log:
        for _ in log:
            pass


class Server:
    """One server with its data in a temporary folder.

    Parameters
        bin: where the binaries are
        address: to listen on
        clients: the network that is let in
    """

    def __init__(self, bin: Path, address: str = "127.0.0.1", clients: str = "127.0.0.1/32") -> None:
        self._bin, self._address = bin, address
        self._as = _nobody_special()
        self.folder = Path(tempfile.mkdtemp(prefix="recrawl-postgres-"))
        if self._as:
            os.chown(self.folder, self._as["user"], self._as["group"])  # type: ignore[call-overload]
        self._process: subprocess.Popen[str] | None = None
        made = [str(bin / "initdb"), "-D", str(self.folder / "data"), "-U", "recrawl", "-A", "trust", "--no-sync"]
        made += ["--encoding=UTF8", "--locale=C", "--no-instructions"]
        subprocess.run(made, check=True, capture_output=True, cwd="/", env=_ENVIRONMENT, **self._as)  # type: ignore[call-overload]
        (self.folder / "data" / "pg_hba.conf").write_text(_ACCESS.format(clients=clients))
        self._started_somewhere()

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def _started_somewhere(self) -> None:
        """Between looking for a free port and taking it somebody else may: then on another one."""
        for _ in range(9):
            self.port = _free_port(self._address)
            with suppress(RuntimeError):
                self.start()
                return
        self.port = _free_port(self._address)
        self.start()

    def start(self) -> None:
        """Returns when it takes connections. It ends with the thread that called this: let that be the main one."""
        assert self._process is None
        settings = [f"-c{name}={value}" for name, value in {"listen_addresses": self._address, **_SETTINGS}.items()]
        places = ["-D", str(self.folder / "data"), "-k", str(self.folder), "-p", str(self.port)]
        self._process = subprocess.Popen(  # type: ignore[call-overload]
            [str(self._bin / "postgres"), *places, *settings],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            cwd="/",
            env=_ENVIRONMENT,
            preexec_fn=_ends_with_its_parent,
            **self._as,
        )
        log = []
        for line in self._process.stderr:
            log.append(line)
            if "ready to accept connections" in line:
                break
        else:
            self._process.stderr.close()
            self._process.wait()
            self._process = None
            raise RuntimeError("PostgreSQL did not start: " + "".join(log[-5:]))
        self._drain = threading.Thread(target=_read_on, args=(self._process.stderr,), daemon=True)
        self._drain.start()

    def stop(self, how: int = signal.SIGQUIT) -> None:
        """SIGINT cuts connections and shuts down in order, SIGQUIT stops at once."""
        if self._process is not None:
            process, self._process = self._process, None
            process.send_signal(how)
            process.wait(20)
            self._drain.join(20)

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, *, user: str = "recrawl", database: str = "postgres", schema: str = "") -> str:
        """Of a store; without a schema, of one nobody has used yet."""
        return f"postgresql://{user}@{self._address}:{self.port}/{database}?schema={schema or f's{next(_numbers)}'}"

    def sql(self, statement: str, database: str = "postgres") -> str:
        """What the server's own client answers."""
        command = [str(self._bin / "psql"), "-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-h", str(self.folder)]
        command += ["-p", str(self.port), "-U", "recrawl", "-d", database, "-c", statement]
        return subprocess.run(command, check=True, capture_output=True, text=True, env=_ENVIRONMENT).stdout.strip()


_ENVIRONMENT = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C"}


def _free_port(address: str = "127.0.0.1") -> int:
    """One that neither the system nor Ray gives to whoever asks for any, so that it is still free after a restart."""
    while True:
        port = random.SystemRandom().randrange(20_000, 32_000)
        with socket.socket() as probe, suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((address, port))
            return port


def new_server(address: str = "127.0.0.1", clients: str = "127.0.0.1/32") -> Server:
    """A server for one test to mistreat; skips the test where there is none to be had."""
    pytest.importorskip("psycopg")
    bin = binaries()
    if bin is None:
        pytest.skip("PostgreSQL is not installed (apt-get install postgresql)")
    made = Server(bin, address, clients)
    atexit.register(made.remove)
    return made


@cache
def server() -> Server:
    """The one that tests share."""
    return new_server()
