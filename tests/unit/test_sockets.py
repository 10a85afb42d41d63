"""The tests' own eyes: they see where the processes of a test listen, and nobody else's sockets."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import uuid

from sockets import MARK, beyond_loopback, listening

LISTENS = """
import socket, sys
held = [socket.create_server((address, 0)) for address in sys.argv[1:]]
print("up", flush=True)
sys.stdin.read()
"""


def test_only_sockets_of_marked_processes_are_seen() -> None:
    mark = uuid.uuid4().hex
    # A grandchild: what a process starts is its own too.
    command = [sys.executable, "-c", "import subprocess, sys; sys.exit(subprocess.run(sys.argv[1:]).returncode)"]
    command += [sys.executable, "-c", LISTENS, "127.0.3.1"]
    with (
        socket.create_server(("127.0.4.1", 0)),
        subprocess.Popen(
            command, env={**os.environ, MARK: mark}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as child,
    ):
        assert child.stdout is not None
        assert child.stdout.readline() == "up\n"
        assert listening(mark) == {"127.0.3.1"}
        child.communicate()


def test_addresses_that_other_machines_reach_are_told() -> None:
    assert beyond_loopback({"127.0.0.1", "127.0.1.9", "::1", "::ffff:127.0.0.1"}) == []
    assert beyond_loopback({"0.0.0.0", "::", "10.0.0.1", "127.0.0.1"}) == ["0.0.0.0", "10.0.0.1", "::"]
