"""Compiled code for the live policy, and nobody waits for it.

Compiled code is kept on disk, and loaded from there in a fraction of a second (`warm_up`). Where it is not there yet,
on a new machine or after an update, another process makes it (`main`, which takes the policy through a short life),
and the policy is interpreted meanwhile (:mod:`recrawl.kernels.interpreted`): slower, and otherwise the same. When the
other process is done, a thread loads what it made, and the policy goes on compiled. Nothing is told twice, nothing is
lost, and a process that ends sooner than the compiling has missed nothing but speed.
"""

from __future__ import annotations

import atexit
import fcntl
import json
import math
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing.spawn import get_executable
from typing import IO, Any

import numpy as np

from recrawl import compiled_code
from recrawl.kernels import interpreted
from recrawl.learning.readership import Clicked
from recrawl.policies.learned_whittle import LearnedWhittle
from recrawl.records import Visits

SOURCES = 8
INTERPRETED_UP_TO = 20_000
"""Sources. Loading more takes the interpreter longer than compiling does."""
FEW = 300
"""Sources that are interpreted sooner than compiled code is loaded."""
TRIES = 2
"""How often a process that is to compile is started, if it is killed."""
LASTING_S = 10.0
"""A process that looks at a store, and has done so for this long, is worth the compiling."""
LOOK_S = 0.5
"""How often that process looks whether the one it works for is still there."""
OPTIONS = ("objective", "half_life", "act", "max_age", "memory", "rates", "cold_start", "rounds")
CHILD = "import sys; sys.path[:] = sys.argv[3:]; from recrawl.policies.compile_ahead import main; main()"


class Compiling:
    """Of this process: whether code is being compiled for it, or there already."""

    def __init__(self) -> None:
        self.done = False
        self._leaving = False
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._since = time.monotonic()

    @property
    def under_way(self) -> bool:
        """Whether another process compiles for this one."""
        return self._thread is not None and not self.done

    def patient(self, *, alone: bool = False) -> None:
        """From now on nobody waits for the compiler, unless there is nothing left to wait for.

        With `alone`, nor for compiled code to be loaded, unless some was already.
        """
        with self._lock:
            if not self.done:
                interpreted.begin(alone=alone and self._thread is None)

    def age_s(self) -> float:
        """For how long this process has been at work."""
        return time.monotonic() - self._since

    def stay(self) -> None:
        """This process will look on for long: compiled code is worth its while from the start."""
        self._since = -math.inf

    def finish(self) -> None:
        """From now on everything is compiled."""
        with self._lock:  # or somebody who looks on begins again in between, and nobody ends it
            interpreted.end()
            self.done = True

    def begin(self, policy: LearnedWhittle, now: float) -> None:
        """Have what this policy runs compiled by another process, if anything is missing and it is not being done."""
        with self._lock:
            if self.done or self._thread is not None or not interpreted.missing():
                return
            if compiled_code.passing():
                _warn("compiled code can be kept nowhere: every start compiles; NUMBA_CACHE_DIR names a folder for it")
            options = {name: getattr(policy, name) for name in OPTIONS}
            self._thread = threading.Thread(target=self._see_through, args=(options, now), daemon=True)
            self._thread.start()

    def _see_through(self, options: dict[str, Any], now: float) -> None:
        def loaded() -> bool:
            interpreted.look_again()
            warm_up(LearnedWhittle(**options), now)
            return not interpreted.missing()

        try:
            with _one_at_a_time() as waited:
                if waited and loaded():
                    return
                for _ in range(TRIES):
                    if self._compiled_apart(options):
                        loaded()
                        return
            if not self._leaving:
                _warn("the process that compiles was ended: compiling here, and nothing is done meanwhile")
        finally:
            self.finish()

    def _compiled_apart(self, options: dict[str, Any]) -> bool:
        """Let another process fill the cache of compiled code; whether it got through."""
        command = [get_executable(), "-P", "-c", CHILD, json.dumps(options), str(os.getpid()), *sys.path]
        quiet: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
        if self._leaving:
            return False
        try:
            child = subprocess.Popen(command, **quiet, start_new_session=True)
        except OSError:
            return False

        def leave() -> None:
            self._leaving = True
            child.kill()

        atexit.register(leave)
        try:
            return child.wait() == 0
        finally:
            atexit.unregister(leave)


def _warn(words: str) -> None:
    import structlog  # which takes longer to load than most looks at a store take

    structlog.get_logger("recrawl").warning(words)


compiling = Compiling()


def prepare(policy: LearnedWhittle, now: float, sources: int) -> None:
    """Load the compiled code of a policy that is to be started anew, or have it compiled.

    With very many sources the compiler is waited for.
    """
    if sources <= INTERPRETED_UP_TO:
        compiling.patient()
    else:
        compiling.finish()
    warm_up(policy, now)
    compiling.begin(policy, now)
    if not compiling.under_way:
        compiling.finish()


def go_on(policy: LearnedWhittle, now: float, sources: int) -> None:
    """For somebody who only looks: with what compiled code there is; a process that looks for longer has it made.

    A look at a few sources by a process that has just begun is over before compiled code is loaded.
    """
    if sources <= INTERPRETED_UP_TO:
        compiling.patient(alone=sources <= FEW and compiling.age_s() < LASTING_S)
    if compiling.age_s() > LASTING_S:
        compiling.begin(policy, now)


def main() -> None:
    """Compile all that a policy with certain options runs, for another process and as long as that is there.

    It looks for modules where the other does: not in the folder it was started in, which may be anybody's.
    """
    options, parent = json.loads(sys.argv[1]), int(sys.argv[2])
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    warm_up(LearnedWhittle(**options), time.time())


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(LOOK_S)
    os._exit(1)


@contextmanager
def _one_at_a_time() -> Iterator[bool]:
    """Of several programs that begin together one has code compiled; whether it was another, and had to be waited for.

    Where files cannot be locked each has it compiled.
    """
    with ExitStack() as held:
        try:
            waited = _locked(held.enter_context((interpreted.cache_folder() / "recrawl-compiling.lock").open("w")))
        except OSError:
            waited = False
        yield waited


def _locked(file: IO[str]) -> bool:
    """Lock a file; whether another had it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        fcntl.flock(file, fcntl.LOCK_EX)
        return True
    return False


def warm_up(policy: LearnedWhittle, now: float) -> None:
    """Take a policy through a short life; it is to be started anew afterwards."""
    ids = np.arange(SOURCES)
    policy.start(SOURCES, now, groups=ids % 3, labels=[f"https://a.example/{i}" for i in ids.tolist()])
    policy.configure(ids, importance=np.ones(SOURCES), half_life=np.full(SOURCES, 60.0), max_age=1e6, cost=1.0)
    for step in range(1, 8):
        moment = now + 20.0 * step
        chosen = policy.choose(moment, 2.0)
        policy.hold_groups(chosen % 3, moment + 1.0)
        policy.hold_groups(chosen % 3, np.full(len(chosen), moment + 1.0))
        feeds, pages = chosen[chosen % 2 == 0], chosen[chosen % 2 == 1]
        listed = [np.array([moment - 5.0, moment - 3.0]) for _ in feeds]
        policy.observe(Visits(feeds, moment, published=listed, new=np.zeros(len(feeds), np.int64)))
        policy.observe(Visits(pages, moment, changed=np.ones(len(pages), dtype=bool)))
        policy.hold(chosen, np.full(len(chosen), moment + 1.0))
    failed = policy.choose(now + 200.0, 1.0)
    policy.observe(Visits(failed, now + 200.0, failed=np.ones(len(failed), dtype=bool)))
    clicked = Clicked(*map(np.array, (now, now + 150.0, now + 160.0, 1.0)))
    policy.feedback(ids, clicked, now=now + 200.0)
    policy.index(ids, now + 200.0)
    policy.due(ids)
    policy.reasons(ids, now + 200.0)
    policy.intervals(ids, 1.0)
    policy.survey(1.0, now + 200.0, delay=1.0)
    policy.adopt(policy.summary())
    policy.load_rows(ids, policy.rows(ids), np.full(SOURCES, now))
    policy.load_shared(policy.shared())
    policy.add(1, groups=np.array([4]))
    policy.remove(np.array([0]))
    policy.choose(now + 300.0, 1.0)
