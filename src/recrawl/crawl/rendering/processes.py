"""The processes of a browser: which there are, what they take, and the end of all of them. Linux's /proc says it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_PROC = Path("/proc")
_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
_OVER = ("Z", "X")
"""States of a process that has ended and was not yet noticed to have."""
ROUNDS = 50
"""Ending processes is tried so often: others may be born meanwhile."""


class Usage(NamedTuple):
    """Of several processes together: how many, bytes of memory of their own, seconds of processor time."""

    processes: int
    memory: int
    cpu_s: float


def descendants(pid: int) -> list[int]:
    """Children, their children and so on, of one process; itself not."""
    parents: dict[int, list[int]] = {}
    for entry in os.listdir(_PROC) if _PROC.is_dir() else ():
        if entry.isdigit() and (fields := _stat(int(entry))):
            parents.setdefault(int(fields[1]), []).append(int(entry))
    found, waiting = list[int](), [pid]
    while waiting:
        children = parents.get(waiting.pop(), [])
        found += children
        waiting += children
    return found


def usage(pids: list[int]) -> Usage:
    """What they take now; children that have ended count with the time of those that waited for them."""
    stats = [fields for pid in pids if (fields := _stat(pid))]
    ticks = sum(int(each) for fields in stats for each in fields[11:15])
    return Usage(sum(fields[0] not in _OVER for fields in stats), sum(map(_memory, pids)), ticks / _TICKS)


def end_all(pid: int) -> None:
    """End every descendant of a process, and then the process."""
    for _ in range(ROUNDS):
        alive = [child for child in descendants(pid) if not _is_over(child)]
        if not alive:
            break
        _kill(alive)
    _kill([pid])


def end_descendants() -> None:
    """End every descendant of this process."""
    for _ in range(ROUNDS):
        alive = [child for child in descendants(os.getpid()) if not _is_over(child)]
        if not alive:
            return
        _kill(alive)


def _kill(pids: list[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def _is_over(pid: int) -> bool:
    fields = _stat(pid)
    return not fields or fields[0] in _OVER


def _stat(pid: int) -> list[str]:
    """What stands behind the name in `stat`, state first; empty if it is gone."""
    try:
        return (_PROC / str(pid) / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return []


def _memory(pid: int) -> int:
    """Bytes that are its own or shared memory of its making; program text is not."""
    return sum(_sizes(pid))


def _sizes(pid: int) -> Iterator[int]:
    try:
        lines = (_PROC / str(pid) / "status").read_text("utf-8", "replace").splitlines()
    except OSError:
        return
    for line in lines:
        name, _, size = line.partition(":")
        if name in ("RssAnon", "RssShmem", "VmSwap"):
            yield 1024 * int(size.split()[0])
