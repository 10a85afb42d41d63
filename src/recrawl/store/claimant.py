"""Who crawls a store, in words."""

from __future__ import annotations

from datetime import UTC, datetime


def claimant(owner: str, pid: int, host: str, since: float) -> str:
    """The name it gave itself, and its process where the name does not say that already.

    >>> claimant("process 513 on vm", 513, "vm", 0.0)
    'process 513 on vm, since 1970-01-01 00:00:00 UTC'
    >>> claimant("spider news", 513, "vm", 0.0)
    'spider news (process 513 on vm, since 1970-01-01 00:00:00 UTC)'
    """
    process = f"process {pid} on {host}"
    begun = datetime.fromtimestamp(since, UTC).strftime("since %Y-%m-%d %H:%M:%S UTC")
    return f"{owner}, {begun}" if process in owner else f"{owner} ({process}, {begun})"
