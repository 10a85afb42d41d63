"""Settings every test shares."""

from __future__ import annotations

import gc
import os
import signal

import pytest
from hypothesis import HealthCheck, settings

from recrawl import compiled_code

# Processes that a test gives another home take what others have compiled.
if (_kept := compiled_code.place()) is not None:
    os.environ[compiled_code.VARIABLE] = str(_kept)

# Whatever a shell puts into the background ignores interrupts, and so would programs that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

FIRST = ("integration", "web", "faults", "papers")
"""Folders whose files take long: begun last, one of them would keep one worker busy and leave the others idle."""


# What is imported and collected stays until the end: looking through it for rubbish again and again found none.
gc.disable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    places = {f"tests/{name}/": place for place, name in enumerate(FIRST)}
    items.sort(key=lambda item: next((places[each] for each in places if item.nodeid.startswith(each)), len(FIRST)))


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


# Settings of whoever runs the tests are not the tests'.
for name in [name for name in os.environ if name.startswith("RECRAWL_") and not name.startswith("RECRAWL_FUZZ_")]:
    del os.environ[name]

# Compiling on first use makes a first example slow; that says nothing about the code under test.
settings.register_profile("recrawl", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.load_profile("recrawl")


@pytest.fixture(autouse=True, scope="session")
def _compiled() -> None:
    """In this process the compiler is waited for: what is measured and compared here is compiled code."""
    from recrawl.policies import compile_ahead

    compile_ahead.compiling.finish()
