"""The fleet on Ray: the only module that knows it. Actors are thin; what they do is in `shard` and `coordinator`.

Ray runs whatever reaches its ports. A Ray started here listens on loopback alone, without dashboard and without usage
statistics; a Ray started by others is theirs to keep on a private network (docs/fleet.md).

Every actor runs its work in a thread with an event loop of its own. When that ends with an error the process ends with
it, and Ray starts the actor again, here or on another node: all that matters is in the store.
"""

from __future__ import annotations

import asyncio
import os
import socket
import threading
import time
from collections.abc import Callable, Collection, Coroutine
from contextlib import suppress
from hashlib import blake2b
from typing import Any

import structlog

from recrawl import logs
from recrawl.crawl.fetching.borrowed_turns import Turn, TurnReport
from recrawl.errors import FleetError, require

LOOPBACK_ONLY = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # what makes Ray name its node 127.0.0.1 and listen there alone
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DEDUP_LOGS": "0",
}
"""Has to be in the environment before Ray is imported."""
OBJECT_STORE_BYTES = 80_000_000
"""The least Ray takes; nothing is kept there."""
CONNECT_S = 5.0
ANSWER_S = 3.0
"""How long an answer of the coordinator is waited for."""
TURN_S = 40.0
"""How long another shard's turn is waited for."""
END_S = 10.0
OURS = "recrawl"
"""What a Ray of our own has and others have not: there is room for any number of shards."""
COORDINATOR = "coordinator"
ON_THE_HEAD = {"node:__internal_head__": 0.001}
"""Where the coordinator is best kept: without the head there is no fleet anyway."""
QUICK, PROMPT = "quick", ("returned", "stop")
"""Methods with threads of their own."""
FAILED = 70
"""Exit status of an actor whose work ended with an error."""


def ray() -> Any:
    """Ray itself; MissingExtraError where it is not installed."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    return require("ray", "a fleet", "cluster")


def start_here(shards: int) -> str:
    """A Ray of our own on this machine, which ends with this process; its address."""
    os.environ.update(LOOPBACK_ONLY)
    context = ray().init(
        address="local",
        num_cpus=shards + 1,
        resources={OURS: 1.0},
        include_dashboard=False,
        object_store_memory=OBJECT_STORE_BYTES,
        log_to_driver=False,
        logging_level="ERROR",
    )
    return str(context.address_info["address"])


def connect(address: str) -> str:
    """Join a Ray that runs; its address."""
    loopback = address.removeprefix("ray://").startswith(("127.", "localhost", "[::1]"))
    if loopback:
        os.environ.update(LOOPBACK_ONLY)
    try:
        _check_reachable(address)
        context = ray().init(address=address, log_to_driver=False, logging_level="ERROR")
    except (OSError, ValueError, RuntimeError) as error:
        where = "here" if address == "auto" else f"at {address}"
        said = (str(error) or type(error).__name__).strip().partition("\n")[0]
        raise FleetError(
            f"no Ray answers {where} ({said}): start one with `ray start --head`, "
            "name it with --address, or use --local"
        ) from error
    return str(getattr(context, "address_info", {}).get("address", address))


def _check_reachable(address: str) -> None:
    """See whether anybody is there at all: Ray itself tries for minutes. OSError if not."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_S).close()


def disconnect() -> None:
    """Leave Ray; one of our own ends."""
    ray().shutdown()


def namespace(store: str) -> str:
    """Fleets over different stores do not see each other."""
    from recrawl.store.postgres.address import parsed

    return "recrawl-" + blake2b(parsed(store).name.encode(), digest_size=6).hexdigest()


def start_coordinator(config: Any) -> None:
    """Start the coordinator of a fleet, unless there is one."""
    space = namespace(config.store)
    _remote(CoordinatorActor).options(
        name=COORDINATOR,
        namespace=space,
        lifetime="detached",
        get_if_exists=True,
        max_restarts=-1,
        max_concurrency=32,
        num_cpus=0,
        resources=ON_THE_HEAD,
    ).remote(config, space)


def _remote(actor: type) -> Any:
    """The actor's class for Ray; what must not wait behind those who wait for a turn has threads of its own."""
    return ray().remote(concurrency_groups={QUICK: 4})(actor)


def _actor(name: str, space: str) -> Any:
    """A handle of an actor; None if there is none, or Ray does not say in time."""
    try:
        return ray().get_actor(name, namespace=space)
    except Exception:
        return None


class RayLink:
    """How a shard reaches the coordinator and other shards (`recrawl.cluster.shard.FleetLink`)."""

    def __init__(self, space: str) -> None:
        self._space = space
        self._handles: dict[str, Any] = {}

    def tell(self, report: bytes) -> bytes:
        """A report to the coordinator."""
        answer = self._asked(COORDINATOR, "hear", ANSWER_S, report)
        return answer if isinstance(answer, bytes) else b""

    def borrow(self, shard: str, url: str, loan: str, delay_s: float) -> Turn | None:
        """Ask for the turn of an URL's host."""
        answer = self._asked(shard, "lend", TURN_S, url, loan, delay_s)
        return answer if isinstance(answer, Turn) else None

    def give_back(self, shard: str, url: str, loan: str, report: TurnReport) -> None:
        """The turn is over."""
        self._asked(shard, "returned", ANSWER_S, url, loan, report)

    def _asked(self, name: str, method: str, seconds: float, *arguments: Any) -> Any:
        """The answer; None for none. A handle that failed is looked up anew the next time."""
        try:
            handle = self._handles.get(name) or _actor(name, self._space)
            if handle is None:
                return None
            self._handles[name] = handle
            call = getattr(handle, method)
            called = call.options(concurrency_group=QUICK) if method in PROMPT else call
            return ray().get(called.remote(*arguments), timeout=seconds)
        except Exception:  # Ray's errors have many shapes; each of them means that nobody answered
            self._handles.pop(name, None)
            return None


class RayLauncher:
    """Who starts and ends shards (`recrawl.cluster.coordinator.ShardLauncher`)."""

    def __init__(self, config: Any, space: str) -> None:
        self._config, self._space = config, space

    def running(self) -> set[str]:
        """Names of the shards Ray knows of, those being started again included."""
        listed = ray().util.list_named_actors(all_namespaces=True)
        return {each["name"] for each in listed if each["namespace"] == self._space} - {COORDINATOR}

    def start(self, name: str) -> None:
        """Start one; spread over the nodes."""
        _remote(ShardActor).options(
            name=name,
            namespace=self._space,
            lifetime="detached",
            get_if_exists=True,
            max_restarts=-1,
            max_concurrency=64,
            num_cpus=0 if OURS in ray().cluster_resources() else 1,
            scheduling_strategy="SPREAD",
        ).remote(name, self._config, self._space)

    def end(self, names: Collection[str]) -> None:
        """Let them finish what is under way, all at the same time, and end them."""
        handles = [handle for name in names if (handle := _actor(name, self._space)) is not None]
        with suppress(Exception):  # some may be dead, hung or cut off: they are ended all the same
            stopping = [handle.stop.options(concurrency_group=QUICK).remote() for handle in handles]
            ray().wait(stopping, num_returns=len(stopping), timeout=END_S)
        for handle in handles:
            ray().kill(handle, no_restart=True)


class _Actor:
    """Work in a thread with an event loop of its own; the process ends with it if it fails.

    No method is a coroutine: Ray would run all of them on one event loop, one after the other.
    """

    def __init__(self) -> None:
        logs.configure()
        logs.guard()
        self._over = threading.Event()

    def _begin(self, work: Callable[[], Coroutine[None, None, None]]) -> None:
        threading.Thread(target=self._carry_out, args=(work,), name="work", daemon=True).start()

    def _carry_out(self, work: Callable[[], Coroutine[None, None, None]]) -> None:
        try:
            asyncio.run(work())
        except BaseException as error:
            structlog.get_logger("recrawl.fleet").error("an actor ends", **logs.fault(error))
            os._exit(FAILED)
        finally:
            self._over.set()


class ShardActor(_Actor):
    """One shard."""

    def __init__(self, name: str, config: Any, space: str) -> None:
        from recrawl import wiring

        super().__init__()
        wiring.install_event_loop()
        wiring.give_memory_back()
        self._name = name
        self._shard: Any = None
        self._loop: Any = None
        self._begin(lambda: _run_shard(self, name, config, space))

    def lend(self, url: str, loan: str, delay_s: float) -> Turn:
        """Another shard asks for a host's turn."""
        if self._shard is None:
            return Turn(refused=f"{self._name} has just started")
        lending = self._shard.lend(url, loan, delay_s)
        turn: Turn = asyncio.run_coroutine_threadsafe(lending, self._loop).result(TURN_S)
        return turn

    def returned(self, url: str, loan: str, report: TurnReport) -> None:
        """And gives it back."""
        if self._shard is not None:
            self._loop.call_soon_threadsafe(self._shard.returned, url, loan, report)

    def stop(self) -> None:
        """Finish what is under way; returns when that is done."""
        if self._shard is not None:
            self._loop.call_soon_threadsafe(self._shard.stop)
            self._over.wait(END_S)


async def _run_shard(actor: ShardActor, name: str, config: Any, space: str) -> None:
    from recrawl import wiring
    from recrawl.clock import SystemClock
    from recrawl.cluster.shard import Shard

    store = await asyncio.to_thread(_opened_when_there, config.store)
    try:
        wiring.collect_rarely()  # an actor has a process of its own
        shard = Shard(name, config, store, RayLink(space), SystemClock())
        actor._loop, actor._shard = asyncio.get_running_loop(), shard
        await shard.run()
    finally:
        await asyncio.to_thread(store.close)


class CoordinatorActor(_Actor):
    """The coordinator; while it leads, what is found is handed on from here."""

    def __init__(self, config: Any, space: str) -> None:
        super().__init__()
        self._coordinator: Any = None
        self._begin(lambda: _run_coordinator(self, config, space))

    def hear(self, report: bytes) -> bytes:
        """A shard's report; the grant."""
        return b"" if self._coordinator is None else bytes(self._coordinator.hear(report))


async def _run_coordinator(actor: CoordinatorActor, config: Any, space: str) -> None:
    from recrawl.clock import SystemClock
    from recrawl.cluster.coordinator import Coordinator
    from recrawl.cluster.coordinator_loop import coordinate

    clock = SystemClock()
    store = await asyncio.to_thread(_opened_when_there, config.store)
    try:
        launcher = RayLauncher(config, space)
        actor._coordinator = Coordinator(store, launcher, clock.now, config.newcomers_share, steady=time.monotonic)
        await coordinate(actor._coordinator, config, store, clock)
    finally:
        await asyncio.to_thread(store.close)
    ray().kill(_actor(COORDINATOR, space), no_restart=True)


def _opened_when_there(url: str) -> Any:
    """The store, once it is there."""
    from recrawl.errors import StoreError
    from recrawl.store.postgres import PostgresStore

    said = ""
    while True:
        try:
            return PostgresStore(url, timeout_s=10.0)
        except StoreError as error:
            if str(error) != said:
                structlog.get_logger("recrawl.fleet").warning("waiting for the store", reason=str(error))
            said = str(error)
            time.sleep(1.0)
