"""What a process holds: objects by class, and how much of the C allocator's room is in use.

It tells when it is asked from outside: a thread looks once a second for a file `tell`, and writes what it found into
`held.json` instead. That stops the process for a second or two.
"""

from __future__ import annotations

import ctypes
import gc
import json
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

ASKED, TOLD = "tell", "held.json"


def objects() -> dict[str, tuple[int, int]]:
    """By class: how many there are, and their bytes. Those that the collector does not follow are found from others."""
    seen, counts, sizes = set[int](), Counter[str](), Counter[str]()
    waiting: list[Any] = gc.get_objects()
    own = {id(seen), id(counts), id(sizes), id(waiting)}
    while waiting:
        each = waiting.pop()
        if id(each) in seen or id(each) in own:
            continue
        seen.add(id(each))
        name = f"{type(each).__module__}.{type(each).__qualname__}".removeprefix("builtins.")
        counts[name] += 1
        sizes[name] += sys.getsizeof(each, 0)
        waiting += [other for other in gc.get_referents(each) if not gc.is_tracked(other)]
    return {name: (counts[name], sizes[name]) for name in counts}


class _Allocated(ctypes.Structure):
    """glibc's `mallinfo2`."""

    _fields_ = [(name, ctypes.c_size_t) for name in (
        "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"
    )]  # fmt: skip


def allocated() -> dict[str, int]:
    """Bytes that the C allocator has in use, and those it keeps free; nothing where it does not say."""
    try:
        ask = ctypes.CDLL(None).mallinfo2
    except (AttributeError, OSError):
        return {}
    ask.restype = _Allocated
    told = ask()
    return {"malloc in use": told.uordblks + told.hblkhd, "malloc free": told.fordblks}


def told() -> dict[str, Any]:
    """All of it."""
    return {"objects": objects(), **allocated(), "python blocks": sys.getallocatedblocks()}


def tell_when_asked(folder: Path) -> None:
    """Begin to listen."""

    def listen() -> None:
        while True:
            time.sleep(1.0)
            if (folder / ASKED).exists():
                (folder / TOLD).with_suffix(".part").write_text(json.dumps(told()))
                (folder / TOLD).with_suffix(".part").rename(folder / TOLD)
                (folder / ASKED).unlink()

    threading.Thread(target=listen, daemon=True).start()


def ask(folder: Path, patience_s: float = 60.0) -> dict[str, Any]:
    """What the process over there holds."""
    (folder / ASKED).touch()
    ends = time.monotonic() + patience_s
    while (folder / ASKED).exists() and time.monotonic() < ends:
        time.sleep(0.2)
    return dict(json.loads((folder / TOLD).read_text()))


def grown(one: dict[str, Any], other: dict[str, Any], least: int = 20_000) -> list[tuple[str, int, int]]:
    """Classes whose objects take more room than before, largest growth first: how many more, and bytes."""
    more = [
        (name, count - one["objects"].get(name, (0, 0))[0], size - one["objects"].get(name, (0, 0))[1])
        for name, (count, size) in other["objects"].items()
    ]
    return sorted([each for each in more if each[2] >= least], key=lambda each: -each[2])
