"""Independent pieces of work on all cores, with progress."""

from __future__ import annotations

import multiprocessing
import os
from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import TypeVar

from recrawl.report.progress import ProgressCallback

Key = TypeVar("Key", bound=Hashable)
Job = TypeVar("Job")
Done = TypeVar("Done")


def side_by_side(
    work: Callable[[Job], Done], jobs: Mapping[Key, Job], what: Callable[[Key], str], progress: ProgressCallback
) -> dict[Key, Done]:
    """Do every job in processes of its own; `what` names the piece of work a job belongs to.

    Processes are spawned, not forked: compiled code and torch do not survive a fork once they have threads. Jobs begin
    in the order given, so the long ones should come first.
    """
    total, done = Counter(map(what, jobs)), Counter[str]()
    for name in total:
        progress(name, 0.0)
    found: dict[Key, Done] = {}
    workers = max(1, min(os.cpu_count() or 1, len(jobs)))
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        waiting = {pool.submit(work, job): key for key, job in jobs.items()}
        try:
            for future in as_completed(waiting):
                key = waiting[future]
                found[key] = future.result()
                done[what(key)] += 1
                progress(what(key), done[what(key)] / total[what(key)])
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return {key: found[key] for key in jobs}
